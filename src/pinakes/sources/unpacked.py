"""The bound on what a packed file unpacks to, so that a small file cannot fill the memory or the disk."""

import io
import re
import zipfile
import zlib
from pathlib import Path
from typing import Any, BinaryIO

from pinakes.errors import InputError

MAX_UNPACKED_MB = 4_000
MEGABYTE = 1_000_000
BLOCK_BYTES = 1 << 20
MOST_RATIO = 1_032
"""The most bytes that deflate can pack into one."""
MOST_CELLS = 50_000_000
"""The most cells of a sheet; memory is needed for all of them, empty or not."""
OVERLAP_BYTES = 64
LETTERS = 26
WIDE_COLUMN = re.compile(rb"""\br\s*=\s*["']([A-Z]{2,3})\d""")
FAR_ROW = re.compile(rb"""\br\s*=\s*["'][A-Z]{0,3}(\d{6,})["']""")
ANY_ROW = re.compile(rb"""\br\s*=\s*["'][A-Z]{0,3}(\d{1,8})["']""")


def too_large(path: Path, max_mb: int) -> InputError:
    """Return the error of a file that unpacks to more than it may."""
    return InputError(
        f"{path}: it unpacks to more than {max_mb:,} MB, the limit; to read it, raise max_unpacked_mb in [sources] of "
        "pinakes.toml (PINAKES_MAX_UNPACKED_MB)"
    )


class BoundedFile(io.RawIOBase):
    """A file that is unpacked while it is read; fails beyond a number of megabytes."""

    def __init__(self, file: BinaryIO, path: Path, max_mb: int) -> None:
        self._file: Any = file
        self._path = path
        self._max_mb = max_mb
        self._left = max_mb * MEGABYTE

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read the next bytes into the buffer."""
        count = self._file.readinto(buffer) or 0
        self._left -= count
        if self._left < 0:
            raise too_large(self._path, self._max_mb)
        return int(count)


def require_moderate_zip(file: zipfile.ZipFile, path: Path, max_mb: int) -> None:
    """Refuse an archive that unpacks to more than it may, whatever its directory states."""
    members = file.infolist()
    if sum(member.file_size for member in members) > max_mb * MEGABYTE:
        raise too_large(path, max_mb)
    if sum(member.compress_size for member in members) * MOST_RATIO > max_mb * MEGABYTE:
        left = max_mb * MEGABYTE
        for member in members:
            left -= _unpacked_bytes(file, member, left)
            if left < 0:
                raise too_large(path, max_mb)


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
            columns = max(columns, *map(_column, set(WIDE_COLUMN.findall(text))), 0)
            rows = max(rows, *map(int, FAR_ROW.findall(text)), 0)
            tail = text[-OVERLAP_BYTES:]
    return (rows if columns == LETTERS or rows > 99_999 else _exact_rows(file, member)), columns


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
