"""Tables in `.zip` archives: the largest is the main one; it is unpacked to a temporary file, which is then read."""

import shutil
import tempfile
import weakref
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from stackroom.errors import InputError, did_you_mean
from stackroom.sources.compressed import BoundedFile, Ceiling, require_file
from stackroom.sources.location import ReadOptions, SourceLocation
from stackroom.sources.port import RowSource, SourceRow, TableSource, id_column_of, notes_of


class RenamedRows:
    """Implements `RowSource` by another source, with a name of its own, and notes and tables in addition."""

    def __init__(
        self, source: RowSource, name: str, *, notes: Sequence[str] = (), other_tables: Sequence[str] = ()
    ) -> None:
        self._source = source
        self._name = name
        self._notes = notes
        self._other_tables = other_tables

    @property
    def name(self) -> str:
        """The name that it was given."""
        return self._name

    @property
    def is_whole(self) -> bool:
        """Whether the rows are complete."""
        return self._source.is_whole

    @property
    def notes(self) -> tuple[str, ...]:
        """The decisions made in reading."""
        return (*self._notes, *notes_of(self._source))

    @property
    def other_tables(self) -> tuple[str, ...]:
        """The other tables."""
        inner = self._source.other_tables if isinstance(self._source, TableSource) else ()
        return (*self._other_tables, *inner)

    @property
    def table_option(self) -> str:
        """The option that chooses another table."""
        is_of_tables = isinstance(self._source, TableSource) and not self._other_tables
        return self._source.table_option if is_of_tables and isinstance(self._source, TableSource) else "--table"

    @property
    def id_column(self) -> str | None:
        """The column that identifies rows, where the source declares one."""
        return id_column_of(self._source)

    def count_rows(self) -> int | None:
        """Return the number of rows, where it is known."""
        return self._source.count_rows()

    def iter_rows(self, *, start: int = 0) -> Iterator[SourceRow]:
        """Yield the rows."""
        return self._source.iter_rows(start=start)


ARCHIVE = ".zip"
JUNK = ("__MACOSX/", ".")
"""The beginnings of the names of members that programs add."""


def open_archive(
    path: Path,
    options: ReadOptions,
    *,
    is_table: Callable[[Path], bool],
    open_file: Callable[[Path, ReadOptions], RowSource],
) -> RowSource:
    """Return the rows of the largest table in an archive, or of the one that `table` names."""
    require_file(path)
    try:
        with zipfile.ZipFile(path) as archive:
            tables = [one for one in archive.infolist() if _is_plain(one) and is_table(Path(one.filename))]
            chosen = _choose(tables, path, options.table)
            folder = Path(tempfile.mkdtemp(prefix="stackroom-"))
            try:
                file = _unpacked(archive, chosen, folder, Ceiling.of(path, options.max_unpacked_mb))
                inner = open_file(file, replace(options, table=None if len(tables) > 1 else options.table))
            except BaseException:
                shutil.rmtree(folder, ignore_errors=True)
                raise
    except (zipfile.BadZipFile, OSError, RuntimeError, NotImplementedError, zlib.error) as error:
        raise InputError(f"{path}: cannot be read as an archive: {error}") from error
    others = [one.filename for one in tables if one is not chosen]
    name = _name(path, options, chosen.filename if others else None)
    source = RenamedRows(inner, name, notes=[f"read from the archive: {chosen.filename}"], other_tables=others)
    weakref.finalize(source, shutil.rmtree, folder, ignore_errors=True)
    return source


def _is_plain(member: zipfile.ZipInfo) -> bool:
    name = PurePosixPath(member.filename)
    return not member.is_dir() and not member.filename.startswith(JUNK) and not name.name.startswith(JUNK)


def _choose(tables: list[zipfile.ZipInfo], path: Path, wanted: str | None) -> zipfile.ZipInfo:
    names = [one.filename for one in tables]
    if not tables:
        raise InputError(f"{path}: no table in the archive")
    if wanted is None or len(tables) == 1:
        return max(tables, key=lambda one: one.file_size)
    for one in tables:
        if wanted in (one.filename, PurePosixPath(one.filename).name, PurePosixPath(one.filename).stem):
            return one
    raise InputError(f"{path}: no table '{wanted}'{did_you_mean(wanted, names)}; in the archive: {', '.join(names)}")


def _unpacked(archive: zipfile.ZipFile, member: zipfile.ZipInfo, folder: Path, ceiling: Ceiling) -> Path:
    file = folder / PurePosixPath(member.filename).name
    with archive.open(member) as packed, file.open("wb") as copy:
        bounded = BoundedFile(packed, ceiling)
        while block := bounded.read(1 << 20):
            copy.write(block)
    return file


def _name(path: Path, options: ReadOptions, member: str | None) -> str:
    part = ReadOptions(table=member) if member else ReadOptions()
    return SourceLocation(location=str(path.resolve()), options=part.over(options)).name
