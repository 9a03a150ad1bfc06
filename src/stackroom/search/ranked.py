"""The ranking of a search before its records are fetched, its trace for explanations, and series of records.

Records of one series (parts, sequels, films) are recognised by the pages they name and by their titles.
"""

import html
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np

from stackroom.catalogue.spec import CatalogueSpec, RecommendSpec, Role, texts_of
from stackroom.model.hits import Evidence, Hit, MatchType, SearchMode, SearchPage, Why
from stackroom.model.record import Key, Record
from stackroom.model.scope import Scope
from stackroom.model.vectors import Vector
from stackroom.search.evidence import WORDS, WeighedEvidence, WeighedWords
from stackroom.search.fuse import Candidates, Floats, FusionSteps
from stackroom.shelf.port import ShelfReader
from stackroom.shelf.terms import text_tokens
from stackroom.text.analyser import TextQuery
from stackroom.text.normalise import fold

MIN_STEM_CHARS = 5
"""The length from which a stem that begins another title shows a series."""

MIN_SHARED_CHARS = 6
"""The length from which a stem counts wherever it stands: of an alternative title, or after a colon."""

MIN_SHARED_WIDE_CHARS = 3
"""The same for scripts without spaces, where three characters say as much."""

MIN_INNER_CHARS = 10
"""The length from which a stem of several words counts anywhere in a title."""

_BREAK = re.compile(r"[:：;([〜~]|\s[-–—~]")
_NOISE = re.compile(r"[\W_]+")
_ORDINAL = r"\d|[ivx]+\b|(?:first|second|third|fourth|fifth|2nd|3rd|4th|5th)\b"


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The evidence of a record's series: its pages, the pages it names, and the stems of its titles."""

    pages: frozenset[str]
    related: frozenset[str]
    stem: str
    """The stem of the title."""
    stems: frozenset[str]
    """The stems of all titles, those that are too short to tell apart left out."""
    parts: tuple[str, ...]
    """The words of the title and of its parts, a space around each word: they may begin with another's stem."""

    def opens_with(self, stem: str) -> bool:
        """Tell whether the title or a part of it begins with another's stem, or has a longer one inside."""
        if stem == self.stem:
            return True
        size = len(stem)
        if size < MIN_STEM_CHARS:
            return False
        phrase, is_inner = f" {stem} ", size >= MIN_INNER_CHARS and " " in stem
        for place, part in enumerate(self.parts):
            is_first = part.startswith(phrase) and (place == 0 or size >= MIN_SHARED_CHARS)
            if is_first or (is_inner and phrase in part):
                return True
        return False


def work_of(record: Record, spec: CatalogueSpec) -> Work:
    """Return the series evidence of a record."""
    recommend = spec.recommend or RecommendSpec()
    markers = recommend.series_markers if spec.recommend else ()
    title, alternatives = spec.title_of(record), spec.field_with_role(Role.ALTERNATIVES)
    others = texts_of(record.get(alternatives.name)) if alternatives else []
    stem = title_stem(title, markers=markers)
    stems = {stem, *(title_stem(name, markers=markers) for name in others)}
    return Work(
        pages=frozenset((record.id, *texts_of(record.get(recommend.related.pages)))),
        related=frozenset(texts_of(record.get(recommend.related.field))),
        stem=stem,
        stems=frozenset(one for one in stems if _is_telling(one)),
        parts=_parts(title),
    )


@lru_cache(maxsize=50_000)
def title_stem(title: str, *, markers: tuple[str, ...]) -> str:
    """Return a title without its subtitle and what says which part it is: `Cosmos Season Two: Stars` → `cosmos`."""
    folded = fold(html.unescape(title)).strip()
    return _bare(_part_pattern(markers).sub("", _BREAK.split(folded, maxsplit=1)[0].rstrip())) or _bare(folded)


@cache
def _part_pattern(markers: tuple[str, ...]) -> re.Pattern[str]:
    """Return the end of a title from the first marker or ordinal on."""
    named = rf"(?:the\s+)?(?:{'|'.join(re.escape(marker.lower()) for marker in markers)})\b|" if markers else ""
    return re.compile(rf"\s+(?:{named}{_ORDINAL}).*$")


def _bare(folded: str) -> str:
    """Return the letters and digits of a folded title, its words separated by one space."""
    return _NOISE.sub(" ", folded).strip()


def _is_telling(stem: str) -> bool:
    return len(stem) >= (MIN_SHARED_CHARS if stem.isascii() else MIN_SHARED_WIDE_CHARS)


@lru_cache(maxsize=10_000)
def _parts(title: str) -> tuple[str, ...]:
    return tuple(f" {_bare(part)} " for part in _BREAK.split(fold(html.unescape(title))))


def same_franchise(one: Work, other: Work) -> bool:
    """Tell whether two records are of one series."""
    if not one.related.isdisjoint(other.related):
        return True
    if not one.pages.isdisjoint(other.related) or not one.related.isdisjoint(other.pages):
        return True
    if not one.stems.isdisjoint(other.stems):
        return True
    return other.opens_with(one.stem) or one.opens_with(other.stem)


@dataclass(slots=True, eq=False)
class _Series:
    """The records of one series among those read so far, and how many of them were picked."""

    works: list[Work] = field(default_factory=list)
    picked: int = 0

    def has(self, work: Work) -> bool:
        for other in self.works:  # noqa: SIM110  compared for each pair of hits
            if same_franchise(work, other):
                return True
        return False


def pick_diverse(works: Iterable[Work], *, limit: int, per_franchise: int, known: Sequence[Work] = ()) -> list[int]:
    """Return the first indexes, in order, with a bounded number per series; reads no further than needed.

    Records of one series with a third one, read before or `known`, are of one series with each other.
    """
    every = [_Series([work]) for work in known]
    chosen: list[int] = []
    for index, work in enumerate(works):
        if len(chosen) == limit:
            break
        series = _joined(every, work)
        if series.picked < per_franchise:
            series.picked += 1
            chosen.append(index)
    return chosen


def _joined(every: list[_Series], work: Work) -> _Series:
    """Return the series of a work, made of all that it connects, and put it in their place."""
    same = [series for series in every if series.has(work)]
    whole = _Series([work, *(one for series in same for one in series.works)], sum(series.picked for series in same))
    every[:] = [*(series for series in every if series not in same), whole]
    return whole


WORD = "word:"
"""The beginning of the part that one term gives."""
REASONS = frozenset({"bm25", "name", "known", "named", "cosine", "fused", "rerank"})
"""The reasons that a search itself gives for a hit; any other is what a tool added to its strength, by name."""


class KeyedRecord(NamedTuple):
    """A record with its key and the spec that it follows."""

    key: Key
    record: Record
    spec: CatalogueSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The candidates of a search, their evidence and their fusion, with the query they were found by."""

    text: str
    query: TextQuery
    """The terms that the lexical arm looked for, synonyms among them."""
    words: WeighedWords
    vector: Vector | None
    candidates: Candidates
    evidence: WeighedEvidence
    fusion: FusionSteps
    scores: Floats
    """The fused scores."""
    depth: int
    """How many records each arm contributed at most."""

    def find_row(self, key: Key) -> int | None:
        """Return the row of a record among the candidates; None where no arm found it."""
        row = int(np.searchsorted(self.candidates.keys, key))
        return row if row < len(self.candidates.keys) and self.candidates.keys[row] == key else None

    def explain(self, reader: ShelfReader, hits: Sequence[Hit], spec: CatalogueSpec) -> list[Hit]:
        """Return hits of this search with their explanations."""
        terms = reader.term_scores(self.query, [hit.key for hit in hits])
        return [
            replace(hit, why=self._why(row, hit, dict(zip(self._tokens(), scores, strict=True)), spec))
            for hit, scores in zip(hits, terms.tolist(), strict=True)
            if (row := self.find_row(hit.key)) is not None
        ]

    def _why(self, row: int, hit: Hit, terms: Mapping[str, float], spec: CatalogueSpec) -> Why:
        raised = {name: value for name, value in hit.reasons.items() if name not in REASONS}
        return Why(
            strength={**split_words(self.evidence.parts_at(row), terms), **raised},
            order=self.fusion.parts_at(row),
            lacks=lacking(self.words, hit.record, spec),
        )

    def explain_weighed(self, reader: ShelfReader, evidence: WeighedEvidence, found: "KeyedRecord") -> Why:
        """Explain the evidence for one record that no arm found: it is not ordered."""
        (scores,) = reader.term_scores(self.query, [found.key]).tolist()
        parts = split_words(evidence.parts_at(0), dict(zip(self._tokens(), scores, strict=True)))
        return Why(strength=parts, order={}, lacks=lacking(self.words, found.record, found.spec))

    def _tokens(self) -> list[str]:
        return [token for token, _ in self.query.terms]


def split_words(parts: Mapping[str, float], terms: Mapping[str, float]) -> dict[str, float]:
    """Return the parts with that of the words split over the terms, in proportion to their scores."""
    total = sum(terms.values())
    if not total:
        return dict(parts)
    words = {f"{WORD}{term}": parts[WORDS] * score / total for term, score in terms.items() if score}
    return {**{name: part for name, part in parts.items() if name != WORDS}, **words}


def lacking(words: WeighedWords, record: Record, spec: CatalogueSpec) -> tuple[str, ...]:
    """Return the terms of a query that no searched text of a record has."""
    here = set(text_tokens(record, spec.searched_fields))
    return tuple(term for term in words.weights if term not in here)


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
