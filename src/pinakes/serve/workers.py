"""Threads that the gate's work is done in, and a bound on how much of it waits."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import anyio
import anyio.to_thread

from pinakes.errors import OverloadedError
from pinakes.serve.caller_limits import PerCallerLimit

ResultT = TypeVar("ResultT")

WAITING_THREADS = 16
"""How much work that only waits for another process goes on at once: more than there are such processes, so that one
too many is refused by whoever has them, and does not wait here."""


class _Pool:
    """Some threads; nobody has more work waiting in line for them than there are."""

    def __init__(self, size: int, name: str) -> None:
        self.threads = ThreadPoolExecutor(size, name)
        self.lanes = PerCallerLimit(size)


class Workers:
    """Runs a few calls at once; some more wait for their turn, and the rest is refused at once."""

    def __init__(self, *, threads: int = 4, queue: int = 1000) -> None:
        self._working = _Pool(threads, "worker")
        self._waiting = _Pool(WAITING_THREADS, "waiting")
        self._most = threads + queue
        self.in_flight = 0
        """How many calls are running or waiting."""

    async def run(self, work: Callable[[], ResultT], *, of: str, waits: bool = False) -> ResultT:
        """Do the work of a caller in a thread, in turn with that of others; refuse it where too much waits already.

        Work that waits for another process has threads of its own, and keeps nobody else waiting. Where the caller
        gives up, what has begun goes on in its thread, and keeps its place until it ends.
        """
        if self.in_flight >= self._most:
            raise OverloadedError("the server has more to do than it can; try again in a second")
        self.in_flight += 1
        try:
            pool = self._waiting if waits else self._working
            async with pool.lanes.entered(of):
                running = asyncio.get_running_loop().run_in_executor(pool.threads, work)
                with anyio.CancelScope(shield=True):
                    await running
                return running.result()
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
