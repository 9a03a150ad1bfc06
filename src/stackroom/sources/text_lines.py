"""Bytes → lines of text, as tables are saved: in UTF-8, UTF-16 or what they look like, with NUL
bytes removed. The encoding of bytes that are not UTF-8 is the candidate that makes the most usual
pairs of letters of them.
"""

import codecs
import io
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path

from stackroom.errors import InputError, did_you_mean
from stackroom.frozen import frozen
from stackroom.sources.compressed import iter_short_lines, open_decompressed
from stackroom.sources.grid_layout import shown
from stackroom.sources.port import LOST_LETTERS, ReadingNotes
from stackroom.toml_text import load_packaged

UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_BROKEN = re.compile(r"[\x00\ud800-\udfff]")
_ISO_2022_JP = b"\x1b$"
LOST = "\N{REPLACEMENT CHARACTER}"
# the part of a line that shows its first letter above ASCII
WITH_LETTER = re.compile(r".{0,20}[^\x00-\x7f].{0,39}")


def decode(content: bytes, *, declared: str = "") -> str:
    """Decode bytes; line ends become newlines. Refuse what is no text, and text of an unknown
    encoding.
    """
    marked = (
        "utf-8-sig"
        if content.startswith(codecs.BOM_UTF8)
        else "utf-16"
        if content[:2] in UTF16_MARKS
        else ""
    )
    if not marked and b"\0" in content[:SAMPLE_BYTES]:
        raise InputError("not a text file: it has NUL bytes; save it as UTF-8 text")
    stated = "iso2022_jp" if _ISO_2022_JP in content else ""
    for encoding in filter(None, [marked] if marked else [stated, "utf-8", declared]):
        try:
            text = content.decode(encoding, errors="replace" if marked else "strict")
            break
        except (UnicodeError, LookupError):
            continue
    else:
        found = find_encoding(content[:SAMPLE_BYTES])
        if found is None:
            raise InputError(
                "the text is not UTF-8, and its encoding is not known; save it as UTF-8"
            )
        text = content.decode(found, errors="replace")
    return _BROKEN.sub(" ", text.replace("\r\n", "\n").replace("\r", "\n"))


def is_utf8(line: bytes) -> bool:
    """Tell whether bytes are text in UTF-8."""
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


SAMPLE_BYTES = 1 << 13  # the most bytes of which an encoding is told, and whether a file is text
FEW_CONTROL = 2
# the number and share of NUL bytes and other control characters above which a file is not text
MOST_CONTROL = 0.01
STRANGE = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\ue000-\uf8ff\u0a00\u2c00\u3b00]")
"""Characters of no table, and those that a line end, a comma or a semicolon is with its bytes in
the other order.
"""
NUL_BYTES = "NUL bytes were removed from {count:,} line{s} (first: {first})"
OTHER_LINES = (
    "{count:,} line{s} {are} not UTF-8 and read as {name} (first: {first}); another encoding:"
    " --encoding NAME"
)
NO_TEXT = "NUL byte: this is not a text file; save it as UTF-8 text"
CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


def iter_lines(
    file: io.BufferedReader, path: Path, notes: ReadingNotes, given: str | None = None
) -> Iterator[str]:
    """Yield the lines with their line ends, in the encoding that is given or found; refuse a file
    that is not text.
    """
    head = file.peek(SAMPLE_BYTES)[:SAMPLE_BYTES]
    encoding = require_encoding(given) if given else ""
    is_wide = encoding.startswith(("utf-16", "utf-32"))
    wide = encoding if is_wide else None if encoding else _find_utf16(head)
    if (
        not wide
        and b"\0" in head
        and len(CONTROL.findall(head)) > max(FEW_CONTROL, MOST_CONTROL * len(head))
    ):
        line_number = head[: head.index(b"\0")].count(b"\n") + 1
        raise InputError(f"{path}, line {line_number}: {NO_TEXT}")
    lines = (
        _iter_wide(file.read(), wide, path) if wide else _iter_decoded(file, path, notes, encoding)
    )
    for number, line in enumerate(lines, start=1):
        if "\0" in line:
            notes.count(NUL_BYTES, f"line {number}")
        yield line.replace("\0", "")


def _find_utf16(head: bytes) -> str | None:
    """Return the encoding of a file that begins as UTF-16, by its mark or by its zeros; None for
    any other.
    """
    if head[:2] in UTF16_MARKS:
        return "utf-16"
    for encoding in ("utf-16-le", "utf-16-be") if b"\0" in head else ():
        text = head[: len(head) // 2 * 2].decode(encoding, errors="replace")
        has_lines = 2 * text.count("\n") > head.count(b"\n")
        if has_lines and text.count(LOST) <= 1 and not STRANGE.search(text):
            return encoding
    return None


def _iter_wide(content: bytes, encoding: str, path: Path) -> Iterator[str]:
    name = encoding[:6].upper()
    try:
        text = content.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: starts as {name} and is not valid {name}: {error}; save it as UTF-8 text"
        ) from error
    if text.count("\0") > MOST_CONTROL * len(text):
        raise InputError(f"{path}, line 1: {NO_TEXT}")
    return iter(io.StringIO(text, newline=""))


@frozen
class _OtherEncoding:
    """The encoding of lines that are not UTF-8, and whether all lines have it."""

    name: str
    is_whole: bool
    is_given: bool = False

    def decode(self, line: bytes, number: int, notes: ReadingNotes) -> str:
        """Decode a line, and note what was guessed and what was lost."""
        is_damaged = not self.is_whole and _is_damaged_utf8(line)
        text = line.decode("utf-8" if is_damaged else self.name, errors="replace")
        if not is_damaged and not self.is_given and not line.isascii():
            sample = WITH_LETTER.search(text)
            place = f"line {number}: {shown([sample[0]] if sample else [])}"
            notes.count(OTHER_LINES, place, name=encoding_names()[self.name])
        if LOST in text:
            notes.count(LOST_LETTERS, f"line {number}")
        return text


def _is_damaged_utf8(line: bytes) -> bool:
    """Return whether a line that is not UTF-8 has more letters of it than faults."""
    text = line.decode("utf-8", errors="replace")
    return sum(not sign.isascii() for sign in text) > 2 * text.count(LOST)


def _iter_decoded(
    file: io.BufferedReader, path: Path, notes: ReadingNotes, encoding: str
) -> Iterator[str]:
    """Yield the lines, in the encoding that is given; without one, in UTF-8, or in another where
    they are not UTF-8.
    """
    other = _OtherEncoding(name=encoding, is_whole=True, is_given=True) if encoding else None
    number = 0
    for piece_number, piece in enumerate(iter_short_lines(file, path)):
        for line in (piece if piece_number else piece.removeprefix(codecs.BOM_UTF8)).splitlines(
            keepends=True
        ):
            number += 1
            if other is None or not other.is_whole:
                try:
                    yield line.decode("utf-8")
                    continue
                except UnicodeDecodeError:
                    other = other or _find_other(path)
            yield other.decode(line, number, notes)


def _find_other(path: Path) -> _OtherEncoding:
    """Return the encoding of a file's lines that are not UTF-8; it is that of all lines where most
    are not.
    """
    others: dict[bytes, None] = {}
    utf8 = size_bytes = 0
    with open_decompressed(path) as file:
        for line in iter_short_lines(file, path):
            if line.isascii() or line in others:
                continue
            if is_utf8(line) or _is_damaged_utf8(line):
                utf8 += 1
            elif size_bytes < SAMPLE_BYTES:
                others[line] = None
                size_bytes += len(line)
            else:
                break
    is_whole = len(others) > utf8
    encoding = find_encoding(b"".join(others)[:SAMPLE_BYTES]) or ("" if is_whole else WESTERN)
    if not encoding:
        raise InputError(
            f"{path}: the text is not UTF-8, and its encoding is not known; name it: --encoding"
            " NAME"
        )
    return _OtherEncoding(name=encoding, is_whole=is_whole)


WESTERN = "cp1252"
# the share of usual pairs below which a text is in no language that is known here
LEAST_SCORE = 0.25
# what the score of a text in capitals counts: in Cyrillic, a text of another script often becomes
# one
CAPITALS = 0.8
MOST_ACCENTED = 0.4
FEW_ACCENTED = 8
"""A text with more bytes above ASCII than this share, and than this number, is in no Western
European language.
"""
REMEMBERED = 8
# control characters and those without a meaning of their own
UNLIKELY = re.compile(r"[\x80-\x9f\ue000-\uf8ff]")
SIGN = "[\u00a0–—‘’“”„«»°€£…·•]"
LETTER = r"[^\W\d_]"
SIGNS = re.compile(f"(?<!{LETTER}){SIGN}|{SIGN}(?!{LETTER})")
"""Signs that are usual in any language, but not within a word."""
NO_LETTER = re.compile(r"[\W\d_]+")
ABOVE_ASCII = re.compile(rb"[\x80-\xff]")


def require_encoding(name: str) -> str:
    """Return the codec of an encoding by any of its names; refuse a name that is not known."""
    try:
        b"".decode(name)  # a codec that makes no text is refused as well
        return codecs.lookup(name).name
    except (LookupError, ValueError) as error:
        known = [*encoding_names().values(), "UTF-8", "UTF-16"]
        hint = did_you_mean(name, known)
        raise InputError(
            f"no encoding '{name[:40]}'{hint}; known ones are {', '.join(known)}"
        ) from error


def encoding_names() -> dict[str, str]:
    """Return the encodings that can be found, by codec and in order of preference, with the names
    that people know.
    """
    return _tables()[0]


@lru_cache(maxsize=REMEMBERED)
def find_encoding(sample: bytes) -> str | None:
    """Return the encoding in which bytes look most like a language; None where they look like
    none.
    """
    scores = {name: _score(sample.decode(name, errors="replace")) for name in encoding_names()}
    best = max(scores, key=lambda name: scores[name])
    if scores[best] >= LEAST_SCORE:
        return best
    above = len(ABOVE_ASCII.findall(sample))
    is_western = above <= max(FEW_ACCENTED, MOST_ACCENTED * len(sample.translate(None, b" \t\r\n")))
    return WESTERN if is_western else None


@cache
def _tables() -> tuple[dict[str, str], list[frozenset[str]], list[frozenset[str]]]:
    """Return the encodings, and the usual pairs of letters of each language and characters of those
    without spaces.
    """
    tables: dict[str, dict[str, str]] = load_packaged("stackroom.sources", "letter_pairs.toml")
    pairs = [
        frozenset(group[0] + letter for group in text.split() for letter in group[1:])
        for text in tables["pairs"].values()
    ]
    return tables["encodings"], pairs, [frozenset(text) for text in tables["characters"].values()]


def _score(text: str) -> float:
    """Return the share of a text's letters above ASCII that are usual in the language of which it
    has most.
    """
    signs = [sign for sign in text if not sign.isascii()]
    letters = [sign for sign in signs if sign.isalpha()]
    if not letters or UNLIKELY.search(text):
        return 0.0
    _, pairs, characters = _tables()
    words = f"_{NO_LETTER.sub('_', text)}_"
    seen = Counter(
        # A capital after a small letter stays, as that is usual nowhere.
        pair if pair[0].islower() and pair[1].isupper() else pair.lower()
        for pair in map("".join, pairwise(words))
        if not pair.isascii()
    )
    spelt = max(
        sum(count for pair, count in seen.items() if pair in usual) for usual in pairs
    ) / max(seen.total(), 1)
    counted = Counter(signs)
    drawn = max(
        sum(count for sign, count in counted.items() if sign in usual) for usual in characters
    )
    score = (max(spelt * len(letters), drawn) + len(SIGNS.findall(text))) / len(signs)
    return score * CAPITALS if all(map(str.isupper, letters)) else score
