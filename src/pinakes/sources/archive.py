"""Tables in `.zip` archives: the largest is the main one; it is unpacked to a temporary file, which is then read."""

import shutil
import tempfile
import weakref
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path, PurePosixPath

from pinakes.errors import InputError, did_you_mean
from pinakes.sources.compressed import require_file
from pinakes.sources.location import SourceLocation
from pinakes.sources.options import ReadOptions
from pinakes.sources.port import RowSource
from pinakes.sources.renamed_rows import RenamedRows
from pinakes.sources.unpacked import BoundedFile, Ceiling

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
            folder = Path(tempfile.mkdtemp(prefix="pinakes-"))
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
