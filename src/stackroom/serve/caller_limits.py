"""Fairness between callers: how much of one caller's work runs at once, and how fast a refused one is read."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

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
