"""Bytes → lines of text, as tables are saved: UTF-8, UTF-16 or Windows-1252, with NUL bytes removed."""

import codecs
import io
import re
from collections.abc import Iterator
from pathlib import Path

from pinakes.errors import InputError
from pinakes.sources.notes import ReadingNotes

LOOKED_AT_BYTES = 1 << 13
FEW_CONTROL = 2
MOST_CONTROL = 0.01
"""The number and share of NUL bytes and other control characters above which a file is not text."""
LEAST_ZEROS = 0.3
"""The share of every second byte that is zero in UTF-16 text of mostly Latin letters."""
CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def iter_lines(file: io.BufferedReader, path: Path, notes: ReadingNotes) -> Iterator[str]:
    """Yield the lines with their line ends; refuse a file that is not text."""
    encoding = _find_utf16(file)
    lines = _iter_utf16(file.read(), encoding, path) if encoding else _iter_utf8(file, notes)
    if not encoding:
        _require_text(file.peek(LOOKED_AT_BYTES)[:LOOKED_AT_BYTES], path)
    for number, line in enumerate(lines, start=1):
        if "\0" in line:
            notes.count("nul", f"line {number}", _say_nul)
            yield line.replace("\0", "")
        else:
            yield line


def _say_nul(count: int, first: str) -> str:
    return f"NUL bytes were removed from {count:,} line{'s' if count > 1 else ''} (first: {first})"


def _say_not_utf8(count: int, first: str) -> str:
    return f"{count:,} line{'s are' if count > 1 else ' is'} not UTF-8 and read as Windows-1252 (first: {first})"


def _require_text(head: bytes, path: Path) -> None:
    """Refuse a file whose beginning has a NUL byte among many other bytes that are no text."""
    if b"\0" in head and len(CONTROL.findall(head)) > max(FEW_CONTROL, MOST_CONTROL * len(head)):
        line = head[: head.index(b"\0")].count(b"\n") + 1
        raise InputError(f"{path}, line {line}: NUL byte: this is not a text file")


def _find_utf16(file: io.BufferedReader) -> str | None:
    """Return the encoding of a file of UTF-16, by its mark or by its zeros; None for any other."""
    head = file.peek(LOOKED_AT_BYTES)[:LOOKED_AT_BYTES]
    if head[:2] in UTF16_MARKS:
        return "utf-16"
    even, odd = head[::2], head[1::2]
    for encoding, zeros, others in (("utf-16-le", odd, even), ("utf-16-be", even, odd)):
        if zeros.count(0) > LEAST_ZEROS * max(len(zeros), 1) and not CONTROL.search(others):
            return encoding
    return None


def _iter_utf16(content: bytes, encoding: str, path: Path) -> Iterator[str]:
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: starts as UTF-16 and is not valid UTF-16: {error}") from error
    if text.count("\0") > MOST_CONTROL * len(text):
        raise InputError(f"{path}, line 1: NUL byte: this is not a text file")
    return iter(io.StringIO(text, newline=""))


def _iter_utf8(file: io.BufferedReader, notes: ReadingNotes) -> Iterator[str]:
    """Yield the lines; each line that is not UTF-8 is decoded as Windows-1252."""
    number = 0
    for piece_number, piece in enumerate(file):
        for line in (piece if piece_number else piece.removeprefix(codecs.BOM_UTF8)).splitlines(keepends=True):
            number += 1
            try:
                yield line.decode("utf-8")
            except UnicodeDecodeError:
                notes.count("not utf-8", f"line {number}", _say_not_utf8)
                yield line.decode("cp1252", errors="replace")
