"""What a source gives: rows with their places."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRow:
    """One row as its source has it, before mapping; `problem` is set where it could not be read."""

    place: str
    values: Mapping[str, Any]
    problem: str | None = None


class RowSource(Protocol):
    """Rows from somewhere."""

    @property
    def name(self) -> str:
        """What the source is called in reports."""

    def count_rows(self) -> int | None:
        """Return how many rows there will be, for progress; None when that cannot be told beforehand."""

    def iter_rows(self) -> Iterator[SourceRow]:
        """Yield every row, in order; a row that cannot be read is yielded with its problem."""
