"""Spellings of short names, in a form in which "Slice-of-Life" is "slice of life" and "vampires" are "vampire"."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from rapidfuzz import fuzz, process
from rapidfuzz.distance import OSA

from stackroom.text.normalise import clean, fold

NEAR = 65.0
"""The likeness of spelling (0–100) from which a name is worth suggesting; a word in common is enough."""
WORD_CHARS = 4
"""A shorter word in common says little."""
LONGEST_ASKED = 100
"""Characters of a misspelt name that are compared; a longer one is near nothing."""
_WORD = re.compile(r"&|[^\s\-‐-―_/.,:;!?\"“”()\[\]{}&]+")
_APOSTROPHES = re.compile(r"['’]")
_SIBILANTS = ("ches", "shes", "sses", "xes", "zzes")


class Word(NamedTuple):
    """A word of a text in the form for comparison, and where it stands in the cleaned text."""

    key: str
    start: int
    end: int


def words_of(text: str) -> list[Word]:
    """Return the words of a cleaned text: folded, in the singular, "&" as "and"."""
    return [Word(_word_key(match[0]), match.start(), match.end()) for match in _WORD.finditer(text)]


def spelling_key(name: str) -> str:
    """Return a name without regard to case, accents, hyphens, punctuation and plural."""
    return " ".join(word.key for word in words_of(clean(name)))


def joined_key(key: str) -> str:
    """Return a key without its spaces, so that "scifi" is "sci-fi"."""
    return key.replace(" ", "")


def corrected(joined: str, known: Iterable[str]) -> list[str]:
    """Return the known joined keys that a slip of the fingers turns into this one, the nearest only."""
    most = _slips_allowed(joined)
    if not most:
        return []
    found = process.extract(joined, list(known), scorer=OSA.distance, score_cutoff=most, limit=None)
    alike = [(int(distance), name) for name, distance, _ in found if name[:1] == joined[:1]]
    nearest = min((distance for distance, _ in alike), default=0)
    return [name for distance, name in alike if distance == nearest]


def likeness(key: str, other: str) -> float:
    """Return how alike two keys are (0–100); one with all words of the other is as alike as can be."""
    here, there = set(key.split()), set(other.split())
    if here and there and (here <= there or there <= here):
        return 100.0
    by_letters = fuzz.ratio(key[:LONGEST_ASKED], other[:LONGEST_ASKED])
    has_word = any(len(word) >= WORD_CHARS for word in here & there)
    return max(by_letters, NEAR) if has_word else by_letters


def _word_key(word: str) -> str:
    return "and" if word == "&" else _singular(_APOSTROPHES.sub("", fold(word)))


def _singular(word: str) -> str:
    """Return a word without the ending of an English plural; others may lose theirs, on both sides alike."""
    if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        word = word[:-2] if word.endswith(_SIBILANTS) else word[:-1]
    return f"{word[:-2]}y" if word.endswith("ie") else word  # "comedies" and "comedy", "zombies" and "zombie"


def _slips_allowed(joined: str) -> int:
    if not 5 <= len(joined) <= LONGEST_ASKED:
        return 0
    return 1 if len(joined) < 8 else 2
