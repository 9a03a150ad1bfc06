"""Clients of every transport on raw sockets: HTTP/1.1, SSE and WebSocket framing by hand.

A client library costs more than the server it measures (the SDK's takes 1.4 to 4.5 ms of CPU a
call), so there is none here: a request is bytes that are put together, an answer is bytes of which
only the JSON is parsed. Every caller has `call(tool, arguments)` and `close()`; those that can have
several calls under way at once (`can_pipeline`) do.
"""

import asyncio
import base64
import itertools
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import orjson

MODERN = "2026-07-28"
LEGACY = "2025-11-25"
MAX_READ = 16 * 1024 * 1024
ACCEPT_BOTH = b"Accept: application/json, text/event-stream\r\n"
HELLO = {
    "protocolVersion": LEGACY,
    "capabilities": {},
    "clientInfo": {"name": "load", "version": "1"},
}
READY = orjson.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"})
MODERN_META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": HELLO["clientInfo"],
    "io.modelcontextprotocol/clientCapabilities": {},
}

Arguments = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A server, and the token to show there; `small_buffers` asks the kernel for those of a client
    far away.
    """

    port: int
    token: str = ""
    host: str = "127.0.0.1"
    small_buffers: bool = False

    def head(self, method: str, path: str) -> bytes:
        """Return a request's first line, its host and its token."""
        bearer = f"Authorization: Bearer {self.token}\r\n" if self.token else ""
        return f"{method} {path} HTTP/1.1\r\nHost: {self.host}:{self.port}\r\n{bearer}".encode()


class Answer(NamedTuple):
    """What became of a call: `ok`, or the error's code; and the structured content."""

    code: str
    structured: Any = None

    @property
    def is_ok(self) -> bool:
        """Tell whether the call was answered as asked."""
        return self.code == "ok"


class RefusedError(Exception):
    """The server would not open a connection, a stream or a session."""


class Caller(Protocol):
    """One connection (or session) of one user."""

    can_pipeline: bool

    async def call(self, tool: str, arguments: Arguments) -> Answer: ...

    async def close(self) -> None:
        """Say goodbye, and hang up."""

    def hang_up(self) -> None:
        """Hang up, as when the other side has gone already."""


class Reply(NamedTuple):
    """The status and headers of an HTTP answer, and its body where that ends."""

    status: int
    headers: Mapping[bytes, bytes]
    body: bytes = b""


class HttpConnection:
    """A connection that is kept: a request goes out, its answer comes back."""

    def __init__(
        self, target: Target, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.target = target
        self.reader = reader
        self.writer = writer
        self.local_port: int = writer.get_extra_info("sockname")[1]

    @classmethod
    async def open(cls, target: Target) -> "HttpConnection":
        """Connect."""
        plug = socket.socket()
        plug.setblocking(False)
        plug.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if target.small_buffers:
            plug.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            plug.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)
        await asyncio.get_running_loop().sock_connect(plug, (target.host, target.port))
        reader, writer = await asyncio.open_connection(sock=plug, limit=MAX_READ)
        return cls(target, reader, writer)

    def send(
        self, method: str, path: str, *, headers: bytes = b"", body: bytes | None = None
    ) -> None:
        """Send a request."""
        head = self.target.head(method, path) + headers
        if body is None:
            self.writer.write(head + b"\r\n")
        else:
            self.writer.write(head + _JSON_BODY % len(body) + body)

    async def exchange(
        self, method: str, path: str, *, headers: bytes = b"", body: bytes | None = None
    ) -> Reply:
        """Send a request, and read its whole answer."""
        self.send(method, path, headers=headers, body=body)
        return await self.read_reply()

    async def read_reply(self) -> Reply:
        """Read an answer that ends."""
        reply = await self.read_head()
        if b"content-length" in reply.headers:
            size = int(reply.headers[b"content-length"])
            return reply._replace(body=await self.reader.readexactly(size) if size else b"")
        if reply.headers.get(b"transfer-encoding") == b"chunked":
            return reply._replace(body=b"".join([chunk async for chunk in self.iter_chunks()]))
        return reply

    async def read_head(self) -> Reply:
        """Read an answer's status and headers."""
        lines = (await self.reader.readuntil(b"\r\n\r\n")).split(b"\r\n")
        headers = {}
        for line in lines[1:-2]:
            name, _, value = line.partition(b":")
            headers[name.lower()] = value.strip()
        return Reply(status=int(lines[0].split(b" ", 2)[1]), headers=headers)

    async def iter_chunks(self) -> AsyncIterator[bytes]:
        """Yield the chunks of a body as they come, until the chunk that ends it."""
        while size := int((await self.reader.readuntil(b"\r\n")).split(b";")[0], 16):
            yield (await self.reader.readexactly(size + 2))[:-2]
        await self.reader.readuntil(b"\r\n")

    async def close(self) -> None:
        """Hang up, and wait until that is done."""
        self.writer.close()
        with suppress(OSError):
            await self.writer.wait_closed()

    def hang_up(self) -> None:
        """Hang up at once."""
        if not self.writer.is_closing():
            self.writer.transport.abort()


_JSON_BODY = b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n"


async def iter_events(connection: HttpConnection) -> AsyncIterator[tuple[bytes, bytes]]:
    """Yield the name and the data of each event of a stream."""
    rest = b""
    async for chunk in connection.iter_chunks():
        *events, rest = (rest + chunk).replace(b"\r\n", b"\n").split(b"\n\n")
        for event in events:
            found = _parse_event(event)
            if found[1]:
                yield found


def _parse_event(event: bytes) -> tuple[bytes, bytes]:
    name, data = b"message", []
    for line in event.split(b"\n"):
        if line.startswith(b"data:"):
            data.append(line[5:].strip())
        elif line.startswith(b"event:"):
            name = line[6:].strip()
    return name, b"\n".join(data)


def _request(number: int, method: str, params: Mapping[str, Any]) -> bytes:
    return orjson.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})


def _call(number: int, tool: str, arguments: Arguments) -> bytes:
    return _request(number, "tools/call", {"name": tool, "arguments": arguments})


def read_message(message: Mapping[str, Any]) -> Answer:
    """Tell what became of a call from its JSON-RPC answer."""
    if "error" in message:
        error = message["error"]
        data = error.get("data") or {}
        return Answer(str(data.get("code") or error["code"]))
    result = message["result"]
    if result.get("isError"):
        return Answer(result["content"][0]["text"].split(":", 1)[0])
    return Answer("ok", result.get("structuredContent"))


def _require(reply: Reply, *statuses: int) -> Reply:
    if reply.status not in statuses:
        raise RefusedError(f"status {reply.status}: {reply.body[:200]!r}")
    return reply


def _read_http(reply: Reply) -> Answer:
    """Tell what became of a call from the answer to a POST at `/mcp`: JSON, or a stream that ends
    with it.
    """
    if reply.status != 200:
        return Answer(_code_of(reply))
    if reply.headers[b"content-type"].startswith(b"application/json"):
        return read_message(orjson.loads(reply.body))
    events = [_parse_event(event) for event in reply.body.replace(b"\r\n", b"\n").split(b"\n\n")]
    messages = [orjson.loads(data) for _, data in events if data]
    return next(read_message(message) for message in messages if "id" in message)


def _code_of(reply: Reply) -> str:
    """Return the code of an HTTP error, or its status where it says none."""
    with suppress(orjson.JSONDecodeError, KeyError, TypeError):
        error = orjson.loads(reply.body)["error"]
        data = error.get("data") or {}
        return str(data.get("code") or error["code"])
    return f"status {reply.status}"


class ModernCaller:
    """Streamable HTTP of 2026-07-28: every POST stands alone."""

    can_pipeline = False

    def __init__(self, connection: HttpConnection) -> None:
        self._connection = connection
        self._numbers = itertools.count(1)

    @classmethod
    async def open(cls, target: Target) -> "ModernCaller":
        return cls(await HttpConnection.open(target))

    async def call(self, tool: str, arguments: Arguments) -> Answer:
        params = {"name": tool, "arguments": arguments, "_meta": MODERN_META}
        headers = b"%sMCP-Protocol-Version: %s\r\nMcp-Method: tools/call\r\nMcp-Name: %s\r\n" % (
            ACCEPT_BOTH,
            MODERN.encode(),
            tool.encode(),
        )
        body = _request(next(self._numbers), "tools/call", params)
        return _read_http(
            await self._connection.exchange("POST", "/mcp", headers=headers, body=body)
        )

    async def close(self) -> None:
        await self._connection.close()

    def hang_up(self) -> None:
        self._connection.hang_up()


class SessionCaller:
    """Streamable HTTP of 2025-11-25: a handshake, then POSTs that name the session."""

    can_pipeline = False

    def __init__(self, connection: HttpConnection, headers: bytes) -> None:
        self.connection = connection
        self.headers = headers
        self._numbers = itertools.count(1)

    @classmethod
    async def open(cls, target: Target) -> "SessionCaller":
        connection = await HttpConnection.open(target)
        hello = await connection.exchange(
            "POST", "/mcp", headers=ACCEPT_BOTH, body=_request(0, "initialize", HELLO)
        )
        session = _require(hello, 200).headers[b"mcp-session-id"]
        headers = b"%sMCP-Protocol-Version: %s\r\nMcp-Session-Id: %s\r\n" % (
            ACCEPT_BOTH,
            LEGACY.encode(),
            session,
        )
        _require(await connection.exchange("POST", "/mcp", headers=headers, body=READY), 202)
        return cls(connection, headers)

    async def call(self, tool: str, arguments: Arguments) -> Answer:
        body = _call(next(self._numbers), tool, arguments)
        return _read_http(
            await self.connection.exchange("POST", "/mcp", headers=self.headers, body=body)
        )

    async def end_session(self) -> None:
        """Tell the server that the session is over."""
        _require(await self.connection.exchange("DELETE", "/mcp", headers=self.headers), 200, 204)

    async def close(self) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            await self.end_session()
        await self.connection.close()

    def hang_up(self) -> None:
        self.connection.hang_up()


class RestCaller:
    """`POST /v1/tools/NAME` with the arguments as the body."""

    can_pipeline = False

    def __init__(self, connection: HttpConnection) -> None:
        self._connection = connection

    @classmethod
    async def open(cls, target: Target) -> "RestCaller":
        return cls(await HttpConnection.open(target))

    async def call(self, tool: str, arguments: Arguments) -> Answer:
        reply = await self._connection.exchange(
            "POST", f"/v1/tools/{tool}", body=orjson.dumps(arguments)
        )
        return (
            Answer("ok", orjson.loads(reply.body))
            if reply.status == 200
            else Answer(_code_of(reply))
        )

    async def close(self) -> None:
        await self._connection.close()

    def hang_up(self) -> None:
        self._connection.hang_up()


class _Pending:
    """Calls under way on a connection that answers in any order."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Mapping[str, Any]]] = {}

    def expect(self) -> tuple[int, "asyncio.Future[Mapping[str, Any]]"]:
        """Return the number of the next request, and what will be its answer."""
        number = next(self._numbers)
        future = self._waiting[number] = asyncio.get_running_loop().create_future()
        return number, future

    def settle(self, data: bytes) -> None:
        """Give an answer to whoever waits for it."""
        message = orjson.loads(data)
        future = self._waiting.pop(message.get("id", -1), None)
        if future is not None and not future.done():
            future.set_result(message)

    def fail(self, error: Exception) -> None:
        """Tell everybody who waits that no answer will come."""
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(error)
        self._waiting.clear()


class SseCaller:
    """The old HTTP+SSE: answers come on a stream, requests go by POST on a connection of their
    own.
    """

    can_pipeline = True

    def __init__(self, stream: HttpConnection, posts: HttpConnection) -> None:
        self.stream = stream
        self.posts = posts
        self.path = ""
        self.end = ""
        self._one_post = asyncio.Lock()
        self._pending = _Pending()
        self._opened = asyncio.get_running_loop().create_future()
        self.reading = asyncio.create_task(self._read())

    @classmethod
    async def open(cls, target: Target) -> "SseCaller":
        stream = await HttpConnection.open(target)
        stream.send("GET", "/sse", headers=b"Accept: text/event-stream\r\n")
        _require(await stream.read_head(), 200)
        caller = cls(stream, await HttpConnection.open(target))
        caller.path = await caller._opened
        await caller.request("initialize", HELLO)
        await caller._post(READY)
        return caller

    async def call(self, tool: str, arguments: Arguments) -> Answer:
        return read_message(
            await self.request("tools/call", {"name": tool, "arguments": arguments})
        )

    async def request(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        number, answer = self._pending.expect()
        await self._post(_request(number, method, params))
        return await answer

    async def _post(self, body: bytes) -> None:
        async with self._one_post:
            _require(await self.posts.exchange("POST", self.path, body=body), 202)

    async def _read(self) -> None:
        try:
            async for name, data in iter_events(self.stream):
                if name == b"endpoint":
                    self._opened.set_result(data.decode())
                else:
                    self._pending.settle(data)
            self.end = "end of body"
        except (OSError, asyncio.IncompleteReadError):
            self.end = "cut"
        self._pending.fail(ConnectionResetError(self.end))

    async def close(self) -> None:
        self.reading.cancel()
        await self.stream.close()
        await self.posts.close()

    def hang_up(self) -> None:
        self.reading.cancel()
        self.stream.hang_up()
        self.posts.hang_up()


class WebSocketCaller:
    """MCP in text frames."""

    can_pipeline = True

    def __init__(self, connection: HttpConnection) -> None:
        self.connection = connection
        self.end = ""
        self._pending = _Pending()
        self.reading = asyncio.create_task(self._read())

    @classmethod
    async def open(cls, target: Target) -> "WebSocketCaller":
        connection = await HttpConnection.open(target)
        await shake_hands(connection)
        caller = cls(connection)
        await caller.request("initialize", HELLO)
        caller.connection.writer.write(text_frame(READY))
        return caller

    async def call(self, tool: str, arguments: Arguments) -> Answer:
        return read_message(
            await self.request("tools/call", {"name": tool, "arguments": arguments})
        )

    async def request(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        number, answer = self._pending.expect()
        self.connection.writer.write(text_frame(_request(number, method, params)))
        return await answer

    async def _read(self) -> None:
        try:
            async for message in iter_frames(self.connection):
                self._pending.settle(message)
        except CloseFrame as frame:
            self.end = f"close {frame.code}"
        except (OSError, asyncio.IncompleteReadError):
            self.end = "cut"
        self._pending.fail(ConnectionResetError(self.end))

    async def close(self) -> None:
        if not self.reading.done():
            self.connection.writer.write(_frame(CLOSE, (1000).to_bytes(2, "big")))
            with suppress(TimeoutError):
                await asyncio.wait_for(self.reading, 5)
        await self.connection.close()

    def hang_up(self) -> None:
        self.reading.cancel()
        self.connection.hang_up()


TEXT, CLOSE, PING, PONG = 1, 8, 9, 10
FINAL, MASKED = 0x80, 0x80


class CloseFrame(Exception):
    """The server closed the WebSocket, and said why."""

    def __init__(self, payload: bytes) -> None:
        self.code = int.from_bytes(payload[:2], "big") if payload else 1005
        super().__init__(f"closed with {self.code}")


async def shake_hands(connection: HttpConnection) -> None:
    """Make a WebSocket of a connection."""
    key = base64.b64encode(os.urandom(16))
    upgrade = (
        b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version:"
        b" 13\r\nSec-WebSocket-Key: %s\r\n"
    )
    connection.send("GET", "/v1/mcp", headers=upgrade % key)
    _require(await connection.read_head(), 101)


def text_frame(payload: bytes) -> bytes:
    """Return a message as a frame."""
    return _frame(TEXT, payload)


def _frame(kind: int, payload: bytes) -> bytes:
    """Return a frame with a mask of zeros, which is as good as any and leaves the payload as it
    is.
    """
    size = len(payload)
    if size < 126:
        head = bytes((FINAL | kind, MASKED | size))
    elif size < 65536:
        head = bytes((FINAL | kind, MASKED | 126)) + size.to_bytes(2, "big")
    else:
        head = bytes((FINAL | kind, MASKED | 127)) + size.to_bytes(8, "big")
    return head + b"\0\0\0\0" + payload


async def iter_frames(connection: HttpConnection) -> AsyncIterator[bytes]:
    """Yield messages until the server closes; answer its pings."""
    reader, parts = connection.reader, []
    while True:
        first, second = await reader.readexactly(2)
        size = second & 0x7F
        if size >= 126:
            size = int.from_bytes(await reader.readexactly(2 if size == 126 else 8), "big")
        payload = await reader.readexactly(size) if size else b""
        kind = first & 0x0F
        if kind == CLOSE:
            raise CloseFrame(payload)
        if kind == PING:
            connection.writer.write(_frame(PONG, payload))
        elif kind != PONG:
            parts.append(payload)
            if first & FINAL:
                yield b"".join(parts)
                parts.clear()


class StdioCaller:
    """A server as a child process, asked over its standard input and output."""

    can_pipeline = True

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self._pending = _Pending()
        self.reading = asyncio.create_task(self._read())

    @classmethod
    async def open(cls, command: Sequence[str], environment: Mapping[str, str]) -> "StdioCaller":
        pipe, null = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
        process = await asyncio.create_subprocess_exec(
            *command, stdin=pipe, stdout=pipe, stderr=null, env=dict(environment), limit=MAX_READ
        )
        caller = cls(process)
        await caller.request("initialize", HELLO)
        caller._write(READY)
        return caller

    async def call(self, tool: str, arguments: Arguments) -> Answer:
        return read_message(
            await self.request("tools/call", {"name": tool, "arguments": arguments})
        )

    async def request(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        number, answer = self._pending.expect()
        self._write(_request(number, method, params))
        return await answer

    def _write(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")

    async def _read(self) -> None:
        assert self.process.stdout is not None
        async for line in self.process.stdout:
            self._pending.settle(line)
        self._pending.fail(ConnectionResetError("the process has ended"))

    async def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        await self.process.wait()

    def hang_up(self) -> None:
        self.process.kill()


class IdleGet:
    """A session of 2025-11-25 with its stream for the server's own messages open."""

    def __init__(self, session: SessionCaller, stream: HttpConnection) -> None:
        self.session = session
        self.stream = stream
        self.end = ""
        self.reading = asyncio.create_task(self._read())

    @classmethod
    async def open(cls, target: Target) -> "IdleGet":
        session = await SessionCaller.open(target)
        stream = await HttpConnection.open(target)
        headers = session.headers.replace(ACCEPT_BOTH, b"Accept: text/event-stream\r\n")
        stream.send("GET", "/mcp", headers=headers)
        _require(await stream.read_head(), 200)
        await session.connection.close()
        return cls(session, stream)

    async def _read(self) -> None:
        try:
            async for _ in iter_events(self.stream):
                pass
            self.end = "end of body"
        except (OSError, asyncio.IncompleteReadError):
            self.end = "cut"

    async def close(self) -> None:
        """End the session, on a connection of its own, and hang up."""
        connection = await HttpConnection.open(self.stream.target)
        await connection.exchange("DELETE", "/mcp", headers=self.session.headers)
        await connection.close()
        await self.stream.close()
        self.reading.cancel()

    def hang_up(self) -> None:
        self.reading.cancel()
        self.stream.hang_up()


Opener = Callable[[Target], Awaitable[Caller]]

TRANSPORTS: dict[str, Opener] = {
    "http 2026-07-28": ModernCaller.open,
    "http 2025-11-25": SessionCaller.open,
    "sse": SseCaller.open,
    "websocket": WebSocketCaller.open,
    "rest": RestCaller.open,
}
"""Every transport that is reached by a port."""
