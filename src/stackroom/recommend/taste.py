"""The taste behind a recommendation: the vectors of the liked titles, moved by the preferences, and the wishes.

Wishes are scored 0–1 for each candidate: by its values where the catalogue can check them, such as tags, else by the
cosine to the embedded description, stretched over the candidates. Several wishes count alike.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from stackroom.catalogue.spec import RecommendSpec
from stackroom.embed.port import Embedder
from stackroom.errors import ExpectedError, ModelError
from stackroom.model.record import Key
from stackroom.model.scope import AnyOf, Condition, NoneOf
from stackroom.model.vectors import Vector
from stackroom.recommend.signals import Floats
from stackroom.search.moods import score_checks
from stackroom.shelf.port import ShelfReader
from stackroom.text.preference_pieces import Checks, Nudge
from stackroom.text.preferences import Preferences

CHECKED_NUDGE = 0.5
"""The share by which a taste moves for a wish that is also checked by values."""

NUDGE = 1.0
"""The share by which a taste moves for a wish that only its description can honour."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """One thing that was asked for: values to check, or else a vector to be near or far from."""

    checks: Checks | None = None
    vector: Vector | None = None
    is_refused: bool = False

    @property
    def condition(self) -> Condition | None:
        """The condition on records that have what was asked for, or None where none can express it."""
        if self.checks is None:
            return None
        if sought := self.checks.sought or self.checks.near:
            return AnyOf(self.checks.field, sought)
        avoided = self.checks.avoided or self.checks.disliked
        return NoneOf(self.checks.field, avoided) if avoided else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Taste:
    """The vectors to recommend by, what to score besides, and what could not be used."""

    vectors: Vector
    wishes: tuple[Wish, ...] = ()
    preferences: Preferences
    notes: tuple[str, ...] = ()

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The conditions on records that have what was asked for, one for each wish that can be checked."""
        return tuple(wish.condition for wish in self.wishes if wish.condition)


def build_taste(
    reader: ShelfReader, liked: Vector, disliked: Vector, preferences: Preferences, *, embedder: Embedder | None
) -> Taste:
    """Return the taste of the liked vectors within preferences.

    Where descriptions cannot be embedded, values are checked all the same, a note says why, and what only the
    description could have honoured is not called understood.
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


def _embedded(reader: ShelfReader, wishes: Sequence[Nudge], embedder: Embedder | None) -> list[Vector]:
    if not wishes:
        return []
    if embedder is None or embedder.model != reader.model:
        raise ModelError("there is no embedder for this catalogue; stackroom model check says why")
    return [embedder.embed_query(wish.phrase) for wish in wishes]


def _without_descriptions(preferences: Preferences) -> Preferences:
    """Move what only a vector could have honoured from the understood words to those that were not."""
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
    """Return the weight of several wishes: each takes its share of what the others leave to similarity, up to two."""
    return 1 - (1 - spec.wish) ** min(count, 2)


def score_wishes(reader: ShelfReader, candidates: Sequence[Key], wishes: Sequence[Wish]) -> Floats:
    """Return for each candidate the mean score of the wishes; there must be one."""
    scores = [
        score_checks(reader, candidates, wish.checks) if wish.checks is not None else _near(reader, candidates, wish)
        for wish in wishes
    ]
    means: Floats = np.mean(scores, axis=0)
    return means


def _near(reader: ShelfReader, candidates: Sequence[Key], wish: Wish) -> Floats:
    """Return the cosines to a description from 0, the least of the candidates, to 1, the greatest."""
    if wish.vector is None or not len(candidates):
        return np.zeros(len(candidates))
    cosines = np.asarray(reader.vectors(list(candidates)) @ wish.vector, dtype=float)
    spread = cosines.max() - cosines.min()
    nearness: Floats = (cosines - cosines.min()) / spread if spread > 0 else np.ones(len(cosines))
    return 1 - nearness if wish.is_refused else nearness
