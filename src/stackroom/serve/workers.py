"""Worker threads for the gate with a bounded queue, and fairness between those who call it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

import anyio
import anyio.to_thread

from stackroom.background.threads import new_pool
from stackroom.errors import OverloadedError

PAUSE_S = 0.004
"""The delay of each request of a throttled caller; their requests wait one after the other."""
LONGEST_S = 2.0
"""The longest delay of one request, with its turn."""
MOST_KNOWN = 10_000
"""The most refused callers that are remembered; beyond that all are forgotten."""


class PerCallerLimit:
    """A semaphore for each caller, so that nobody's requests hold up another's."""

    def __init__(self, width: int) -> None:
        """`width` is how many requests of one caller run at once."""
        self._width = width
        self._semaphores: dict[str, anyio.Semaphore] = {}
        self._users: dict[str, int] = {}

    @asynccontextmanager
    async def entered(self, name: str) -> AsyncIterator[None]:
        """Wait for a caller's semaphore, and hold it; it is dropped with their last request."""
        semaphore = self._semaphores.setdefault(name, anyio.Semaphore(self._width, fast_acquire=True))
        self._users[name] = self._users.get(name, 0) + 1
        try:
            async with semaphore:
                yield
        finally:
            self._users[name] -= 1
            if not self._users[name]:
                del self._users[name], self._semaphores[name]


class RefusalThrottle:
    """Delays callers whose last request exceeded their rate limit, so that the others are answered in time."""

    def __init__(self, *, pause_s: float = PAUSE_S, longest_s: float = LONGEST_S) -> None:
        self._pause_s = pause_s
        self._longest_s = longest_s
        self._turns = PerCallerLimit(1)
        self._refused: set[str] = set()

    async def wait(self, name: str) -> bool:
        """Return at once, or for a refused caller after their turn; tell whether there was a delay."""
        if name not in self._refused:
            return False
        with anyio.move_on_after(self._longest_s):
            async with self._turns.entered(name):
                if name in self._refused:
                    await anyio.sleep(self._pause_s)
        return True

    def note(self, name: str, *, is_refused: bool) -> None:
        """Note whether a caller's last request was refused."""
        if not is_refused:
            self._refused.discard(name)
            return
        if len(self._refused) >= MOST_KNOWN:
            self._refused.clear()
        self._refused.add(name)


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
