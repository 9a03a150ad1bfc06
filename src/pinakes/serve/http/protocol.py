"""uvicorn's HTTP and WebSocket protocols, with limits on what a client may send, keep open and leave unread."""

import asyncio
import socket
from typing import Any
from urllib.parse import urlsplit

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import CloseCode, Frame

HEAD_TIMEOUT_S = 15.0
"""The time limit for a request's head, and for the rest of a body after the answer."""
HEAD_BYTES = 64 * 1024
HEADER_COST = 32
"""Bytes that each header counts beyond its name and value, as in HTTP/2, so that many short ones are bounded too."""
BODY_TIMEOUT_S = 20.0
"""The time limit for a request's body."""
UNREAD_TIMEOUT_S = 15
"""The time after which a connection is closed whose client reads nothing."""
MOST_FRAGMENTS = 10_000
"""The most fragments of a WebSocket message."""
PINGS_A_SECOND = 100
"""The most pings that a client may send."""


class BoundedHttp(HttpToolsProtocol):
    """An HTTP connection with limits on the time and size of requests, and on unread answers."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.ws_protocol_class = BoundedWebSocket
        self._deadline: asyncio.TimerHandle | None = None
        self._head_bytes = 0
        self._is_in_head = False
        self._answering: RequestResponseCycle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the deadline of the first request."""
        super().connection_made(transport)
        _cut_off_when_unread(transport)
        self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the deadline, and notify the response in progress; uvicorn notifies the last request only."""
        self._stop_waiting()
        if self._answering is not None:
            self._answering.disconnected = True
            self._answering.message_event.set()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Process received bytes; while no response is in progress, they must complete a request's head in time."""
        super().data_received(data)
        is_idle = self.cycle is None or self.cycle.response_complete
        if is_idle and self in self.connections and not self.transport.is_closing():
            self._wait_for_head()

    def on_message_begin(self) -> None:
        """Start the deadline for the rest of the head."""
        self._head_bytes = 0
        self._is_in_head = True
        self._wait_for_head()
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Process a part of the URL."""
        super().on_url(url)
        self._count(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        """Process a header; trailers after the body are ignored."""
        self._count(len(name) + len(value) + HEADER_COST)
        if self._is_in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Start the response unless the head was too large, and the deadline of the body."""
        self._stop_waiting()
        self._is_in_head = False
        if not self.transport.is_closing():
            self._use_host_of_url()
            self._deadline = self.loop.call_later(BODY_TIMEOUT_S, self._give_up)
            super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Stop the deadline: the request is complete."""
        self._stop_waiting()
        super().on_message_complete()

    def handle_websocket_upgrade(self) -> None:
        """Upgrade to a WebSocket, unless the head was too large."""
        self._stop_waiting()
        if not self.transport.is_closing():
            super().handle_websocket_upgrade()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._answering = cycle
        super()._start_asgi_task(cycle, app)

    def _use_host_of_url(self) -> None:
        """Replace the `Host` header by the host of an absolute URL (`GET http://host/path`), as RFC 9112 requires."""
        if not self.url.startswith((b"/", b"*")):
            others = [header for header in self.headers if header[0] != b"host"]
            self.headers[:] = [*others, (b"host", urlsplit(self.url).netloc)]

    def _count(self, size: int) -> None:
        self._head_bytes += size
        if self._head_bytes > HEAD_BYTES and not self.transport.is_closing():
            self._refuse(b"431 Request Header Fields Too Large")

    def _wait_for_head(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(HEAD_TIMEOUT_S, self._give_up)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self._deadline = None
        if not self.transport.is_closing():
            self._refuse(b"408 Request Timeout")

    def _refuse(self, status: bytes) -> None:
        self.transport.write(_plain_refusal(status))
        self.transport.close()


class BoundedWebSocket(WebSocketsSansIOProtocol):
    """A WebSocket whose client can fill neither memory nor the log."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._pings = 0
        self._pings_since = 0.0

    def data_received(self, data: bytes) -> None:
        """Process received bytes; an unreadable opening request is refused."""
        super().data_received(data)
        if not self.handshake_initiated and not self.transport.is_closing():
            self.transport.write(b"".join(self.conn.data_to_send()) or _plain_refusal(b"400 Bad Request"))
            self.transport.close()

    def handle_cont(self, event: Frame) -> None:
        """Process a fragment of a message, unless there are too many."""
        if len(self.frames) >= MOST_FRAGMENTS:
            self._fail(CloseCode.MESSAGE_TOO_BIG, "the message has too many parts")
        else:
            super().handle_cont(event)

    def handle_ping(self) -> None:
        """Answer a ping, unless the client reads nothing; too many pings close the WebSocket."""
        if self.loop.time() - self._pings_since > 1:
            self._pings_since, self._pings = self.loop.time(), 0
        self._pings += 1
        if self._pings > PINGS_A_SECOND:
            self._fail(CloseCode.POLICY_VIOLATION, "too many pings")
        elif self.writable.is_set():
            super().handle_ping()
        else:
            self.conn.data_to_send()

    def send_receive_event_to_app(self) -> None:
        """Deliver a message; text that is not UTF-8 is refused, for which uvicorn would log a traceback."""
        if self.curr_msg_data_type == "text":
            try:
                b"".join(self.frames).decode()
            except UnicodeDecodeError:
                self.frames = []
                self._fail(CloseCode.INVALID_DATA, "a text is not UTF-8")
                return
        super().send_receive_event_to_app()

    async def send(self, message: Any) -> None:
        """Send; a refusal completes the handshake too, which uvicorn does not note."""
        await super().send(message)
        if message["type"] == "websocket.http.response.body" and not message.get("more_body", False):
            self.handshake_complete = True

    def _fail(self, code: CloseCode, reason: str) -> None:
        if not self.close_sent:
            self.conn.fail(code, reason)
            self.handle_parser_exception()


def _plain_refusal(status: bytes) -> bytes:
    return b"HTTP/1.1 " + status + b"\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


def _cut_off_when_unread(transport: asyncio.Transport) -> None:
    """Let the operating system close the connection of a client that reads nothing."""
    option = getattr(socket, "TCP_USER_TIMEOUT", None)
    if option is not None:
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, option, UNREAD_TIMEOUT_S * 1000)
