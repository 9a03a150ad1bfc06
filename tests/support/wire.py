"""Raw HTTP and WebSocket clients that can send anything."""

import base64
import hashlib
import json
import os
import select
import socket
import struct
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

LEGACY, MODERN = "2025-11-25", "2026-07-28"
CONT, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
PATIENCE_S = 120.0
"""After this long without an answer there is none."""
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "hostile", "version": "1"},
}
HELLO = {
    "protocolVersion": LEGACY,
    "capabilities": {},
    "clientInfo": {"name": "hostile", "version": "1"},
}
POSTED = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
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
    """What came of one frame: the HTTP status where there is one, messages, or the end of the
    connection.
    """

    status: int | None = None
    messages: list[Message] = field(default_factory=list)
    is_closed: bool = False

    @property
    def verdicts(self) -> set[int | str]:
        """What it is in the words of `jsonrpc_frames.json`."""
        found: set[int | str] = {
            verdict for message in self.messages for verdict in _verdicts(message)
        }
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

    def __init__(
        self, port: int, *, timeout_s: float = PATIENCE_S, receive_buffer: int | None = None
    ) -> None:
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
    def has_more(self) -> bool:
        """Whether something can be read without waiting: what came already, or news."""
        return bool(self._unread) or self.has_news

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

    def request(
        self, method: str, path: str, headers: Headers, body: bytes = b""
    ) -> "Reply | None":
        """Send a request and return its answer."""
        self.send(request_bytes(method, path, headers, body))
        return self.read_reply(to_head=method == "HEAD")

    def read_reply(self, *, to_head: bool = False) -> "Reply | None":
        """Return the next answer, passing over interim ones; None where the connection ended
        instead.
        """
        while True:
            head = self._until(b"\r\n\r\n")
            if head is None:
                return None
            first, *lines = head[:-4].decode("latin-1").split("\r\n")
            headers = {
                name.lower(): value.strip()
                for name, _, value in (line.partition(":") for line in lines)
            }
            status = int(first.split(" ")[1])
            if status != 100:
                break
        self._is_closing = headers.get("connection") == "close"
        bodiless = to_head or status in (101, 204, 304)
        return Reply(status=status, headers=headers, body=b"" if bodiless else self._body(headers))

    def read_head(self) -> bytes | None:
        """Return the head of the next answer as it is; what follows is read by `read_line` or
        `read_exactly`.
        """
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
        """Tell whether the other side ends the connection in time; what it still says is thrown
        away.
        """
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
    """A WebSocket by hand: `reply` is the answer to its opening request, and every bit of a frame
    can be set.
    """

    close_code: int | None = None
    """By which the other side has closed it."""

    def __init__(
        self, port: int, headers: Headers, *, path: str = "/v1/mcp", **options: Any
    ) -> None:
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
            proof = base64.b64encode(
                hashlib.sha1(key.encode() + GUID, usedforsecurity=False).digest()
            ).decode()
            assert self.reply.headers["sec-websocket-accept"] == proof

    def __enter__(self) -> "WebSocketWire":
        return self

    def __exit__(self, *_error: object) -> None:
        self.wire.close()

    @property
    def status(self) -> int | None:
        """The status of the answer to the opening request; None where there was no answer."""
        return self.reply.status if self.reply else None

    def send(
        self, payload: bytes, opcode: int = TEXT, *, fin: bool = True, reserved: int = 0
    ) -> None:
        """Send a frame."""
        self.wire.send(frame_bytes(payload, opcode, fin=fin, reserved=reserved))

    def receive(self) -> tuple[int, bytes] | None:
        """Return the opcode and the payload of the next frame; None at the end of the
        connection.
        """
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
        while (frame := self.receive()) is not None:
            if frame[0] == TEXT:
                return frame[1].decode()
            if frame[0] == CLOSE:
                self.close_code = int(struct.unpack("!H", frame[1][:2])[0])
                break
        return None

    def next_close(self) -> int | None:
        """Read on until the other side closes, and return its code; None where it gave none."""
        while self.receive_text() is not None:
            pass
        return self.close_code


def frame_bytes(
    payload: bytes, opcode: int = TEXT, *, fin: bool = True, reserved: int = 0
) -> bytes:
    """Return a WebSocket frame of a client; its mask is of zeros, so that the payload stays
    readable.
    """
    first = (0x80 if fin else 0) | reserved << 4 | opcode
    if len(payload) < 126:
        head = struct.pack("!BB", first, 0x80 | len(payload))
    elif len(payload) < 65_536:
        head = struct.pack("!BBH", first, 0x80 | 126, len(payload))
    else:
        head = struct.pack("!BBQ", first, 0x80 | 127, len(payload))
    return head + bytes(4) + payload
