"""What the tests of hostile input share: a server with two users, and clients that say anything and notice everything.

None of these clients is one that a library would let us write: they send what is wrong on purpose.
"""

import base64
import hashlib
import json
import os
import select
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, Queue
from typing import Any, Protocol, TypeVar

import pytest

PINAKES = str(Path(sys.executable).with_name("pinakes"))
PATIENCE_S = 30.0
"""After this long without an answer there is none."""
LEGACY, MODERN = "2025-11-25", "2026-07-28"
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "hostile", "version": "1"},
}
HELLO = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "hostile", "version": "1"}}
POSTED = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
CONT, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10

Headers = Mapping[str, str]
Message = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Reply:
    """An answer in HTTP."""

    status: int
    headers: dict[str, str]
    body: bytes = b""

    @property
    def messages(self) -> list[Message]:
        """The JSON-RPC messages in the body, which is JSON or a whole stream of events."""
        if self.headers.get("content-type", "").startswith("text/event-stream"):
            texts = [line[6:] for line in self.body.splitlines() if line.startswith(b"data: ")]
        else:
            texts = [self.body] if self.body.startswith(b"{") else []
        found = [json.loads(text) for text in texts]
        return [message for message in found if "jsonrpc" in message]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of one frame: the HTTP status where there is one, messages, or the end of the connection."""

    status: int | None = None
    messages: list[Message] = field(default_factory=list)
    is_closed: bool = False

    @property
    def verdicts(self) -> set[int | str]:
        """What it is in the words of `jsonrpc_frames.json`."""
        found: set[int | str] = {verdict for message in self.messages for verdict in _verdicts(message)}
        if self.is_closed:
            found.add("close")
        if self.status is not None and 400 <= self.status < 500:
            found.add("4xx")
        return found or {"no_response"}


def _verdicts(message: Message) -> list[int | str]:
    if "error" in message:
        return [message["error"]["code"]]
    return ["ok", "error result"] if message["result"].get("isError") else ["ok"]


class Wire:
    """A TCP connection on which anything can be said."""

    def __init__(self, port: int, *, timeout_s: float = PATIENCE_S, receive_buffer: int | None = None) -> None:
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.settimeout(timeout_s)
        self.socket.connect(("127.0.0.1", port))
        self._unread = bytearray()
        self._is_closing = False

    def __enter__(self) -> "Wire":
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go."""
        self.socket.close()

    @property
    def has_news(self) -> bool:
        """Whether there is something to read, be it the end."""
        return bool(select.select([self.socket], [], [], 0)[0])

    @property
    def is_over(self) -> bool:
        """Whether the other side has ended the connection, or has said that it will."""
        if self._is_closing or not self.has_news:
            return self._is_closing
        try:
            return not self.socket.recv(1, socket.MSG_PEEK)
        except ConnectionError:
            return True

    def send(self, data: bytes) -> None:
        """Send; a server that has heard enough may have hung up already."""
        with suppress(ConnectionError):
            self.socket.sendall(data)

    def request(self, method: str, path: str, headers: Headers, body: bytes = b"") -> "Reply | None":
        """Send a request and return its answer."""
        self.send(request_bytes(method, path, headers, body))
        return self.read_reply(to_head=method == "HEAD")

    def read_reply(self, *, to_head: bool = False) -> "Reply | None":
        """Return the next answer, passing over interim ones; None where the connection ended instead."""
        while True:
            head = self._until(b"\r\n\r\n")
            if head is None:
                return None
            first, *lines = head[:-4].decode("latin-1").split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
            status = int(first.split(" ")[1])
            if status != 100:
                break
        self._is_closing = headers.get("connection") == "close"
        bodiless = to_head or status in (101, 204, 304)
        return Reply(status=status, headers=headers, body=b"" if bodiless else self._body(headers))

    def read_head(self) -> bytes | None:
        """Return the head of the next answer as it is; what follows is read by `read_line` or `read_exactly`."""
        return self._until(b"\r\n\r\n")

    def read_line(self) -> bytes | None:
        """Return the next line; None at the end."""
        return self._until(b"\n")

    def read_exactly(self, size: int) -> bytes | None:
        """Return so many bytes; None where the connection ends before."""
        while len(self._unread) < size:
            if not self._more():
                return None
        return self._take(size)

    def is_ended(self, timeout_s: float = PATIENCE_S) -> bool:
        """Tell whether the other side ends the connection in time; what it still says is thrown away."""
        deadline = time.monotonic() + timeout_s
        while (left := deadline - time.monotonic()) > 0:
            self.socket.settimeout(left)
            try:
                if not self._more():
                    return True
            except TimeoutError:
                return False
            self._unread.clear()
        return False

    def _body(self, headers: Headers) -> bytes:
        if "content-length" in headers:
            return self.read_exactly(int(headers["content-length"])) or b""
        parts: list[bytes] = []
        if headers.get("transfer-encoding") == "chunked":
            while size := int(self.read_line() or b"0", 16):
                parts.append(self.read_exactly(size + 2) or b"\r\n")
            self.read_line()
            return b"".join(part[:-2] for part in parts)
        while self._more():
            pass
        return self._take(len(self._unread))

    def _until(self, mark: bytes) -> bytes | None:
        while (at := self._unread.find(mark)) < 0:
            if not self._more():
                return None
        return self._take(at + len(mark))

    def _more(self) -> bool:
        try:
            data = self.socket.recv(262_144)
        except ConnectionError:
            return False
        self._unread += data
        return bool(data)

    def _take(self, size: int) -> bytes:
        taken = bytes(self._unread[:size])
        del self._unread[:size]
        return taken


def request_bytes(method: str, path: str, headers: Headers, body: bytes = b"") -> bytes:
    """Return a request as bytes: with a `Host` and a `Content-Length`, unless it has its own."""
    given = {name.lower() for name in headers}
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    if "host" not in given:
        lines.insert(1, "Host: localhost")
    if body and not given & {"content-length", "transfer-encoding"}:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


class WebSocketWire:
    """A WebSocket by hand: `reply` is the answer to its opening request, and every bit of a frame can be set."""

    def __init__(self, port: int, headers: Headers, *, path: str = "/v1/mcp", **options: Any) -> None:
        self.wire = Wire(port, **options)
        key = base64.b64encode(os.urandom(16)).decode()
        opening = {
            "Upgrade": "websocket",
            "Connection": "Upgrade",
            "Sec-WebSocket-Key": key,
            "Sec-WebSocket-Version": "13",
            **headers,
        }
        self.wire.send(request_bytes("GET", path, opening))
        self.reply = self.wire.read_reply()
        if self.reply and self.reply.status == 101:
            proof = base64.b64encode(hashlib.sha1(key.encode() + GUID, usedforsecurity=False).digest()).decode()
            assert self.reply.headers["sec-websocket-accept"] == proof

    def __enter__(self) -> "WebSocketWire":
        return self

    def __exit__(self, *_error: object) -> None:
        self.wire.close()

    @property
    def status(self) -> int | None:
        """The status of the answer to the opening request; None where there was no answer."""
        return self.reply.status if self.reply else None

    def send(self, payload: bytes, opcode: int = TEXT, *, fin: bool = True, reserved: int = 0) -> None:
        """Send a frame."""
        self.wire.send(frame_bytes(payload, opcode, fin=fin, reserved=reserved))

    def receive(self) -> tuple[int, bytes] | None:
        """Return the opcode and the payload of the next frame; None at the end of the connection."""
        head = self.wire.read_exactly(2)
        if head is None:
            return None
        size = head[1] & 0x7F
        if size >= 126:
            form = "!H" if size == 126 else "!Q"
            size = struct.unpack(form, self.wire.read_exactly(struct.calcsize(form)) or b"")[0]
        payload = self.wire.read_exactly(size)
        return None if payload is None else (head[0] & 0x0F, payload)

    def receive_text(self) -> str | None:
        """Return the next text, passing over pings and pongs; None where the other side closes."""
        while (frame := self.receive()) is not None and frame[0] != CLOSE:
            if frame[0] == TEXT:
                return frame[1].decode()
        return None

    def next_close(self) -> int | None:
        """Read on until the other side closes, and return its code; None where it gave none."""
        while (frame := self.receive()) is not None:
            if frame[0] == CLOSE:
                return int(struct.unpack("!H", frame[1][:2])[0])
        return None


def frame_bytes(payload: bytes, opcode: int = TEXT, *, fin: bool = True, reserved: int = 0) -> bytes:
    """Return a WebSocket frame of a client; its mask is of zeros, so that the payload stays readable."""
    first = (0x80 if fin else 0) | reserved << 4 | opcode
    if len(payload) < 126:
        head = struct.pack("!BB", first, 0x80 | len(payload))
    elif len(payload) < 65_536:
        head = struct.pack("!BBH", first, 0x80 | 126, len(payload))
    else:
        head = struct.pack("!BBQ", first, 0x80 | 127, len(payload))
    return head + bytes(4) + payload


class Channel(Protocol):
    """A connection to an MCP server, of one transport and one era."""

    era: str

    def put(self, frame: bytes, *, wants_answer: bool = True) -> Outcome:
        """Say something, and return what came of it."""

    def ask(self, method: str, params: Message | None = None) -> Message:
        """Make a good call on this connection, or on a new one where it was closed, and return the answer."""

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
        return own, json.dumps({"jsonrpc": "2.0", "id": own, "method": method, "params": told}).encode()


class PostChannel:
    """Streamable HTTP: a session of 2025, or the requests of 2026, which stand alone."""

    def __init__(self, port: int, headers: Headers, era: str) -> None:
        self.era = era
        self._port = port
        self._headers = {**POSTED, **headers}
        self._wire: Wire | None = None
        self._numbers = Numbers()
        if era == LEGACY:
            reply = self._post(self._numbers.request(era, "initialize", HELLO)[1], {})
            assert reply is not None
            assert reply.status == 200, reply
            self.session = reply.headers["mcp-session-id"]
            self._headers |= {"Mcp-Session-Id": self.session, "MCP-Protocol-Version": LEGACY}
            self._post(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}', {})

    def put(self, frame: bytes, *, wants_answer: bool = True) -> Outcome:
        """Post a frame."""
        reply = self._post(frame, modern_headers(frame) if self.era == MODERN else {})
        return Outcome(status=reply.status, messages=reply.messages) if reply else Outcome(is_closed=True)

    def ask(self, method: str, params: Message | None = None) -> Message:
        """Make a good call."""
        own, frame = self._numbers.request(self.era, method, params)
        outcome = self.put(frame)
        assert [message.get("id") for message in outcome.messages] == [own], outcome
        return outcome.messages[0]

    def close(self) -> None:
        """Let go."""
        if self._wire:
            self._wire.close()
            self._wire = None

    def _post(self, body: bytes, more: Headers) -> Reply | None:
        if self._wire is None or self._wire.is_over:
            self.close()
            self._wire = Wire(self._port)
        # an empty body has a length too
        headers = {**self._headers, **more, "Content-Length": str(len(body))}
        return self._wire.request("POST", "/mcp", headers, body)


def modern_headers(frame: bytes) -> dict[str, str]:
    """Return the headers that go with a message of 2026, as far as it is one and they can say it."""
    headers = {"MCP-Protocol-Version": MODERN}
    try:
        message = json.loads(frame)
    except (ValueError, RecursionError):
        return headers
    if not isinstance(message, dict):
        return headers
    params = message["params"] if isinstance(message.get("params"), dict) else {}
    said = {"Mcp-Method": message.get("method"), "Mcp-Name": params.get("name", params.get("uri"))}
    return {**headers, **{header: str(value) for header, value in said.items() if is_sayable(value)}}


def is_sayable(value: Any) -> bool:
    """Tell whether a header can say this as it is."""
    return isinstance(value, str) and value.isascii() and value.isprintable() and len(value) < 20_000


class StreamChannel:
    """What the transports have in common whose answers come apart from the questions."""

    era: str
    _numbers: Numbers

    def put(self, frame: bytes, *, wants_answer: bool = True) -> Outcome:
        """Send a frame and wait for its answer; where none is due, until two good calls were answered after it."""
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
            assert "result" in self._exchange("initialize", HELLO)[-1]
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
        """Open the stream, and learn where to post."""
        self.events = Wire(self._port, **self._options)
        self.posts = Wire(self._port)
        self.events.send(request_bytes("GET", "/sse", self._headers))
        head = self.events.read_head()
        assert head is not None
        assert head.startswith(b"HTTP/1.1 200 "), head
        self.path = self._event()
        self.open_session()

    def send(self, frame: bytes) -> Outcome | None:
        """Post a frame."""
        if self.posts.is_over:
            self.posts.close()
            self.posts = Wire(self._port)
        headers = {**POSTED, **self._headers, "Content-Length": str(len(frame))}
        reply = self.posts.request("POST", self.path, headers, frame)
        if reply is None:
            return Outcome(is_closed=True)
        return None if reply.status == 202 else Outcome(status=reply.status, messages=reply.messages)

    def receive(self) -> Message | None:
        """Return the next message."""
        message: Message = json.loads(self._event())
        return message

    def close(self) -> None:
        """Let go."""
        self.events.close()
        self.posts.close()

    def _event(self) -> str:
        """Return the data of the next event; comments and the marks of chunks are passed over."""
        while (line := self.events.read_line()) is not None:
            if line.startswith(b"data: "):
                return line[6:].decode().strip()
        raise AssertionError("the stream of events ended")


class WebSocketChannel(StreamChannel):
    """A WebSocket."""

    def __init__(self, port: int, headers: Headers, era: str) -> None:
        self.era = era
        self._port = port
        self._headers = headers
        self._numbers = Numbers()
        self.open()

    def open(self) -> None:
        """Open the WebSocket."""
        self.is_over = False
        self.socket = WebSocketWire(self._port, self._headers)
        assert self.socket.status == 101, self.socket.reply
        self.open_session()

    def send(self, frame: bytes) -> Outcome | None:
        """Send a text."""
        self.socket.send(frame)
        return None

    def receive(self) -> Message | None:
        """Return the next message; None where the other side closes."""
        text = self.socket.receive_text()
        if text is None:
            self.is_over = True
            self.socket.wire.close()
            return None
        message: Message = json.loads(text)
        return message

    def close(self) -> None:
        """Let go."""
        self.socket.wire.close()


class LineChannel(StreamChannel):
    """Standard input and output of a process of its own."""

    def __init__(self, home: Path, era: str) -> None:
        self.era = era
        self._home = home
        self._numbers = Numbers()
        self.open()

    def open(self) -> None:
        """Start the process."""
        environment = {**os.environ, "PINAKES_HOME": str(self._home), "LOG_LEVEL": "WARNING"}
        self.process = subprocess.Popen(
            [PINAKES, "serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        self._lines: Queue[bytes] = Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.open_session()

    def send(self, frame: bytes) -> Outcome | None:
        """Send a line."""
        assert self.process.stdin is not None
        self.process.stdin.write(frame + b"\n")
        self.process.stdin.flush()
        return None

    def receive(self) -> Message | None:
        """Return the next message."""
        try:
            message: Message = json.loads(self._lines.get(timeout=PATIENCE_S))
        except Empty:
            raise AssertionError(f"no answer within {PATIENCE_S:.0f} s") from None
        return message

    def close(self) -> None:
        """End the process, which ends by itself when its input does."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        try:
            assert self.process.wait(PATIENCE_S) == 0
        finally:
            self.process.kill()
            self._reader.join(5)
            self.process.stdout.close()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)


ResultT = TypeVar("ResultT")


def timed(pid: int, action: Callable[[], ResultT]) -> tuple[ResultT, float]:
    """Do something with a process; return the result and how long it took, without waiting for a processor.

    That is what the machine's other work costs, and says nothing about the server.
    """
    waited_before = waited_s(pid) + waited_s(os.getpid())
    began = time.perf_counter()
    result = action()
    took_s = time.perf_counter() - began
    return result, took_s - (waited_s(pid) + waited_s(os.getpid()) - waited_before)


def waited_s(pid: int) -> float:
    """Return how long the threads of a process have been ready to run, and were not let to."""
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(OSError):  # a thread may have ended meanwhile
            total += int((task / "schedstat").read_text(encoding="ascii").split()[1])
    return total / 1e9


class Channels:
    """Open MCP connections, one of a kind, that are used again and again; one on which a test failed is given up."""

    def __init__(self, open_channel: Callable[[str, str], Channel]) -> None:
        self._open_channel = open_channel
        self._open: dict[tuple[str, str], Channel] = {}

    @contextmanager
    def use(self, transport: str, era: str) -> Iterator[Channel]:
        """Lend the connection of this kind."""
        kind = (transport, era)
        channel = self._open.pop(kind, None) or self._open_channel(transport, era)
        try:
            yield channel
        except BaseException:
            channel.close()
            raise
        self._open[kind] = channel

    def close(self) -> None:
        """Let go of all of them."""
        for channel in self._open.values():
            channel.close()


def _target(link: str) -> str:
    """Return what a link of a process leads to; nothing where it is gone already."""
    try:
        return os.readlink(link)
    except FileNotFoundError:
        return ""


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
        """Open an MCP connection of alice: `http`, `sse` or `websocket`."""
        kinds: dict[str, Callable[..., Channel]] = {
            "http": PostChannel,
            "sse": EventChannel,
            "websocket": WebSocketChannel,
        }
        return kinds[transport](self.port, self.bearer(), era, **options)

    def request(self, method: str, path: str, headers: Headers | None = None, body: bytes = b"") -> Reply | None:
        """Make one request on a connection of its own."""
        with self.wire() as wire:
            return wire.request(method, path, headers or {}, body)

    def health(self) -> dict[str, Any]:
        """Return what the server says of itself."""
        reply = self.request("GET", "/health")
        assert reply is not None
        found: dict[str, Any] = json.loads(reply.body)
        return found

    def timed(self, action: Callable[[], ResultT]) -> tuple[ResultT, float]:
        """Do something with the server, and return the result and how long it took."""
        return timed(self.server.process.pid, action)

    def open_connections(self) -> int:
        """Return how many connections the process has open."""
        folder = f"/proc/{self.server.process.pid}/fd"
        found = [_target(f"{folder}/{number}") for number in os.listdir(folder)]
        return sum(target.startswith("socket:") for target in found)

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


@pytest.fixture(scope="session")
def shared_home(plain_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library without vectors of which accounts can be made."""
    home = tmp_path_factory.mktemp("besieged") / "library"
    shutil.copytree(plain_home, home)
    return home


@pytest.fixture(scope="session")
def besiege(start_server: Callable[..., Any], shared_home: Path) -> Callable[[], Besieged]:
    """Start a server that has two users."""
    tokens: dict[str, str] = {}

    def start() -> Besieged:
        server = start_server(shared_home, environment={"PINAKES_READ_PER_MINUTE": "10000000"})
        for name in ("alice", "bob"):
            if name not in tokens:
                server.run("user", "add", name, "--one-time")
                tokens[name] = server.token(name)
        return Besieged(server=server, tokens=tokens)

    return start


@pytest.fixture(scope="session")
def besieged(besiege: Callable[[], Besieged]) -> Iterator[Besieged]:
    """A server that has two users, for every test of hostile input; at the end it must end well."""
    found = besiege()
    yield found
    assert found.server.stop(timeout_s=10) == 0
    assert "Traceback" not in "".join(found.server.log)


@pytest.fixture(scope="session")
def channels(besieged: Besieged, plain_home: Path) -> Iterator[Channels]:
    """MCP connections of every kind: those of alice to the besieged server, and standard input and output."""

    def open_channel(transport: str, era: str) -> Channel:
        return LineChannel(plain_home, era) if transport == "stdio" else besieged.channel(transport, era)

    found = Channels(open_channel)
    yield found
    found.close()


@pytest.fixture(scope="session")
def stopwatch() -> Callable[[int, Callable[[], Any]], tuple[Any, float]]:
    """Time what is done with a process, on however busy a machine."""
    return timed
