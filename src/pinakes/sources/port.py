"""What a source gives: rows with their places."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRow:
    """One row as its source has it, before mapping; `problem` is set where it could not be read."""

    place: str
    """Where it stands, for people: "line 12", "notes/bread.md"."""
    values: Mapping[str, Any]
    problem: str | None = None
    digest: str = ""
    """A digest of the row, where that is cheaper to have than its values: a row of the same place and digest as
    before is passed over without being asked for them."""


class RowSource(Protocol):
    """Rows from somewhere. An error of the whole source is an `InputError` that names it and the place in it."""

    @property
    def name(self) -> str:
        """What the source is called in reports; two sources of one catalogue have different names."""

    @property
    def is_whole(self) -> bool:
        """Whether a record whose row is no longer yielded is gone; not so where rows are an answer to a question."""

    def count_rows(self) -> int | None:
        """Return how many rows there will be, for progress; None when that cannot be told beforehand."""

    def iter_rows(self, *, start: int = 0) -> Iterator[SourceRow]:
        """Yield every row after the first `start` ones, in order; a row that cannot be read comes with its problem."""
