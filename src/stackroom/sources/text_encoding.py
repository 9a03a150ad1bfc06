"""The encoding of bytes that are not UTF-8: the candidate that makes the most usual pairs of
letters of them.

Text that was damaged before it came here, as `cafÃ©`, is remarked and kept: what it was cannot be
told with certainty.
"""

import codecs
import re
from collections import Counter
from collections.abc import Iterable
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any

from stackroom.errors import InputError, did_you_mean
from stackroom.toml_text import load_packaged

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


DAMAGED = "text that was damaged before, kept as it is"  # what the ledger calls such cells
AROUND = 20


def _read_as(encoding: str, first: int, last: int) -> str:
    """Return the characters that these bytes are in an encoding."""
    return re.escape(bytes(range(first, last + 1)).decode(encoding, errors="ignore"))


WESTERN_SIGNS = f"\x80-\x9f¡-¬®-¿{_read_as('cp1252', 0x80, 0x9F)}"
QUOTES = "‘’“”–—…"
MAC = _read_as("mac_roman", 0x80, 0xBF)
PATTERN = re.compile(
    rf"[ÂÃ](?:(?![{QUOTES}])[{WESTERN_SIGNS}]|[{QUOTES}](?=\w))"  # UTF-8 as Windows-1252
    rf"|â(?:€|\x80)[{WESTERN_SIGNS}]"
    rf"|(?<=[a-zA-Z])√[{MAC}]|√[{MAC}](?=[a-zA-Z])|‚Ä[{MAC}]"  # UTF-8 as MacRoman
    r"|\bÒ\w[^ÒÓ]{0,200}Ó(?!\w)|(?<=[a-z])Õ(?=(?:s|t|re|ll|ve|d|m)\b)"  # MacRoman as Windows-1252
)
FIRST = re.compile("[ÂÃâ√‚ÒÕ]")


def may_be_damaged(cells: Iterable[Any]) -> bool:
    """Tell, of all cells of a row at once, whether one has a character that damage begins with."""
    text = "\n".join([cell for cell in cells if type(cell) is str])
    return not text.isascii() and FIRST.search(text) is not None


def find_damage(text: str) -> str:
    """Return a damaged part of a text, with a few characters around it; empty if there is none."""
    found = PATTERN.search(text)
    return text[max(0, found.start() - AROUND) : found.start() + AROUND].strip() if found else ""
