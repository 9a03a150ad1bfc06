"""HTTP requests with a deadline for the whole exchange: httpx restarts its time-outs with every byte."""

import asyncio
import threading
from collections.abc import Mapping
from concurrent.futures import CancelledError
from contextlib import aclosing
from functools import partial
from typing import Any

import httpx

from stackroom.background.threads import start_thread

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
            answer = asyncio.run_coroutine_threadsafe(self._answer(request, timeout_s), self._running_loop())
        try:
            return answer.result()
        except CancelledError as error:
            raise httpx.ReadError(CLOSED) from error

    def close(self) -> None:
        """Close the connections and end the thread; pending requests fail, and no new ones are accepted."""
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
    """Run the loop until it is to stop; pending requests are cancelled then, and close what they have open."""
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(stopping.wait())
