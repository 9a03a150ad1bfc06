"""A recommendation, end to end, over one view of a shelf.

Its taste are the vectors of the liked titles, moved by the preferences, and the wishes. These are
scored 0–1 for each candidate: by its values where the catalogue can check them, such as tags, else
by the cosine to the embedded description, stretched over the candidates. Several wishes count
alike.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from stackroom.catalogue.spec import CatalogueSpec, RecommendSpec, texts_of
from stackroom.embed.port import Embedder
from stackroom.errors import ExpectedError, InputError, ModelError
from stackroom.frozen import frozen
from stackroom.model.hits import Ranking
from stackroom.model.record import Key, Record, RecordId
from stackroom.model.scope import WHOLE, AnyOf, Condition, NoneOf, Scope
from stackroom.model.vectors import Vector
from stackroom.recommend.signals import Floats, Signals, score_signals
from stackroom.recommend.vocabulary import current_year, preference_vocabulary
from stackroom.search.moods import score_checks
from stackroom.search.names import NameChoice, resolve_name
from stackroom.search.question import View, plain_reading
from stackroom.search.ranked import pick_diverse
from stackroom.search.result_set import Part, Placing
from stackroom.search.values import adult_conditions, asks_for_adult, is_adult
from stackroom.shelf.port import ShelfReader
from stackroom.shelf.series import Work, same_franchise, work_of
from stackroom.shelf.terms import meets
from stackroom.text.preference_pieces import Checks, Nudge
from stackroom.text.preferences import Preferences, understand

ONE_IN = 5  # at most one recommendation in this many is of the same series
TASTE_TAGS = 10
# the likeness from which a record is left out for an excluded title that is not sure to mean it
LIKELY = 0.85
WISHES_SEARCHED = 3  # the wishes for which candidates are searched; the others only score
POOL = 5  # the candidates for each recommendation among which those that differ are chosen
# the cosine to those before it that the first rank of the pool makes up for, against the last
RANK_WORTH = 0.3
CHECKED_NUDGE = 0.5  # the share by which a taste moves for a wish that is also checked by values
NUDGE = 1.0  # the share by which a taste moves for a wish that only its description can honour


@frozen
class Wish:
    """One thing that was asked for: values to check, or else a vector to be near or far from."""

    checks: Checks | None = None
    vector: Vector | None = None
    is_refused: bool = False

    @property
    def condition(self) -> Condition | None:
        """The condition on records that have what was asked for, or None where none can express
        it.
        """
        if self.checks is None:
            return None
        if sought := self.checks.sought or self.checks.near:
            return AnyOf(self.checks.field, sought)
        avoided = self.checks.avoided or self.checks.disliked
        return NoneOf(self.checks.field, avoided) if avoided else None


@frozen
class Taste:
    """The vectors to recommend by, what to score besides, and what could not be used."""

    vectors: Vector
    wishes: tuple[Wish, ...] = ()
    preferences: Preferences
    notes: tuple[str, ...] = ()

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The conditions on records that have what was asked for, one for each wish that can be
        checked.
        """
        return tuple(wish.condition for wish in self.wishes if wish.condition)


@frozen
class Recommendation:
    """A record with its blended score and the signals it is made of."""

    key: Key
    record: Record
    score: float
    # the score that it was chosen by: with wishes, and with how much is known of it
    chosen_by: float
    signals: Signals[float]


@frozen
class Recommendations:
    """Recommended records, the taste they rest on, and how titles and preferences were
    understood.
    """

    items: tuple[Recommendation, ...]
    taste_tags: tuple[str, ...]
    titles: tuple[NameChoice, ...]  # the liked titles, and those that preferences name
    preferences: Preferences
    excluded: tuple[NameChoice, ...] = ()  # the titles that were left out
    notes: tuple[str, ...] = ()
    place: Callable[[RecordId], Placing | None] = lambda _about: None
    """Returns where a record stands, or would without the conditions that it does not meet; None if
    it is gone.
    """

    def part_of(self, view: View, *, by: Callable[["Recommendation"], float]) -> Part:
        """Return them as what was found in a catalogue, by one of their scores."""
        items = sorted(self.items, key=lambda item: (-by(item), item.record.id))
        keys = np.array([item.key for item in items], dtype=np.int64)
        scores = np.array([by(item) for item in items])
        return Part(
            view=view,
            reading=plain_reading("", WHOLE),
            ranking=Ranking(keys=keys, scores=scores, total=len(items)),
            is_graded=False,
            known={item.key: item.record for item in items},
            place=self.place,
        )


@frozen
class Request:
    """Liked titles, preferences, titles to leave out, and how many to recommend."""

    titles: tuple[str, ...]
    preferences: str = ""
    exclude: tuple[str, ...] = ()
    # what every recommendation has, beside what the preferences say
    conditions: tuple[Condition, ...] = ()
    limit: int = 8
    # whether preferences without a title will do: then they describe what is wanted
    may_describe: bool = False


@dataclass(frozen=True, kw_only=True)
class Recommender:
    """Recommends from one catalogue."""

    spec: CatalogueSpec
    embedder: Embedder | None = None
    this_year: Callable[[], int] = current_year
    catalogue: str = ""  # the catalogue's name for messages, where it is not that of its spec

    def recommend(self, reader: ShelfReader, request: Request, *, scope: Scope) -> Recommendations:
        """Recommend records like the titles of a request, within its preferences."""
        choices = [self._resolve(reader, title, scope) for title in request.titles]
        return self.recommend_for(reader, choices, request, scope=scope)

    def recommend_for(
        self,
        reader: ShelfReader,
        choices: Sequence[NameChoice],
        request: Request,
        *,
        scope: Scope,
        disliked: Sequence[NameChoice] = (),
    ) -> Recommendations:
        """Recommend for liked and disliked titles that are resolved already, with the rest of the
        request.

        Where there are no vectors, records are compared by the other signals alone.
        """
        reader = reader.seen_by(scope.visibility)
        spec = (
            self.spec if reader.model is not None else _without_meaning(self.spec, self.catalogue)
        )
        recommend, preferences = require_recommend(spec), Preferences()
        if request.preferences.strip():
            words = preference_vocabulary(
                reader, self.spec, scope=scope, this_year=self.this_year()
            )
            preferences = understand(request.preferences, words)
        titles = (*choices, *(self._resolve(reader, title, scope) for title in preferences.like))
        refused = (
            *disliked,
            *(self._resolve(reader, title, scope) for title in preferences.unlike),
        )
        excluded = [self._resolve(reader, title, scope) for title in request.exclude]
        liked = _found(titles)
        if not liked and not (request.may_describe and request.preferences.strip()):
            raise InputError(_nothing_found(choices))
        vectors = (
            reader.vectors(list(liked))
            if liked
            else self._described(reader, preferences, request.preferences)
        )
        unlike = reader.vectors(list(_found(refused)))
        taste = build_taste(reader, vectors, unlike, preferences, embedder=self.embedder)
        stated = (*request.conditions, *preferences.conditions)
        likes_adult = any(is_adult(record, spec) for record in liked.values())
        asks_adult = likes_adult or asks_for_adult((*stated, *taste.conditions), spec)
        wanted = _Wanted(
            reader=reader,
            spec=spec,
            recommend=recommend,
            scope=scope,
            within=scope.narrowed(*stated, *(() if asks_adult else adult_conditions(spec))),
            liked=liked,
            disliked=_found(refused),
            left_out=frozenset((*_found((*titles, *refused, *excluded)), *_likely(excluded))),
            taste=taste,
        )
        items = wanted.choose(request.limit)
        compared = (
            "there are no vectors, so records are compared by"
            f" {', '.join(recommend.taxonomy.fields)}"
        )
        return Recommendations(
            items=tuple(items),
            taste_tags=_taste_tags(list(liked.values()), reader, recommend, scope),
            titles=titles,
            excluded=(*refused, *excluded),
            preferences=taste.preferences,
            notes=taste.notes if reader.model is not None else (*taste.notes, compared),
            place=partial(wanted.place, items),
        )

    def _resolve(self, reader: ShelfReader, title: str, scope: Scope) -> NameChoice:
        return resolve_name(reader, self.spec, title, scope=scope)

    def _described(self, reader: ShelfReader, preferences: Preferences, sentence: str) -> Vector:
        """Return the vector of a sentence that says what is wanted, without what it does not
        want.
        """
        wanted = ", ".join((*preferences.towards, *preferences.not_understood)) or sentence
        if self.embedder is None or self.embedder.model != reader.model:
            raise ModelError(
                "there is no embedder for this catalogue, so a sentence alone is not enough; like a"
                " record"
            )
        described: Vector = self.embedder.embed_query(wanted)[None, :]
        return described


class _Ranked(NamedTuple):
    """The candidates, best first, with their signals, whose rows are in another order."""

    keys: list[Key]
    signals: Signals[Floats]
    rows: Mapping[Key, int]


@frozen
class _Wanted:
    """A request as it was understood, of a view of a shelf."""

    reader: ShelfReader
    spec: CatalogueSpec
    recommend: RecommendSpec
    scope: Scope
    within: Scope  # the scope of what is recommended
    liked: Mapping[Key, Record]
    disliked: Mapping[Key, Record]
    left_out: frozenset[Key]
    taste: Taste

    def rank(self, within: Scope) -> _Ranked:
        """Return the candidates in the order of the score that they are chosen by, with their
        signals.
        """
        reader, spec, taste, liked = self.reader, self.recommend, self.taste, list(self.liked)
        if reader.model is None:
            near = _alike(reader, liked, self.left_out, within, spec)
        else:
            near = _candidates(reader, taste, self.left_out, within, spec.neighbours)
        keys = list(near)
        signals = score_signals(reader, keys, list(near.values()), liked, self.spec)
        if taste.wishes:
            weight = wish_weight(spec, len(taste.wishes))
            signals = replace(
                signals, wish=score_wishes(reader, keys, taste.wishes), wish_weight=weight
            )
        order = _by_score(reader, keys, signals.choice(spec))
        return _Ranked(keys=order, signals=signals, rows={key: row for row, key in enumerate(keys)})

    def choose(self, limit: int) -> list[Recommendation]:
        """Return the best candidates in the order of their similarity.

        None is of a refused series, and no more than one in five of another.
        """
        ranked = self.rank(self.within)
        keys = ranked.keys
        refused = [work_of(record, self.spec) for record in self.disliked.values()]
        own = [work_of(record, self.spec) for record in self.liked.values()]
        if self.taste.preferences.is_novel:
            keys, refused = spread_out(self.reader, keys, limit=limit), [*refused, *own]
        read: list[Key] = []

        def iter_works() -> Iterator[Work]:
            for start in range(0, len(keys), limit):
                some = keys[start : start + limit]
                for key, work in zip(some, self.reader.works(some), strict=True):
                    if not any(same_franchise(work, other) for other in refused):
                        read.append(key)
                        yield work

        most = max(self.recommend.per_franchise, math.ceil(limit / ONE_IN))
        chosen = [
            read[at]
            for at in pick_diverse(iter_works(), limit=limit, per_franchise=most, known=own)
        ]
        records = self.reader.fetch(chosen, scope=self.scope)
        found = [(key, ranked.signals.at(ranked.rows[key])) for key in chosen]
        spec = self.recommend
        items = [
            Recommendation(
                key=key,
                record=records[key],
                score=own.similarity(spec),
                chosen_by=own.choice(spec),
                signals=own,
            )
            for key, own in found
        ]
        return sorted(items, key=lambda item: -item.score)

    def place(self, items: Sequence[Recommendation], about: RecordId) -> Placing | None:
        """Return where a record stands, or would without the conditions that it does not meet; None
        if it is gone.
        """
        seen = Scope(visibility=self.within.visibility)
        key = self.reader.find([about], scope=seen).get(about)
        if key is None:
            return None
        record, conditions = self.reader.fetch([key], scope=seen)[key], self.within.conditions
        failed = tuple(
            condition for condition in conditions if not meets(record, condition, self.spec)
        )
        kept = tuple(condition for condition in conditions if condition not in failed)
        ranked = self.rank(replace(self.within, conditions=kept))
        row = ranked.rows.get(key)
        return Placing(
            record=record,
            rank=next(
                (rank for rank, item in enumerate(items, start=1) if item.record.id == about), None
            ),
            failed=failed,
            is_named=key in self.left_out,
            place=None if row is None else ranked.keys.index(key) + 1,
            candidates=len(ranked.keys),
            why=None if row is None else ranked.signals.at(row).why(self.recommend),
        )


def _found(choices: Iterable[NameChoice]) -> dict[Key, Record]:
    return {choice.key: choice.record for choice in choices if choice.key and choice.record}


def _likely(excluded: Iterable[NameChoice]) -> Iterator[Key]:
    """Yield the records that an excluded title, too misspelt to be sure of, probably means: none is
    missed.
    """
    for choice in excluded:
        if choice.key is None:
            yield from (other.key for other in choice.others if other.likeness >= LIKELY)


def require_recommend(spec: CatalogueSpec) -> RecommendSpec:
    """Return the recommend section of a spec; raise InputError where there is none."""
    if spec.recommend is None:
        lacking = "has no [recommend] section, so it cannot recommend; add one to its spec"
        raise InputError(f"catalogue '{spec.name}' {lacking}")
    return spec.recommend


def _without_meaning(spec: CatalogueSpec, catalogue: str) -> CatalogueSpec:
    """Return a spec that recommends by its tags and other signals alone; raise ModelError where it
    has no tags.
    """
    recommend = require_recommend(spec)
    tags = recommend.taxonomy
    if not tags.fields:
        lacking = "has no vectors, so it cannot recommend; build it again with an embedding model"
        raise ModelError(f"catalogue '{catalogue or spec.name}' {lacking}")
    by_tags = tags.model_copy(update={"weight": tags.weight or 1.0})
    return replace(
        spec, recommend=recommend.model_copy(update={"semantic": 0.0, "taxonomy": by_tags})
    )


def _alike(
    reader: ShelfReader, liked: Sequence[Key], left_out: Set[Key], scope: Scope, spec: RecommendSpec
) -> dict[Key, float]:
    """Return the records that share a tag with a liked one, each with the cosine 0."""
    near: dict[Key, float] = {}
    for name in spec.taxonomy.fields:
        values = frozenset[str]().union(*reader.terms(name, liked))
        within = scope.narrowed(AnyOf(name, tuple(sorted(values))))
        keys = reader.scan(scope=within, limit=reader.count(within)) if values else []
        near.update((key, 0.0) for key in keys if key not in left_out)
    return near


def _candidates(
    reader: ShelfReader, taste: Taste, left_out: Set[Key], scope: Scope, limit: int
) -> dict[Key, float]:
    """Return the nearest neighbours of the taste, and the nearest of the records that have what was
    asked for.
    """
    wanted = taste.conditions[:WISHES_SEARCHED]
    scopes = [scope, *(scope.narrowed(one) for one in wanted)]
    if len(wanted) > 1:
        scopes.append(scope.narrowed(*wanted))
    best: dict[Key, float] = {}
    for within in scopes:
        near: dict[Key, float] = {}  # the nearest neighbours of each taste, with their best cosine
        for ranking in reader.nearest(taste.vectors, scope=within, limit=limit + len(left_out)):
            for one in [one for one in ranking.best if one.key not in left_out][:limit]:
                near[one.key] = max(one.score, near.get(one.key, -1.0))
        best |= near
    return best


def spread_out(reader: ShelfReader, ranked: Sequence[Key], *, limit: int) -> list[Key]:
    """Return the keys reordered so that each of the first differs from those before it (maximal
    marginal relevance).
    """
    pool = list(ranked[: limit * POOL])
    vectors = reader.vectors(pool)
    worth = np.linspace(RANK_WORTH, 0.0, num=len(pool))
    alike = np.zeros(len(pool))
    order: list[int] = []
    for _ in range(min(2 * limit, len(pool))):
        best = int(np.argmax(worth - alike))
        order.append(best)
        worth[best] = -np.inf
        alike = np.maximum(alike, vectors @ vectors[best])
    first = [pool[place] for place in order]
    return [*first, *(key for key in ranked if key not in set(first))]


def _by_score(reader: ShelfReader, keys: Sequence[Key], scores: Floats) -> list[Key]:
    """Return the keys by falling score, ties by id."""
    order = np.argsort(-scores, kind="stable").tolist()
    if len(np.unique(scores)) < len(scores):
        ids = reader.ids(keys)
        order.sort(key=lambda index: (-scores[index], ids[index]))
    return [keys[index] for index in order]


def _taste_tags(
    liked: Sequence[Record], reader: ShelfReader, spec: RecommendSpec, scope: Scope
) -> tuple[str, ...]:
    """Return the tags most typical of the taste: frequent among the liked titles and rare
    otherwise.
    """
    counts = Counter(
        tag
        for record in liked
        for field in spec.taxonomy.fields
        for tag in texts_of(record.get(field))
    )
    total = max(reader.count(scope), 1)
    common: dict[str, int] = {}
    for field in spec.taxonomy.fields:
        common.update({facet.value: facet.count for facet in reader.facets(field, scope=scope)})
    weights = {
        tag: count * math.log(1 + total / (1 + common.get(tag, 0))) for tag, count in counts.items()
    }
    return tuple(sorted(weights, key=lambda tag: (-weights[tag], tag))[:TASTE_TAGS])


def _nothing_found(choices: Sequence[NameChoice]) -> str:
    parts = []
    for choice in choices:
        hint = (
            f"; did you mean {', '.join(repr(name) for name in choice.suggestions)}?"
            if choice.suggestions
            else ""
        )
        parts.append(f"no title like '{choice.asked}' is in the catalogue{hint}")
    return "'titles': " + "; ".join(parts)


def build_taste(
    reader: ShelfReader,
    liked: Vector,
    disliked: Vector,
    preferences: Preferences,
    *,
    embedder: Embedder | None,
) -> Taste:
    """Return the taste of the liked vectors within preferences.

    Where descriptions cannot be embedded, values are checked all the same, a note says why, and
    what only the description could have honoured is not called understood.
    """
    unlike = tuple(Wish(vector=vector, is_refused=True) for vector in disliked)
    try:
        described = _embedded(reader, preferences.wishes, embedder)
    except ExpectedError as error:
        note = f"the wording of the preferences was not used: {error.message}"
        checked = tuple(Wish(checks=wish.checks) for wish in preferences.wishes if wish.checks)
        kept = _without_descriptions(preferences)
        return Taste(vectors=liked, wishes=(*checked, *unlike), preferences=kept, notes=(note,))
    wishes = tuple(
        Wish(checks=one.checks, vector=vector, is_refused=one.direction == "away from")
        for one, vector in zip(preferences.wishes, described, strict=True)
    )
    return Taste(vectors=_moved(liked, wishes), wishes=(*wishes, *unlike), preferences=preferences)


def _embedded(
    reader: ShelfReader, wishes: Sequence[Nudge], embedder: Embedder | None
) -> list[Vector]:
    if not wishes:
        return []
    if embedder is None or embedder.model != reader.model:
        raise ModelError("there is no embedder for this catalogue; stackroom model check says why")
    return [embedder.embed_query(wish.phrase) for wish in wishes]


def _without_descriptions(preferences: Preferences) -> Preferences:
    """Move what only a vector could have honoured from the understood words to those that were
    not.
    """
    unused = tuple(one.text for one in preferences.understood if one.by_vector)
    return replace(
        preferences,
        understood=tuple(one for one in preferences.understood if not one.by_vector),
        not_understood=(*preferences.not_understood, *unused),
    )


def _moved(liked: Vector, wishes: Sequence[Wish]) -> Vector:
    """Return the liked vectors moved by the descriptions, of unit length again."""
    moved = liked.copy()
    for wish in wishes:
        if wish.vector is not None:
            share = (NUDGE if wish.checks is None else CHECKED_NUDGE) / len(wishes)
            moved += (-share if wish.is_refused else share) * wish.vector
    lengths = np.linalg.norm(moved, axis=1, keepdims=True)
    unit: Vector = (moved / np.maximum(lengths, 1e-12)).astype(np.float32)
    return unit


def wish_weight(spec: RecommendSpec, count: int) -> float:
    """Return the weight of several wishes: each takes its share of what the others leave to
    similarity, up to two.
    """
    return 1 - (1 - spec.wish) ** min(count, 2)


def score_wishes(reader: ShelfReader, candidates: Sequence[Key], wishes: Sequence[Wish]) -> Floats:
    """Return for each candidate the mean score of the wishes; there must be one."""
    scores = [
        score_checks(reader, candidates, wish.checks)
        if wish.checks is not None
        else _near(reader, candidates, wish)
        for wish in wishes
    ]
    means: Floats = np.mean(scores, axis=0)
    return means


def _near(reader: ShelfReader, candidates: Sequence[Key], wish: Wish) -> Floats:
    """Return the cosines to a description from 0, the least of the candidates, to 1, the
    greatest.
    """
    if wish.vector is None or not len(candidates):
        return np.zeros(len(candidates))
    cosines = np.asarray(reader.vectors(list(candidates)) @ wish.vector, dtype=float)
    spread = cosines.max() - cosines.min()
    nearness: Floats = (cosines - cosines.min()) / spread if spread > 0 else np.ones(len(cosines))
    return 1 - nearness if wish.is_refused else nearness
