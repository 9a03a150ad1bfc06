"""One channel per transport, over which a test sends raw JSON-RPC frames."""

import json
import math
import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, Queue
from typing import Any, Protocol

from support.launching import STACKROOM, launch
from support.wire import (
    ENVELOPE,
    HELLO,
    LEGACY,
    MODERN,
    PATIENCE_S,
    POSTED,
    Headers,
    Message,
    Outcome,
    Reply,
    WebSocketWire,
    Wire,
    request_bytes,
)

IDLE_S = 10
"""From here on a connection that answers no pings may have been closed."""


class Channel(Protocol):
    """A connection to an MCP server, of one transport and one era."""

    era: str

    def put(self, frame: bytes, *, wants_answer: bool = True) -> Outcome:
        """Say something, and return what came of it."""

    def ask(self, method: str, params: Message | None = None) -> Message:
        """Make a good call on this connection, or on a new one where it was closed, and return the
        answer.
        """

    def close(self) -> None:
        """Let go."""


class Numbers:
    """Ids for good calls, which no hostile frame has."""

    def __init__(self) -> None:
        self._last = 0

    def request(self, era: str, method: str, params: Message | None = None) -> tuple[str, bytes]:
        """Return a new id and a request with it."""
        self._last += 1
        own = f"good-{self._last}"
        told = {**(params or {}), **({"_meta": ENVELOPE} if era == MODERN else {})}
        return own, json.dumps(
            {"jsonrpc": "2.0", "id": own, "method": method, "params": told}
        ).encode()


class PostChannel:
    """Streamable HTTP: a session of 2025, or the requests of 2026, which stand alone."""

    def __init__(self, port: int, headers: Headers, era: str) -> None:
        self.era = era
        self._port = port
        self.headers = {**POSTED, **headers}
        self._wire: Wire | None = None
        self._numbers = Numbers()
        if era == LEGACY:
            reply = self._post(self._numbers.request(era, "initialize", HELLO)[1], {})
            assert reply is not None
            assert reply.status == 200, reply
            self.session = reply.headers["mcp-session-id"]
            self.headers |= {"Mcp-Session-Id": self.session, "MCP-Protocol-Version": LEGACY}
            self._post(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}', {})

    def put(self, frame: bytes, *, wants_answer: bool = True) -> Outcome:
        reply = self._post(frame, modern_headers(frame) if self.era == MODERN else {})
        return (
            Outcome(status=reply.status, messages=reply.messages)
            if reply
            else Outcome(is_closed=True)
        )

    def ask(self, method: str, params: Message | None = None) -> Message:
        own, frame = self._numbers.request(self.era, method, params)
        outcome = self.put(frame)
        assert [message.get("id") for message in outcome.messages] == [own], outcome
        return outcome.messages[0]

    def close(self) -> None:
        if self._wire:
            self._wire.close()
            self._wire = None

    def _post(self, body: bytes, more: Headers) -> Reply | None:
        if self._wire is None or self._wire.is_over:
            self.close()
            self._wire = Wire(self._port)
        # an empty body has a length too
        headers = {**self.headers, **more, "Content-Length": str(len(body))}
        return self._wire.request("POST", "/mcp", headers, body)


def modern_headers(frame: bytes) -> dict[str, str]:
    """Return the headers that go with a message of 2026, as far as it is one and they can say
    it.
    """
    headers = {"MCP-Protocol-Version": MODERN}
    try:
        message = json.loads(frame)
    except (ValueError, RecursionError):
        return headers
    if not isinstance(message, dict):
        return headers
    params = message["params"] if isinstance(message.get("params"), dict) else {}
    said = {"Mcp-Method": message.get("method"), "Mcp-Name": params.get("name", params.get("uri"))}
    return {
        **headers,
        **{header: str(value) for header, value in said.items() if is_sayable(value)},
    }


def is_sayable(value: Any) -> bool:
    """Tell whether a header can say this as it is."""
    return (
        isinstance(value, str) and value.isascii() and value.isprintable() and len(value) < 20_000
    )


class StreamChannel:
    """What the transports have in common whose answers come apart from the questions."""

    era: str
    hello: Message
    """What the server said of itself, to a client of 2025."""
    _numbers: Numbers

    def put(self, frame: bytes, *, wants_answer: bool = True) -> Outcome:
        """Send a frame and wait for its answer; where none is due, until two good calls were
        answered after it.
        """
        refusal = self.send(frame)
        if refusal:
            return refusal
        if wants_answer:
            message = self.receive()
            return Outcome(messages=[message] if message else [], is_closed=message is None)
        others = [message for _ in range(2) for message in self._exchange("tools/list")[:-1]]
        return Outcome(messages=others)

    def ask(self, method: str, params: Message | None = None) -> Message:
        """Make a good call; nothing else may be answered meanwhile."""
        if self.is_over:
            self.open()
        messages = self._exchange(method, params)
        assert len(messages) == 1, messages[:-1]
        return messages[0]

    def open_session(self) -> None:
        """Do what a client of 2025 does first; a client of 2026 just asks for something."""
        if self.era == LEGACY:
            self.hello = self._exchange("initialize", HELLO)[-1]["result"]
            self.send(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')
        else:
            assert "result" in self._exchange("tools/list")[-1]

    def _exchange(self, method: str, params: Message | None = None) -> list[Message]:
        """Make a call and return what comes, up to its answer."""
        own, frame = self._numbers.request(self.era, method, params)
        refusal = self.send(frame)
        assert refusal is None, refusal
        found: list[Message] = []
        while not found or found[-1].get("id") != own:
            message = self.receive()
            assert message is not None, f"the connection ended before the answer to {method}"
            found.append(message)
        return found

    is_over = False
    """Whether the other side has closed the connection."""

    def open(self) -> None:
        """Connect."""
        raise NotImplementedError

    def send(self, frame: bytes) -> Outcome | None:
        """Send a frame, and return what came of it where it was refused at once."""
        raise NotImplementedError

    def receive(self) -> Message | None:
        """Return the next message; None where the other side closes."""
        raise NotImplementedError


class EventStream:
    """The events of one answer over HTTP, on a connection of its own."""

    is_over = False
    is_whole = False
    """Whether the stream was ended as HTTP wants it, and not cut off."""

    def __init__(self, port: int, request: bytes, **options: Any) -> None:
        self.wire = Wire(port, **options)
        self.wire.send(request)
        head = self.wire.read_head()
        assert head is not None
        assert head.startswith(b"HTTP/1.1 200 "), head

    def next_event(self, *, waits: bool = True) -> str | None:
        """Return the data of the next event, None at the end, or where none is there; comments are
        passed over.
        """
        while waits or self.wire.has_more:
            line = self.wire.read_line()
            if line is None:
                self.is_over = True
                return None
            if self.is_whole and not line.strip():
                self.is_over = True  # the connection may serve other requests
                return None
            self.is_whole = line.strip() == b"0"
            if line.startswith(b"data: "):
                return line[6:].decode().strip()
        return None


class EventChannel(StreamChannel):
    """SSE: questions by POST, answers as events of one stream."""

    def __init__(self, port: int, headers: Headers, era: str, **options: Any) -> None:
        self.era = era
        self._port = port
        self._headers = headers
        self._options = options
        self._numbers = Numbers()
        self.open()

    def open(self) -> None:
        self.events = EventStream(
            self._port, request_bytes("GET", "/sse", self._headers), **self._options
        )
        self.posts = Wire(self._port)
        path = self.events.next_event()
        assert path is not None
        self.path = path
        self.open_session()

    def send(self, frame: bytes) -> Outcome | None:
        if self.posts.is_over:
            self.posts.close()
            self.posts = Wire(self._port)
        headers = {**POSTED, **self._headers, "Content-Length": str(len(frame))}
        reply = self.posts.request("POST", self.path, headers, frame)
        if reply is None:
            return Outcome(is_closed=True)
        return (
            None if reply.status == 202 else Outcome(status=reply.status, messages=reply.messages)
        )

    def receive(self) -> Message | None:
        event = self.events.next_event()
        return None if event is None else dict(json.loads(event))

    def close(self) -> None:
        self.events.wire.close()
        self.posts.close()


class WebSocketChannel(StreamChannel):
    """A WebSocket."""

    def __init__(self, port: int, headers: Headers, era: str) -> None:
        self.era = era
        self._port = port
        self._headers = headers
        self._numbers = Numbers()
        self.open()

    def open(self) -> None:
        self.is_over = False
        self.socket = WebSocketWire(self._port, self._headers)
        assert self.socket.status == 101, self.socket.reply
        self.open_session()

    def send(self, frame: bytes) -> Outcome | None:
        self.socket.send(frame)
        return None

    def receive(self) -> Message | None:
        text = self.socket.receive_text()
        if text is None:
            self.is_over = True
            self.socket.wire.close()
            return None
        message: Message = json.loads(text)
        return message

    def close(self) -> None:
        self.socket.wire.close()


class LineChannel(StreamChannel):
    """Standard input and output of a process of its own."""

    def __init__(
        self,
        home: Path,
        era: str,
        *names: str,
        environment: Mapping[str, str] | None = None,
        log: Path = Path(os.devnull),
    ) -> None:
        self.era = era
        self._command = [*STACKROOM, "serve", *names]
        self._environment = {
            **os.environ,
            "STACKROOM_HOME": str(home),
            "LOG_LEVEL": "WARNING",
            **(environment or {}),
        }
        self._log = log
        self._numbers = Numbers()
        self.open()

    def open(self) -> None:
        with self._log.open("wb") as log:
            self.process = launch(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=self._environment,
            )
        self._lines: Queue[bytes] = Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.open_session()

    def send(self, frame: bytes) -> Outcome | None:
        assert self.process.stdin is not None
        self.process.stdin.write(frame + b"\n")
        self.process.stdin.flush()
        return None

    def receive(self) -> Message | None:
        try:
            message: Message = json.loads(self._lines.get(timeout=PATIENCE_S))
        except Empty:
            raise AssertionError(f"no answer within {PATIENCE_S:.0f} s") from None
        return message

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        try:
            assert self.process.wait(PATIENCE_S) == 0
        finally:
            self.process.kill()
            self._reader.join(120)
            self.process.stdout.close()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)


def open_channel(transport: str, port: int, secret: str, era: str = LEGACY, **options: Any) -> Any:
    """Open an MCP connection over the network: `http`, `sse` or `websocket`."""
    kinds: dict[str, Callable[..., Channel]] = {
        "http": PostChannel,
        "sse": EventChannel,
        "websocket": WebSocketChannel,
    }
    headers = {"Authorization": f"Bearer {secret}"} if secret else {}
    return kinds[transport](port, headers, era, **options)


class Channels:
    """Open MCP connections, one of a kind, that are used again and again; one on which a test
    failed is given up.
    """

    def __init__(self, open_channel: Callable[[str, str], Channel]) -> None:
        self._open_channel = open_channel
        self._open: dict[tuple[str, str], Channel] = {}
        self._used_at: dict[tuple[str, str], float] = {}

    @contextmanager
    def use(self, transport: str, era: str) -> Iterator[Channel]:
        """Lend the connection of this kind; one that has been idle may be closed by the server, and
        is opened anew.
        """
        kind = (transport, era)
        if (
            transport == "websocket"
            and time.monotonic() - self._used_at.get(kind, math.inf) > IDLE_S
        ):
            self._open.pop(kind).close()
        channel = self._open.pop(kind, None) or self._open_channel(transport, era)
        try:
            yield channel
        except BaseException:
            self._used_at.pop(kind, None)
            channel.close()
            raise
        self._open[kind], self._used_at[kind] = channel, time.monotonic()

    def close(self) -> None:
        """Let go of all of them."""
        for channel in self._open.values():
            channel.close()


@dataclass(frozen=True, kw_only=True)
class Besieged:
    """A server with the users alice and bob, and everything to besiege it with."""

    server: Any
    tokens: dict[str, str]

    @property
    def port(self) -> int:
        """Where it listens."""
        port: int = self.server.port
        return port

    def bearer(self, user: str = "alice") -> dict[str, str]:
        """Return the header by which a user comes in."""
        return {"Authorization": f"Bearer {self.tokens[user]}"}

    def wire(self, **options: Any) -> Wire:
        """Open a connection."""
        return Wire(self.port, **options)

    def websocket(self, headers: Headers | None = None, **options: Any) -> WebSocketWire:
        """Open a WebSocket, as alice unless something else is said."""
        return WebSocketWire(self.port, self.bearer() if headers is None else headers, **options)

    def channel(self, transport: str, era: str = LEGACY, **options: Any) -> Channel:
        """Open an MCP connection of alice."""
        found: Channel = open_channel(transport, self.port, self.tokens["alice"], era, **options)
        return found

    def request(
        self, method: str, path: str, headers: Headers | None = None, body: bytes = b""
    ) -> Reply | None:
        """Make one request on a connection of its own."""
        with self.wire() as wire:
            return wire.request(method, path, headers or {}, body)

    def health(self) -> dict[str, Any]:
        """Return what the server says of itself."""
        reply = self.request("GET", "/health", {"Authorization": f"Bearer {self.tokens['alice']}"})
        assert reply is not None
        found: dict[str, Any] = json.loads(reply.body)
        return found

    def memory_mib(self) -> float:
        """Return how much memory the process holds."""
        status = Path(f"/proc/{self.server.process.pid}/status").read_text(encoding="ascii")
        return int(status.split("VmRSS:")[1].split()[0]) / 1024

    def require_well(self) -> None:
        """Fail unless the server answers a newcomer."""
        channel = self.channel("http", MODERN)
        try:
            assert channel.ask("tools/list")["result"]["tools"]
        finally:
            channel.close()
        assert self.server.process.poll() is None
