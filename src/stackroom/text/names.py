"""Comparing names: the spellings a name is indexed under, and how a typed name matches a record's.

A name is compared as folded words (`fold_name`). It matches another as the same name, as another spelling of it, or as
a part of it. Everything here is a function of two texts; which record is meant, `search.names` decides.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import NamedTuple

from rapidfuzz import fuzz
from rapidfuzz.distance import OSA

from stackroom.text.normalise import fold, fold_name

ALIKE = 0.83
"""The likeness from which a name counts as another spelling of the same."""

SUGGESTED = 0.7
"""The likeness from which a name that has the typed words, misspelt, among others is suggested."""

SUGGESTED_BY_WORD = 0.75
"""The same for a name that begins with the same word."""

SQUEEZED_LIKENESS = 0.99
"""The likeness of names that differ in blanks and punctuation alone."""

BARE_LIKENESS = 0.97
"""The likeness of names that differ in articles and joining words too."""

PART_LIKENESS = 0.6
"""The likeness of a name that has the typed words somewhere; it grows with their share of it."""

TAKEN_SHARES = (0.25, 0.35)
"""The share of a name from which its beginning, or several words in it, are taken for the name."""

FEWEST_MISSPELT = 5
"""Shorter names are not taken for misspelt ones: a single letter makes another name."""

MISSPELT_LENGTHS = (4, 7, 11)
"""The numbers of letters from which a word may have one, two and three wrong ones."""

FEWEST_OF_PART = 3
"""Fewer letters do not name a record as a part of its name; two characters do in scripts without blanks."""

JOINING_WORDS = frozenset({"a", "an", "and", "at", "for", "in", "of", "on", "or", "the", "to", "with"})

_DRAWN = re.compile(r"(?<=\w)[!$@]+(?=\w)")
_DRAWN_LETTERS = str.maketrans("!$@", "isa")
_LATIN = re.compile("[A-Za-z]")
_SIGN = re.compile(r"[+#]")
_NUMBER = re.compile(r"\d+|[ivx]+")


SHARED_CHARS = 3
ROUGHLY_ALIKE = 55
"""Names are compared that share the beginnings of the typed words, or are alike by this much of 100."""


class MatchedBy(StrEnum):
    """The way in which a typed name, or id, matches a record."""

    ID = "id"
    TITLE = "title"
    ALTERNATIVE = "alternative"
    SPELLING = "spelling"
    PART = "part"
    HINT = "hint"
    """A part too small to be taken for the name, unless no other record has it."""


class NameMatch(NamedTuple):
    """How a typed name matches one of a record's, how alike the two are (0–1), and that name."""

    by: MatchedBy
    likeness: float
    name: str = ""


@lru_cache(maxsize=10_000)
def name_spellings(name: str) -> tuple[str, ...]:
    """Return the folded spellings of a name, the plainest first: `P!nk` is also `pink`, `C&T` also `c and t`.

    A name without letters or digits is its own spelling.
    """
    folded = fold(name)
    plain = fold_name(folded)
    if not plain:
        return tuple(filter(None, ["".join(folded.split())]))
    others = (
        folded.replace("&", " and "),
        folded.replace("×", " x "),
        folded.replace("ı", "i"),
        _DRAWN.sub(lambda drawn: drawn[0].translate(_DRAWN_LETTERS), folded),
    )
    return tuple(dict.fromkeys([plain, *(fold_name(one) for one in others if one != folded)]))


@dataclass(frozen=True, kw_only=True)
class TypedName:
    """A name as somebody typed it."""

    text: str

    @cached_property
    def spellings(self) -> tuple[str, ...]:
        """Its folded spellings, the plainest first."""
        return name_spellings(self.text)

    @cached_property
    def plain(self) -> str:
        """Its first spelling; empty where there is none."""
        return next(iter(self.spellings), "")

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Its words that say something; of function words alone, none."""
        return tuple(word for word in self.plain.split() if word not in JOINING_WORDS)

    @cached_property
    def signs(self) -> frozenset[str]:
        """The signs in it that are part of a name."""
        return _signs(self.text)

    @cached_property
    def numbers(self) -> frozenset[str]:
        """The Arabic and Roman numbers in it."""
        return frozenset(numbers_in(self.plain))

    def match(self, names: Sequence[str]) -> NameMatch | None:
        """Return the best match with a record's names, the title first; None where none is alike."""
        matches = [one for place, name in enumerate(names) for one in self._matches(name, is_title=place == 0)]
        return max(matches, key=lambda one: (one.likeness, one.by is MatchedBy.TITLE), default=None)

    def _matches(self, name: str, *, is_title: bool) -> Iterator[NameMatch]:
        """Yield how a name matches, by each of its spellings."""
        if self._is_of_other_script(name) or not self._may_match(name.lower()):
            return
        for spelling in name_spellings(name):
            if spelling in self.spellings and _signs(name) >= self.signs:
                yield NameMatch(MatchedBy.TITLE if is_title else MatchedBy.ALTERNATIVE, 1.0, name)
            elif self.words:
                matches = (self._spelt_like(spelling), self._part_of(spelling))
                yield from (one._replace(name=name) for one in matches if one.likeness)

    def _may_match(self, lowered: str) -> bool:
        """Tell, at little cost, whether a name is worth comparing: it has the typed words, or is spelt roughly so."""
        if not self.words or all(word[:SHARED_CHARS] in lowered for word in self.words):
            return True
        return fuzz.ratio(self.plain, lowered, score_cutoff=ROUGHLY_ALIKE) > 0

    def _is_of_other_script(self, name: str) -> bool:
        """Tell, at little cost, that a name shares no letter with the typed one."""
        return not name.isascii() and self.plain.isascii() and not _LATIN.search(name)

    def _spelt_like(self, name: str) -> NameMatch:
        """Compare two spellings; the likeness is 0 where they are of two names."""
        return NameMatch(MatchedBy.SPELLING, 0.0 if self.signs else self._spelling_likeness(name))

    def _spelling_likeness(self, name: str) -> float:
        if _squeezed(self.plain) == _squeezed(name):
            return SQUEEZED_LIKENESS
        words = _content_words(name)
        if self.words == words:
            return BARE_LIKENESS
        if len(self.plain) < FEWEST_MISSPELT or not self.numbers <= set(numbers_in(name)):
            return 0.0
        likeness = fuzz.ratio(_squeezed(self.plain), _squeezed(name), score_cutoff=100 * SUGGESTED) / 100
        if not likeness:
            return 0.0
        if all(_is_misspelt(word, words, is_alone=len(self.words) == 1) for word in self.words):
            return likeness
        is_suggested = likeness >= (SUGGESTED_BY_WORD if self.words[0] in words[:1] else ALIKE)
        return min(likeness, ALIKE - 0.01) if is_suggested else 0.0

    def _part_of(self, name: str) -> NameMatch:
        """Compare the typed words with a part of a name; the likeness is 0 where they are none."""
        if len(self.plain) < (FEWEST_OF_PART if self.plain.isascii() else 2):
            return NameMatch(MatchedBy.PART, 0.0)
        share = min(1.0, len(_squeezed(self.plain)) / max(1, len(_squeezed(name))))
        of_beginning, of_words = TAKEN_SHARES
        if _begins_with(name, self.plain):
            is_taken, extra = share >= of_beginning, 0.1
        elif _contains(name, self.plain):
            is_taken, extra = share >= of_words and len(self.words) > 1, 0.05
        elif len(self.words) > 1 and set(self.words) <= set(name.split()):
            is_taken, extra = share >= of_words, 0.0
        else:
            return NameMatch(MatchedBy.PART, 0.0)
        return NameMatch(MatchedBy.PART if is_taken else MatchedBy.HINT, PART_LIKENESS + extra + 0.25 * share)


def numbers_in(folded: str) -> list[str]:
    """Return the Arabic and Roman numbers among the words of a folded name."""
    return [word for word in folded.split() if _NUMBER.fullmatch(word)]


def _squeezed(folded: str) -> str:
    return folded.replace(" ", "")


def _content_words(folded: str) -> tuple[str, ...]:
    return tuple(word for word in folded.split() if word not in JOINING_WORDS)


def _signs(text: str) -> frozenset[str]:
    """Return the signs that are part of a name although they are no letters, as in `C++`."""
    return frozenset(_SIGN.findall(text))


def _is_misspelt(word: str, words: Sequence[str], *, is_alone: bool) -> bool:
    """Tell whether a typed word is, but for a few letters, one of the words; alone it begins with the same letter."""
    return any(_few_edits(word, other, is_alone=is_alone) for other in words)


def _few_edits(word: str, other: str, *, is_alone: bool) -> bool:
    """Tell whether two words are spellings of one: few edits for the length of the shorter, or beside others of any."""
    if (is_alone or len(word) != len(other)) and word[0] != other[0]:
        return False
    size = (min if is_alone else max)(len(word), len(other))
    most = sum(size >= length for length in MISSPELT_LENGTHS) if word.isascii() else 1
    return OSA.distance(word, other, score_cutoff=most) <= most


def _begins_with(name: str, typed: str) -> bool:
    return name.startswith(typed if _is_unspaced(typed) else f"{typed} ")


def _contains(name: str, typed: str) -> bool:
    return typed in name if _is_unspaced(typed) else f" {typed} " in f" {name} "


def _is_unspaced(typed: str) -> bool:
    """Tell whether a name is in a script without blanks between words."""
    return len(typed) > 1 and not typed.isascii() and all(ord(letter) >= 0x0E00 for letter in typed if letter.isalpha())
