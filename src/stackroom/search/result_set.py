"""Result sets: what a call finds in one catalogue or in several, in its order, with what is said of
the whole.

Searching, listing and recommending find a part of each catalogue; every surface takes a set of
parts, and none sorts, labels or counts again. Records are read for the page that is shown.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import repeat
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from stackroom.errors import InputError, list_some
from stackroom.frozen import frozen
from stackroom.model.hits import DECIMALS, Evidence, Label, MatchType, Ranking, SearchMode, Why
from stackroom.model.record import Key, Record, RecordId
from stackroom.model.scope import Condition, Scope
from stackroom.search import values
from stackroom.search.question import ReadQuestion, View, counted, list_records
from stackroom.search.ranked import Ranked
from stackroom.search.searcher import FURTHEST

NEAREST_SHOWN = 5  # the number of hits that are shown where nothing answers
SPARE = 2  # how many times as many records are looked at where a rule leaves some out
BATCH = 1_000
UNREADABLE = "skipped, its storage cannot be read"
NAMES_SHOWN = 5  # of so many catalogues a note has the names; of more, how many there are


class Hit(NamedTuple):
    """A record that was found, with its score and the label of that; `why` where it was asked
    for.
    """

    view: View
    key: Key
    record: Record
    score: float
    label: Label | None = None
    match_type: MatchType = MatchType.FTS
    why: Why | None = None

    def told(self) -> dict[str, Any]:
        """Return what the answer of a search says of how well the record answers."""
        why = self.why and self.why.told()
        return {"score": round(self.score, DECIMALS), "relevance": self.label, "why": why}


@frozen
class Placing:
    """The place of one record among the recommendations, or what keeps it out."""

    record: Record
    rank: int | None  # its place in what is recommended; None where it is not
    # the conditions that it does not meet; what follows holds without them
    failed: tuple[Condition, ...]
    is_named: bool  # whether it is one of the titles that were given
    # its place by the score that records are chosen by; None where it is not a candidate
    place: int | None
    candidates: int
    # what its similarity and the score that it is chosen by are made of, where it is a candidate
    why: Why | None


@dataclass(frozen=True, kw_only=True, eq=False)
class Part:
    """The records found in one catalogue: ranked by a search, listed, or recommended."""

    view: View
    reading: ReadQuestion
    ranking: Ranking
    again: Callable[[Scope, int], "Part"] | None = None
    """Finds the same in another scope, so many results deep; None where nothing else is found."""
    ranked: Ranked | None = None  # the search that found it; None where nothing was searched for
    only_orders: bool = False
    """Whether the words of the question leave no record out, and only say which come first."""
    is_graded: bool = True  # whether scores are strengths of evidence
    left_out: Callable[[Key], str] = lambda _key: ""
    """Returns why a record that was ranked is left out; empty for one that is not."""
    known: Mapping[Key, Record] = field(default_factory=dict)  # the records, if they were read
    place: Callable[[RecordId], Placing | None] | None = None
    """Returns the place of a record among recommendations."""

    def found_again(self, scope: Scope, *, limit: int = FURTHEST) -> "Part":
        """Return what is found in another scope, so many results deep."""
        return self.again(scope, limit) if self.again else self

    @cached_property
    def evidence(self) -> Evidence:
        """How well its best record answers."""
        if self.is_graded and not self.only_orders:
            return Evidence.of_best(self.ranking.scores)
        some = Evidence.WEAK if self.only_orders else Evidence.STRONG
        return some if len(self.ranking.keys) else Evidence.NONE

    @property
    def mode(self) -> SearchMode:
        """The arms of the search that ran."""
        if self.ranked is not None:
            return self.ranked.mode
        return SearchMode.HYBRID if self.view.reader.model else SearchMode.FTS_ONLY

    @property
    def degraded(self) -> str:
        """Why it was not searched as well as it could be; empty where it was."""
        return self.ranked.degraded if self.ranked else ""

    @property
    def why_degraded(self) -> str:
        """The same; where it was searched by words alone, that too."""
        if self.mode is SearchMode.HYBRID:
            return self.degraded
        by_words = "searched by words alone"
        return f"{by_words} ({self.degraded})" if self.degraded else by_words

    @property
    def strength(self) -> float:
        """The score of its best record."""
        return float(self.ranking.scores.max(initial=0.0))

    @property
    def word_notes(self) -> list[str]:
        """Notes on the words of the query beside its best record."""
        return self.ranked.notes_on(self.ranking) if self.ranked else []

    @property
    def count(self) -> int:
        """How many records were ranked, or are listed."""
        if self.ranked is None or self.only_orders:
            return len(self.ranking.keys)
        return len(self.ranked.trace.candidates.keys)

    def first(self, limit: int) -> Ranking:
        """Return the first keys, with their strengths."""
        if self.ranked is not None and self.ranking is self.ranked.ranking:
            return self.ranked.first(limit)
        return self.ranking.first(limit)

    def hits(self, limit: int) -> list[Hit]:
        """Return the first records."""
        first = self.first(limit)
        return self.read(first.keys.tolist(), first.scores.tolist())

    def read(
        self, keys: Sequence[Key], scores: Sequence[float], *, explain: bool = False
    ) -> list[Hit]:
        """Return records with these scores; one that cannot be read any more is left out."""
        known = self.known or self.view.reader.fetch(keys, scope=self.reading.scope)
        there = [
            (key, known[key], score)
            for key, score in zip(keys, scores, strict=True)
            if key in known
        ]
        if not there:
            return []
        keys, records, scores = zip(*there, strict=True)
        types: Iterable[MatchType] = repeat(MatchType.FTS)
        whys: Iterable[Why | None] = repeat(None)
        if self.ranked is not None:
            types = self.ranked.match_types(np.array(keys, dtype=np.int64))
            whys = self.ranked.explain(keys, scores, records) if explain else whys
        labels = map(Label.of, scores) if self.is_graded else repeat(None)
        return list(map(partial(Hit, self.view), keys, records, scores, labels, types, whys))


def list_part(view: View, reading: ReadQuestion) -> Part:
    """Return all records that meet what a question states."""
    return Part(
        view=view,
        reading=reading,
        ranking=list_records(view, reading),
        again=lambda scope, _limit: list_part(view, replace(reading, scope=scope)),
    )


Rule = Callable[[Sequence[Hit]], Sequence[str]]
"""Returns for each of some records, in their order, why it is left out; empty for one that is not.
"""


class _Place(NamedTuple):
    """A record of a part, before it is read."""

    score: float
    rank: int
    part: Part
    key: Key


@dataclass(frozen=True, kw_only=True)
class ResultSet:
    """The records that a call finds: a part of each catalogue, by strength or one after another."""

    parts: Sequence[Part]
    page_size: int = 10
    most: int = FURTHEST  # the last result that paging reaches, unless it is a list
    lists: bool = False  # whether it has all records of one catalogue after the other
    is_whole: bool = False  # whether it has more than the nearest few where nothing answers
    explains: bool = False  # whether hits are explained
    rule: Rule | None = None  # of each part, `most` records are left by it
    unread: Sequence[str] = ()  # the catalogues that could not be read
    filter_notes: Sequence[str] = ()  # how the filters of the call were understood
    label: values.Label = values.argument_of
    """Returns the name of the argument that a condition came from."""

    @cached_property
    def evidence(self) -> Evidence:
        """The evidence of the catalogue that has the strongest."""
        return Evidence.best([part.evidence for part in self.parts])

    @property
    def total(self) -> int:
        """How many records answer, or are listed."""
        return sum([part.ranking.total for part in self.parts])

    @property
    def by_catalogue(self) -> dict[str, int]:
        """How many records of each catalogue answer."""
        return {part.view.name: part.ranking.total for part in self.parts}

    @cached_property
    def only_orders(self) -> bool:
        """Whether the words of the question leave no record out."""
        return any(part.only_orders for part in self.parts)

    @cached_property
    def is_list(self) -> bool:
        """Whether it has every record of a scope, however many."""
        return self.lists or self.only_orders

    @property
    def searched(self) -> Sequence[Part]:
        """The parts that were searched for; none of a list."""
        return [] if self.lists else self.parts

    @cached_property
    def shows_few(self) -> bool:
        """Whether only a few are shown, since nothing answers."""
        return not (self.is_list or self.is_whole) and self.evidence is Evidence.NONE

    @property
    def listed(self) -> int:
        """How many records there are over all pages."""
        count = sum(part.count for part in self.parts)
        return count if self.is_list else min(NEAREST_SHOWN if self.shows_few else self.most, count)

    def page(self, start: int = 0, limit: int | None = None) -> list[Hit]:
        """Return a page of the set; InputError for one that is too far."""
        end = start + (self.page_size if limit is None else limit)
        if self.rule is not None:
            return self._kept[start:end]
        if start > self.most and not self.is_list:
            raise InputError(
                f"'cursor' is not valid here; a search has pages up to its result {self.most}"
            )
        return self._read(self._places(start, end if self.is_list else min(end, self.most + 1)))

    def records(self) -> Iterator[Hit]:
        """Yield all records of the set, read in batches."""
        for start in range(0, self.listed, BATCH):
            yield from self.page(start, BATCH)

    def keys(self) -> list[Key]:
        """Return all keys of the set."""
        if self.rule is not None:
            return [hit.key for hit in self._kept]
        if self.is_list:
            return [key for part in self.parts for key in part.ranking.keys.tolist()]
        return [place.key for place in self._places(0, self.most)]

    def cursor_after(self, start: int) -> str | None:
        """Return the cursor of the page after the one that begins with this result; None where
        there is none.
        """
        end = start + self.page_size
        is_reached = not self.is_list and (self.shows_few or end >= self.most)
        count = sum([len(part.ranking.keys) for part in self.parts])
        return str(end) if count > end and not is_reached else None

    def told(self, start: int | None = None) -> dict[str, Any]:
        """Return what the answer of a search says of the whole set, with the cursor after the page
        that begins with this result.
        """
        return {
            "evidence": self.evidence,
            "mode": self.mode,
            "unread": list(self.unread),
            "cursor": None if start is None else self.cursor_after(start),
        }

    def _places(self, start: int, end: int) -> list[_Place]:
        """Return the places of a page: of a list one catalogue after the other, else by strength,
        ties by rank and then by name, so that equals take turns.
        """
        if self.is_list:
            return self._listed(start, end)
        end = min(end, NEAREST_SHOWN) if self.shows_few else end
        places: list[_Place] = []
        for part in self.parts:
            first = part.first(min(end, self.most))
            ranked = zip(first.keys.tolist(), first.scores.tolist(), strict=True)
            places += [_Place(score, rank, part, key) for rank, (key, score) in enumerate(ranked)]
        if len(self.parts) > 1:
            places.sort(key=lambda place: (-place.score, place.rank, place.part.view.name))
        return places[start:end]

    def _listed(self, start: int, end: int) -> list[_Place]:
        places: list[_Place] = []
        for part in self.parts:
            page, ranking = slice(max(start, 0), max(end, 0)), part.ranking
            keys, scores = ranking.keys[page].tolist(), ranking.scores[page].tolist()
            places += [_Place(score, 0, part, key) for key, score in zip(keys, scores, strict=True)]
            start, end = start - len(ranking.keys), end - len(ranking.keys)
        return places

    def _read(self, places: Sequence[_Place]) -> list[Hit]:
        """Return the records of places, those of each part read at once."""
        found: dict[tuple[Part, Key], Hit] = {}
        for part in self.parts:
            own = [(place.key, place.score) for place in places if place.part is part]
            hits = part.read(*zip(*own, strict=True), explain=self.explains) if own else ()
            found |= {(part, hit.key): hit for hit in hits}
        return [found[at] for one in places if (at := (one.part, one.key)) in found]

    def why_left_out(self, part: Part, key: Key) -> str:
        """Return why a record of a part that was ranked is left out; empty for one that is not."""
        reasons = (why for hit, why in self._judged if hit.view is part.view and hit.key == key)
        return next(reasons, "") if self.rule else part.left_out(key)

    @cached_property
    def _judged(self) -> list[tuple[Hit, str]]:
        """The first records of each part, with why the rule leaves them out."""
        if self.rule is None:
            return []
        depth = SPARE * self.most
        deeper = replace(self, most=depth, is_whole=True)
        hits = self._read(deeper._places(0, depth * len(self.parts)))
        return list(zip(hits, self.rule(hits), strict=True))

    @cached_property
    def _kept(self) -> list[Hit]:
        """The records that the rule leaves, at most so many of each part."""
        taken: Counter[str] = Counter()
        kept = []
        for hit in (hit for hit, why in self._judged if not why):
            taken[hit.view.name] += 1
            if taken[hit.view.name] <= self.most:
                kept.append(hit)
        return kept[:NEAREST_SHOWN] if self.shows_few else kept

    @property
    def mode(self) -> SearchMode:
        """Hybrid where at least one catalogue was searched by vectors."""
        modes = {part.mode for part in self.parts}
        return SearchMode.HYBRID if SearchMode.HYBRID in modes else SearchMode.FTS_ONLY

    @property
    def degraded(self) -> str | None:
        """Why the answer is degraded; None where it is not."""
        reasons = [*unread_notes(self.unread), *(part.degraded for part in self.parts)]
        return "; ".join(dict.fromkeys(filter(None, reasons))) or None

    @property
    def question_notes(self) -> list[str]:
        """Notes on how the question was understood, and the number that it asks for."""
        noted = {
            part.view.name: [
                *part.reading.notes,
                *([f"{counted(part.ranking.total)} in all"] if part.reading.is_count else []),
            ]
            for part in self.parts
        }
        return by_catalogue(noted, among=len(noted))

    @property
    def word_notes(self) -> list[str]:
        """Notes on the words of the query, of the catalogue that has the best hit."""
        best = max(self.searched, key=attrgetter("strength"), default=None)
        return best.word_notes if best else []

    @property
    def degraded_notes(self) -> list[str]:
        """A note for each reason why catalogues were searched by words alone, or not as well as
        they could be.
        """
        return notes_by_reason([(part.view.name, part.why_degraded) for part in self.searched])


def by_catalogue(notes: Mapping[str, Sequence[str]], *, among: int) -> list[str]:
    """Return the notes of catalogues, each once, with the names of its catalogues unless all of so
    many have it.
    """
    each = [(name, note) for name, some in notes.items() for note in some]
    return notes_by_reason(each, among=among)


def unread_notes(names: Sequence[str]) -> list[str]:
    """Return a note on the catalogues that were skipped, none where none was."""
    return [f"{list_some(names, NAMES_SHOWN)}: {UNREADABLE}"] if names else []


def notes_by_reason(reasons: Iterable[tuple[str, str]], *, among: int = 0) -> list[str]:
    """Return a note for each reason, with the names of its catalogues unless these are all; an
    empty one is none.
    """
    names: dict[str, list[str]] = {}
    for name, reason in reasons:
        names.setdefault(reason, []).append(name)
    return [
        one if len(some) == among else f"{list_some(some, NAMES_SHOWN)}: {one}"
        for one, some in names.items()
        if one
    ]
