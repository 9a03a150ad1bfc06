"""The reranking port: something that has another look at the best hits. Off unless one is configured."""

from collections.abc import Sequence
from typing import Protocol


class Reranker(Protocol):
    """Scores texts against a query."""

    depth: int
    """How many of the best hits it looks at."""
    failures: int
    """How often it had no answer so far."""

    def scores(self, query: str, texts: Sequence[str]) -> list[float] | None:
        """Return one score a text, higher is better, or None when there is no answer in time."""

    def close(self) -> None:
        """Let go of connections; it is not used any more."""
