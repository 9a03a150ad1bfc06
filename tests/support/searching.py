"""Searching and recommending from a shelf as it is at each call, for tests of either by itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stackroom.catalogue.spec import SearchSpec
from stackroom.embed.port import Embedder
from stackroom.model.hits import Evidence, Label, MatchType, SearchMode, Why
from stackroom.model.record import Key, Record
from stackroom.model.scope import WHOLE, Scope
from stackroom.recommend.recommender import Recommendations, Recommender, Request
from stackroom.search.evidence import Calibration, calibrate
from stackroom.search.ranked import Ranked
from stackroom.search.searcher import Reranker, Searcher
from stackroom.shelf.port import Shelf
from support.libraries import Shelved


@dataclass(frozen=True, kw_only=True)
class Hit:
    """A ranked record with what the search measured of it."""

    key: Key
    record: Record
    score: float
    match_type: MatchType
    reasons: Mapping[str, float]
    why: Why | None

    @property
    def label(self) -> Label | None:
        """The label of its score."""
        return Label.of(self.score)


@dataclass(frozen=True, kw_only=True)
class Found:
    """The first hits of a search, and what is said of it."""

    hits: Sequence[Hit]
    total_matches: int
    evidence: Evidence
    mode: SearchMode
    degraded: str
    notes: Sequence[str]


def first_hits(ranked: Ranked, limit: int) -> Found:
    """Read the first hits of a ranking."""
    first = ranked.first(limit)
    keys, scores = first.keys.tolist(), first.scores.tolist()
    found = ranked.reader.fetch(keys, scope=ranked.scope)
    records = [found[key] for key in keys]
    whys, types = ranked.explain(keys, scores, records), ranked.match_types(first.keys)
    columns = zip(keys, records, scores, types, whys, strict=True)
    return Found(
        hits=[
            Hit(
                key=key,
                record=record,
                score=score,
                match_type=match_type,
                reasons=ranked.measures_of(key),
                why=why,
            )
            for key, record, score, match_type, why in columns
        ],
        total_matches=ranked.ranking.total,
        evidence=Evidence.of_best(ranked.ranking.scores),
        mode=ranked.mode,
        degraded=ranked.degraded,
        notes=ranked.notes_on(first),
    )


@dataclass(frozen=True, kw_only=True)
class ShelfSearcher:
    """A searcher together with the shelf that it reads."""

    shelf: Shelf
    embedder: Embedder | None = None
    reranker: Reranker | None = None
    override: SearchSpec | None = None
    calibration: Calibration | None = None

    def search(self, text: str, *, scope: Scope = WHOLE, limit: int = 10) -> Found:
        """Search the shelf as it is now."""
        searcher = Searcher(
            spec=self.shelf.spec,
            embedder=self.embedder,
            reranker=self.reranker,
            override=self.override,
            calibration_of=lambda _model: self.calibration,
        )
        return first_hits(searcher.rank(self.shelf.reader(), text, scope=scope, limit=limit), limit)

    def ids(self, text: str, *, limit: int = 10) -> list[str]:
        """Return the ids of the first hits."""
        return [str(hit.record.id) for hit in self.search(text, limit=limit).hits]


def searcher_of(shelved: Shelved, *, is_graded: bool = False, **more: Any) -> ShelfSearcher:
    """Search by meaning and words, with the calibration of the records that are there now if the
    results are graded.
    """
    if is_graded:
        more["calibration"] = calibrate(shelved.shelf.reader(), shelved.embedder)
    return ShelfSearcher(shelf=shelved.shelf, embedder=shelved.embedder, **more)


def recommend(
    shelf: Shelf, embedder: Embedder | None, request: Request, *, scope: Scope
) -> Recommendations:
    """Recommend from the shelf as it is now, in the year 2026."""
    recommender = Recommender(spec=shelf.spec, embedder=embedder, this_year=lambda: 2026)
    return recommender.recommend(shelf.reader(), request, scope=scope)
