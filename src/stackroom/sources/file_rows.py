"""What the readers of files share: the name, the options, notes on what was decided, and rows read from a start."""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import ClassVar

from stackroom.errors import InputError
from stackroom.sources.compressed import require_file
from stackroom.sources.location import NO_OPTIONS, ReadOptions, SourceLocation
from stackroom.sources.port import RowSource, SourceRow


@dataclass(slots=True)
class _Tally:
    """How often something was decided, and where first."""

    say: Callable[[int, str], str]
    first: str
    count: int = 0


class ReadingNotes:
    """Collects decisions; reading again starts anew."""

    def __init__(self) -> None:
        self._said: dict[str, None] = {}
        self._tallies: dict[str, _Tally] = {}

    @property
    def texts(self) -> tuple[str, ...]:
        """The notes, in the order in which they were first needed."""
        return (*self._said, *(tally.say(tally.count, tally.first) for tally in self._tallies.values()))

    def clear(self) -> None:
        """Forget all notes."""
        self._said.clear()
        self._tallies.clear()

    def add(self, text: str) -> None:
        """Note a decision once."""
        self._said[text] = None

    def count(self, key: str, place: str, say: Callable[[int, str], str]) -> None:
        """Count a decision that may be made for many rows; `say` makes the note of the number and the first place."""
        self._tallies.setdefault(key, _Tally(say=say, first=place)).count += 1


PANIC = "PanicException"
"""The class name of a Rust panic; the class cannot be imported."""


@contextmanager
def refusing(path: Path, form: str, *, advice: str) -> Iterator[None]:
    """Refuse a file on which a library fails: in many ways, and a panic is not even an `Exception`."""
    try:
        yield
    except InputError:
        raise
    except BaseException as error:
        if isinstance(error, Exception) or type(error).__name__ == PANIC:
            raise InputError(f"{path}: cannot be read as {form}: {error}; {advice}") from error
        raise


class FileRows(RowSource):
    """Implements `RowSource` for a file; each format yields the rows of its table."""

    takes: ClassVar[frozenset[str]] = frozenset()
    """The options that mean something for the format."""

    def __init__(self, path: Path, options: ReadOptions = NO_OPTIONS) -> None:
        self._path = require_file(path)
        self.location = str(self._path.resolve())
        """Where the file is, or was fetched from."""
        options.require_only(self.takes, location=str(path))
        self._options = options
        self._notes = ReadingNotes()

    @property
    def name(self) -> str:
        """The location, with the options that were given."""
        return SourceLocation(location=self.location, options=self._options).name

    @property
    def notes(self) -> tuple[str, ...]:
        """The decisions made in reading."""
        return self._notes.texts

    def iter_rows(self, *, start: int = 0) -> Iterator[SourceRow]:
        """Yield the rows after the first `start`; an unreadable row has its problem."""
        self._notes.clear()
        yield from islice(self._iter_table(), start, None)

    @abstractmethod
    def _iter_table(self) -> Iterator[SourceRow]:
        """Yield all rows."""


class WholeRows(RowSource):
    """Implements `RowSource` for a file or folder by a function that reads all of it on first use."""

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
