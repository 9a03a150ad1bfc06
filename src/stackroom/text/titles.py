"""Fuzzy title search: a misspelt or partial title finds the right one.

A trigram index over folded titles selects a few dozen candidates, which are then compared by edit
distance. The number of postings read is bounded. The index is seven arrays, so that a shelf can
store it in files and map it into memory.
"""

import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from functools import cached_property, lru_cache, partial
from typing import NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz, process
from rapidfuzz.distance import OSA

from stackroom.frozen import frozen
from stackroom.text.normalise import fold, fold_name, joined_key

ALIKE = 0.83  # the likeness from which a name counts as another spelling of the same
# the likeness from which a name that has the typed words, misspelt, among others is suggested
SUGGESTED = 0.7
SUGGESTED_BY_WORD = 0.75  # the same for a name that begins with the same word
SQUEEZED_LIKENESS = 0.99  # the likeness of names that differ in blanks and punctuation alone
BARE_LIKENESS = 0.97  # the likeness of names that differ in articles and joining words too
# the likeness of a name that has the typed words somewhere; it grows with their share of it
PART_LIKENESS = 0.6
TAKEN_SHARES = (0.25, 0.35)
"""The least share of a name for which its beginning, or several of its words, are taken as the
name.
"""
# shorter names are not taken for misspelt ones: a single letter makes another name
FEWEST_MISSPELT = 5
# the numbers of letters from which a word may have one, two and three wrong ones
MISSPELT_LENGTHS = (4, 7, 11)
FEWEST_OF_PART = 3
"""Fewer letters do not name a record as a part of its name; two characters do in scripts without
blanks.
"""
JOINING_WORDS = frozenset(
    {"a", "an", "and", "at", "for", "in", "of", "on", "or", "the", "to", "with"}
)

_SAID = {"&": " and ", "×": " x ", "ı": "i"}  # what a sign in a name may be typed as
_DRAWN = re.compile(r"(?<=\w)[!$@]+(?=\w)")
_DRAWN_LETTERS = str.maketrans("!$@", "isa")
_LATIN = re.compile("[A-Za-z]")
_SIGN = re.compile(r"[+#]")
_NUMBER = re.compile(r"\d+|[ivx]+")
SHARED_CHARS = 3
# names are compared that share the beginnings of the typed words, or are alike by this much of 100
ROUGHLY_ALIKE = 55


class MatchedBy(StrEnum):
    """The way in which a typed name, or id, matches a record."""

    ID = "id"
    TITLE = "title"
    ALTERNATIVE = "alternative"
    SPELLING = "spelling"
    PART = "part"
    HINT = "hint"  # a part too small to be taken for the name, unless no other record has it


class NameMatch(NamedTuple):
    """The best match of a typed name with a name of a record: how they match, their similarity
    (0–1), and that name.
    """

    by: MatchedBy
    likeness: float
    name: str = ""


@lru_cache(maxsize=10_000)
def name_spellings(name: str) -> tuple[str, ...]:
    """Return the folded spellings of a name, the plainest first: `P!nk` is also `pink`, `C&T` also
    `c and t`.
    """
    folded = fold(name)
    plain = fold_name(folded)
    if plain == folded and plain.isascii():
        return (plain,)
    if not plain:
        return tuple(filter(None, ["".join(folded.split())]))
    others = [folded.replace(sign, said) for sign, said in _SAID.items()]
    others.append(_DRAWN.sub(lambda drawn: drawn[0].translate(_DRAWN_LETTERS), folded))
    return tuple(dict.fromkeys([plain, *(fold_name(other) for other in others if other != folded)]))


class TypedName:
    """A typed name."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.spellings = name_spellings(text)  # its folded spellings, the plainest first
        self.plain = next(iter(self.spellings), "")
        # its words that say something; of function words alone, none
        self.words = _content_words(self.plain)
        self.signs = _signs(text)
        self.numbers = _numbers_in(self.plain)

    def match(self, names: Sequence[str]) -> NameMatch | None:
        """Return the best match with a record's names, the title first, or None if none
        is similar.
        """
        matches = [
            match
            for place, name in enumerate(names)
            for match in self._matches(name, is_title=place == 0)
        ]
        return max(matches, key=lambda one: (one.likeness, one.by is MatchedBy.TITLE), default=None)

    def _matches(self, name: str, *, is_title: bool) -> Iterator[NameMatch]:
        """Yield how a name matches, by each of its spellings."""
        is_of_other_script = not name.isascii() and self.plain.isascii() and not _LATIN.search(name)
        if is_of_other_script or not self._may_match(name.lower()):
            return
        for spelling in name_spellings(name):
            if spelling in self.spellings and _signs(name) >= self.signs:
                yield NameMatch(MatchedBy.TITLE if is_title else MatchedBy.ALTERNATIVE, 1.0, name)
            elif self.words:
                likeness = 0.0 if self.signs else self._spelling_likeness(spelling)
                matches = (NameMatch(MatchedBy.SPELLING, likeness), self._part_of(spelling))
                yield from (match._replace(name=name) for match in matches if match.likeness)

    def _may_match(self, lowered: str) -> bool:
        """Tell, at little cost, whether a name is worth comparing: it has the typed words, or a
        similar spelling.
        """
        if not self.words or all(word[:SHARED_CHARS] in lowered for word in self.words):
            return True
        return fuzz.ratio(self.plain, lowered, score_cutoff=ROUGHLY_ALIKE) > 0

    def _spelling_likeness(self, name: str) -> float:
        """Compare two spellings; the likeness is 0 if they are of different names."""
        joined = joined_key(self.plain), joined_key(name)
        if joined[0] == joined[1]:
            return SQUEEZED_LIKENESS
        words = _content_words(name)
        if self.words == words:
            return BARE_LIKENESS
        if len(self.plain) < FEWEST_MISSPELT or not self.numbers <= _numbers_in(name):
            return 0.0
        likeness = fuzz.ratio(*joined, score_cutoff=100 * SUGGESTED) / 100
        if not likeness:
            return 0.0
        is_alone = len(self.words) == 1
        few_edits = partial(_few_edits, is_alone=is_alone)
        if all(any(few_edits(word, other) for other in words) for word in self.words):
            return likeness
        is_suggested = likeness >= (SUGGESTED_BY_WORD if self.words[0] in words[:1] else ALIKE)
        return min(likeness, ALIKE - 0.01) if is_suggested else 0.0

    def _part_of(self, name: str) -> NameMatch:
        """Compare the typed words with a part of a name; the likeness is 0 if they are
        not a part.
        """
        if len(self.plain) < (FEWEST_OF_PART if self.plain.isascii() else 2):
            return NameMatch(MatchedBy.PART, 0.0)
        share = min(1.0, len(joined_key(self.plain)) / max(1, len(joined_key(name))))
        of_beginning, of_words = TAKEN_SHARES
        blank = "" if _is_unspaced(self.plain) else " "
        if name.startswith(f"{self.plain}{blank}"):
            is_taken, extra = share >= of_beginning, 0.1
        elif f"{blank}{self.plain}{blank}" in f"{blank}{name}{blank}":
            is_taken, extra = share >= of_words and len(self.words) > 1, 0.05
        elif len(self.words) > 1 and set(self.words) <= set(name.split()):
            is_taken, extra = share >= of_words, 0.0
        else:
            return NameMatch(MatchedBy.PART, 0.0)
        return NameMatch(
            MatchedBy.PART if is_taken else MatchedBy.HINT, PART_LIKENESS + extra + 0.25 * share
        )


def _numbers_in(folded: str) -> frozenset[str]:
    """Return the Arabic and Roman numbers among the words of a folded name."""
    return frozenset(filter(_NUMBER.fullmatch, folded.split()))


def _content_words(folded: str) -> tuple[str, ...]:
    return tuple(word for word in folded.split() if word not in JOINING_WORDS)


def _signs(text: str) -> frozenset[str]:
    """Return the signs that are part of a name although they are no letters, as in `C++`."""
    return frozenset(_SIGN.findall(text))


def _few_edits(word: str, other: str, *, is_alone: bool) -> bool:
    """Tell whether two words are spellings of one: few edits for the length of the shorter one.

    Words that are compared alone must also begin with the same letter.
    """
    if (is_alone or len(word) != len(other)) and word[0] != other[0]:
        return False
    size = (min if is_alone else max)(len(word), len(other))
    most = sum(size >= length for length in MISSPELT_LENGTHS) if word.isascii() else 1
    return OSA.distance(word, other, score_cutoff=most) <= most


def _is_unspaced(typed: str) -> bool:
    """Tell whether a name is in a script without blanks between words."""
    return (
        len(typed) > 1
        and not typed.isascii()
        and all(ord(letter) >= 0x0E00 for letter in typed if letter.isalpha())
    )


CANDIDATES = 50  # the number of names that are compared by edit distance
SHORTLIST = 150  # the number of names with rare grams that are looked up under the common grams too
# the limit on postings read, rarest grams first; the rarest gram is always read whole
POSTINGS_READ = 4_000
GRAMS_READ = 12
MAX_NAME_CHARS = 200
CHUNK_NAMES = 100_000

Ints = NDArray[np.int64]
Grams = NDArray[np.uint64]


@frozen
class TitleArrays:
    """The index as arrays: `rows[i]` owns name `i`; name `i` is `letters[ends[i-1]:ends[i]]`,
    folded, as UTF-8.
    """

    rows: NDArray[np.int32]
    letters: NDArray[np.uint8]
    ends: Ints
    grams: Grams
    gram_ends: Ints
    postings: NDArray[np.int32]
    # the checksums of all names, in order: most texts that are no name are told by them
    sums: NDArray[np.uint32]


_Shared = tuple[Ints, Ints, Sequence[NDArray[np.int32]]]
"""Names in order, their number of rare grams of a query, and the postings of its common grams."""


class TitleIndex:
    """Finds the rows with the names most similar to a given one."""

    def __init__(self, arrays: TitleArrays) -> None:
        self.arrays = arrays
        self._last: tuple[str, _Shared] | None = None

    def find_like(
        self, text: str, *, limit: int, allowed: NDArray[np.bool_] | None = None
    ) -> list[tuple[int, float]]:
        """Return up to `limit` rows with the likeness (0–1) of their best name, best first, ties by
        row.
        """
        best: dict[int, float] = {}
        for spelling in name_spellings(text) if len(self.arrays.grams) else ():
            wanted = spelling[:MAX_NAME_CHARS]
            names = self._candidates(wanted, allowed)
            rows, texts = self.arrays.rows[names].tolist(), self._names(names)
            scores = process.cdist([wanted], texts, scorer=fuzz.ratio, dtype=np.float64)[0] / 100
            for row, likeness in zip(rows, scores.tolist(), strict=True):
                best[row] = max(likeness, best.get(row, 0.0))
        ranked = sorted([(-likeness, row) for row, likeness in best.items()])[:limit]
        return [(row, -likeness) for likeness, row in ranked]

    def has_name(self, text: str, *, allowed: NDArray[np.bool_] | None = None) -> bool:
        """Tell whether an allowed row has a name of this spelling."""
        spellings = name_spellings(text) if len(self.arrays.grams) else ()
        return any(map(partial(self._has_spelling, allowed=allowed), spellings))

    def _has_spelling(self, spelling: str, *, allowed: NDArray[np.bool_] | None) -> bool:
        """Look among the names of the same length under the query's rarest gram, if all of its
        grams are known.
        """
        wanted = spelling[:MAX_NAME_CHARS]
        letters, sums = wanted.encode(), self.arrays.sums
        place = sums.searchsorted(np.uint32(crc32(letters)))
        if place == len(sums) or sums[place] != crc32(letters):
            return False
        grams = _grams_of([wanted])[0]
        first, last = self._gram_spans(grams)
        if len(first) < max(len(grams), 1):
            return False
        rarest = int(np.argmin(last - first))
        names = self.arrays.postings[first[rarest] : last[rarest]].astype(np.int64)
        fits = self._sizes[names] == len(letters)
        if allowed is not None:
            fits &= allowed[self.arrays.rows[names]]
        starts, _ = _spans(self.arrays.ends, names)
        return any(
            self.arrays.letters[start : start + len(letters)].tobytes() == letters
            for start in starts[fits]
        )

    def _candidates(self, wanted: str, allowed: NDArray[np.bool_] | None) -> Ints:
        """Return the names that share most of the query's grams, those of similar length first."""
        names, shared, common = self._shared(wanted)
        if allowed is not None:
            keep = allowed[self.arrays.rows[names]]
            names, shared = names[keep], shared[keep]
        size = len(wanted.encode())
        if common:
            names, shared = self._best(names, shared, size=size, count=SHORTLIST)
            for postings in common:
                shared = shared + contains(postings, names.astype(np.int32))
        return self._best(names, shared, size=size, count=CANDIDATES)[0]

    def _shared(self, wanted: str) -> _Shared:
        """Return the names under the query's rare grams; the last result is cached, as callers
        query kind by kind.
        """
        last = self._last
        if last is None or last[0] != wanted:
            starts, ends = self._gram_spans(np.unique(_grams_of([wanted])[0]))
            order = np.argsort(ends - starts, kind="stable")  # the rarest gram first
            spans = zip(starts[order].tolist(), ends[order].tolist(), strict=True)
            rare, common = _split([self.arrays.postings[start:end] for start, end in spans])
            read = np.concatenate([self.arrays.postings[:0], *rare])
            names, shared = np.unique(read, return_counts=True)
            self._last = last = wanted, (names.astype(np.int64), shared, common)
        return last[1]

    def _best(self, names: Ints, shared: Ints, *, size: int, count: int) -> tuple[Ints, Ints]:
        """Return the names (and their counts) that share most grams, then those nearest in size,
        ties by name.
        """
        apart = np.abs(self._sizes[names] - np.int64(size))
        # one number each: sorting those is quicker
        order = (GRAMS_READ - shared << 48) | (apart << 32) | names
        if len(order) > count:
            order = np.partition(order, count)[:count]
        order.sort()
        return order & 0xFFFFFFFF, GRAMS_READ - (order >> 48)

    @cached_property
    def _sizes(self) -> NDArray[np.uint16]:
        """The number of bytes of each name."""
        return np.diff(self.arrays.ends, prepend=0).astype(np.uint16)

    def _gram_spans(self, grams: Grams) -> tuple[Ints, Ints]:
        """Return the begin and the end of the postings of each gram, without grams that no name
        has.
        """
        arrays = self.arrays
        places = np.minimum(np.searchsorted(arrays.grams, grams), len(arrays.grams) - 1)
        places = places[arrays.grams[places] == grams]
        return _spans(arrays.gram_ends, places)

    def first_names(self, rows: Ints) -> list[str]:
        """Return the first name of each row, folded; empty for a row without names."""
        owners = np.append(self.arrays.rows, -1)
        places = np.searchsorted(self.arrays.rows, rows)
        having = np.flatnonzero(owners[places] == rows)
        found = dict(zip(having.tolist(), self._names(places[having]), strict=True))
        return [found.get(at, "") for at in range(len(rows))]

    def _names(self, names: Ints) -> list[str]:
        starts, ends = _spans(self.arrays.ends, names)
        letters = self.arrays.letters.data
        return [
            str(letters[start:end], "utf-8")
            for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
        ]


class TitleArraysBuilder:
    """Builds the index from rows added one at a time, in row order."""

    def __init__(self) -> None:
        self._rows = array("i")
        self._row = 0
        self._letters = bytearray()
        self._ends = array("q")
        self._sums = array("I")
        self._waiting: list[str] = []
        self._inverted: list[_Inverted] = []

    def add(self, names: Iterable[str]) -> None:
        """Add the next row's names, each in all its spellings."""
        for name in dict.fromkeys(
            spelling[:MAX_NAME_CHARS] for each in names for spelling in name_spellings(each)
        ):
            self._rows.append(self._row)
            letters = name.encode()
            self._letters += letters
            self._ends.append(len(self._letters))
            self._sums.append(crc32(letters))
            self._waiting.append(name)
        self._row += 1
        if len(self._waiting) >= CHUNK_NAMES:
            self._cut()

    def build(self) -> TitleArrays:
        """Return the index of the rows so far."""
        self._cut()
        grams, gram_ends, postings = _joined(self._inverted)
        return TitleArrays(
            rows=np.frombuffer(self._rows, dtype=np.int32),
            letters=np.frombuffer(self._letters, dtype=np.uint8),
            ends=np.frombuffer(self._ends, dtype=np.int64),
            grams=grams,
            gram_ends=gram_ends,
            postings=postings,
            sums=np.sort(np.frombuffer(self._sums, dtype=np.uint32)),
        )

    def _cut(self) -> None:
        """Invert the buffered names: the grams of a million records would take gigabytes until the
        end.
        """
        grams, owners = _grams_of(self._waiting)
        self._inverted.append(
            _invert(grams, owners + np.int32(len(self._ends) - len(self._waiting)))
        )
        self._waiting = []


def _spans(ends: Ints, places: Ints) -> tuple[Ints, Ints]:
    """Return the begin and the end of the entries at these indexes."""
    return np.where(places > 0, ends[places - 1], 0), ends[places]


def _split(
    postings: Sequence[NDArray[np.int32]],
) -> tuple[Sequence[NDArray[np.int32]], Sequence[NDArray[np.int32]]]:
    """Split the grams' postings, shortest first, into those to read and those only to look names up
    in.
    """
    total = 0
    for place, one in enumerate(postings):
        total += len(one)
        if place and total > POSTINGS_READ:
            return postings[:place], postings[place:GRAMS_READ]
    return postings[:GRAMS_READ], ()


def contains(ordered: NDArray[np.int32], wanted: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Tell for each number whether it is among others, which are in order."""
    found: NDArray[np.bool_] = (
        ordered[np.minimum(ordered.searchsorted(wanted), len(ordered) - 1)] == wanted
    )
    return found


def _grams_of(names: Sequence[str]) -> tuple[Grams, NDArray[np.int32]]:
    """Return every three-letter window of the names (each padded by a space on both sides), and the
    name it is of.
    """
    padded = [f" {name} " for name in names]
    letters = np.frombuffer("".join(padded).encode("utf-32-le"), dtype=np.uint32).astype(np.uint64)
    lengths = np.array([*map(len, padded)], dtype=np.int64)
    owners = np.repeat(np.arange(len(padded), dtype=np.int32), lengths)
    if len(letters) < 3:
        return np.empty(0, np.uint64), np.empty(0, np.int32)
    grams = (letters[:-2] << np.uint64(42)) | (letters[1:-1] << np.uint64(21)) | letters[2:]
    within = owners[:-2] == owners[2:]
    return grams[within], owners[:-2][within]


_Inverted = tuple[Grams, Ints, NDArray[np.int32]]
"""Distinct grams in order, how many names have each, and these names: of each gram in order, once
each.
"""


def _invert(grams: Grams, owners: NDArray[np.int32]) -> _Inverted:
    """Return the names by gram."""
    distinct = np.unique(grams)
    # A gram's number and a name in one integer: sorting those is many times quicker than sorting
    # pairs.
    pairs = np.unique(np.searchsorted(distinct, grams).astype(np.int64) << 32 | owners)
    counts = np.bincount(pairs >> 32, minlength=len(distinct))
    return distinct, counts, (pairs & 0xFFFFFFFF).astype(np.int32)


def _joined(parts: list[_Inverted]) -> _Inverted:
    """Return the distinct grams of all parts, where each one's names end, and the names; the parts
    are used up.
    """
    distinct = np.unique(np.concatenate([grams for grams, _, _ in parts]))
    counts = sum(
        np.bincount(np.searchsorted(distinct, grams), some, len(distinct))
        for grams, some, _ in parts
    )
    ends = np.cumsum(counts, dtype=np.int64)
    postings, nexts = np.empty(ends[-1] if len(ends) else 0, np.int32), np.append(0, ends)[:-1]
    while parts:
        grams, some, names = parts.pop(0)
        places = np.searchsorted(distinct, grams)
        postings[
            np.repeat(nexts[places] - np.cumsum(some) + some, some) + np.arange(len(names))
        ] = names
        nexts[places] += some
    return distinct, ends, postings


def array_fields() -> tuple[str, ...]:
    """Return the names of the index's arrays, for storing them in files."""
    return tuple(TitleArrays.__dataclass_fields__)
