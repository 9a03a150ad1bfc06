"""The ranking of a search before its records are fetched, so that it can be cut and reordered cheaply."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pinakes.model.hits import Hit, MatchType, SearchMode, SearchPage
from pinakes.model.record import Key
from pinakes.model.scope import Scope
from pinakes.search.candidates import Candidates, Floats
from pinakes.shelf.port import ShelfReader


class RankedKey(NamedTuple):
    """A hit whose record is not fetched yet."""

    key: Key
    score: float
    match_type: MatchType
    reasons: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """The ranked keys of a search, best first, with its total, mode and problems."""

    ranking: tuple[RankedKey, ...]
    total_matches: int
    mode: SearchMode
    degraded: str | None
    reader: ShelfReader
    scope: Scope

    def read(self, ranking: Sequence[RankedKey]) -> list[Hit]:
        """Return these ranked keys as hits with their records."""
        records = self.reader.fetch([one.key for one in ranking], scope=self.scope)
        return [Hit(record=records[one.key], **one._asdict()) for one in ranking if one.key in records]

    def page(self, limit: int) -> SearchPage:
        """Return the first hits."""
        return SearchPage(
            hits=tuple(self.read(self.ranking[:limit])),
            total_matches=self.total_matches,
            mode=self.mode,
            degraded=self.degraded,
        )


def rank_rows(candidates: Candidates, scores: Floats, rows: Sequence[int]) -> tuple[RankedKey, ...]:
    """Return these rows of the candidates as ranked keys."""
    parts = {"bm25": candidates.bm25, "title": candidates.title}
    if candidates.has_cosines:
        parts["cosine"] = candidates.cosine
    parts["fused"] = scores
    each_reasons = zip(*(values[rows].tolist() for values in parts.values()), strict=True)
    return tuple(
        RankedKey(Key(key), score, match_type, dict(zip(parts, reasons, strict=True)))
        for key, score, match_type, reasons in zip(
            candidates.keys[rows].tolist(),
            scores[rows].clip(0.0, 1.0).tolist(),
            candidates.match_types(rows),
            each_reasons,
            strict=True,
        )
    )
