"""Polite requests to public servers (rate-limited, retried, bounded in time and size), and
functions that HTTP clients share.
"""

import asyncio
import random
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache, partial
from typing import Any, NamedTuple, TypeVar

import httpx

from stackroom import __version__
from stackroom.background.threads import start_thread
from stackroom.errors import UnavailableError
from stackroom.frozen import frozen

USER_AGENT = f"stackroom/{__version__}"
RETRIED_STATUSES = frozenset({429, 500, 502, 503, 504})


@cache
def load_certificates() -> ssl.SSLContext:
    """Return the trusted certificates, loaded once: loading takes longer than a request on
    loopback.
    """
    return httpx.create_ssl_context()


def describe_failure(error: Exception) -> str:
    """Describe a failure as a predicate of which the server is the subject."""
    if isinstance(error, httpx.ConnectTimeout | httpx.ConnectError):
        return "cannot be reached"
    if isinstance(error, httpx.TimeoutException):
        return "did not answer in time"
    if isinstance(error, httpx.RemoteProtocolError | httpx.ReadError):
        return f"ended its answer before it was whole ({error})"
    return f"could not be read ({str(error) or type(error).__name__})"


def read_retry_after(text: str, now: datetime) -> float:
    """Return the seconds of a Retry-After header, given as seconds or as a date; 0 if it is missing
    or invalid.
    """
    if text.strip().isdecimal():
        return float(text)
    try:
        until = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return 0.0
    aware = until if until.tzinfo else until.replace(tzinfo=UTC)
    return max((aware - now).total_seconds(), 0.0)


AnswerT = TypeVar("AnswerT")


class UnusableAnswerError(Exception):
    """A transient failure of a request or its response; it is retried, and never leaves `fetch`."""

    def __init__(self, reason: str, *, retry_after_s: float = 0.0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retry_after_s = retry_after_s


class Fetched(NamedTuple):
    """A complete response."""

    status: int
    body: bytes


_utc_now = partial(datetime.now, UTC)


@frozen
class Clock:
    """Sources of time and randomness, injectable for tests."""

    monotonic: Callable[[], float] = time.monotonic
    utc_now: Callable[[], datetime] = _utc_now
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = random.random  # a random number from 0 to 1


@frozen
class Pace:
    """Rate, retries and limits of requests to a server."""

    interval_s: float  # the minimum time from the end of a request to the next one
    attempts: int = 5
    first_wait_s: float = 1.0  # the longest first wait; each further one may be twice as long
    longest_wait_s: float = 120.0  # the longest wait, whatever Retry-After says
    timeout_s: float = 30.0
    max_bytes: int = 16 << 20


@dataclass(slots=True, kw_only=True)
class PoliteGetter:
    """Fetches pages of one server, one at a time. Not thread-safe."""

    base_url: str
    pace: Pace
    headers: Mapping[str, str] = field(default_factory=dict)
    offline: bool = False
    clock: Clock = field(default_factory=Clock)
    _asked_at: float | None = field(default=None, init=False)

    def fetch(
        self, params: Mapping[str, str | int], *, read: Callable[[Fetched], AnswerT]
    ) -> AnswerT:
        """Return the result of `read` on the response; `read` raises `UnusableAnswerError` to
        request a retry.
        """
        if self.offline:
            raise UnavailableError(
                f"{self.base_url} is not asked: 'offline' is set (RAG_STRICT_OFFLINE); unset it to"
                " use the network"
            )
        attempt = 0
        while True:
            attempt += 1
            early_s = (
                -1.0
                if self._asked_at is None
                else self._asked_at + self.pace.interval_s - self.clock.monotonic()
            )
            if early_s > 0:
                self.clock.sleep(early_s)
            try:
                return read(self._ask(params))
            except UnusableAnswerError as error:
                if attempt >= self.pace.attempts:
                    times = "once" if attempt == 1 else f"{attempt} times"
                    raise UnavailableError(
                        f"{self.base_url} {error.reason}; asked {times}, given up; try again later"
                    ) from error
                first_s, longest_s = self.pace.first_wait_s, self.pace.longest_wait_s
                backed_off_s = back_off_s(
                    attempt, first_s=first_s, longest_s=longest_s, chance=self.clock.chance()
                )
                self.clock.sleep(max(backed_off_s, min(error.retry_after_s, longest_s)))

    def _ask(self, params: Mapping[str, str | int]) -> Fetched:
        headers = {"User-Agent": USER_AGENT, **self.headers}
        try:
            with (
                httpx.Client(
                    headers=headers, timeout=self.pace.timeout_s, verify=load_certificates()
                ) as client,
                client.stream("GET", self.base_url, params=dict(params)) as response,
            ):
                if response.status_code in RETRIED_STATUSES:
                    raise UnusableAnswerError(
                        f"answered status {response.status_code}",
                        retry_after_s=read_retry_after(
                            response.headers.get("Retry-After", ""), self.clock.utc_now()
                        ),
                    )
                return Fetched(response.status_code, self._whole_body(response))
        except httpx.HTTPError as error:
            raise UnusableAnswerError(describe_failure(error)) from error
        finally:
            self._asked_at = self.clock.monotonic()

    def _whole_body(self, response: httpx.Response) -> bytes:
        """Return the body within the time-out as a whole: httpx restarts its time-out with every
        block.
        """
        ends_at = self.clock.monotonic() + self.pace.timeout_s
        received = bytearray()
        for block in response.iter_bytes():
            received += block
            if len(received) > self.pace.max_bytes:
                raise UnavailableError(
                    f"{self.base_url} answered more than {self.pace.max_bytes:,} bytes; ask for"
                    " fewer results"
                )
            if self.clock.monotonic() > ends_at:
                raise httpx.ReadTimeout("the body did not end")
        return bytes(received)


def back_off_s(attempt: int, *, first_s: float, longest_s: float, chance: float) -> float:
    """Return an exponential back-off with jitter of up to half of it."""
    return min(first_s * 2.0 ** (attempt - 1), longest_s) * (1 - chance / 2)


MAX_ANSWER_BYTES = 64 << 20
CLOSED = "the client was closed before the answer came"


class DeadlineClient:
    """Sends requests to one server. Every failure is an `httpx.HTTPError`. Thread-safe."""

    def __init__(self, base_url: str, *, headers: Mapping[str, str]) -> None:
        self._client = httpx.AsyncClient(base_url=base_url, headers=headers)
        self._guard = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping = asyncio.Event()
        self._is_closed = False

    def request(self, method: str, path: str, *, timeout_s: float, body: Any = None) -> bytes:
        """Return the body of a successful response that is complete within the time."""
        request = self._client.build_request(method, path, json=body, timeout=timeout_s)
        with self._guard:  # so that `close` cancels every request that was begun before it
            if self._is_closed:
                raise httpx.ConnectError(CLOSED)
            answer = asyncio.run_coroutine_threadsafe(
                self._answer(request, timeout_s), self._running_loop()
            )
        try:
            return answer.result()
        except CancelledError as error:
            raise httpx.ReadError(CLOSED) from error

    def close(self) -> None:
        """Close the connections and end the thread; pending requests fail, and no new ones are
        accepted.
        """
        with self._guard:
            self._is_closed = True
            loop, self._loop = self._loop, None
        if loop is not None:
            asyncio.run_coroutine_threadsafe(self._client.aclose(), loop).result()
            loop.call_soon_threadsafe(self._stopping.set)

    async def _answer(self, request: httpx.Request, timeout_s: float) -> bytes:
        try:
            async with asyncio.timeout(timeout_s):
                response = await self._client.send(request, stream=True)
                async with aclosing(response):
                    response.raise_for_status()
                    received = bytearray()
                    async for block in response.aiter_bytes():
                        received += block
                        if len(received) > MAX_ANSWER_BYTES:
                            raise httpx.DecodingError("the answer is too large")
                    return bytes(received)
        except TimeoutError as error:
            raise httpx.ReadTimeout(f"no complete response within {timeout_s} s") from error

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        """Return the event loop, started on first use. The lock is held."""
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            start_thread("requests", partial(_run, self._loop, self._stopping))
        return self._loop


def _run(loop: asyncio.AbstractEventLoop, stopping: asyncio.Event) -> None:
    """Run the loop until it is stopped; then cancel pending requests, so that they close their
    connections.
    """
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(stopping.wait())
