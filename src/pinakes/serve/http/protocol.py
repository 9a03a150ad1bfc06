"""uvicorn's HTTP and WebSocket protocols, with limits on what a client may send, keep open and leave unread."""

import asyncio
import socket
from functools import partial
from typing import Any, ClassVar
from urllib.parse import urlsplit

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import CloseCode, Frame

from pinakes.errors import OverloadedError
from pinakes.serve.frames import MAX_FRAME_BYTES
from pinakes.serve.http.bodies import Share
from pinakes.serve.http.chunk_sizes import ChunkSizes
from pinakes.serve.http.guard import secure
from pinakes.serve.http.unfinished import Unfinished

HEAD_TIMEOUT_S = 15.0
"""The time limit for a request's head, and for the rest of a body after the answer."""
HEAD_BYTES = 64 * 1024
HEADER_COST = 32
"""Bytes that each header counts beyond its name and value, as in HTTP/2, so that many short ones are bounded too."""
BODY_TIMEOUT_S = 20.0
"""The time limit for a request's body."""
LAST_BYTES_S = 5.0
"""The time for the last bytes to a client that does not answer pings."""
UNREAD_TIMEOUT_S = 15
"""The time after which a connection is closed whose client reads nothing."""
HELD_PER_HEADER = 200
"""Bytes that each header takes in memory beyond its name and value."""
MESSAGES_BYTES = 32 * 1024 * 1024
"""The most bytes of incomplete WebSocket messages together."""
MOST_FRAGMENTS = 10_000
"""The most fragments of a WebSocket message."""
PINGS_A_SECOND = 100
"""The most pings that a client may send."""


class BoundedHttp(HttpToolsProtocol):
    """An HTTP connection with limits on the time and size of requests, and on unread answers."""

    unfinished: ClassVar = Unfinished()
    messages: ClassVar = Share(MESSAGES_BYTES)

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.ws_protocol_class = partial(BoundedWebSocket, self.messages)  # type: ignore[assignment]
        self._deadline: asyncio.TimerHandle | None = None
        self._head_bytes = 0
        self._body_bytes = 0
        self._is_in_head = False
        self._segment: bytes | None = None
        """The bytes that are being parsed, as long as they can only have begun with a head."""
        self._chunks: ChunkSizes | None = None
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
        if self._chunks is not None and self._chunks.is_absurd(data):
            self._refuse(b"400 Bad Request")
            return
        self._segment = None if self._is_in_head or self._chunks else data
        super().data_received(data)
        self._segment = None
        is_idle = self.cycle is None or self.cycle.response_complete
        if is_idle and self in self.connections and not self.transport.is_closing():
            self._wait_for_head()

    def on_message_begin(self) -> None:
        """Start the deadline for the rest of the head."""
        self._head_bytes = self._body_bytes = 0
        self._is_in_head = True
        self._wait_for_head()
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Process a part of the URL."""
        super().on_url(url)
        self._count(len(url), status=b"414 URI Too Long")

    def on_header(self, name: bytes, value: bytes) -> None:
        """Process a header; trailers after the body are ignored."""
        self._count(len(name) + len(value) + HEADER_COST)
        self.unfinished.grow(self, len(name) + len(value) + HELD_PER_HEADER)
        if self._is_in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Start the response unless the head was too large, and the deadline of the body."""
        self._stop_waiting()
        self._is_in_head = False
        self._follow_chunks()
        if not self.transport.is_closing():
            self._use_host_of_url()
            self._deadline = self.loop.call_later(BODY_TIMEOUT_S, self._give_up)
            self.unfinished.add(self)
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Process a part of the body; one that nobody reads, since it is answered, is dropped up to a limit."""
        self._body_bytes += len(body)
        if self.cycle.response_complete and self._body_bytes > MAX_FRAME_BYTES:
            self.transport.close()
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Stop the deadline: the request is complete."""
        self._stop_waiting()
        self._chunks = self._segment = None
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Let go of what is left of the body, and count the connection as idle until its next request."""
        super().on_response_complete()
        if self._answering is not None and self._answering.response_complete:
            self._answering.body.clear()
        if self.timeout_keep_alive_task is not None:
            self.unfinished.add(self)

    def handle_websocket_upgrade(self) -> None:
        """Upgrade to a WebSocket, unless the head was too large."""
        self._stop_waiting()
        if not self.transport.is_closing():
            super().handle_websocket_upgrade()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._answering = cycle
        super()._start_asgi_task(cycle, app)

    def make_room(self) -> None:
        """Close the connection, to make room for others; a request that has begun is told when to come back."""
        if not self.transport.is_closing():
            if self._deadline is not None:
                self.transport.write(_plain_refusal(b"503 Service Unavailable", b"retry-after: 1\r\n"))
            self.transport.close()

    def _follow_chunks(self) -> None:
        """Begin to follow the chunks of a body, where its head came in one piece."""
        is_chunked = any(name == b"transfer-encoding" for name, _value in self.headers)
        if not is_chunked or self._segment is None:
            return
        self._chunks = ChunkSizes()
        _head, _end, body = self._segment.lstrip(b"\r\n").partition(b"\r\n\r\n")
        if self._chunks.is_absurd(body) and not self.transport.is_closing():
            self._refuse(b"400 Bad Request")

    def _use_host_of_url(self) -> None:
        """Replace the `Host` header by the host of an absolute URL (`GET http://host/path`), as RFC 9112 requires."""
        if not self.url.startswith((b"/", b"*")):
            others = [header for header in self.headers if header[0] != b"host"]
            self.headers[:] = [*others, (b"host", urlsplit(self.url).netloc)]

    def _count(self, size: int, *, status: bytes = b"431 Request Header Fields Too Large") -> None:
        self._head_bytes += size
        if self._head_bytes > HEAD_BYTES and not self.transport.is_closing():
            self._refuse(status)

    def _wait_for_head(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(HEAD_TIMEOUT_S, self._give_up)
            self.unfinished.add(self)

    def _stop_waiting(self) -> None:
        self.unfinished.discard(self)
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

    def __init__(self, messages: Share, *arguments: Any, **named: Any) -> None:
        """`messages` bounds the incomplete messages of all WebSockets together."""
        super().__init__(*arguments, **named)
        self._messages = messages
        self._held = 0
        self._fragment_bytes = 0
        self._pings = 0
        self._pings_since = 0.0

    def data_received(self, data: bytes) -> None:
        """Process received bytes; an unreadable opening request is refused."""
        super().data_received(data)
        if not self.handshake_initiated and not self.transport.is_closing():
            self.transport.write(b"".join(self.conn.data_to_send()) or _plain_refusal(b"400 Bad Request"))
            self.transport.close()
        self._hold(len(self.conn.reader.buffer) + (self._fragment_bytes if self.frames else 0))

    def connection_lost(self, exc: Exception | None) -> None:
        """Count the bytes of an incomplete message no longer."""
        self._messages.give_back(self._held)
        self._held = 0
        super().connection_lost(exc)

    def handle_text(self, event: Frame) -> None:
        """Process a text, or the first fragment of one."""
        self._fragment_bytes = len(event.data)
        super().handle_text(event)

    def handle_bytes(self, event: Frame) -> None:
        """Process bytes, or the first fragment of them."""
        self._fragment_bytes = len(event.data)
        super().handle_bytes(event)

    def keepalive_timeout(self) -> None:
        """Close the WebSocket of a client that does not answer pings, also where it reads nothing."""
        super().keepalive_timeout()
        self.loop.call_later(LAST_BYTES_S, self.transport.abort)

    def handle_cont(self, event: Frame) -> None:
        """Process a fragment of a message, unless there are too many."""
        if len(self.frames) >= MOST_FRAGMENTS:
            self._fail(CloseCode.MESSAGE_TOO_BIG, "the message has too many parts")
        else:
            self._fragment_bytes += len(event.data)
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

    def _hold(self, size: int) -> None:
        """Count the bytes of an incomplete message; close the WebSocket where all of them together are too many."""
        self._messages.give_back(self._held)
        self._held = 0
        try:
            self._messages.take(size)
            self._held = size
        except OverloadedError:
            self._fail(CloseCode.TRY_AGAIN_LATER, "the server is receiving too many large messages")

    def _fail(self, code: CloseCode, reason: str) -> None:
        if not self.close_sent:
            self.conn.fail(code, reason)
            self.handle_parser_exception()


def bounded_http(unfinished: Unfinished) -> type[BoundedHttp]:
    """Return the protocol of a server's connections, which share these limits."""
    return type("BoundedHttp", (BoundedHttp,), {"unfinished": unfinished, "messages": Share(MESSAGES_BYTES)})


def _plain_refusal(status: bytes, header: bytes = b"") -> bytes:
    usual = b"".join(name + b": " + value + b"\r\n" for name, value in secure(()))
    return b"HTTP/1.1 " + status + b"\r\n" + header + usual + b"content-length: 0\r\nconnection: close\r\n\r\n"


def _cut_off_when_unread(transport: asyncio.Transport) -> None:
    """Let the operating system close the connection of a client that reads nothing."""
    option = getattr(socket, "TCP_USER_TIMEOUT", None)
    if option is not None:
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, option, UNREAD_TIMEOUT_S * 1000)
