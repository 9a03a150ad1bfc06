"""HTTP and WebSockets as uvicorn speaks them, with bounds on what a client may send, hold open and leave unread."""

import asyncio
import socket
from typing import Any
from urllib.parse import urlsplit

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import CloseCode, Frame

HEAD_TIMEOUT_S = 15.0
"""How long the head of a request may take, and what is left of a body once it has been answered."""
HEAD_BYTES = 64 * 1024
HEADER_COST = 32
"""What a header counts beside its name and its value, as in HTTP/2: ten thousand short ones are too many too."""
BODY_TIMEOUT_S = 20.0
"""How long the body of a request may take."""
UNREAD_TIMEOUT_S = 15
"""After how long a connection is cut off whose client reads nothing."""
MOST_FRAGMENTS = 10_000
"""In how many parts a message of a WebSocket may come."""
PINGS_A_SECOND = 100
"""How often a client may ask whether we are still there."""


class BoundedHttp(HttpToolsProtocol):
    """A connection whose client must say what it wants, in time and in few words, and read the answers."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.ws_protocol_class = BoundedWebSocket
        self._deadline: asyncio.TimerHandle | None = None
        self._head_bytes = 0
        self._is_in_head = False
        self._answering: RequestResponseCycle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        _cut_off_when_unread(transport)
        self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer, and tell the answer that is under way; uvicorn tells the last request only."""
        self._stop_waiting()
        if self._answering is not None:
            self._answering.disconnected = True
            self._answering.message_event.set()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what came. Where nothing is being answered, it must become the head of a request in time."""
        super().data_received(data)
        is_idle = self.cycle is None or self.cycle.response_complete
        if is_idle and self in self.connections and not self.transport.is_closing():
            self._wait_for_head()

    def on_message_begin(self) -> None:
        """Begin to wait for the rest of a request's head."""
        self._head_bytes = 0
        self._is_in_head = True
        self._wait_for_head()
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Take a part of the address."""
        super().on_url(url)
        self._count(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; one that comes after the body is none."""
        self._count(len(name) + len(value) + HEADER_COST)
        if self._is_in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Answer the request, unless its head was too large, and wait for its body."""
        self._stop_waiting()
        self._is_in_head = False
        if not self.transport.is_closing():
            self._heed_address()
            self._deadline = self.loop.call_later(BODY_TIMEOUT_S, self._give_up)
            super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Wait no longer: the request is whole."""
        self._stop_waiting()
        super().on_message_complete()

    def handle_websocket_upgrade(self) -> None:
        """Go on as a WebSocket, unless the head was too large."""
        self._stop_waiting()
        if not self.transport.is_closing():
            super().handle_websocket_upgrade()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._answering = cycle
        super()._start_asgi_task(cycle, app)

    def _heed_address(self) -> None:
        """Let the host of a whole address (`GET http://host/path`) stand for the `Host` header, as RFC 9112 has it."""
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
    """A WebSocket whose client can neither fill our memory nor our log."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._pings = 0
        self._pings_since = 0.0

    def data_received(self, data: bytes) -> None:
        """Take what came; an opening request that could not be read is refused."""
        super().data_received(data)
        if not self.handshake_initiated and not self.transport.is_closing():
            self.transport.write(b"".join(self.conn.data_to_send()) or _plain_refusal(b"400 Bad Request"))
            self.transport.close()

    def handle_cont(self, event: Frame) -> None:
        """Take a part of a message, unless there are too many of them."""
        if len(self.frames) >= MOST_FRAGMENTS:
            self._fail(CloseCode.MESSAGE_TOO_BIG, "the message has too many parts")
        else:
            super().handle_cont(event)

    def handle_ping(self) -> None:
        """Answer a ping; while the client reads nothing its pings stay unanswered, and too many end the WebSocket."""
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
        """Hand on a message; uvicorn writes a traceback to the log for a text that is none."""
        if self.curr_msg_data_type == "text":
            try:
                b"".join(self.frames).decode()
            except UnicodeDecodeError:
                self.frames = []
                self._fail(CloseCode.INVALID_DATA, "a text is not UTF-8")
                return
        super().send_receive_event_to_app()

    async def send(self, message: Any) -> None:
        """Send; a refusal ends the opening as much as an acceptance, which uvicorn does not see."""
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
    """Have the system end the connection of a client that reads nothing, whatever still waits to be sent to it."""
    option = getattr(socket, "TCP_USER_TIMEOUT", None)
    if option is not None:
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, option, UNREAD_TIMEOUT_S * 1000)
