"""Base of the readers of files: name, options, notes on what was decided, rows from a start,
attributes in pairs.
"""

import re
from abc import abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

from stackroom.errors import InputError
from stackroom.sources.compressed import is_compressed, require_file, without_compression
from stackroom.sources.location import NO_OPTIONS, ReadOptions, SourceLocation
from stackroom.sources.port import CellChange, Losses, Note, RowSource, SourceRow
from stackroom.sources.text_encoding import DAMAGED, find_damage, may_be_damaged, require_encoding

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


SAMPLE_ROWS = 200  # how many rows are looked at to find what a table is like
PANIC = "PanicException"  # the class name of a Rust panic; the class cannot be imported


@contextmanager
def refusing(path: Path, form: str, *, advice: str) -> Iterator[None]:
    """Refuse a file on which a library fails: in many ways, and a panic is not even an
    `Exception`.
    """
    try:
        yield
    except InputError:
        raise
    except BaseException as error:
        if isinstance(error, Exception) or type(error).__name__ == PANIC:
            raise InputError(f"{path}: cannot be read as {form}: {error}; {advice}") from error
        raise


KEPT_BYTES = 16_000_000  # the size of a file up to which its rows are kept for the next reading
# joins columns of other tables to the rows of one
Join = Callable[[Iterator[SourceRow]], Iterator[SourceRow]]


class FileRows(RowSource):
    """Implements `RowSource` for a file; each format yields the rows of its table."""

    takes: ClassVar[frozenset[str]] = frozenset()  # the options that mean something for the format
    join: Join | None = None
    origins: Mapping[str, str] = MappingProxyType({})
    joined_files: tuple[str, ...] | None = None  # the files whose tables are joined to the rows
    join_notes: tuple[str, ...] = ()

    def __init__(self, path: Path, options: ReadOptions = NO_OPTIONS) -> None:
        self._path = require_file(path)
        self.location = str(self._path.resolve())  # where the file is, or was fetched from
        options.require_only(self.takes | {"pairs"}, location=str(path))
        self._options = options
        self._notes = ReadingNotes()
        self._losses: Losses | None = None
        self._kept: dict[object, list[SourceRow]] = {}
        """The rows of the last reading, by the state of the file, for the next: a spec is inferred
        first.
        """

    @property
    def table(self) -> str:
        """The name of its table or sheet, or of the file."""
        return self._options.table or without_compression(self._path).stem

    @property
    def name(self) -> str:
        """The location, with the options that were given."""
        return SourceLocation(
            location=self.location, options=replace(self._options, join=self.joined_files)
        ).name

    @property
    def _encoding(self) -> str:
        return require_encoding(self._options.encoding) if self._options.encoding else ""

    @property
    def notes(self) -> tuple[Note, ...]:
        """The decisions made in reading."""
        return (*self._notes, *self.join_notes)

    def count_rows(self) -> int | None:
        """Return the number of rows, once the file was read to its end."""
        return self._losses.rows if self._losses else None

    def iter_rows(self, *, start: int = 0) -> Iterator[SourceRow]:
        """Yield the rows after the first `start`; an unreadable row has its problem."""
        state = self._state()
        if (kept := self._kept.pop(state, None)) is not None:
            yield from islice(kept, start, None)
            return
        self._notes = ReadingNotes()
        self._losses = None
        read, rows, unread, first = [], 0, 0, ""
        for row in self._iter_things() if self.join is None else self.join(self._iter_things()):
            rows += 1
            if row.problem is not None:
                unread, first = unread + 1, first or f"{row.place}: {row.problem}"
            for name, cell in row.values.items() if may_be_damaged(row.values.values()) else ():
                if isinstance(cell, str) and (damage := find_damage(cell)):
                    self._notes.change(DAMAGED, name, f"'{damage}', {row.place}")
            if state is not None:
                read.append(row)
            if rows > start:
                yield row
        self._kept = {} if state is None else {state: read}
        self._losses = Losses(
            rows=rows, unread=unread, first=first, undecoded=self._notes.lost_lines
        )

    def _state(self) -> object:
        """Return a value that differs after a change of the file, or of how it is read; None for a
        large file.
        """
        with suppress(OSError):  # reading it says why
            stat = self._path.stat()
            if stat.st_size <= KEPT_BYTES and not is_compressed(self._path):
                return stat.st_mtime_ns, stat.st_size, self.join
        return None

    def _iter_things(self) -> Iterator[SourceRow]:
        """Yield the rows of the table; of a table of attributes, one for each thing."""
        rows = self._iter_table()
        if self._options.pairs is False:
            return rows
        head = list(islice(rows, SAMPLE_ROWS))
        if (pairs := find_pairs(head)) is None:
            return chain(head, rows)
        self._notes.add(str(pairs))
        return iter_things(chain(head, rows), pairs)

    def measure_losses(self) -> Losses:
        """Return what was lost when the file was last read to its end; it is read where it was
        not.
        """
        if self._losses is None:
            deque(self.iter_rows(), maxlen=0)
        return self._losses or Losses()

    @abstractmethod
    def _iter_table(self) -> Iterator[SourceRow]:
        """Yield all rows."""


class WholeRows(RowSource):
    """Implements `RowSource` for a file or folder by a function that reads all of it on first
    use.
    """

    def __init__(self, path: Path, read: Callable[[], list[SourceRow]]) -> None:
        self._path = path
        self._read = read

    @property
    def name(self) -> str:
        """The absolute path of the file or folder."""
        return str(self._path.resolve())

    def count_rows(self) -> int | None:
        """Return the number of rows."""
        return len(self._rows)

    def iter_rows(self, *, start: int = 0) -> Iterator[SourceRow]:
        """Yield the rows, computed on first use."""
        yield from islice(self._rows, start, None)

    @cached_property
    def _rows(self) -> list[SourceRow]:
        return self._read()


ATTRIBUTE = re.compile(
    r"\s*(attributes?|propert(y|ies)|keys?|fields?|variables?|parameters?|features?|characteristics?|attribut|merkmal"
    r"|eigenschaft|propri[eé]t[eé]|caract[eé]ristique|attributo|propriet[aà]|atributo|campo|propiedad)\s*",
    re.IGNORECASE,
)
VALUE = re.compile(r"\s*(values?|info|content|text|wert|valeur|valore?s?|inhalt)\s*", re.IGNORECASE)
FEWEST_TIMES = 3  # how many rows an attribute has at least, on average


class Pairs(NamedTuple):
    """The columns of the name of a thing, of its attributes and of their values."""

    thing: str
    attribute: str
    value: str

    def __str__(self) -> str:
        how = f"each '{self.attribute}' is a column, as several rows describe one '{self.thing}'"
        return f"{how}; --no-pairs reads the rows as they are"


def find_pairs(rows: Sequence[SourceRow]) -> Pairs | None:
    """Return the columns of a table of attributes by its first rows; None for any other table."""
    columns = {column: None for row in rows for column in row.values}
    attribute = next(filter(ATTRIBUTE.fullmatch, columns), "")
    value = next(filter(VALUE.fullmatch, columns), "")
    others = [column for column in columns if column not in (attribute, value)]
    if len(columns) != len(Pairs._fields) or len(others) != 1:
        return None
    named = [
        (row.values.get(others[0]), row.values.get(attribute)) for row in rows if not row.problem
    ]
    if not all(isinstance(name, str) and name.strip() for _, name in named):
        return None
    things, attributes = ({cells[place] for cells in named} for place in (0, 1))
    is_described = 2 * len(things) <= len(set(named)) and FEWEST_TIMES * len(attributes) <= len(
        named
    )
    return Pairs(others[0], attribute, value) if is_described and len(attributes) > 1 else None


def iter_things(rows: Iterable[SourceRow], pairs: Pairs) -> Iterator[SourceRow]:
    """Yield a row for each thing, in the place of its first row; an attribute that it has several
    times is a list.
    """
    things: dict[Any, tuple[str, dict[str, list[Any]]]] = {}
    for row in rows:
        if row.problem:
            yield row
            continue
        thing, attribute, value = (row.values.get(column) for column in pairs)
        things.setdefault(thing, (row.place, {}))[1].setdefault(str(attribute).strip(), []).append(
            value
        )
    for thing, (place, found) in things.items():
        values = {name: cells[0] if len(cells) == 1 else cells for name, cells in found.items()}
        yield SourceRow(place=place, values={pairs.thing: thing, **values})
