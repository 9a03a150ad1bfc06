"""Those who were refused for asking too often are read more slowly, so that the others are answered in time."""

import anyio

from pinakes.serve.per_caller_limit import PerCallerLimit

PAUSE_S = 0.004
"""How long each further request of such a caller waits, one after the other over all their connections."""
LONGEST_S = 2.0
"""How long one waits at most, with its turn."""
MOST_KNOWN = 10_000
"""How many are known to have been refused; where there are more, all are forgotten until the next time."""


class RefusalThrottle:
    """Knows who was refused last. It holds up nobody else, and nobody for long."""

    def __init__(self, *, pause_s: float = PAUSE_S, longest_s: float = LONGEST_S) -> None:
        self._pause_s = pause_s
        self._longest_s = longest_s
        self._lanes = PerCallerLimit(1)
        self._refused: set[str] = set()

    async def wait(self, name: str) -> bool:
        """Return at once, but for somebody who was refused: then in their turn. Tell whether it took a while."""
        if name not in self._refused:
            return False
        with anyio.move_on_after(self._longest_s):
            async with self._lanes.entered(name):
                if name in self._refused:
                    await anyio.sleep(self._pause_s)
        return True

    def note(self, name: str, *, is_refused: bool) -> None:
        """Note what became of somebody's last request."""
        if is_refused:
            if len(self._refused) >= MOST_KNOWN:
                self._refused.clear()
            self._refused.add(name)
        else:
            self._refused.discard(name)
