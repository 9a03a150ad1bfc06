"""A recommendation, end to end, over one shelf."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pinakes.catalogue.spec import CatalogueSpec, FieldType, RecommendSpec, Role
from pinakes.embed.port import Embedder
from pinakes.errors import ExpectedError, InputError
from pinakes.model.hits import FacetCount
from pinakes.model.record import Key, Record
from pinakes.model.scope import Scope
from pinakes.model.vectors import Vector
from pinakes.recommend import signals
from pinakes.recommend.franchise import pick_diverse, work_of
from pinakes.recommend.signals import Signals
from pinakes.recommend.titles import TitleChoice, resolve_title
from pinakes.shelf.port import Shelf, ShelfReader
from pinakes.text.wishes import Wishes, WishVocabulary, understand

NUDGE = 0.5
"""How far a taste moves towards what a preference asks for, or away from it."""

ONE_IN = 5
"""At most one recommendation in so many is of the same franchise."""

TASTE_TAGS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """A record with its blended score and the signals it is made of."""

    record: Record
    score: float
    signals: Signals


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendations:
    """The answer: what to try, the taste it rests on, and how titles and preferences were understood."""

    items: tuple[Recommendation, ...]
    taste_tags: tuple[str, ...]
    titles: tuple[TitleChoice, ...]
    wishes: Wishes
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is asked for."""

    titles: tuple[str, ...]
    preferences: str = ""
    exclude: tuple[str, ...] = ()
    limit: int = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Taste:
    """The liked records, their vectors (moved by what is wished), and what the signals compare with."""

    keys: tuple[Key, ...]
    records: tuple[Record, ...]
    vectors: Vector
    tags: tuple[frozenset[str], ...]
    times: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Recommender:
    """Recommends from one catalogue."""

    shelf: Shelf
    embedder: Embedder | None = None
    this_year: Callable[[], int]

    def recommend(self, request: Request, *, scope: Scope) -> Recommendations:
        """Return what someone who likes these titles may like, within their preferences."""
        reader, spec = self.shelf.reader(), self.shelf.spec
        choices = [resolve_title(reader, spec, title, scope=scope) for title in request.titles]
        return self.recommend_for(choices, request, scope=scope)

    def recommend_for(self, choices: Sequence[TitleChoice], request: Request, *, scope: Scope) -> Recommendations:
        """Recommend for titles that are resolved already; the rest of the request is worked out here."""
        spec = require_recommend(self.shelf.spec)
        reader = self.shelf.reader()
        wishes = understand(request.preferences, self._vocabulary(reader, scope))
        references = [resolve_title(reader, self.shelf.spec, title, scope=scope) for title in wishes.like]
        excluded = [resolve_title(reader, self.shelf.spec, title, scope=scope) for title in request.exclude]
        liked = {choice.key: choice.record for choice in (*choices, *references) if choice.key and choice.record}
        if not liked:
            raise InputError(_nothing_found(choices))
        vectors, notes = self._nudged(reader.vectors(list(liked)), wishes, reader)
        taste = _taste(liked, vectors, spec)
        left_out = {*liked, *(choice.key for choice in excluded if choice.key)}
        candidates = _candidates(reader, taste, left_out, scope.narrowed(*wishes.conditions), spec)
        return Recommendations(
            items=tuple(self._diverse(_ranked(candidates, taste, spec), request.limit, spec)),
            taste_tags=_taste_tags(taste, reader, spec, scope),
            titles=(*choices, *references, *excluded),
            wishes=wishes,
            notes=tuple(notes),
        )

    def _diverse(self, ranked: Sequence[Recommendation], limit: int, spec: RecommendSpec) -> Iterator[Recommendation]:
        """Yield the best, with no more than one in five of the same franchise."""
        works = [work_of(item.record, self.shelf.spec) for item in ranked]
        per_franchise = max(spec.per_franchise, math.ceil(limit / ONE_IN))
        for place in pick_diverse(works, limit=limit, per_franchise=per_franchise):
            yield ranked[place]

    def _nudged(self, liked: Vector, wishes: Wishes, reader: ShelfReader) -> tuple[Vector, list[str]]:
        """Return the liked vectors moved by the wishes' words, or as they are, with a note, when that cannot be."""
        if not wishes.towards and not wishes.away_from:
            return liked, []
        if self.embedder is None or self.embedder.model != reader.model:
            return liked, ["the wording of the preferences was not used: there is no embedder for this catalogue"]
        try:
            towards = [self.embedder.embed_query(phrase) for phrase in wishes.towards]
            away = [self.embedder.embed_query(phrase) for phrase in wishes.away_from]
        except ExpectedError as error:
            return liked, [f"the wording of the preferences was not used: {error.message}"]
        moved = liked.copy()
        if towards:
            moved += NUDGE * np.mean(towards, axis=0)
        if away:
            moved -= NUDGE * np.mean(away, axis=0)
        lengths = np.linalg.norm(moved, axis=1, keepdims=True)
        unit: Vector = (moved / np.maximum(lengths, 1e-12)).astype(np.float32)
        return unit, []

    def _vocabulary(self, reader: ShelfReader, scope: Scope) -> WishVocabulary:
        spec = self.shelf.spec
        tag_field = next((f.name for f in spec.fields.values() if f.type is FieldType.TAGS and f.needs_column), None)
        time_field = spec.field_with_role(Role.TIME)
        facets: Sequence[FacetCount] = reader.facets(tag_field, scope=scope) if tag_field else ()
        words = spec.wishes
        length = (words.length_field, words.short_at_most, words.long_at_least) if words.length_field else None
        known = {facet.value.lower(): facet.value for facet in facets}
        return WishVocabulary(
            time_field=time_field.name if time_field and time_field.type is FieldType.INT else None,
            units=words.units,
            choices=words.choices,
            tags={**known, **{word: tag for word, tag in words.tags.items() if tag.lower() in known}},
            tag_field=tag_field,
            long_field=length,
            this_year=self.this_year(),
        )


def require_recommend(spec: CatalogueSpec) -> RecommendSpec:
    """Return how a catalogue recommends, or refuse one that does not."""
    if spec.recommend is None:
        raise InputError(f"catalogue '{spec.name}' has no [recommend] section, so it cannot recommend")
    return spec.recommend


def _candidates(
    reader: ShelfReader, taste: Taste, left_out: set[Key], scope: Scope, spec: RecommendSpec
) -> dict[Key, tuple[Record, float]]:
    """Return the nearest neighbours of each taste that are in scope and not left out, with their best cosine."""
    best: dict[Key, float] = {}
    for ranking in reader.nearest(taste.vectors, scope=scope, limit=spec.neighbours + len(left_out)):
        kept = [one for one in ranking.best if one.key not in left_out][: spec.neighbours]
        for one in kept:
            best[one.key] = max(one.score, best.get(one.key, -1.0))
    records = reader.fetch(list(best), scope=scope)
    return {key: (record, best[key]) for key, record in records.items()}


def _ranked(candidates: Mapping[Key, tuple[Record, float]], taste: Taste, spec: RecommendSpec) -> list[Recommendation]:
    """Return the candidates with their signals, best blend first, ties by id."""
    most = max((_number(record, spec.popularity_field) or 0.0 for record, _ in candidates.values()), default=0.0)
    items = []
    for record, semantic in candidates.values():
        parts = _signals(record, semantic, taste, spec, most)
        items.append(Recommendation(record=record, score=signals.blend(parts, spec), signals=parts))
    return sorted(items, key=lambda item: (-item.score, item.record.id))


def _taste(liked: Mapping[Key, Record], vectors: Vector, spec: RecommendSpec) -> Taste:
    times = [_number(record, spec.temporal_field) for record in liked.values()]
    return Taste(
        keys=tuple(liked),
        records=tuple(liked.values()),
        vectors=vectors,
        tags=tuple(signals.tag_set(record, spec) for record in liked.values()),
        times=tuple(time for time in times if time is not None),
    )


def _signals(record: Record, cosine: float, taste: Taste, spec: RecommendSpec, most_popular: float) -> Signals:
    popular = None
    if spec.popularity:
        popular = signals.popularity(_number(record, spec.popularity_field), most=most_popular)
    return Signals(
        semantic=min(max(cosine, 0.0), 1.0),
        taxonomy=signals.taxonomy(signals.tag_set(record, spec), taste.tags),
        temporal=signals.temporal(_number(record, spec.temporal_field), taste.times, sigma=spec.temporal_sigma),
        format=signals.format_likeness(record, taste.records, spec),
        popularity=popular,
    )


def _taste_tags(taste: Taste, reader: ShelfReader, spec: RecommendSpec, scope: Scope) -> tuple[str, ...]:
    """Return the tags that most tell this taste: on many of the liked titles, and on few others."""
    counts = Counter(tag for tags in taste.tags for tag in tags)
    total = max(reader.count(scope), 1)
    frequency = {
        facet.value: facet.count for field in spec.taxonomy_fields for facet in reader.facets(field, scope=scope)
    }
    weights = {tag: count * math.log(1 + total / (1 + frequency.get(tag, 0))) for tag, count in counts.items()}
    return tuple(sorted(weights, key=lambda tag: (-weights[tag], tag))[:TASTE_TAGS])


def _number(record: Record, field: str) -> float | None:
    value = record.get(field) if field else None
    return float(value) if isinstance(value, int | float) else None


def _nothing_found(choices: Sequence[TitleChoice]) -> str:
    parts = []
    for choice in choices:
        hint = f"; did you mean {', '.join(repr(name) for name in choice.suggestions)}?" if choice.suggestions else ""
        parts.append(f"no title like '{choice.asked}' is in the catalogue{hint}")
    return "'titles': " + "; ".join(parts)
