"""Clients of each surface, made of sockets and JSON alone: what is recorded came over the wire."""

import base64
import http.client
import json
import os
import queue
import socket
import struct
import subprocess
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

LEGACY, MODERN = "2025-11-25", "2026-07-28"
PATIENCE_S = 900.0
ABOUT = {"name": "golden", "version": "1"}
HELLO = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": ABOUT}
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": ABOUT,
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
Message = dict[str, Any]


class Mcp(Protocol):
    """An MCP connection: `ask` returns the answer's `result` or `error`, as it came."""

    surface: str
    hello: Message

    def ask(self, method: str, params: Message | None = None) -> Message:
        """Ask one thing."""

    def close(self) -> None:
        """Let go."""


def answer_of(messages: Iterable[Message], number: int) -> Message | None:
    """Return the answer to a request among messages, without its envelope."""
    for message in messages:
        if message.get("id") == number:
            return {name: message[name] for name in ("result", "error") if name in message}
    return None


class Stdio:
    """MCP over the standard input and output of a child."""

    surface = "stdio"

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            [*command], stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=dict(environment)
        )
        self._lines: queue.Queue[bytes] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self._number = 0
        self.hello = self.ask("initialize", HELLO)
        self._send(INITIALIZED)

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(b"")

    def _send(self, message: Message) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method: str, params: Message | None = None) -> Message:
        """Ask one thing."""
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params or {}})
        while True:
            line = self._lines.get(timeout=PATIENCE_S)
            if not line:
                raise ConnectionError("the server has ended")
            answer = answer_of([json.loads(line)], self._number)
            if answer is not None:
                return answer

    def close(self) -> None:
        """End the child as a client does: by closing its input."""
        assert self.process.stdin
        self.process.stdin.close()
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()


class Http:
    """Plain HTTP requests, over one connection."""

    def __init__(self, port: int, secret: str = "") -> None:
        self.port = port
        self._headers = {"Authorization": f"Bearer {secret}"} if secret else {}
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)

    def request(
        self, method: str, path: str, *, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers and body; what is no bytes is sent as JSON."""
        sent = {**self._headers, **(headers or {})}
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            sent.setdefault("Content-Type", "application/json")
        try:
            reply = self._reply(method, path, body, sent)
        except ConnectionError:  # closed while it was not used
            self._connection.close()
            reply = self._reply(method, path, body, sent)
        try:
            content = reply.read()
        except http.client.IncompleteRead as cut:
            self._connection.close()
            content = cut.partial + b"(cut off)"
        return reply.status, {name.lower(): value for name, value in reply.getheaders()}, content

    def _reply(self, method: str, path: str, body: Any, sent: Any) -> http.client.HTTPResponse:
        self._connection.request(method, path, body, sent)
        return self._connection.getresponse()

    def close(self) -> None:
        """Let go."""
        self._connection.close()


def messages_in(headers: Mapping[str, str], content: bytes) -> list[Message]:
    """Return the JSON-RPC messages of a body: JSON, or a whole stream of events."""
    if headers.get("content-type", "").startswith("text/event-stream"):
        lines = content.decode().splitlines()
        return [json.loads(line[6:]) for line in lines if line.startswith("data: {")]
    return [json.loads(content)] if content.startswith(b"{") else []


class StreamableHttp:
    """MCP over POST: a session of 2025, or requests of 2026, which stand alone."""

    def __init__(self, port: int, secret: str, era: str = LEGACY) -> None:
        self.surface = "http" if era == LEGACY else "http-2026"
        self._era, self._http, self._number = era, Http(port, secret), 0
        self._headers = {"Accept": "application/json, text/event-stream"}
        self.hello: Message = {}
        if era == LEGACY:
            self.hello = self.ask("initialize", HELLO)
            self._headers["MCP-Protocol-Version"] = LEGACY
            self._http.request("POST", "/mcp", body=INITIALIZED, headers=self._headers)

    def ask(self, method: str, params: Message | None = None) -> Message:
        """Ask one thing."""
        self._number += 1
        told = dict(params or {})
        headers = dict(self._headers)
        if self._era == MODERN:
            told["_meta"] = ENVELOPE
            headers |= {"MCP-Protocol-Version": MODERN, "Mcp-Method": method}
            name = told.get("name", told.get("uri"))
            if isinstance(name, str):
                headers["Mcp-Name"] = name
        body = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": told}
        status, replied, content = self._http.request("POST", "/mcp", body=body, headers=headers)
        if "mcp-session-id" in replied:
            self._headers["Mcp-Session-Id"] = replied["mcp-session-id"]
        answer = answer_of(messages_in(replied, content), self._number)
        return answer or {"status": status, "body": content.decode(errors="replace")}

    def close(self) -> None:
        """Let go."""
        self._http.close()


class WebSocket:
    """MCP over a WebSocket."""

    surface = "websocket"

    def __init__(self, port: int, secret: str) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
        self._stream = self._socket.makefile("rb")
        lines = [
            "GET /v1/mcp HTTP/1.1",
            f"Host: 127.0.0.1:{port}",
            "Upgrade: websocket",
            "Connection: Upgrade",
            f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Protocol: mcp",
            f"Authorization: Bearer {secret}",
        ]
        self._socket.sendall("\r\n".join([*lines, "", ""]).encode())
        status = self._stream.readline()
        while self._stream.readline().strip():
            pass
        if b" 101 " not in status:
            raise ConnectionError(f"no WebSocket: {status!r}")
        self._number = 0
        self.hello = self.ask("initialize", HELLO)
        self._send(INITIALIZED)

    def _send(self, message: Message, opcode: int = 1) -> None:
        self._send_frame(json.dumps(message).encode(), opcode)

    def _send_frame(self, payload: bytes, opcode: int) -> None:
        size = len(payload)
        if size < 126:
            head = struct.pack("!BB", 0x80 | opcode, 0x80 | size)
        elif size < 1 << 16:
            head = struct.pack("!BBH", 0x80 | opcode, 0x80 | 126, size)
        else:
            head = struct.pack("!BBQ", 0x80 | opcode, 0x80 | 127, size)
        self._socket.sendall(
            head + bytes(4) + payload
        )  # a mask of zeros leaves the payload as it is

    def _receive(self) -> bytes:
        text = b""
        while True:
            first, second = self._stream.read(2)
            size = second & 0x7F
            if size >= 126:
                form = "!H" if size == 126 else "!Q"
                (size,) = struct.unpack(form, self._stream.read(struct.calcsize(form)))
            payload = self._stream.read(size)
            opcode = first & 0x0F
            if opcode == 8:
                raise ConnectionError("the WebSocket was closed")
            if opcode == 9:
                self._send_frame(payload, 10)
            elif opcode < 3:
                text += payload
                if first & 0x80:
                    return text

    def ask(self, method: str, params: Message | None = None) -> Message:
        """Ask one thing."""
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params or {}})
        while True:
            answer = answer_of([json.loads(self._receive())], self._number)
            if answer is not None:
                return answer

    def close(self) -> None:
        """Let go."""
        self._socket.close()


class Sse:
    """MCP over SSE: one stream for answers, a POST for each message."""

    surface = "sse"

    def __init__(self, port: int, secret: str) -> None:
        self._http = Http(port, secret)
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
        headers = {"Authorization": f"Bearer {secret}", "Accept": "text/event-stream"}
        self._connection.request("GET", "/sse", headers=headers)
        self._stream = self._connection.getresponse()
        self._path = self._next_data()
        self._number = 0
        self.hello = self.ask("initialize", HELLO)
        self._http.request("POST", self._path, body=INITIALIZED)

    def _next_data(self) -> str:
        while line := self._stream.readline():
            if line.startswith(b"data: "):
                return line[6:].decode().strip()
        raise ConnectionError("the stream has ended")

    def ask(self, method: str, params: Message | None = None) -> Message:
        """Ask one thing."""
        self._number += 1
        body = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params or {}}
        self._http.request("POST", self._path, body=body)
        while True:
            answer = answer_of([json.loads(self._next_data())], self._number)
            if answer is not None:
                return answer

    def close(self) -> None:
        """Let go."""
        self._connection.close()
        self._http.close()
