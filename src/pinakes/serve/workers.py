"""Threads that the gate's work is done in, and a bound on how much of it waits."""

from collections.abc import Callable
from typing import TypeVar

import anyio
import anyio.to_thread

from pinakes.errors import OverloadedError

ResultT = TypeVar("ResultT")


class Workers:
    """Runs a few calls at once; some more wait for their turn, and the rest is refused at once."""

    def __init__(self, *, threads: int = 4, queue: int = 1000) -> None:
        self._threads = anyio.CapacityLimiter(threads)
        self._most = threads + queue
        self.in_flight = 0
        """How many calls are running or waiting."""

    async def run(self, work: Callable[[], ResultT]) -> ResultT:
        """Do the work in a thread; raise OverloadedError where too much waits already."""
        if self.in_flight >= self._most:
            raise OverloadedError("the server has more to do than it can; try again in a second")
        self.in_flight += 1
        try:
            return await anyio.to_thread.run_sync(work, limiter=self._threads)
        finally:
            self.in_flight -= 1

    async def run_aside(self, work: Callable[[], ResultT]) -> ResultT:
        """Do something small in a thread beside those, such as noting that there was no room."""
        return await anyio.to_thread.run_sync(work)

    async def drain(self, timeout_s: float) -> None:
        """Wait until nothing runs and nothing waits, or the time is over."""
        with anyio.move_on_after(timeout_s):
            while self.in_flight:
                await anyio.sleep(0.02)
