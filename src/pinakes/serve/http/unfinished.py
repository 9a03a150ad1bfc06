"""Connections whose request is not complete, and connections between two requests: bounded in number and in bytes.

Nobody is known on them. When there are too many, the one that has waited longest is closed: a client that means well
completes its request in milliseconds, so that those who hold connections open lose theirs.
"""

from typing import Protocol

MOST_UNFINISHED = 4096
MOST_HEAD_BYTES = 32 * 1024 * 1024
"""The most bytes of incomplete heads together."""


class Closable(Protocol):
    """A connection."""

    def make_room(self) -> None:
        """Close the connection, to make room for others."""


class Unfinished:
    """The connections without a complete request, oldest first, with the bytes that each holds."""

    def __init__(self, most: int = MOST_UNFINISHED, most_bytes: int = MOST_HEAD_BYTES) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._sizes: dict[Closable, int] = {}
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._sizes)

    def add(self, connection: Closable) -> None:
        """Note a connection that begins to wait, as the newest."""
        self.discard(connection)
        self._sizes[connection] = 0
        self._require_room()

    def grow(self, connection: Closable, size: int) -> None:
        """Note further bytes of a connection's request."""
        if connection in self._sizes:
            self._sizes[connection] += size
            self._bytes += size
            self._require_room()

    def discard(self, connection: Closable) -> None:
        """Forget a connection whose request is complete, or that is closed."""
        self._bytes -= self._sizes.pop(connection, 0)

    def _require_room(self) -> None:
        while len(self._sizes) > self._most or self._bytes > self._most_bytes:
            oldest = next(iter(self._sizes))
            self.discard(oldest)
            oldest.make_room()
