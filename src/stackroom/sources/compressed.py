"""Reading files that are plain or compressed (`.gz`, `.zst`), bounded by what they unpack to."""

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from stackroom.errors import InputError, did_you_mean
from stackroom.zstd import zstd

MEGABYTE = 1_000_000
UNPACKED_MB = 200
# a packed file may unpack to so many megabytes, or to so many times its own size if that is more
UNPACKED_TIMES = 200
# the most bytes of a line, and characters of a cell: each is in memory as a whole
LONGEST_LINE = 64 * MEGABYTE
COMPRESSED = (".gz", ".zst")
READ_BYTES = 1 << 20


def most_unpacked(path: Path) -> int:
    """Return the number of bytes that a packed file may unpack to."""
    return max(UNPACKED_MB * MEGABYTE, UNPACKED_TIMES * path.stat().st_size)


def require_moderate(path: Path, size_bytes: int) -> None:
    """Refuse a packed file that unpacks to more than it may."""
    if size_bytes > (most := most_unpacked(path)):
        raise InputError(
            f"{path}: it unpacks to more than {most // MEGABYTE:,} MB; if it is meant to, unpack it"
            " first"
        )


class BoundedFile(io.RawIOBase):
    """A file that is unpacked while it is read; fails when it has given more than it may."""

    def __init__(self, file: Any, path: Path) -> None:
        self._file = file
        self._path = path
        self._read = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read the next bytes into the buffer."""
        count = int(self._file.readinto(buffer) or 0)
        self._read += count
        require_moderate(self._path, self._read)
        return count


@contextmanager
def open_decompressed(path: Path) -> Iterator[io.BufferedReader]:
    """Open a file, decompressed; every failure while it is read becomes an `InputError`, also that
    it is too large.
    """
    try:
        with path.open("rb") as raw:
            plain: Any = raw
            if is_compressed(path):
                is_gzip = path.suffix.lower() == ".gz"
                plain = BoundedFile(
                    gzip.GzipFile(fileobj=raw) if is_gzip else zstd.ZstdFile(raw), path
                )
            yield io.BufferedReader(plain, buffer_size=READ_BYTES)
    except (OSError, EOFError, zlib.error, zstd.ZstdError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from error


def iter_short_lines(file: BinaryIO, path: Path) -> Iterator[bytes]:
    """Yield the lines of a file; refuse one that would fill the memory."""
    for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE + 1), b""), start=1):
        if len(line) > LONGEST_LINE:
            raise InputError(
                f"{path}, line {number}: longer than {LONGEST_LINE // MEGABYTE} MB; expected lines"
                " with a row each"
            )
        yield line


def is_compressed(path: Path) -> bool:
    """Return whether a file is compressed, by its suffix."""
    return path.suffix.lower() in COMPRESSED


def without_compression(path: Path) -> Path:
    """Return the path without a compression suffix: `a.csv` for `a.csv.gz` and for `a.csv`."""
    return path.with_suffix("") if is_compressed(path) else path


def find_compressed(path: Path) -> Path | None:
    """Return the file at a path, or its compressed form; None where neither exists."""
    candidates = (path.with_name(f"{path.name}{ending}") for ending in ("", *COMPRESSED))
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def find_path(location: str) -> Path | None:
    """Return the file or folder that a location names; None where it does not exist or is not a
    valid path.
    """
    try:
        path = Path(location).expanduser()
        return path if path.exists() else None
    # a name that is too long, or the home of an unknown user
    except (OSError, RuntimeError, ValueError):
        return None


def require_file(path: Path) -> Path:
    """Return the path of an existing file; refuse a missing file and a folder."""
    try:
        if path.is_file():
            return path
        is_there, folder = path.exists(), path.absolute().parent
        known = [file.name for file in folder.iterdir()] if folder.is_dir() else []
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error}") from error
    if is_there:
        raise InputError(f"{path}: expected a file, not a folder")
    raise InputError(f"{path}: no such file{did_you_mean(path.name, known)}; check the path")
