"""The source port: rows with their positions, from files, folders, tables and providers."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NamedTuple, Protocol

from stackroom.errors import list_some
from stackroom.frozen import frozen
from stackroom.model.vectors import ModelId, Vector
from stackroom.settings import Settings

KINDS_SHOWN = 12
COLUMNS_SHOWN = 5
MOST_UNREAD = 0.02


RowValues = Mapping[str, Any]  # the cells of a row by their columns


@frozen
class EncodedRecord:
    """A record of a catalogue as shelves encode it."""

    catalogue: str  # the name of the spec that it follows
    id: str
    body: bytes


@frozen
class SourceVector:
    """The vector of a row's text, and the model that made it."""

    model: ModelId
    values: Vector


@frozen
class SourceRow:
    """One row of a source, before mapping; `problem` is set where it could not be read."""

    place: str  # its position, for people: "line 12", "notes/bread.md"
    values: RowValues = field(default_factory=dict)
    problem: str | None = None
    digest: str = ""
    """A digest of the row where it is cheaper than the values, or empty: a row with the place and
    digest of the last ingest is skipped.
    """
    record: EncodedRecord | None = None
    """The record itself, from a source that a catalogue was published to; a catalogue of its spec
    takes it as it is.
    """
    vector: SourceVector | None = None
    is_chunk: bool = False
    """Whether the row is a piece of a longer text that was cut before it was embedded, and is not
    cut again.
    """


@frozen
class Losses:
    """The rows of a source that cannot be read, and its lines with letters that cannot be
    decoded.
    """

    rows: int = 0
    unread: int = 0
    first: str = ""  # where the first row is that cannot be read, and why
    undecoded: int = 0

    @property
    def are_grave(self) -> bool:
        """Whether so much is lost that it has to be agreed to: more than 2 % of the rows, or any
        letters.
        """
        return self.unread > MOST_UNREAD * self.rows or self.undecoded > 0

    def __str__(self) -> str:
        lost = (
            [f"{self.unread:,} of {self.rows:,} rows cannot be read, as {self.first}"]
            if self.unread
            else []
        )
        if self.undecoded:
            lost.append(
                f"letters of {self.undecoded:,} line{'s' if self.undecoded > 1 else ''} cannot be"
                " decoded"
            )
        return "; ".join(lost)


@dataclass(slots=True, kw_only=True)
class CellChange:
    """The cells of a column that are read as other than they are written."""

    kind: str  # what they are read as: `missing`, `a number`
    column: str
    example: str  # the first of them, as it is written, and where
    count: int = 0

    def __str__(self) -> str:
        return f"{self.count:,} read as {self.kind} ({self.example})"


# a decision made in reading, as a sentence, or the cells of a column that it changes
Note = str | CellChange


def describe_notes(notes: Iterable[Note]) -> list[str]:
    """Return a sentence for each note; changes of one kind are one, with the most frequent columns
    first.
    """
    changes = sorted(
        (note for note in notes if isinstance(note, CellChange)),
        key=lambda one: (one.kind, -one.count),
    )
    told = [note for note in notes if isinstance(note, str)]
    for kind, some in groupby(changes, key=lambda one: one.kind):
        columns = [f"{one.column} {one.count:,} ({one.example})" for one in some]
        shown = list_some(columns, COLUMNS_SHOWN, more="more columns")
        told.append(f"cells read as {kind}: {shown}")
    return told


LOST_LETTERS = "{count:,} line{s} {have} letters that cannot be decoded (first: {first})"
ONE, MANY = {"s": "", "have": "has", "are": "is"}, {"s": "s", "have": "have", "are": "are"}


class ReadingNotes:
    """Collects the decisions of one reading."""

    def __init__(self) -> None:
        self._said: dict[str, None] = {}
        self._firsts: dict[tuple[str, str], str] = {}
        self._counts: Counter[tuple[str, str]] = Counter()
        self._changes: dict[tuple[str, str], CellChange] = {}

    def __iter__(self) -> Iterator[Note]:
        yield from self._said
        for (note, name), count in self._counts.items():
            forms = ONE if count == 1 else MANY
            yield note.format(count=count, name=name, first=self._firsts[note, name], **forms)
        yield from self._changes.values()

    @property
    def lost_lines(self) -> int:
        """The number of lines with letters that cannot be decoded."""
        return self._counts[LOST_LETTERS, ""]

    def add(self, text: str) -> None:
        """Note a decision once."""
        self._said[text] = None

    def count(self, note: str, place: str, *, name: str = "") -> None:
        """Count a decision that may be made for many rows; its note has `{count}`, the `{first}`
        place and `{name}`.
        """
        self._counts[note, name] += 1
        self._firsts.setdefault((note, name), place)

    def change(self, kind: str, column: str, example: str) -> None:
        """Count a cell that is read as other than it is written; the example of the first is
        kept.
        """
        change = CellChange(kind=kind, column=column, example=example)
        self._changes.setdefault((kind, column), change).count += 1


class RowSource(Protocol):
    """An iterable of rows; a class that says so as its base has the defaults of what most sources
    do not need.

    An error of the whole source is an `InputError` that names the source and the position.
    """

    @property
    def name(self) -> str:
        """The source's name in reports, unique among the sources of a catalogue."""

    @property
    def is_whole(self) -> bool:
        """Whether the rows are complete, so that a record whose row is missing is deleted; False
        for query results.
        """
        return True

    def count_rows(self) -> int | None:
        """Return the number of rows, for progress; None where it is not known beforehand."""
        return None

    def iter_rows(self, *, start: int = 0) -> Iterator[SourceRow]:
        """Yield the rows after the first `start`, in order; an unreadable row has its problem."""

    def measure_losses(self) -> Losses:
        """Return what is lost in reading all rows; nothing, where that is not known without a
        server.
        """
        return Losses()

    @property
    def notes(self) -> tuple[Note, ...]:
        """Decisions made in reading, such as which lines are a heading; they are known once rows
        have been read.
        """
        return ()

    def count_unread(self) -> Mapping[str, int]:
        """Return the number of files left out of each kind that is not read, most frequent
        first.
        """
        return {}

    @property
    def other_tables(self) -> tuple[str, ...]:
        """The other tables of the file or database."""
        return ()

    @property
    def table_option(self) -> str:
        """The option that chooses another table."""
        return ""

    @property
    def origins(self) -> Mapping[str, str]:
        """The columns that the source joins to the table from others, and where each is from, for
        people.
        """
        return {}

    @property
    def id_column(self) -> str | None:
        """The column that the source declares as the key of its rows, if any."""
        return None

    @property
    def vector_model(self) -> ModelId | None:
        """The model of the vectors that the rows bring; None where there are none, or it is not
        known.
        """
        return None

    @property
    def is_one_step(self) -> bool:
        """Whether its changes are written in one step: readers, and a kill, leave the former
        records or the new ones.

        Not where there are more records than one step can take.
        """
        return False

    def recall(self, _readings: "Readings") -> str:
        """Use and maintain this cache of what is slow to read; return a stamp that differs whenever
        a row does.

        A source whose stamp is that of its last ingest is not read. An empty stamp: changes are
        found only by reading.
        """
        return ""


def describe_unread(unread: Mapping[str, int]) -> str:
    """Return a sentence about the files of kinds that are not read."""
    files, shown = sum(unread.values()), list(unread.items())[:KINDS_SHOWN]
    kinds = ", ".join(f"{kind} {count}" for kind, count in shown)
    more = ", …" if len(unread) > KINDS_SHOWN else ""
    return f"{files} {'file' if files == 1 else 'files'} of kinds that are not read: {kinds}{more}"


# opens the rows that answer a query to a server on the network
Provider = Callable[[str, Settings], RowSource]


class Reading(NamedTuple):
    """Content that was extracted from a file, and the file's stamp: a file with another stamp is
    stale.
    """

    stamp: str
    content: bytes


class Readings(Protocol):
    """A source's cache of extracted content, by place."""

    def load(self) -> dict[str, Reading]:
        """Return all cached readings, by place."""

    def save(self, readings: Mapping[str, Reading]) -> None:
        """Cache these readings, replacing those of the same places."""

    def forget(self, places: Iterable[str]) -> None:
        """Remove these places from the cache."""
