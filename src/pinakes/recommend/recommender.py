"""A recommendation, end to end, over one view of a shelf."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pinakes.catalogue.spec import CatalogueSpec, RecommendSpec, texts_of
from pinakes.embed.port import Embedder
from pinakes.errors import ExpectedError, InputError, ModelError
from pinakes.model.record import Key, Record
from pinakes.model.scope import Condition, Scope
from pinakes.model.vectors import Vector
from pinakes.recommend.signals import Floats, Signals, score_signals
from pinakes.recommend.vocabulary import preference_vocabulary
from pinakes.search.conditions import adult_conditions, asks_for_adult, is_adult
from pinakes.search.names import NameChoice, resolve_name
from pinakes.search.series import Work, pick_diverse, work_of
from pinakes.shelf.port import ShelfReader
from pinakes.text.preferences import Preferences, understand

NUDGE = 0.5
"""The share by which a taste moves towards a preference, or away from it."""

ONE_IN = 5
"""At most one recommendation in this many is of the same series."""

TASTE_TAGS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """A record with its blended score and the signals it is made of."""

    record: Record
    score: float
    signals: Signals


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendations:
    """Recommended records, the taste they rest on, and how titles and preferences were understood."""

    items: tuple[Recommendation, ...]
    taste_tags: tuple[str, ...]
    titles: tuple[NameChoice, ...]
    """The liked titles, and those that preferences name."""
    preferences: Preferences
    excluded: tuple[NameChoice, ...] = ()
    """The titles that were left out."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Liked titles, preferences, titles to leave out, and how many to recommend."""

    titles: tuple[str, ...]
    preferences: str = ""
    exclude: tuple[str, ...] = ()
    limit: int = 8


@dataclass(frozen=True, kw_only=True)
class Recommender:
    """Recommends from one catalogue."""

    spec: CatalogueSpec
    embedder: Embedder | None = None
    this_year: Callable[[], int]

    def recommend(self, reader: ShelfReader, request: Request, *, scope: Scope) -> Recommendations:
        """Recommend records like the titles of a request, within its preferences."""
        choices = [self._resolve(reader, title, scope) for title in request.titles]
        return self.recommend_for(reader, choices, request, scope=scope)

    def recommend_for(
        self, reader: ShelfReader, choices: Sequence[NameChoice], request: Request, *, scope: Scope
    ) -> Recommendations:
        """Recommend for titles that are resolved already, with the rest of the request."""
        spec = require_recommend(self.spec)
        if reader.model is None:
            raise ModelError(
                f"catalogue '{self.spec.name}' has no vectors, so it cannot recommend; build it "
                "again without --no-embed"
            )
        preferences = self._understand(reader, request.preferences, scope)
        references = [self._resolve(reader, title, scope) for title in preferences.like]
        excluded = [self._resolve(reader, title, scope) for title in request.exclude]
        liked = {choice.key: choice.record for choice in (*choices, *references) if choice.key and choice.record}
        if not liked:
            raise InputError(_nothing_found(choices))
        tastes, notes = self._nudged(reader.vectors(list(liked)), preferences, reader)
        left_out = {*liked, *(choice.key for choice in excluded if choice.key)}
        within = scope.narrowed(*preferences.conditions, *self._without_adult(liked.values(), preferences))
        near = _neighbours(reader, tastes, left_out, within, spec.neighbours)
        keys = list(near)
        signals = score_signals(reader, keys, list(near.values()), list(liked), self.spec)
        scores = signals.blend(spec)
        known = [work_of(record, self.spec) for record in liked.values()]
        chosen = self._diverse(reader, _ranked(reader, keys, scores), known, limit=request.limit, scope=scope)
        indexes = {key: index for index, key in enumerate(keys)}
        return Recommendations(
            items=tuple(
                Recommendation(record=record, score=float(scores[indexes[key]]), signals=signals.at(indexes[key]))
                for key, record in chosen.items()
            ),
            taste_tags=_taste_tags(list(liked.values()), reader, spec, scope),
            titles=(*choices, *references),
            excluded=tuple(excluded),
            preferences=preferences,
            notes=tuple(notes),
        )

    def _without_adult(self, liked: Iterable[Record], preferences: Preferences) -> list[Condition]:
        """Return the conditions that keep adult records out, unless a liked title is one or a preference asks."""
        is_asked = asks_for_adult(preferences.conditions, self.spec) or any(is_adult(one, self.spec) for one in liked)
        return [] if is_asked else adult_conditions(self.spec)

    def _resolve(self, reader: ShelfReader, title: str, scope: Scope) -> NameChoice:
        return resolve_name(reader, self.spec, title, scope=scope)

    def _understand(self, reader: ShelfReader, preferences: str, scope: Scope) -> Preferences:
        if not preferences.strip():
            return Preferences()
        words = preference_vocabulary(reader, self.spec, scope=scope, this_year=self.this_year())
        return understand(preferences, words)

    def _nudged(self, liked: Vector, preferences: Preferences, reader: ShelfReader) -> tuple[Vector, list[str]]:
        """Return the liked vectors moved by the preferences; unmoved, with a note, where they cannot be embedded."""
        if not preferences.towards and not preferences.away_from:
            return liked, []
        if self.embedder is None or self.embedder.model != reader.model:
            return liked, ["the wording of the preferences was not used: there is no embedder for this catalogue"]
        try:
            towards = [self.embedder.embed_query(phrase) for phrase in preferences.towards]
            away = [self.embedder.embed_query(phrase) for phrase in preferences.away_from]
        except ExpectedError as error:
            return liked, [f"the wording of the preferences was not used: {error.message}"]
        return _moved(liked, towards, away), []

    def _diverse(
        self, reader: ShelfReader, ranked: Sequence[Key], known: Sequence[Work], *, limit: int, scope: Scope
    ) -> dict[Key, Record]:
        """Return the best, with no more than one in five of the same series; records are fetched as needed."""
        spec = self.spec
        records: dict[Key, Record] = {}

        def iter_works() -> Iterator[Work]:
            for start in range(0, len(ranked), limit):
                some = ranked[start : start + limit]
                records.update(reader.fetch(some, scope=scope))
                yield from (work_of(records[key], spec) for key in some)

        most = max(require_recommend(spec).per_franchise, math.ceil(limit / ONE_IN))
        indexes = pick_diverse(iter_works(), limit=limit, per_franchise=most, known=known)
        return {ranked[index]: records[ranked[index]] for index in indexes}


def require_recommend(spec: CatalogueSpec) -> RecommendSpec:
    """Return the recommend section of a spec; raise InputError where there is none."""
    if spec.recommend is None:
        raise InputError(f"catalogue '{spec.name}' has no [recommend] section, so it cannot recommend")
    return spec.recommend


def _neighbours(reader: ShelfReader, tastes: Vector, left_out: set[Key], scope: Scope, limit: int) -> dict[Key, float]:
    """Return the nearest neighbours of each taste that are in scope and not left out, with their best cosine."""
    best: dict[Key, float] = {}
    for ranking in reader.nearest(tastes, scope=scope, limit=limit + len(left_out)):
        kept = [one for one in ranking.best if one.key not in left_out][:limit]
        for one in kept:
            best[one.key] = max(one.score, best.get(one.key, -1.0))
    return best


def _ranked(reader: ShelfReader, keys: Sequence[Key], scores: Floats) -> list[Key]:
    """Return the keys by falling score, ties by id."""
    order = np.argsort(-scores, kind="stable").tolist()
    if len(np.unique(scores)) < len(scores):
        ids = reader.ids(keys)
        order.sort(key=lambda index: (-scores[index], ids[index]))
    return [keys[index] for index in order]


def _moved(liked: Vector, towards: Sequence[Vector], away: Sequence[Vector]) -> Vector:
    """Return the liked vectors moved towards some and away from others, of unit length again."""
    moved = liked.copy()
    if towards:
        moved += NUDGE * np.mean(towards, axis=0)
    if away:
        moved -= NUDGE * np.mean(away, axis=0)
    lengths = np.linalg.norm(moved, axis=1, keepdims=True)
    unit: Vector = (moved / np.maximum(lengths, 1e-12)).astype(np.float32)
    return unit


def _taste_tags(liked: Sequence[Record], reader: ShelfReader, spec: RecommendSpec, scope: Scope) -> tuple[str, ...]:
    """Return the tags most typical of the taste: frequent among the liked titles and rare otherwise."""
    counts = Counter(tag for record in liked for field in spec.taxonomy.fields for tag in texts_of(record.get(field)))
    total = max(reader.count(scope), 1)
    common: dict[str, int] = {}
    for field in spec.taxonomy.fields:
        common.update({facet.value: facet.count for facet in reader.facets(field, scope=scope)})
    weights = {tag: count * math.log(1 + total / (1 + common.get(tag, 0))) for tag, count in counts.items()}
    return tuple(sorted(weights, key=lambda tag: (-weights[tag], tag))[:TASTE_TAGS])


def _nothing_found(choices: Sequence[NameChoice]) -> str:
    parts = []
    for choice in choices:
        hint = f"; did you mean {', '.join(repr(name) for name in choice.suggestions)}?" if choice.suggestions else ""
        parts.append(f"no title like '{choice.asked}' is in the catalogue{hint}")
    return "'titles': " + "; ".join(parts)
