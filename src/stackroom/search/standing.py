"""The standing of one record in a search: its rank in each arm and in the whole, its strength, and the parts of it.

A record that no arm found is weighed all the same, so that its evidence can be compared with that of the others.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from stackroom.model.hits import MatchType, Ranking, Why
from stackroom.model.record import Key
from stackroom.search.ranked import KeyedRecord, Ranked, RankedKey, rank_rows
from stackroom.search.searcher import Searcher, best_rows

RANKED = 50_000
"""How deep an arm is searched for a record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankIn:
    """A record's rank and score in one ranking of `of` records; no rank where it is not in it, or too far down."""

    rank: int | None
    score: float | None
    of: int
    searched: int = 0
    """How many of the ranking were looked through."""

    def plain(self) -> dict[str, float | int | None]:
        """Return the same as a JSON object."""
        return {"rank": self.rank, "score": None if self.score is None else round(self.score, 4), "of": self.of}


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The ranks of a record in scope: in each arm of a search, and in the whole."""

    words: RankIn
    meaning: RankIn
    whole: RankIn
    """The place among all candidates, by the fused score."""
    strength: float
    why: Why
    match_type: MatchType | None
    """The arms that found it; None where none did."""
    reasons: Mapping[str, float]
    """The measures that the search took of it."""


def find_standing(
    searcher: Searcher, ranked: Ranked, found: KeyedRecord, *, raised: RankedKey | None = None
) -> Standing:
    """Return where a record of the scope of a search stands in it; `raised` is the hit if a tool has raised it."""
    trace, reader = ranked.trace, ranked.reader
    words = reader.lexical(trace.query.terms, scope=ranked.scope, limit=RANKED)
    row = trace.find_row(found.key)
    if row is None:
        evidence = searcher.weigh_one(reader, trace.query, found.key)
        strength, match_type, reasons = float(evidence.strengths()[0]), None, dict[str, float]()
        why = trace.explain_weighed(reader, evidence, found)
    else:
        (one,) = rank_rows(trace, [row])
        kept = next((other for other in ranked.ranking if other.key == found.key), one)
        (hit,) = ranked.read([raised or kept], explain=True)
        assert hit.why is not None, "explained above"
        strength, match_type, reasons, why = hit.score, hit.match_type, dict(hit.reasons), hit.why
    return Standing(
        words=_rank_in(words, found.key),
        meaning=_rank_by_meaning(ranked, found.key),
        whole=_rank_in_whole(ranked, found.key, row),
        strength=strength,
        why=why,
        match_type=match_type,
        reasons=reasons,
    )


def _rank_by_meaning(ranked: Ranked, key: Key) -> RankIn:
    vector = ranked.trace.query.vector
    if vector is None:
        return RankIn(rank=None, score=None, of=0)
    (ranking,) = ranked.reader.nearest(vector[None, :], scope=ranked.scope, limit=RANKED)
    cosine = float(ranked.reader.vectors([key])[0] @ vector)
    count = ranked.reader.count(ranked.scope)
    return RankIn(rank=_rank_in(ranking, key).rank, score=cosine, of=count, searched=len(ranking.keys))


def _rank_in(ranking: Ranking, key: Key) -> RankIn:
    places = np.flatnonzero(ranking.keys == key)
    if not len(places):
        return RankIn(rank=None, score=None, of=ranking.total, searched=len(ranking.keys))
    at = int(places[0])
    return RankIn(rank=at + 1, score=float(ranking.scores[at]), of=ranking.total)


def _rank_in_whole(ranked: Ranked, key: Key, row: int | None) -> RankIn:
    """Return the place in the order of the page, which a reranker may have changed at its beginning."""
    trace = ranked.trace
    count = len(trace.candidates.keys)
    if row is None:
        return RankIn(rank=None, score=None, of=count)
    score = float(trace.fused[row])
    place = next((place for place, one in enumerate(ranked.ranking, start=1) if one.key == key), None)
    return RankIn(rank=place or best_rows(trace, ranked.reader, count).index(row) + 1, score=score, of=count)
