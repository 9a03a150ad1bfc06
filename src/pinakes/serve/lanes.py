"""A lane for each caller: however much somebody sends, only a little of it is under way at once, and others get by."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

WIDTH = 8
"""How many requests of one caller are worked on at once, over all of their connections; the rest waits outside."""


class Lanes:
    """Lets in a few requests of each caller at a time."""

    def __init__(self, width: int = WIDTH) -> None:
        self._width = width
        self._lanes: dict[str, anyio.Semaphore] = {}
        self._users: dict[str, int] = {}

    @asynccontextmanager
    async def entered(self, name: str) -> AsyncIterator[None]:
        """Wait for room in somebody's lane, and hold it."""
        await self.enter(name)
        try:
            yield
        finally:
            self.leave(name)

    async def enter(self, name: str) -> None:
        """Wait for room in somebody's lane. Who has entered must leave."""
        lane = self._lanes.setdefault(name, anyio.Semaphore(self._width, fast_acquire=True))
        self._users[name] = self._users.get(name, 0) + 1
        try:
            await lane.acquire()
        except BaseException:
            self._forget(name)
            raise

    def leave(self, name: str) -> None:
        """Make room in somebody's lane."""
        self._lanes[name].release()
        self._forget(name)

    def _forget(self, name: str) -> None:
        """Count somebody's request no more; without any they have no lane."""
        self._users[name] -= 1
        if not self._users[name]:
            del self._users[name], self._lanes[name]
