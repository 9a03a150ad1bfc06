"""What a source gives: rows with their places."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

from pinakes.model.vectors import ModelId, Vector
from pinakes.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedRecord:
    """A record of a catalogue as shelves encode it."""

    catalogue: str
    """The name of the spec that it follows."""
    id: str
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceVector:
    """The vector of a row's text, and the model that made it."""

    model: ModelId
    values: Vector


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
    record: EncodedRecord | None = None
    """The record itself, from a source that a catalogue was published to; a catalogue of its spec takes it as it is."""
    vector: SourceVector | None = None
    is_chunk: bool = False
    """Whether the row is a piece of a longer text that was cut before it was embedded, and is not cut again."""


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


Provider = Callable[[str, Settings], RowSource]
"""Opens the rows that answer a query to a server on the network."""


class Reading(NamedTuple):
    """What was got out of a file, and the stamp that it had then: a file with another one is to be read again."""

    stamp: str
    content: bytes


class Readings(Protocol):
    """What a source remembers of its files from one reading to the next."""

    def load(self) -> dict[str, Reading]:
        """Return what is remembered, by place."""

    def save(self, readings: Mapping[str, Reading]) -> None:
        """Remember these, in place of what was remembered of the same places."""

    def forget(self, places: Iterable[str]) -> None:
        """Forget these places."""


@runtime_checkable
class RecallingSource(RowSource, Protocol):
    """A source whose files take long to read. It is given what it remembers before it is asked for rows."""

    def recall(self, readings: Readings) -> str:
        """Use these from now on, and keep them up; return a stamp that differs whenever any row does.

        An empty stamp says that only reading the rows tells. A source with the stamp of its last reading is not read.
        """
