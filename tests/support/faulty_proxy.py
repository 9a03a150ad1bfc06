"""An HTTP proxy on loopback before a real server, which does to requests what stores and networks
do to them.

Requests are passed on as they are, signatures included, unless a fault is due. Connections are
closed after each.
"""

import http.client
import random
import socket
import struct
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler

from support.loopback import running

FAULTS = ("503", "500", "403", "404", "reset", "slow", "partial", "short")
SLOW_S = 0.3
TIMEOUT_S = 120.0
NO_WAIT = struct.pack("ii", 1, 0)
HOP_BY_HOP = ("connection", "transfer-encoding", "content-length", "keep-alive")

FindFault = Callable[[str, str], str | None]
"""Returns the fault of a request, by its method and path; None: it is passed on."""


def no_fault(_method: str, _path: str) -> str | None:
    """Pass every request on."""
    return None


def every_request(fault: str) -> FindFault:
    """Do the same to every request that reads."""
    return lambda method, _path: fault if method in ("GET", "HEAD") else None


def some_requests(seed: int, *, share: float, faults: tuple[str, ...] = FAULTS) -> FindFault:
    """Do something at random to a share of the requests that read."""
    chance = random.Random(seed)

    def find(method: str, _path: str) -> str | None:
        is_hit = method in ("GET", "HEAD") and chance.random() < share
        return chance.choice(faults) if is_hit else None

    return find


class FaultyProxy:
    """A running proxy: its port, the faults to come, and those that were done."""

    def __init__(self, upstream: int) -> None:
        self.upstream = upstream
        self.find_fault: FindFault = no_fault
        self.done: Counter[str] = Counter()
        self.passed = 0
        self.port = 0


class _Handler(BaseHTTPRequestHandler):
    """Passes on one request."""

    protocol_version = "HTTP/1.1"
    proxy: FaultyProxy

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        """Pass a request on, or do something to it."""
        self.close_connection = True
        fault = self.proxy.find_fault(self.command, self.path)
        if fault is None:
            self.proxy.passed += 1
            self._pass_on()
            return
        self.proxy.done[fault] += 1
        if fault.isdigit():
            self._answer(int(fault), b"<Error><Code>Injected</Code></Error>", {})
        elif fault == "reset":
            self._reset()
        elif fault == "slow":
            time.sleep(SLOW_S)
            self._pass_on()
        else:
            self._pass_on(fault)

    do_HEAD = do_PUT = do_POST = do_DELETE = do_GET

    def _pass_on(self, fault: str = "") -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        upstream = http.client.HTTPConnection("127.0.0.1", self.proxy.upstream, timeout=TIMEOUT_S)
        try:
            upstream.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                upstream.putheader(name, value)
            upstream.endheaders(body or None)
            answer = upstream.getresponse()
            content = answer.read()
        finally:
            upstream.close()
        headers = {
            name: value for name, value in answer.getheaders() if name.lower() not in HOP_BY_HOP
        }
        size = (
            int(answer.getheader("Content-Length") or len(content))
            if self.command == "HEAD"
            else len(content)
        )
        kept = content[: len(content) // 2] if fault else content
        self._answer(answer.status, kept, headers, size=len(kept) if fault == "short" else size)
        if fault == "partial":
            self._reset()

    def _answer(
        self, status: int, content: bytes, headers: dict[str, str], *, size: int | None = None
    ) -> None:
        with suppress(ConnectionError):
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content) if size is None else size))
            self.send_header("Connection", "close")
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)
                self.wfile.flush()

    def _reset(self) -> None:
        """End the connection as a machine does that goes away."""
        with suppress(OSError):
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_WAIT)
            self.connection.close()


@contextmanager
def running_proxy(upstream: int) -> Iterator[FaultyProxy]:
    """Run a proxy before the server at a port of loopback."""
    proxy = FaultyProxy(upstream)
    with running(type("Handler", (_Handler,), {"proxy": proxy})) as proxy.port:
        yield proxy
