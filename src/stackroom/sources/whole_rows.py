"""Rows that are computed all at once, such as those of files that complete each other."""

from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import islice
from pathlib import Path

from stackroom.sources.port import SourceRow


class WholeRows:
    """Implements `RowSource` for a file or folder by a function that reads all of it on first use."""

    is_whole = True
    """A row that is missing was deleted."""

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
