"""Listening, limits on the head of a request, and graceful shutdown: calls finish, streams are
closed, then it ends.

The head comes before any ASGI layer: its time, its size, and trailers that pose as it. Everything
else that bounds a client is done by ASGI layers (`guard`, `mcp_http`) and by documented settings of
uvicorn; what a reverse proxy should do is in `docs/share.md`.
"""

import asyncio
import gc
import logging
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager

import anyio
import uvicorn
from sse_starlette.sse import AppStatus
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from stackroom.background.machine_limits import allow_many_files
from stackroom.background.threads import start_timer
from stackroom.errors import InputError, StorageError
from stackroom.serve.async_gate import Workers
from stackroom.serve.connections import Streams
from stackroom.serve.frames import MAX_FRAME_BYTES
from stackroom.serve.http.guard import bracketed, secure

HEAD_TIMEOUT_S = 15.0
HEAD_BYTES = 64 * 1024
HEADER_COST = 32
"""Bytes that each header counts beyond its name and value, as in HTTP/2, so that many short ones
are bounded too.
"""
OPENING_LINE_BYTES = 8_000
OPENING_HEADERS = 120
"""The longest line and the most headers of a WebSocket's opening request: `websockets` reads few
more.
"""


class HeadLimits(HttpToolsProtocol):
    """An HTTP connection that is closed when a request's head takes too long or is too large."""

    _deadline: asyncio.TimerHandle | None = None
    _head_bytes = 0
    _is_in_head = False

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
        self._head_bytes += len(url)
        if self._head_bytes > HEAD_BYTES:
            self._refuse(b"414 URI Too Long")

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; a trailer, which follows the body, is passed over: gateways have not seen
        it.
        """
        self._head_bytes += len(name) + len(value) + HEADER_COST
        if self._head_bytes > HEAD_BYTES:
            self._refuse(b"431 Request Header Fields Too Large")
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
            b"HTTP/1.1 %b\r\n%bcontent-length: 0\r\nconnection: close\r\n\r\n" % (status, headers)
        )
        self.transport.close()


logger = logging.getLogger(__name__)

# the time for the last answers to be written to their streams, before these are closed
LAST_WORDS_S = 0.25
LAST_ANSWERS_S = 3  # the time for responses in transit, once no call runs any more
PING_EVERY_S = 20.0
PONG_WITHIN_S = 20.0
"""WebSocket keep-alive: proxies keep idle connections open, and a client that stops is closed
within a minute.
"""
IDLE_S = 75
"""How long an idle connection is kept: longer than clients wait before they use it again, which
would meet its end.
"""
MOST_CONNECTIONS = 8_192
GC_THRESHOLDS = (20_000, 20, 20)
"""Every request makes objects that refer to each other: looking for them after each few hundred
takes longer.
"""
MISBEHAVIOUR = (
    "Invalid UTF-8 sequence received",
    "ASGI callable returned without completing handshake",
)
"""Beginnings of uvicorn's log entries that a client causes, and can repeat as often as it likes."""
# the interpreter's thread switch interval: the event loop must not wait long for worker threads
SWITCH_S = 0.0005


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket."""
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host.strip("[]"), port))
    except OSError as error:
        listener.close()
        problem = error.strerror or str(error)
        raise StorageError(
            f"cannot listen on {host}:{port}: {problem.lower()}; --port names another"
        ) from error
    except OverflowError as error:
        listener.close()
        raise InputError(f"setting 'server.port': {port} is not between 0 and 65535") from error
    listener.listen(2048)
    return listener


def url_of(host: str, listener: socket.socket) -> str:
    """Return the URL of a listening socket."""
    return f"http://{bracketed(host)}:{listener.getsockname()[1]}"


def run(
    app: ASGIApp,
    listener: socket.socket,
    *,
    workers: Workers,
    streams: Streams,
    shutdown_s: float,
    proxies: Sequence[str] = (),
    on_end: Callable[[], None] = lambda: None,
    on_stuck: Callable[[], None] = lambda: None,
) -> None:
    """Serve until SIGINT or SIGTERM; `on_end` is called when the shutdown begins.

    A call that exceeds the shutdown timeout cannot be stopped: then `on_stuck` is called, and the
    process exits. So this must be the last thing that a process does.
    """
    logging.getLogger("uvicorn.error").addFilter(
        lambda entry: not entry.getMessage().startswith(MISBEHAVIOUR)
    )
    sys.setswitchinterval(SWITCH_S)
    gc.set_threshold(*GC_THRESHOLDS)
    # Automatic draining would end event streams before their answers are written.
    AppStatus.disable_automatic_graceful_drain()  # type: ignore[no-untyped-call]
    config = uvicorn.Config(
        app,
        loop="auto",  # uvloop where it is installed, which it cannot be on Windows
        http=HeadLimits,
        limit_concurrency=min(allow_many_files() // 2, MOST_CONNECTIONS),
        ws="websockets-sansio",
        ws_max_size=MAX_FRAME_BYTES,
        ws_per_message_deflate=False,
        ws_ping_interval=PING_EVERY_S,
        ws_ping_timeout=PONG_WITHIN_S,
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=IDLE_S,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=list(proxies),
        timeout_graceful_shutdown=LAST_ANSWERS_S,
    )

    async def drain() -> None:
        start_timer("exit", shutdown_s + LAST_ANSWERS_S + 1, lambda: _exit(on_stuck))
        on_end()
        await workers.drain(shutdown_s)
        await asyncio.sleep(LAST_WORDS_S)
        streams.end_all("the server shuts down")
        with anyio.move_on_after(LAST_ANSWERS_S):  # they close before their connections are closed
            while len(streams):
                await asyncio.sleep(0.02)
            await asyncio.sleep(0.1)

    _Server(config, drain).run(sockets=[listener])


def _exit(on_stuck: Callable[[], None]) -> None:
    """Exit the process, although a worker thread still runs."""
    logger.warning("a call did not finish in time; the server exits without it")
    try:
        on_stuck()
    finally:
        os._exit(0)


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, drain: Callable[[], Awaitable[None]]) -> None:
        super().__init__(config)
        self._drain = drain

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Shut down on signals; unlike uvicorn, do not raise them again afterwards."""
        before = {
            number: signal.signal(number, self.handle_exit)
            for number in (signal.SIGINT, signal.SIGTERM)
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting, drain running calls, close the streams, and end."""
        for server in self.servers:
            server.close()
        await self._drain()
        await super().shutdown(sockets)
