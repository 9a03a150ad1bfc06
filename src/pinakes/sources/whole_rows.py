"""Rows that can only be made all at once, such as those of files that complete each other."""

from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import islice
from pathlib import Path

from pinakes.sources.port import SourceRow


class WholeRows:
    """Implements `RowSource` for a file or folder by a function that reads all of it, when it is first asked for."""

    is_whole = True
    """Such a file or folder has all its rows."""

    def __init__(self, path: Path, read: Callable[[], list[SourceRow]]) -> None:
        self._path = path
        self._read = read

    @property
    def name(self) -> str:
        """The whole path of the file or folder."""
        return str(self._path.resolve())

    def count_rows(self) -> int | None:
        """Return how many rows there are."""
        return len(self._rows)

    def iter_rows(self, *, start: int = 0) -> Iterator[SourceRow]:
        """Yield the rows, once all of them are made."""
        yield from islice(self._rows, start, None)

    @cached_property
    def _rows(self) -> list[SourceRow]:
        return self._read()
