"""Reading files that are plain or compressed (`.gz`, `.zst`, `.bz2`, `.xz`), bounded by what they unpack to."""

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

import zstandard

from pinakes.errors import InputError
from pinakes.sources.unpacked import LINE_MB, MEGABYTE, BoundedFile, Ceiling

COMPRESSED = (".gz", ".zst", ".bz2", ".xz")
"""The suffixes of compressed files."""

READ_BYTES = 1 << 20
BLOCK_BYTES = 1 << 11
"""How much of a zstd file is unpacked at once; a block may become 30,000 times as large."""


@contextmanager
def open_decompressed(
    path: Path, *, max_unpacked_mb: int | None = None, by_lines: bool = False
) -> Iterator[io.BufferedReader]:
    """Open a file, decompressed; every failure while it is read becomes an `InputError`.

    A compressed file fails when it unpacks to more than the limit, which depends on its size where none is given; one
    that is read by lines also at a line that would fill the memory.
    """
    try:
        with path.open("rb") as raw:
            plain = _decompressor(raw, path.suffix.lower())
            longest_line = LINE_MB * MEGABYTE if by_lines and max_unpacked_mb is None else None
            ceiling = Ceiling.of(path, max_unpacked_mb)
            bounded = plain if plain is raw else BoundedFile(plain, ceiling, longest_line=longest_line)
            yield io.BufferedReader(cast(Any, bounded), buffer_size=READ_BYTES)
    except (OSError, EOFError, zlib.error, lzma.LZMAError, zstandard.ZstdError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from error


def is_compressed(path: Path) -> bool:
    """Return whether a file is compressed, by its suffix."""
    return path.suffix.lower() in COMPRESSED


def without_compression(path: Path) -> Path:
    """Return the path without a compression suffix: `a.csv` for `a.csv.gz` and for `a.csv`."""
    return path.with_suffix("") if is_compressed(path) else path


def find_compressed(path: Path) -> Path | None:
    """Return the file at a path, or its compressed form; None where neither exists."""
    return next(
        (one for ending in ("", *COMPRESSED) if (one := path.with_name(f"{path.name}{ending}")).is_file()), None
    )


def find_path(location: str) -> Path | None:
    """Return the file or folder that a location names; None where it does not exist or is not a valid path."""
    try:
        path = Path(location).expanduser()
        return path if path.exists() else None
    except (OSError, RuntimeError):  # a name that is too long, or the home of an unknown user
        return None


def require_file(path: Path) -> Path:
    """Return the path of an existing file; refuse a missing file and a folder."""
    try:
        if path.is_file():
            return path
        is_there = path.exists()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error}") from error
    raise InputError(f"{path}: expected a file, not a folder" if is_there else f"{path}: no such file")


class _ZstdFile(io.RawIOBase):
    """Decompresses a zstd file; unlike the library's own reader it detects a truncated file."""

    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw
        self._frame: Any = None
        self._pending = b""
        self._plain = memoryview(b"")

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read the next bytes into the buffer."""
        while not self._plain:
            block = self._pending or self._raw.read(BLOCK_BYTES)
            if not block:
                if self._frame is not None:
                    raise EOFError("the file is truncated")
                return 0
            self._frame = self._frame or zstandard.ZstdDecompressor().decompressobj()
            self._plain = memoryview(self._frame.decompress(block))
            self._pending = self._frame.unused_data
            self._frame = None if self._frame.eof else self._frame
        count = min(len(buffer), len(self._plain))
        buffer[:count] = self._plain[:count]
        self._plain = self._plain[count:]
        return count


def _decompressor(raw: BinaryIO, suffix: str) -> Any:
    if suffix == ".zst":
        return _ZstdFile(raw)
    if suffix == ".gz":
        return gzip.GzipFile(fileobj=raw)
    if suffix == ".bz2":
        return bz2.BZ2File(raw)
    return lzma.LZMAFile(raw) if suffix == ".xz" else raw
