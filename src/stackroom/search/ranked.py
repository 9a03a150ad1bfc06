"""The ranking of a search before its records are fetched, its trace for explanations, and the
spreading of series.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stackroom.catalogue.spec import CatalogueSpec
from stackroom.embed.models import LOCAL_MODELS
from stackroom.frozen import frozen
from stackroom.model.hits import (
    EVIDENCE_AT,
    IDENTICAL_AT,
    Evidence,
    MatchType,
    Ranking,
    SearchMode,
    Why,
)
from stackroom.model.record import Key, Record
from stackroom.model.scope import Scope
from stackroom.model.vectors import Vector
from stackroom.search.evidence import WORDS, WeighedEvidence, WeighedWords
from stackroom.search.fuse import Candidates, Floats, FusionSteps, Keys
from stackroom.search.moods import QueryMoods
from stackroom.shelf.port import ShelfReader
from stackroom.shelf.series import Work, same_franchise
from stackroom.shelf.terms import text_tokens
from stackroom.text.analyser import (
    ORDINARY_TOKENS,
    PUNCTUATION,
    TextQuery,
    analyse_query,
    is_english,
    query_tokens,
)


def pick_diverse(
    works: Iterable[Work], *, limit: int, per_franchise: int, known: Sequence[Work] = ()
) -> list[int]:
    """Return the first indexes, in order, with a bounded number per series; reads no further than
    needed.

    Records of one series with a third one, read before or `known`, are of one series with each
    other.
    """
    # the records of each series read so far, and how many were picked
    every = [([work], 0) for work in known]
    chosen: list[int] = []
    for index, work in enumerate(works):
        if len(chosen) == limit:
            break
        series, picked, others = [work], 0, []
        for same, count in every:
            if any(map(partial(same_franchise, work), same)):
                series += same
                picked += count
            else:
                others.append((same, count))
        if picked < per_franchise:
            picked += 1
            chosen.append(index)
        every = [*others, (series, picked)]
    return chosen


# the part of a score that is not of its own evidence, but brings it into the order of the list
PLACE = "place"
NO_PART = 1e-9  # the size of a part below which it is left out
WORD = "word:"  # the beginning of the part that one term gives
RERANK = "rerank"


class KeyedRecord(NamedTuple):
    """A record with its key and the spec that it follows."""

    key: Key
    record: Record
    spec: CatalogueSpec


@frozen
class SearchQuery:
    """A query as the arms of a search look for it."""

    text: str
    terms: TextQuery  # the terms that the lexical arm looks for, synonyms among them
    words: WeighedWords
    vector: Vector | None
    moods: QueryMoods | None = None


@frozen
class Trace:
    """The candidates of a search, their evidence and their fusion, with the query they were found
    by.
    """

    query: SearchQuery
    candidates: Candidates
    evidence: WeighedEvidence
    fusion: FusionSteps
    # the fused scores, by which those with evidence are ordered, and the others after them
    fused: Floats
    scores: Floats  # the strengths of the evidence along that order, with which they fall
    depth: int  # how many records each arm contributed at most

    def find_row(self, key: Key) -> int | None:
        """Return the row of a record among the candidates; None where no arm found it."""
        row = int(np.searchsorted(self.candidates.keys, key))
        return row if row < len(self.candidates.keys) and self.candidates.keys[row] == key else None

    def measures_at(self, row: int) -> dict[str, float]:
        """Return what the search measured of a candidate, by name."""
        found, names = self.candidates, ["bm25", "name", "known", "named"]
        names += ["cosine"] if found.has_cosines else []
        measures = {name: float(getattr(found, name)[row]) for name in names}
        return {**measures, "fused": float(self.fused[row])}

    def explain_weighed(
        self, reader: ShelfReader, evidence: WeighedEvidence, found: KeyedRecord
    ) -> Why:
        """Explain the evidence for one record that no arm found: it is not ordered."""
        (scores,) = self.term_scores(reader, [found.key])
        parts = split_words(evidence.parts_at(0), scores)
        return Why(
            strength=parts, order={}, lacks=lacking(self.query.words, found.record, found.spec)
        )

    def term_scores(self, reader: ShelfReader, keys: Sequence[Key]) -> list[dict[str, float]]:
        """Return what each term of the query gives to each record."""
        tokens = [token for token, _ in self.query.terms.terms]
        return [
            dict(zip(tokens, each, strict=True))
            for each in reader.term_scores(self.query.terms, keys).tolist()
        ]


def split_words(parts: Mapping[str, float], terms: Mapping[str, float]) -> dict[str, float]:
    """Return the parts with that of the words split over the terms, in proportion to their
    scores.
    """
    total = sum(terms.values())
    if not total:
        return dict(parts)
    words = {
        f"{WORD}{term}": parts[WORDS] * score / total for term, score in terms.items() if score
    }
    return {**{name: part for name, part in parts.items() if name != WORDS}, **words}


def lacking(words: WeighedWords, record: Record, spec: CatalogueSpec) -> tuple[str, ...]:
    """Return the terms of a query that no searched text of a record has."""
    here = set(text_tokens(record, spec.searched_fields))
    return tuple(term for term in words.weights if term not in here)


# the number of hits that the evidence of an answer is of, and that a series is bounded in
BEST = 10
OF_ONE_SERIES = 3
MATTERS = 0.3  # the share of a query's weight from which an answer without a word says so
_POSSESSIVE = re.compile(r"['’]s$")
# the likeness from which a query is taken for a name, so that its whole series may follow
NAMED = 0.5


@frozen
class Ranked:
    """The ranking of a search, best first, with its mode, its problems and its trace."""

    ranking: Ranking
    """The keys and the strengths of their evidence; its total counts the records that have any."""
    mode: SearchMode
    degraded: str  # why the search was not as good as it could be; empty where it was
    reader: ShelfReader
    scope: Scope
    spec: CatalogueSpec
    trace: Trace
    reranked: Mapping[Key, float] = field(default_factory=dict)  # the scores by a reranker
    raised: Mapping[Key, Mapping[str, float]] = field(default_factory=dict)
    """What a tool has added to the strengths of records, by name."""
    # whether the order is one that was asked for, which nothing else may change
    is_sorted: bool = False

    def with_order(self, keys: Keys, scores: Floats, *, is_sorted: bool = False) -> "Ranked":
        """Return the same with other keys and strengths."""
        return replace(
            self, ranking=replace(self.ranking, keys=keys, scores=scores), is_sorted=is_sorted
        )

    def match_types(self, keys: Keys) -> list[MatchType]:
        """Tell which arms found each of these records; words, where the search itself did not."""
        candidates = self.trace.candidates
        is_known = np.isin(keys, candidates.keys)
        types = iter(candidates.match_types(candidates.keys.searchsorted(keys[is_known])))
        return [next(types) if known else MatchType.FTS for known in is_known.tolist()]

    def measures_of(self, key: Key) -> dict[str, float]:
        """Return what was measured of a record, and added to its strength, by name."""
        row = self.trace.find_row(key)
        measures = {} if row is None else self.trace.measures_at(row)
        if key in self.reranked:
            measures[RERANK] = self.reranked[key]
        return {**measures, **self.raised.get(key, {})}

    def explain(
        self, keys: Sequence[Key], scores: Sequence[float], records: Sequence[Record]
    ) -> list[Why | None]:
        """Return the explanations of records with these strengths; None for one that the search
        itself did not find.
        """
        terms = self.trace.term_scores(self.reader, keys)
        return [
            None if row is None else self._why(row, score, of_key, record)
            for row, score, of_key, record in zip(
                map(self.trace.find_row, keys), scores, terms, records, strict=True
            )
        ]

    def _why(self, row: int, score: float, terms: Mapping[str, float], record: Record) -> Why:
        trace, key = self.trace, Key(int(self.trace.candidates.keys[row]))
        parts = split_words(trace.evidence.parts_at(row), terms) | dict(self.raised.get(key, {}))
        place = score - sum(parts.values())
        return Why(
            strength={**parts, PLACE: place} if abs(place) > NO_PART else parts,
            order=trace.fusion.parts_at(row),
            lacks=lacking(trace.query.words, record, self.spec),
        )

    def notes_on(self, ranking: Ranking) -> list[str]:
        """Return what to know of the query beside its best hit, the first of a ranking: a word that
        matters is missing, or its language.
        """
        if Evidence.of_best(ranking.scores) is not Evidence.NONE:
            return [*filter(None, [self._missing_word(Key(int(ranking.keys[0])))])]
        model, query = self.reader.model, self.trace.query
        if query.vector is None or model is None or model.name not in LOCAL_MODELS:
            return []
        advice = "knows English: ask in English, or with words that records have"
        return [] if is_english(query.text) else [f"the model {model.name} {advice}"]

    def _missing_word(self, key: Key) -> str:
        """Say that no record, or not this one, has a word of the query; empty where none of weight
        is missing.
        """
        words, row = self.trace.query.words, self.trace.find_row(key)
        candidates = self.trace.candidates
        if row is None or candidates.share[row] > 1 - MATTERS or candidates.name[row] >= NAMED:
            return ""
        heavy = {
            token for token in words.weights if words.share_of([token]) >= MATTERS
        } - ORDINARY_TOKENS
        if not heavy:
            return ""
        searched = (*self.spec.searched_fields, *self.spec.fields_searched_as_names)
        (record,) = self.reader.fetch([key], scope=self.scope).values()
        here = set(text_tokens(record, searched))
        token = max(sorted(heavy - here), key=words.weights.__getitem__, default="")
        typed = next(
            (word for word in self.trace.query.text.split() if token in query_tokens(word)), ""
        )
        synonyms = {term for term, _ in analyse_query(typed, synonyms=self.spec.synonyms).terms}
        if not token or not typed or not synonyms.isdisjoint(here):
            return ""
        word = _POSSESSIVE.sub("", typed.strip(PUNCTUATION)).lower()
        return (
            f"no record has '{word}'"
            if token in words.unknown
            else f"the best match lacks '{word}'"
        )

    @property
    def has_series(self) -> bool:
        """Whether records are of series, and the query is not the name of one."""
        is_declared = self.spec.recommend is not None and bool(self.spec.recommend.related.field)
        candidates = self.trace.candidates
        best = candidates.name[candidates.keys.searchsorted(self.ranking.keys[:BEST])]
        return is_declared and not self.is_sorted and not (best >= NAMED).any()

    def first(self, limit: int) -> Ranking:
        """Return the first keys; where records are of series, more than a few of one in every ten
        are put off, if others answer too.
        """
        total, keys, scores = self.ranking.total, self.ranking.keys, self.ranking.scores
        near, order = keys[: rows_for(limit)], list(range(min(limit, len(keys))))
        if self.has_series:
            works = self.reader.works(near[:limit].tolist())
            tens = [works[at : at + BEST] for at in range(0, len(works), BEST)]
            if any(len(_diverse(ten)) < len(ten) for ten in tens):
                works += self.reader.works(near[limit:].tolist())
                answering = int(np.count_nonzero(scores[: len(near)] >= EVIDENCE_AT))
                order = [*_in_tens(works, answering), *range(answering, len(near))][:limit]
        return Ranking(keys=keys[order], scores=np.minimum.accumulate(scores[order]), total=total)


def _diverse(works: Iterable[Work]) -> list[int]:
    return pick_diverse(works, limit=BEST, per_franchise=OF_ONE_SERIES)


def _in_tens(works: Sequence[Work], count: int) -> list[int]:
    """Return the places of so many works in their new order.

    Every ten are picked from the next twenty, so that a longer page begins as a shorter one does.
    """
    order: list[int] = []
    waiting = list(range(count))
    while waiting:
        near = waiting[: 2 * BEST]
        picked = [near[index] for index in _diverse([works[place] for place in near])]
        chosen = [*picked, *(place for place in near if place not in picked)][:BEST]
        order += chosen
        waiting = [place for place in waiting if place not in chosen]
    return order


TIERS = (0.3, IDENTICAL_AT)
"""Below the first strength there is hardly any evidence: such records come after the others,
whatever their rank.
"""
PARTED = 0.25
"""The share of the sorted strengths in a score, which parts the scores of records with about the
same evidence.
"""


def order_rows(
    strengths: Floats, by: Floats, *, tiers: Sequence[float] = TIERS
) -> NDArray[np.intp]:
    """Return the rows best first: by the tier of their strength, and in each by other numbers than
    that.
    """
    order: NDArray[np.intp] = np.lexsort((-strengths, -by, -np.digitize(strengths, tiers)))
    return order


def falling(strengths: Floats) -> Floats:
    """Return numbers near the strengths of a list that fall along it.

    A run of strengths that rises shares its mean, so that no other falling numbers are nearer (pool
    adjacent violators). A share of the sorted strengths keeps the numbers of a run apart; after the
    last record with more than hardly any evidence, they are all there is.
    """
    ranked = np.sort(strengths)[::-1]
    means: list[float] = []
    counts: list[int] = []
    head = int((strengths >= TIERS[0]).nonzero()[0].max(initial=0)) + 1
    for strength in strengths[:head].tolist():
        mean, count = strength, 1
        while means and means[-1] < mean:
            before = counts.pop()
            mean = (means.pop() * before + mean * count) / (before + count)
            count += before
        means.append(mean)
        counts.append(count)
    nearest = np.repeat(np.array(means), counts)
    ranked[: len(nearest)] = (1 - PARTED) * nearest + PARTED * ranked[: len(nearest)]
    return np.minimum.accumulate(ranked)


def rows_for(limit: int) -> int:
    """Return how many ranked keys a page of this many hits is picked from."""
    return (-(-limit // BEST) + 1) * BEST
