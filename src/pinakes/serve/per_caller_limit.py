"""A lane for each caller: however much somebody sends, only a little of it is under way at once, and others get by."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio


class PerCallerLimit:
    """Lets in a few requests of each caller at a time."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._lanes: dict[str, anyio.Semaphore] = {}
        self._users: dict[str, int] = {}

    @asynccontextmanager
    async def entered(self, name: str) -> AsyncIterator[None]:
        """Wait for room in somebody's lane, and hold it; without any request they have no lane."""
        lane = self._lanes.setdefault(name, anyio.Semaphore(self._width, fast_acquire=True))
        self._users[name] = self._users.get(name, 0) + 1
        try:
            async with lane:
                yield
        finally:
            self._users[name] -= 1
            if not self._users[name]:
                del self._users[name], self._lanes[name]
