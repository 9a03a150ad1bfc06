"""Reading files that are plain or compressed (`.gz`, `.zst`, `.bz2`, `.xz`), bounded by what they unpack to."""

import bz2
import gzip
import io
import lzma
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from stackroom.errors import InputError
from stackroom.zstd import zstd

MEGABYTE = 1_000_000
UNPACKED_MB = 1_000
UNPACKED_TIMES = 200
"""A packed file may unpack to so many megabytes, or to so many times its own size if that is more."""
BLOCK_BYTES = 1 << 20
LINE_MB = 64
"""The longest line of a packed file that is read line by line, unless a limit is given."""
MOST_RATIO = 1_032
"""The most bytes that deflate can pack into one."""
MOST_CELLS = 50_000_000
"""The most cells of a sheet; memory is needed for all of them, empty or not."""
OVERLAP_BYTES = 64
LETTERS = 26
WIDE_COLUMN = re.compile(rb"""\br\s*=\s*["']([A-Z]{2,3})\d""")
FAR_ROW = re.compile(rb"""\br\s*=\s*["'][A-Z]{0,3}(\d{6,})["']""")
USUAL_WIDE_COLUMN = re.compile(rb' r="([A-Z]{2,3})\d')
USUAL_FAR_ROW = re.compile(rb' r="[A-Z]{0,3}(\d{6,})"')
"""The same as programs write it, which is found several times faster."""
UNUSUAL_CELLS = (b":c ", b"<c\n", b"<c\t", b"<c\r", b"<c>")
ANY_ROW = re.compile(rb"""\br\s*=\s*["'][A-Z]{0,3}(\d{1,8})["']""")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """The number of bytes that a file may unpack to."""

    path: Path
    max_bytes: int

    @classmethod
    def of(cls, path: Path, max_mb: int | None) -> "Ceiling":
        """Return the ceiling of a file: as given in megabytes, or by its size."""
        if max_mb is not None:
            return cls(path=path, max_bytes=max_mb * MEGABYTE)
        return cls(path=path, max_bytes=max(UNPACKED_MB * MEGABYTE, UNPACKED_TIMES * path.stat().st_size))

    def require(self, size_bytes: int) -> None:
        """Refuse a size above the ceiling."""
        if size_bytes > self.max_bytes:
            raise InputError(
                f"{self.path}: it unpacks to more than {self.max_bytes // MEGABYTE:,} MB; if it is meant to, give a "
                "higher limit: --max-unpacked-mb"
            )


class BoundedFile(io.RawIOBase):
    """A file that is unpacked while it is read; fails above the ceiling."""

    def __init__(self, file: Any, ceiling: Ceiling, *, longest_line: int | None = None) -> None:
        """`longest_line` bounds the lines too, in bytes: each is in memory as a whole."""
        self._file = file
        self._ceiling = ceiling
        self._longest_line = longest_line
        self._read = 0
        self._line = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read the next bytes into the buffer."""
        count = int(self._file.readinto(buffer) or 0)
        self._read += count
        self._ceiling.require(self._read)
        if self._longest_line is not None:
            self._require_short_lines(bytes(memoryview(buffer)[:count]), self._longest_line)
        return count

    def _require_short_lines(self, block: bytes, longest: int) -> None:
        end = block.rfind(b"\n")
        self._line = self._line + len(block) if end < 0 else len(block) - end - 1
        if self._line > longest:
            raise InputError(
                f"{self._ceiling.path}: a line is longer than {longest // MEGABYTE:,} MB; if it is meant to be, give a "
                "limit for the whole file: --max-unpacked-mb"
            )


def require_moderate_zip(file: zipfile.ZipFile, ceiling: Ceiling) -> None:
    """Refuse an archive that unpacks to more than it may, whatever its directory states."""
    members = file.infolist()
    ceiling.require(sum(member.file_size for member in members))
    if sum(member.compress_size for member in members) * MOST_RATIO > ceiling.max_bytes:
        unpacked = 0
        for member in members:
            unpacked += _unpacked_bytes(file, member, ceiling.max_bytes)
            ceiling.require(unpacked)


def require_moderate_sheet(file: zipfile.ZipFile, member: str, path: Path) -> None:
    """Refuse a sheet whose used area is huge, since its empty cells need memory too."""
    rows, columns = _used_area(file, member)
    if rows * columns > MOST_CELLS:
        raise InputError(
            f"{path}: a sheet reaches to row {rows:,} and column {columns:,}, more than {MOST_CELLS:,} cells; "
            "delete what is far outside the table, or save the table as CSV"
        )


def _unpacked_bytes(file: zipfile.ZipFile, member: zipfile.ZipInfo, most: int) -> int:
    """Return what a member really unpacks to, counted up to a number."""
    if member.compress_type != zipfile.ZIP_DEFLATED or file.fp is None:
        return member.file_size
    unpacked, unpacker = 0, zlib.decompressobj(-zlib.MAX_WBITS)
    with file.open(member):  # validates the member's own header, whose length is needed
        pass
    raw = file.fp
    raw.seek(member.header_offset + 26)
    lengths = raw.read(4)
    raw.seek(int.from_bytes(lengths[:2], "little") + int.from_bytes(lengths[2:], "little"), io.SEEK_CUR)
    left = member.compress_size
    while left > 0 and not unpacker.eof and unpacked <= most:
        block = raw.read(min(left, BLOCK_BYTES))
        if not block:
            break
        left -= len(block)
        while block and unpacked <= most:
            unpacked += len(unpacker.decompress(block, BLOCK_BYTES))
            block = unpacker.unconsumed_tail
    return unpacked


def _used_area(file: zipfile.ZipFile, member: str) -> tuple[int, int]:
    """Return bounds of the rows and columns that a sheet's cells name."""
    columns, rows = LETTERS, 99_999
    with file.open(member) as sheet:
        tail = b""
        while block := sheet.read(BLOCK_BYTES):
            text = tail + block
            is_usual = _is_written_usually(text)
            wide, far = (USUAL_WIDE_COLUMN, USUAL_FAR_ROW) if is_usual else (WIDE_COLUMN, FAR_ROW)
            columns = max(columns, *map(_column, set(wide.findall(text))), 0)
            rows = max(rows, *map(int, far.findall(text)), 0)
            tail = text[-OVERLAP_BYTES:]
    return (rows if columns == LETTERS or rows > 99_999 else _exact_rows(file, member)), columns


def _is_written_usually(text: bytes) -> bool:
    """Return whether every cell begins with its reference, as programs write it."""
    return text.count(b'<c r="') == text.count(b"<c ") and not any(cell in text for cell in UNUSUAL_CELLS)


def _exact_rows(file: zipfile.ZipFile, member: str) -> int:
    rows, tail = 1, b""
    with file.open(member) as sheet:
        while block := sheet.read(BLOCK_BYTES):
            rows = max(rows, *map(int, set(ANY_ROW.findall(tail + block))), 0)
            tail = block[-OVERLAP_BYTES:]
    return rows


def _column(letters: bytes) -> int:
    """Return the number of a column: 27 for AA."""
    number = 0
    for letter in letters:
        number = number * LETTERS + letter - ord("A") + 1
    return number


COMPRESSED = (".gz", ".zst", ".bz2", ".xz")
"""The suffixes of compressed files."""

READ_BYTES = 1 << 20


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
    except (OSError, EOFError, zlib.error, lzma.LZMAError, zstd.ZstdError) as error:
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


def _decompressor(raw: BinaryIO, suffix: str) -> Any:
    if suffix == ".zst":
        return zstd.ZstdFile(raw)
    if suffix == ".gz":
        return gzip.GzipFile(fileobj=raw)
    if suffix == ".bz2":
        return bz2.BZ2File(raw)
    return lzma.LZMAFile(raw) if suffix == ".xz" else raw
