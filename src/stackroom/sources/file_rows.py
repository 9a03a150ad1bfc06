"""Base of the readers of files: name, options, notes on what was decided, rows from a start; and
names of columns and cells, as all formats of tables share them; tables of attributes.

Text that was damaged before it came here, as `cafÃ©`, is remarked and kept: what it was cannot be
told with certainty.
"""

import re
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

from stackroom.errors import InputError, did_you_mean, list_some
from stackroom.sources.compressed import is_compressed, require_file, without_compression
from stackroom.sources.location import NO_OPTIONS, ReadOptions, SourceLocation
from stackroom.sources.port import Losses, Note, ReadingNotes, RowSource, SourceRow

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


MOST_NAMED = 50


def require_name(names: list[str], wanted: str, *, kind: str, place: Path) -> str:
    """Return the name of a table or sheet, in any case, or refuse with those that there are."""
    known = {name.casefold(): name for name in reversed(names)} | {name: name for name in names}
    if found := known.get(wanted) or known.get(wanted.casefold()):
        return found
    shown = list_some(names, MOST_NAMED) or "none"
    raise InputError(
        f"{place}: no {kind} '{wanted}'{did_you_mean(wanted, names)}; {kind}s: {shown}"
    )


def unique_names(names: Iterable[str]) -> list[str]:
    """Make the names unique: a second `x` becomes `x_2`, and an unnamed third column `column_3`."""
    given = [name.strip() or f"column_{place}" for place, name in enumerate(names, start=1)]
    taken: set[str] = set()
    result = []
    for name in given:
        free, number = name, 2
        while free in taken or (free != name and free in given):
            free, number = f"{name}_{number}", number + 1
        taken.add(free)
        result.append(free)
    return result


def text_in(cell: bytes) -> str | None:
    """Decode bytes as UTF-8 text; None for binary content such as an image."""
    try:
        text = cell.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def plain_value(value: Any) -> Any:
    """Return a cell as plain JSON values, dates and times; pairs become a mapping, bytes that are
    not text None.
    """
    if isinstance(value, bytes):
        return text_in(value)
    if isinstance(value, Decimal):
        exponent = value.as_tuple().exponent
        return int(value) if isinstance(exponent, int) and exponent >= 0 else float(value)
    if isinstance(value, dict):
        return {name: plain_value(item) for name, item in value.items()}
    if isinstance(value, list):
        is_mapping = value and all(isinstance(item, tuple) for item in value)
        return (
            {str(key): plain_value(item) for key, item in value}
            if is_mapping
            else list(map(plain_value, value))
        )
    return str(value) if isinstance(value, timedelta) else value


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


DAMAGED = "text that was damaged before, kept as it is"  # what the ledger calls such cells
AROUND = 20


def _read_as(encoding: str, first: int, last: int) -> str:
    """Return the characters that these bytes are in an encoding."""
    return re.escape(bytes(range(first, last + 1)).decode(encoding, errors="ignore"))


WESTERN_SIGNS = f"\x80-\x9f¡-¬®-¿{_read_as('cp1252', 0x80, 0x9F)}"
QUOTES = "‘’“”–—…"
MAC = _read_as("mac_roman", 0x80, 0xBF)
PATTERN = re.compile(
    rf"[ÂÃ](?:(?![{QUOTES}])[{WESTERN_SIGNS}]|[{QUOTES}](?=\w))"  # UTF-8 as Windows-1252
    rf"|â(?:€|\x80)[{WESTERN_SIGNS}]"
    rf"|(?<=[a-zA-Z])√[{MAC}]|√[{MAC}](?=[a-zA-Z])|‚Ä[{MAC}]"  # UTF-8 as MacRoman
    r"|\bÒ\w[^ÒÓ]{0,200}Ó(?!\w)|(?<=[a-z])Õ(?=(?:s|t|re|ll|ve|d|m)\b)"  # MacRoman as Windows-1252
)
FIRST = re.compile("[ÂÃâ√‚ÒÕ]")


def may_be_damaged(cells: Iterable[Any]) -> bool:
    """Tell, of all cells of a row at once, whether one has a character that damage begins with."""
    text = "\n".join([cell for cell in cells if type(cell) is str])
    return not text.isascii() and FIRST.search(text) is not None


def find_damage(text: str) -> str:
    """Return a damaged part of a text, with a few characters around it; empty if there is none."""
    found = PATTERN.search(text)
    return text[max(0, found.start() - AROUND) : found.start() + AROUND].strip() if found else ""
