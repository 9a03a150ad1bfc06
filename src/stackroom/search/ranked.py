"""The ranking of a search before its records are fetched, so that it can be cut and reordered cheaply."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from stackroom.catalogue.spec import CatalogueSpec
from stackroom.model.hits import Evidence, Hit, MatchType, SearchMode, SearchPage
from stackroom.model.record import Key
from stackroom.model.scope import Scope
from stackroom.search.candidates import Candidates, Floats
from stackroom.search.series import Work, pick_diverse, work_of
from stackroom.search.trace import Trace
from stackroom.shelf.port import ShelfReader

BEST = 10
"""The number of hits that the evidence of an answer is of, and that a series is bounded in."""
OF_ONE_SERIES = 3
NAMED = 0.5
"""The likeness from which a query is taken for a name, so that its whole series may follow."""


class RankedKey(NamedTuple):
    """A hit whose record is not fetched yet."""

    key: Key
    score: float
    """The strength of the evidence."""
    match_type: MatchType
    reasons: Mapping[str, float]

    def raised(self, strength: float, *, by: str) -> "RankedKey":
        """Return the hit with at least this strength; `by` names the evidence in explanations."""
        more = strength - self.score
        return self if more <= 0 else self._replace(score=strength, reasons={**self.reasons, by: more})


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """The ranked keys of a search, best first, with its total, mode and problems."""

    ranking: tuple[RankedKey, ...]
    total_matches: int
    mode: SearchMode
    degraded: str | None
    reader: ShelfReader
    scope: Scope
    spec: CatalogueSpec
    trace: Trace

    def read(self, ranking: Sequence[RankedKey], *, explain: bool = False) -> list[Hit]:
        """Return these ranked keys as hits with their records, and with explanations if they are asked for."""
        records = self.reader.fetch([one.key for one in ranking], scope=self.scope)
        hits = [Hit(record=records[one.key], **one._asdict()) for one in ranking if one.key in records]
        return self.trace.explain(self.reader, hits, self.spec) if explain else hits

    def page(self, limit: int, *, explain: bool = False) -> SearchPage:
        """Return the first hits, with a bounded number of one series."""
        hits = self._spread(limit) if self.has_series else self.read(self.ranking[:limit])
        return SearchPage(
            hits=tuple(self.trace.explain(self.reader, hits, self.spec) if explain else hits),
            total_matches=self.total_matches,
            evidence=Evidence.of(max((one.score for one in self.ranking[:BEST]), default=0.0)),
            mode=self.mode,
            ranked=len(self.trace.candidates.keys),
            degraded=self.degraded,
        )

    @property
    def has_series(self) -> bool:
        """Whether records are of series, and the query is not the name of one."""
        is_declared = self.spec.recommend is not None and bool(self.spec.recommend.related.field)
        return is_declared and not any(one.reasons["name"] >= NAMED for one in self.ranking[:BEST])

    def _spread(self, limit: int) -> list[Hit]:
        """Return the first hits; more than a few of one series in every ten are put off, if others are near."""
        hits = self.read(self.ranking[:limit])

        @cache
        def work_at(place: int) -> Work:
            return work_of(hits[place].record, self.spec)

        if all(_is_diverse(map(work_at, ten), len(ten)) for ten in _tens(len(hits))):
            return hits
        hits += self.read(self.ranking[limit : rows_for(limit)])
        return [hits[place] for place in _in_tens(work_at, len(hits))[:limit]]


def _diverse(works: Iterable[Work]) -> list[int]:
    return pick_diverse(works, limit=BEST, per_franchise=OF_ONE_SERIES)


def _is_diverse(works: Iterable[Work], count: int) -> bool:
    return len(_diverse(works)) == count


def _tens(count: int) -> list[range]:
    return [range(start, min(start + BEST, count)) for start in range(0, count, BEST)]


def _in_tens(work_at: Callable[[int], Work], count: int) -> list[int]:
    """Return the places of so many works in their new order.

    Every ten are picked from the next twenty, so that a longer page begins as a shorter one does.
    """
    order: list[int] = []
    waiting = list(range(count))
    while waiting:
        near = waiting[: 2 * BEST]
        picked = [near[index] for index in _diverse(map(work_at, near))]
        chosen = [*picked, *(place for place in near if place not in picked)][:BEST]
        order += chosen
        waiting = [place for place in waiting if place not in chosen]
    return order


def rows_for(limit: int) -> int:
    """Return how many ranked keys a page of this many hits is picked from."""
    return (-(-limit // BEST) + 1) * BEST


def rank_rows(candidates: Candidates, scores: Floats, strengths: Floats, rows: Sequence[int]) -> tuple[RankedKey, ...]:
    """Return these rows of the candidates as ranked keys."""
    parts = {"bm25": candidates.bm25, "name": candidates.name, "known": candidates.known, "named": candidates.named}
    if candidates.has_cosines:
        parts["cosine"] = candidates.cosine
    parts["fused"] = scores
    each_reasons = zip(*(values[rows].tolist() for values in parts.values()), strict=True)
    return tuple(
        RankedKey(Key(key), score, match_type, dict(zip(parts, reasons, strict=True)))
        for key, score, match_type, reasons in zip(
            candidates.keys[rows].tolist(),
            strengths[rows].tolist(),
            candidates.match_types(rows),
            each_reasons,
            strict=True,
        )
    )
