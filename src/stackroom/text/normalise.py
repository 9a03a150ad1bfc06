"""Normalisation of texts (cleaning, case and accent folding), and similarity of short texts."""

import re
import unicodedata
from collections.abc import Iterable

from rapidfuzz import fuzz

SURE = 0.75

_UNWANTED = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters but tab and newline
    r"\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff"  # invisible and direction-changing characters
    r"\ud800-\udfff]"  # halves of surrogate pairs
)
_COMBINING = re.compile(  # marks that are optional in writing; Japanese and Indic ones stay
    r"[\u0300-\u036f"  # accents of European scripts
    r"\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"  # Hebrew points
    r"\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed]"  # Arabic vowel signs
)
_NAME_NOISE = re.compile(r"[\W_]+")


def clean(text: str) -> str:
    """Return the text in compatibility form, without control, invisible or broken characters."""
    if text.isascii() and text.isprintable():
        return text
    return unicodedata.normalize("NFKC", _UNWANTED.sub(" ", text))


def fold(text: str) -> str:
    """Return the text cleaned, in lower case and without accents and vowel points."""
    if text.isascii() and text.isprintable():
        return text.lower()
    lowered = clean(text).casefold()
    if lowered.isascii():
        return lowered
    bare = _COMBINING.sub("", unicodedata.normalize("NFD", lowered))
    return unicodedata.normalize("NFC", bare)


def fold_name(text: str) -> str:
    """Return the folded letters and digits of a title, its words separated by one space."""
    return _NAME_NOISE.sub(" ", fold(text)).strip()


def like_words(wanted: str, texts: Iterable[str]) -> list[str]:
    """Return the texts that contain the wanted words or are spelt similarly, best first."""
    folded = fold_name(wanted)
    scored = [(_likeness(folded, fold_name(text)), text) for text in texts]
    return [text for likeness, text in sorted(scored, key=lambda pair: (-pair[0], pair[1])) if likeness >= SURE]


def _likeness(wanted: str, text: str) -> float:
    if wanted and wanted in text:
        return 1.0
    return fuzz.ratio(wanted, text) / 100
