"""Bytes → lines of text, as tables are saved: UTF-8, UTF-16 or Windows-1252, with NUL bytes removed."""

import codecs
import io
import re
from collections.abc import Iterator
from pathlib import Path

from stackroom.errors import InputError
from stackroom.sources.compressed import iter_short_lines
from stackroom.sources.file_rows import ReadingNotes

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
JAPANESE = ("cp932", "euc_jp")
"""Shift-JIS as Windows writes it, and EUC-JP."""

LEAST_KANA = 0.2
"""The share of kana among the letters other than ASCII above which a text is Japanese."""

MOST_ACCENTED = 0.4
FEW_ACCENTED = 8
"""A text with more bytes above ASCII than this share, and than this number, is in no Western European language."""

_BROKEN = re.compile(r"[\x00\ud800-\udfff]")
_KANA = re.compile(r"[\u3041-\u30ff]")
_PRIVATE_USE = re.compile(r"[\ue000-\uf8ff]")
_ABOVE_ASCII = re.compile(r"[^\x00-\x7f]")
_BYTES_ABOVE_ASCII = re.compile(rb"[\x80-\xff]")
_ISO_2022_JP = b"\x1b$"


def decode(content: bytes, *, declared: str = "") -> str:
    """Decode bytes; line ends become newlines. Refuse what is no text, and text of an unknown encoding."""
    marked = next((encoding for bom, encoding in _BOMS if content.startswith(bom)), None)
    if marked is None and b"\0" in content[:LOOKED_AT_BYTES]:
        raise InputError("not a text file: it has NUL bytes; save it as UTF-8 text")
    text = content.decode(marked, errors="replace") if marked else _decoded(content, declared)
    return _BROKEN.sub(" ", text.replace("\r\n", "\n").replace("\r", "\n"))


def _decoded(content: bytes, declared: str) -> str:
    if _ISO_2022_JP in content and (text := _find_text(content, "iso2022_jp")) is not None:
        return text
    for encoding in filter(None, ("utf-8", declared)):
        if (text := _find_text(content, encoding)) is not None:
            return text
    for encoding in JAPANESE:
        text = _find_text(content, encoding)
        if text is not None and _is_japanese(text):
            return text
    _require_western(content)
    return content.decode("cp1252", errors="replace")


def _find_text(content: bytes, encoding: str) -> str | None:
    """Return the text in an encoding; None where the bytes are not of it, or where there is no such encoding."""
    try:
        return content.decode(encoding)
    except (UnicodeError, LookupError):
        return None


def _is_japanese(text: str) -> bool:
    letters = len(_ABOVE_ASCII.findall(text))
    return len(_KANA.findall(text)) > LEAST_KANA * letters and not _PRIVATE_USE.search(text)


def _require_western(content: bytes) -> None:
    """Refuse bytes that would be gibberish as Windows-1252: most of them are no ASCII."""
    above = len(_BYTES_ABOVE_ASCII.findall(content))
    if above > FEW_ACCENTED and above > MOST_ACCENTED * len(content.translate(None, b" \t\r\n")):
        raise InputError("the text is not UTF-8, and its encoding is not known; save it as UTF-8")


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
    lines = _iter_utf16(file.read(), encoding, path) if encoding else _iter_utf8(file, path, notes)
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
        raise InputError(f"{path}, line {line}: NUL byte: this is not a text file; save it as UTF-8 text")


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
        raise InputError(f"{path}: starts as UTF-16 and is not valid UTF-16: {error}; save it as UTF-8 text") from error
    if text.count("\0") > MOST_CONTROL * len(text):
        raise InputError(f"{path}, line 1: NUL byte: this is not a text file; save it as UTF-8 text")
    return iter(io.StringIO(text, newline=""))


def _iter_utf8(file: io.BufferedReader, path: Path, notes: ReadingNotes) -> Iterator[str]:
    """Yield the lines; each line that is not UTF-8 is decoded as Windows-1252."""
    number = 0
    for piece_number, piece in enumerate(iter_short_lines(file, path)):
        for line in (piece if piece_number else piece.removeprefix(codecs.BOM_UTF8)).splitlines(keepends=True):
            number += 1
            try:
                yield line.decode("utf-8")
            except UnicodeDecodeError:
                notes.count("not utf-8", f"line {number}", _say_not_utf8)
                yield line.decode("cp1252", errors="replace")
