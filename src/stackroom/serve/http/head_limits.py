"""Limits on the head of a request, which comes before any ASGI layer: its time, its size, and trailers that pose as it.

Everything else that bounds a client is done by ASGI layers (`bodies`, `guard`, `streams`) and by documented settings
of uvicorn (`run`). What a reverse proxy should do is in `docs/share.md`.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from stackroom.serve.http.guard import secure

HEAD_TIMEOUT_S = 15.0
HEAD_BYTES = 64 * 1024
HEADER_COST = 32
"""Bytes that each header counts beyond its name and value, as in HTTP/2, so that many short ones are bounded too."""
OPENING_LINE_BYTES = 8_000
OPENING_HEADERS = 120
"""The longest line and the most headers of a WebSocket's opening request: `websockets` reads few more."""


class HeadLimits(HttpToolsProtocol):
    """An HTTP connection that is closed when a request's head takes too long or is too large."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._deadline: asyncio.TimerHandle | None = None
        self._head_bytes = 0
        self._is_in_head = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the time limit of the first head."""
        super().connection_made(transport)
        self._start_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the time limit."""
        self._stop_deadline()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """Start the time limit of a head, unless it runs since the connection was made."""
        self._head_bytes, self._is_in_head = 0, True
        if self._deadline is None:
            self._start_deadline()
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Take a part of the path and query."""
        super().on_url(url)
        self._count(len(url), status=b"414 URI Too Long")

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; a trailer, which follows the body, is passed over: gateways have not seen it."""
        self._count(len(name) + len(value) + HEADER_COST, status=b"431 Request Header Fields Too Large")
        if self._is_in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Pass the request on, unless its head was refused."""
        self._stop_deadline()
        self._is_in_head = False
        if not self.transport.is_closing():
            super().on_headers_complete()

    def handle_websocket_upgrade(self) -> None:
        """Upgrade to a WebSocket, unless the head was refused."""
        self._stop_deadline()
        if len(self.url) > OPENING_LINE_BYTES:
            self._refuse(b"414 URI Too Long")
        longest = max((len(name) + len(value) for name, value in self.headers), default=0)
        if longest > OPENING_LINE_BYTES or len(self.headers) > OPENING_HEADERS:
            self._refuse(b"431 Request Header Fields Too Large")
        if not self.transport.is_closing():
            super().handle_websocket_upgrade()

    def _count(self, size: int, *, status: bytes) -> None:
        self._head_bytes += size
        if self._head_bytes > HEAD_BYTES:
            self._refuse(status)

    def _start_deadline(self) -> None:
        self._deadline = self.loop.call_later(HEAD_TIMEOUT_S, self._refuse, b"408 Request Timeout")

    def _stop_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _refuse(self, status: bytes) -> None:
        if self.transport.is_closing():
            return
        headers = b"".join(name + b": " + value + b"\r\n" for name, value in secure(()))
        self.transport.write(
            b"HTTP/1.1 " + status + b"\r\n" + headers + b"content-length: 0\r\nconnection: close\r\n\r\n"
        )
        self.transport.close()
