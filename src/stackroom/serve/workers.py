"""Worker threads for the gate, with a bounded queue."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

import anyio
import anyio.to_thread

from stackroom.background.threads import new_pool
from stackroom.errors import OverloadedError
from stackroom.serve.caller_limits import PerCallerLimit

ResultT = TypeVar("ResultT")

WAITING_THREADS = 16
"""Threads for work that only waits for another process: more than there are such processes, so that their pool, and not
this queue, refuses one too many."""


class _Pool:
    """Threads, and a limit on how many of them one caller may occupy."""

    def __init__(self, size: int, name: str) -> None:
        self.threads = new_pool(name, size)
        self.per_caller = PerCallerLimit(size)


class Workers:
    """Runs a few calls at once, queues some more, and refuses the rest."""

    def __init__(self, *, threads: int = 4, queue: int = 1000) -> None:
        self._working = _Pool(threads, "worker")
        self._waiting = _Pool(WAITING_THREADS, "waiting")
        self._most = threads + queue
        self.in_flight = 0
        """The number of calls that run or wait."""

    async def run(self, work: Callable[[], ResultT], *, of: str, waits: bool = False) -> ResultT:
        """Run a caller's work in a thread, in turn with that of others; refuse it where the queue is full.

        Work that waits for another process has threads of its own. Where the caller cancels, work that has begun goes
        on in its thread, and counts until it ends.
        """
        if self.in_flight >= self._most:
            raise OverloadedError("the server is overloaded; try again in a second")
        self.in_flight += 1
        try:
            pool = self._waiting if waits else self._working
            async with pool.per_caller.entered(of):
                running = asyncio.get_running_loop().run_in_executor(pool.threads, work)
                with anyio.CancelScope(shield=True):
                    await running
                return running.result()
        finally:
            self.in_flight -= 1

    async def run_aside(self, work: Callable[[], ResultT]) -> ResultT:
        """Run something small in another thread, such as auditing a refusal."""
        return await anyio.to_thread.run_sync(work)

    async def drain(self, timeout_s: float) -> None:
        """Wait until no call runs or waits, or until the timeout."""
        with anyio.move_on_after(timeout_s):
            while self.in_flight:
                await anyio.sleep(0.02)
