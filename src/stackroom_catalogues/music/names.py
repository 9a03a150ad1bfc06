"""Comparison and correction of names of works. Pure."""

import re
from collections.abc import Iterable
from difflib import get_close_matches

from stackroom.api import fold_name
from stackroom_catalogues.music.tags import meant

GUESTS = re.compile(r"\s*[(\[]?\b(?:feat\.?|ft\.?|featuring)\s+[^)\]]+[)\]]?", re.IGNORECASE)
EDITION = re.compile(
    r"\s*[(\[][^()\[\]]*\b(?:deluxe|edition|remaster(?:ed)?|anniversary|bonus|expanded|reissue|version|mono|stereo|explicit)"
    r"\b[^()\[\]]*[)\]]|\s*[(\[](?:dis[ck]|cd)\s*\w{1,5}[)\]]|\s+[-–:]\s+[^-–:]*\b(?:remaster(?:ed)?|edition|deluxe)\b.*$",
    re.IGNORECASE,
)
NUMBERED_WORK = re.compile(
    r"(\b(?:no|nr|number) \d+) (?:in|for|op|opus|bwv|hwv|kv?|rv|hob|woo)\b.*"
)
"""A numbered work, followed by its key or its number in a catalogue of works."""
NUMERAL = re.compile(r"\d+|[ivx]+")
ALIKE = 0.87  # similarity from which two names count as spellings of the same

LEADING_NUMBER = re.compile(r"(\d{1,3})\s*[-._)]\s*(\S.*)|(0\d)\s+(\S.*)")
FEATURING = re.compile(r"\b(?:featuring|feat|ft)\b\.?\s+(?=\S)", re.IGNORECASE)
WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
SMALL_WORDS = frozenset(
    re.findall(r"\w+", "a an and as at but by de en et for from in la le of on or the to")
)
LONG_WORD = 4


def work_key(name: str) -> str:
    """Return a track's name in normal form: without guests, case, accents and punctuation."""
    return fold_name(GUESTS.sub("", name)) or fold_name(name) or name.strip()


def _release_key(name: str) -> str:
    """Return an album's name in normal form: without edition and catalogue numbers of works."""
    return NUMBERED_WORK.sub(r"\1", fold_name(EDITION.sub("", name)) or work_key(name))


class ReleaseNames:
    """A set of album names that matches other spellings."""

    def __init__(self, names: Iterable[str]) -> None:
        self._keys: dict[tuple[str, ...], set[str]] = {}
        for key in map(_release_key, names):
            self._keys.setdefault(tuple(numbers_in(key)), set()).add(key)

    def has(self, name: str) -> bool:
        """Tell whether a name matches one of the set: similar spelling, same numbers."""
        key = _release_key(name)
        others = self._keys.get(tuple(numbers_in(key)), set())
        return key in others or bool(get_close_matches(key, others, n=1, cutoff=ALIKE))


def numbers_in(name: str) -> list[str]:
    """Return the Arabic and Roman numbers in a name."""
    return [word for word in fold_name(name).split() if NUMERAL.fullmatch(word)]


def mended(name: str, *, position: int | None = None) -> tuple[str, list[str]]:
    """Return the corrected name, and the corrections made."""
    done = []
    for what, mend in (
        ("letters decoded as they were meant", meant),
        (
            "blanks put right",
            lambda text: " ".join(
                (text if " " in text.strip() else text.replace("_", " ")).split()
            ),
        ),
        ("the track's number taken off", lambda text: _unnumbered(text, position)),
        ("'feat.' written as usual", lambda text: FEATURING.sub("feat. ", text)),
        ("capitals only where usual", _with_usual_capitals),
    ):
        better = mend(name)
        if better and better != name:
            name = better
            done.append(what)
    return name, done


def _unnumbered(text: str, position: int | None) -> str:
    found = LEADING_NUMBER.fullmatch(text)
    if found is None or position is None or int(found[1] or found[3]) != position:
        return text
    return found[2] or found[4]


def _with_usual_capitals(text: str) -> str:
    """Return a name of several long words in capitals with usual capitalisation."""
    words = WORD.findall(text)
    long_words = [word for word in words if len(word) >= LONG_WORD]
    if len(long_words) < 2 or not text.isupper():
        return text
    small = WORD.sub(
        lambda found: found[0] if found[0] in SMALL_WORDS else found[0].capitalize(), text.lower()
    )
    return WORD.sub(lambda found: found[0].capitalize(), small, count=1)
