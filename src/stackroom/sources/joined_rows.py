"""Rows of several files of tables, read as one table: a folder of them, a pattern of names, or a list."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path

from stackroom.errors import InputError
from stackroom.sources.location import common_beginning
from stackroom.sources.port import RowSource, SourceRow, notes_of

FILE_COLUMN = "file"
"""The column with the name of the file that a row is from."""
LEAST_SHARED = 0.5
"""The share of its columns that a file must have in common with the first one."""
SHOWN_FILES = 5
COUNTER = re.compile(r"\d{1,6}([-_]of[-_]\d{1,6})?\D*")
YEAR = re.compile(r"(18|19|20)\d\d")


class JoinedRows:
    """Implements `RowSource` for files with the same columns, or nearly; a column that one lacks is empty there."""

    def __init__(self, name: str, files: Sequence[Path], open_file: Callable[[Path], RowSource]) -> None:
        self._name = name
        self._root = Path(os.path.commonpath([file.parent.resolve() for file in files]))
        self._sources = {self._place(file): open_file(file) for file in files}
        self._has_telling_names = has_telling_names([file.name.partition(".")[0] for file in files])

    @property
    def name(self) -> str:
        """The location of the files, with the options that they are read with."""
        return self._name

    @property
    def is_whole(self) -> bool:
        """Whether all files are: a row that is missing was deleted, and so was a file."""
        return all(source.is_whole for source in self._sources.values())

    @property
    def notes(self) -> tuple[str, ...]:
        """The files, the columns that some lack, and the decisions about each."""
        names = list(self._sources)
        more = f" and {len(names) - SHOWN_FILES} more" if len(names) > SHOWN_FILES else ""
        about_files = [f"{file}: {note}" for file, source in self._sources.items() for note in notes_of(source)]
        files = f"{len(names)} files are read as one table: {', '.join(names[:SHOWN_FILES])}{more}"
        return (files, *self._notes_on_columns(), *about_files)

    def count_rows(self) -> int | None:
        """Return the number of rows of all files; None where one does not know."""
        counts = [source.count_rows() for source in self._sources.values()]
        known = [count for count in counts if count is not None]
        return sum(known) if len(known) == len(counts) else None

    def iter_rows(self, *, start: int = 0) -> Iterator[SourceRow]:
        """Yield the rows of one file after the other."""
        yield from islice(self._iter_all(), start, None)

    def _iter_all(self) -> Iterator[SourceRow]:
        all_columns = {column for columns in self._columns.values() for column in columns}
        is_named = self._has_telling_names and FILE_COLUMN not in all_columns
        for file, source in self._sources.items():
            named = {FILE_COLUMN: Path(file).name.partition(".")[0]} if is_named else {}
            for row in source.iter_rows():
                values = row.values if row.problem else {**row.values, **named}
                yield SourceRow(place=f"{file}, {row.place}", values=values, problem=row.problem)

    @cached_property
    def _columns(self) -> dict[str, tuple[str, ...]]:
        """The columns of each file, by its first row that can be read; files that share too few are refused."""
        columns = {file: _first_columns(source) for file, source in self._sources.items()}
        first, expected = next(iter(columns.items()))
        for file, names in columns.items():
            shared = len(set(expected).intersection(names))
            if names and shared < LEAST_SHARED * max(len(names), 1) and shared < LEAST_SHARED * len(expected):
                raise InputError(
                    f"{self._name}: '{file}' and '{first}' have different columns ({_listed(names)} and "
                    f"{_listed(expected)}); files of one table have the same; add others by themselves"
                )
        return columns

    def _notes_on_columns(self) -> Iterator[str]:
        having: dict[str, list[str]] = {}
        for file, names in self._columns.items():
            for name in names:
                having.setdefault(name, []).append(file)
        for name, files in having.items():
            if len(files) < len(self._sources):
                shown = ", ".join(files[:SHOWN_FILES])
                yield f"the column '{name}' is in {len(files)} of {len(self._sources)} files only: {shown}"

    def _place(self, file: Path) -> str:
        return (file.parent.resolve() / file.name).relative_to(self._root).as_posix()


def has_telling_names(stems: Sequence[str]) -> bool:
    """Return whether files' names tell something about their rows: not where they only count, as in `part-3`."""
    prefix = common_beginning(stems).rstrip("0123456789")
    ends = [stem[len(prefix) :] for stem in stems]
    is_counted = all(COUNTER.fullmatch(end) for end in ends) and not all(YEAR.match(end) for end in ends)
    return len(set(stems)) > 1 and not is_counted


def _first_columns(source: RowSource) -> tuple[str, ...]:
    return next((tuple(row.values) for row in source.iter_rows() if not row.problem), ())


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN_FILES])
