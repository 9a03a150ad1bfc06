"""Rows from a folder of documents, or from a single document: one row per file."""

import hashlib
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

from stackroom.errors import InputError
from stackroom.sources.extract import KINDS, extract, find_format
from stackroom.sources.port import RowSource, SourceRow

MOST_BYTES = 50_000_000
JUNK_FOLDERS = frozenset({"node_modules", "__pycache__", "__MACOSX", "site-packages", "venv"})
JUNK_PREFIXES = (".", "~$")
"""Prefixes of hidden files, and of the lock files that office programs leave beside open
documents.
"""
NO_SUFFIX = "without a suffix"
LEADS_OUT = "a symbolic link that leads out of the folder"
"""Why a link is refused: only files inside the folder are read."""


class FolderRows(RowSource):
    """Implements `RowSource` for a folder and its subfolders, or for a single file.

    A row has `path`, `text`, `format`, `checksum`, `modified` (the day of the file's last change,
    if it has one), and `title` and `tags` where the file states them. Text is extracted when a
    value of the row is first accessed. Links to folders are not followed; links to files outside
    the folder are refused.
    """

    # why a folder is refused
    without_files: ClassVar[str] = f"no supported file in it; supported: {KINDS}"

    def __init__(self, path: Path) -> None:
        self._path = path.expanduser()
        if not self._path.exists():
            raise InputError(f"{path}: no such file or folder; check the path")
        if next(self._files(), None) is None:
            raise InputError(f"{path}: {self.without_files}")

    @staticmethod
    def reads(path: Path) -> bool:
        """Return whether a path is a folder or a supported file."""
        return path.is_dir() or (find_format(path) is not None and path.is_file())

    @property
    def name(self) -> str:
        """The absolute path."""
        return str(self._path.resolve())

    @property
    def folder(self) -> Path:
        """The folder that the paths of rows are relative to."""
        return self._path if self._path.is_dir() else self._path.parent

    def count_rows(self) -> int | None:
        """Return the number of supported files."""
        return sum(1 for _ in self._files())

    def iter_rows(self, *, start: int = 0) -> Iterator[SourceRow]:
        """Yield the files in the order of their paths."""
        for path, place in islice(self._files(), start, None):
            if self._path.is_dir() and not is_inside(path, self._path):
                yield SourceRow(place=place, problem=LEADS_OUT)
            else:
                yield _row(path, place)

    def count_unread(self) -> Mapping[str, int]:
        """Return the number of files of each kind that is not read, by suffix, most frequent
        first.
        """
        files = iter_files(self._path) if self._path.is_dir() else ()
        kinds = Counter(
            path.suffix.lower() or NO_SUFFIX for path in files if find_format(path) is None
        )
        return dict(sorted(kinds.items(), key=lambda kind: (-kind[1], kind[0])))

    def _files(self) -> Iterator[tuple[Path, str]]:
        """Yield the supported files, each with its path relative to the folder."""
        for path in iter_files(self._path):
            is_there = find_format(path) is not None
            # where it cannot be checked, its row reports the problem
            with suppress(PermissionError):
                is_there = is_there and path.is_file()
            if is_there:
                yield path, self._place(path)

    def _place(self, path: Path) -> str:
        return os.fsencode(path.relative_to(self.folder).as_posix()).decode(
            "utf-8", errors="replace"
        )


def iter_files(path: Path) -> Iterator[Path]:
    """Yield the files below a folder in path order, or the file itself, without hidden and junk
    files.
    """
    if not path.is_dir():
        yield path
        return

    def refuse(error: OSError) -> None:
        """Stop at an unreadable folder: skipping it would count its files as deleted."""
        raise InputError(
            f"{error.filename}: the folder cannot be read: {error.strerror}; check its permissions"
        ) from error

    for folder, folders, files in os.walk(path, onerror=refuse):
        folders[:] = sorted(
            name
            for name in folders
            if name not in JUNK_FOLDERS and not name.startswith(JUNK_PREFIXES)
        )
        for name in sorted(files):
            if not name.startswith(JUNK_PREFIXES):
                yield Path(folder, name)


def is_inside(path: Path, folder: Path) -> bool:
    """Return whether a file found below a folder is inside it, and not a link that leads out or in
    circles.
    """
    if not path.is_symlink():
        return True
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):
        return False


def day_of(modified_at: float) -> str | None:
    """Return the UTC date of a timestamp; None for one out of range, which file systems can
    hold.
    """
    try:
        return datetime.fromtimestamp(modified_at, UTC).date().isoformat()
    except (OverflowError, OSError, ValueError):
        return None


def _row(path: Path, place: str) -> SourceRow:
    try:
        known = path.stat()
        if known.st_size > MOST_BYTES:
            problem = (
                f"the file has {known.st_size / 1e6:.0f} MB; the limit is"
                f" {MOST_BYTES // 1_000_000} MB"
            )
            return SourceRow(place=place, problem=problem)
        content = path.read_bytes()
    except OSError as error:
        return SourceRow(place=place, problem=f"the file cannot be read: {error.strerror or error}")
    values = _FileValues(content, place=place, modified=day_of(known.st_mtime))
    return SourceRow(place=place, values=values, digest=values.checksum)


class _FileValues(Mapping[str, Any]):
    """The values of a file's row, extracted on first access; an unreadable file raises
    `InputError`.
    """

    def __init__(self, content: bytes, *, place: str, modified: str | None) -> None:
        self.checksum = hashlib.sha256(content).hexdigest()
        self._content = content
        self._place = place
        self._modified = modified

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    @cached_property
    def _values(self) -> dict[str, Any]:
        file_format = find_format(Path(self._place)) or "text"
        extracted = extract(self._content, file_format)
        values: dict[str, Any] = {
            "path": self._place,
            "text": extracted.text,
            "format": file_format,
            "modified": self._modified,
            "checksum": self.checksum,
            "title": extracted.title,
            "tags": list(extracted.tags),
        }
        return {name: value for name, value in values.items() if value}
