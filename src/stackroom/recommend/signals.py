"""The signals of a recommendation, each 0–1: how candidates compare with the liked titles.

Vectors and tags count by the nearest liked title, since a taste is several things and not their
average; year and format count by the mean over all of them. Every function scores all candidates at
once.
"""

import operator
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from functools import reduce
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from stackroom.catalogue import spec as specs
from stackroom.catalogue.spec import CatalogueSpec, FieldRole, FieldType, RecommendSpec
from stackroom.errors import InputError, did_you_mean
from stackroom.frozen import frozen
from stackroom.model.hits import Why
from stackroom.model.record import Key
from stackroom.model.scope import KNOWN_FIELD
from stackroom.shelf.port import ShelfReader

Floats = NDArray[np.float64]
Terms = Sequence[frozenset[str]]
SignalT = TypeVar("SignalT", float, Floats)


SIMILARITY, KNOWN, WISH = "similarity", "known", "wish"  # what a record is chosen by


@frozen
class Signals(Generic[SignalT]):
    """The signals of one candidate, or of all of them side by side.

    Those that do not apply are None: popularity and how much is known by spec, wishes where there
    are none.
    """

    semantic: SignalT
    taxonomy: SignalT
    temporal: SignalT
    format: SignalT
    popularity: SignalT | None = None
    wish: SignalT | None = None
    wish_weight: float = 0.0
    known: SignalT | None = None

    def similarity_parts(self, spec: RecommendSpec) -> dict[str, SignalT]:
        """Return what each signal adds to the similarity; the shares of all add up to 1."""
        weights = {
            "semantic": spec.semantic,
            "taxonomy": spec.taxonomy.weight,
            "temporal": spec.temporal.weight,
            "format": spec.format.weight,
        }
        fame = spec.popularity.weight if self.popularity is not None else 0.0
        total = sum(weights.values()) or 1.0
        parts = {
            name: (1 - fame) * weight / total * getattr(self, name)
            for name, weight in weights.items()
        }
        return parts if self.popularity is None else {**parts, "popularity": fame * self.popularity}

    def choice_parts(self, spec: RecommendSpec) -> dict[str, SignalT]:
        """Return what similarity, how much is known, and wishes add to the score that a record is
        chosen by.
        """
        wish = self.wish_weight if self.wish is not None else 0.0
        known = spec.known if self.known is not None else 0.0
        parts = {SIMILARITY: (1 - wish) * (1 - known) * self.similarity(spec)}
        if self.known is not None:
            parts[KNOWN] = (1 - wish) * known * self.known
        if self.wish is not None:
            parts[WISH] = wish * self.wish
        return parts

    def similarity(self, spec: RecommendSpec) -> SignalT:
        """Return the weighted mean of the signals."""
        mean: SignalT = reduce(operator.add, self.similarity_parts(spec).values())
        return mean

    def choice(self, spec: RecommendSpec) -> SignalT:
        """Return the score by which a record is chosen."""
        score: SignalT = reduce(operator.add, self.choice_parts(spec).values())
        return score

    def at(self, index: int) -> "Signals[float]":
        """Return the signals of one of all candidates."""
        columns = {field.name: getattr(self, field.name) for field in fields(self)}
        values = {
            name: float(one[index]) if isinstance(one, np.ndarray) else one
            for name, one in columns.items()
        }
        return Signals(**values)

    def why(self: "Signals[float]", spec: RecommendSpec) -> Why:
        """Return what each signal adds to the similarity, and what similarity, wishes and priors
        add to the choice.
        """
        return Why(strength=self.similarity_parts(spec), order=self.choice_parts(spec))


def score_signals(
    reader: ShelfReader,
    candidates: Sequence[Key],
    cosines: Sequence[float],
    liked: Sequence[Key],
    spec: CatalogueSpec,
) -> Signals[Floats]:
    """Return the signals of every candidate, from the shelf's columns."""
    recommend = spec.recommend or RecommendSpec()
    times = np.zeros(len(candidates))
    if field := recommend.temporal.field:
        sigma = recommend.temporal.sigma
        times = temporal(
            reader.numbers(field, candidates), reader.numbers(field, liked), sigma=sigma
        )
    fame = recommend.popularity
    # popularity says it better
    counts_known = bool(spec.known and recommend.known and not fame.weight)
    return Signals(
        semantic=np.clip(np.array(cosines, dtype=float), 0.0, 1.0),
        taxonomy=taxonomy(_tags(reader, candidates, recommend), _tags(reader, liked, recommend)),
        temporal=times,
        format=_form(reader, candidates, liked, spec),
        popularity=popularity(reader.numbers(fame.field, candidates)) if fame.weight else None,
        known=np.nan_to_num(reader.numbers(KNOWN_FIELD, candidates)) if counts_known else None,
    )


def taxonomy(candidates: Terms, liked: Terms) -> Floats:
    """Return for each candidate the greatest Jaccard similarity to the tags of a liked title."""
    scores = np.zeros(len(candidates))
    for other in liked:
        shared = np.array([len(candidate & other) for candidate in candidates], dtype=float)
        sizes = (
            np.array([len(candidate) for candidate in candidates], dtype=float)
            + len(other)
            - shared
        )
        scores = np.maximum(scores, np.where(shared > 0, shared / np.maximum(sizes, 1), 0.0))
    return scores


def temporal(candidates: Floats, liked: Floats, *, sigma: float) -> Floats:
    """Return for each candidate the mean nearness in time: 1 for the same year, falling as a
    Gaussian.
    """
    known = liked[~np.isnan(liked)]
    if not len(known):
        return np.zeros(len(candidates))
    nearness = np.exp(-((candidates[:, None] - known[None, :]) ** 2) / (2 * sigma**2))
    means: Floats = np.nan_to_num(nearness.mean(axis=1))
    return means


def same_terms(candidates: Terms, liked: Terms) -> Floats:
    """Return for each candidate on how great a share of the liked titles it has the same value."""
    counts = Counter(one for one in liked if one)
    return np.array([counts[candidate] for candidate in candidates], dtype=float) / max(
        len(liked), 1
    )


def near_numbers(candidates: Floats, liked: Floats) -> Floats:
    """Return for each candidate the mean of the smaller number over the greater; 0 where one is not
    known.
    """
    if not len(liked):
        return np.zeros(len(candidates))
    one, other = np.abs(candidates)[:, None], np.abs(liked)[None, :]
    greater = np.maximum(one, other)
    likeness = np.where(
        greater > 0, np.minimum(one, other) / np.where(greater > 0, greater, 1), 1.0
    )
    means: Floats = np.where(np.isnan(one + other), 0.0, likeness).mean(axis=1)
    return means


def popularity(candidates: Floats) -> Floats:
    """Return the logarithm of each popularity over that of the most popular."""
    logs: Floats = np.log1p(np.nan_to_num(np.maximum(candidates, 0)))
    most = logs.max(initial=0.0)
    return logs / most if most > 0 else logs


def _tags(reader: ShelfReader, keys: Sequence[Key], spec: RecommendSpec) -> list[frozenset[str]]:
    columns = [reader.terms(field, keys) for field in spec.taxonomy.fields]
    if len(columns) == 1:
        return columns[0]
    return (
        [frozenset().union(*row) for row in zip(*columns, strict=True)]
        if columns
        else [frozenset()] * len(keys)
    )


def _form(
    reader: ShelfReader, candidates: Sequence[Key], liked: Sequence[Key], spec: CatalogueSpec
) -> Floats:
    """Return the mean likeness over the format fields."""
    fields = spec.recommend.format.fields if spec.recommend else ()
    scores = [
        near_numbers(reader.numbers(field, candidates), reader.numbers(field, liked))
        if spec.fields[field].is_numeric
        else same_terms(reader.terms(field, candidates), reader.terms(field, liked))
        for field in fields
    ]
    return np.mean(scores, axis=0) if scores else np.zeros(len(candidates))


SEMANTIC = "semantic"
TAXONOMY = "taxonomy"
TEMPORAL = "temporal"
FORMAT = "format"
POPULARITY = "popularity"


@frozen
class SignalWeight:
    """A signal that a catalogue has, the fields it compares, and its weight, 0–1."""

    name: str
    fields: tuple[str, ...] = ()
    weight: float


def taste_spec(spec: CatalogueSpec, weights: Mapping[str, float]) -> CatalogueSpec:
    """Return a spec that recommends with these weights; without a `[recommend]` section, by meaning
    and the others.
    """
    able = replace(spec, recommend=_with_signals(spec))
    known = [signal_weight.name for signal_weight in signal_weights(able)]
    for name, weight in weights.items():
        if name not in known:
            hint = did_you_mean(name, known)
            raise InputError(f"'weights': no signal '{name[:80]}'{hint}; one of {', '.join(known)}")
        if not 0 <= weight <= 1:
            raise InputError(f"'weights.{name}' is {weight:g}; it must be between 0 and 1")
    recommend = able.recommend or RecommendSpec()
    weighed: dict[str, object] = dict(weights)
    for name, section in ((name, getattr(recommend, name)) for name in weights):
        if isinstance(section, specs.Declared):  # its weight is beside the fields that it is about
            weighed[name] = section.model_copy(update={"weight": weights[name]})
    return replace(able, recommend=recommend.model_copy(update=weighed))


def signal_weights(spec: CatalogueSpec) -> list[SignalWeight]:
    """Return the signals of a spec with their weights, in the order in which they are shown."""
    recommend = spec.recommend or RecommendSpec()
    fame, time = recommend.popularity, recommend.temporal
    tags, form = recommend.taxonomy, recommend.format
    parts = [
        (SEMANTIC, spec.embed, recommend.semantic, ()),
        (TAXONOMY, tags.fields, tags.weight, tags.fields),
        (FORMAT, form.fields, form.weight, form.fields),
        (TEMPORAL, time.field, time.weight, (time.field,)),
        (POPULARITY, fame.field, fame.weight, (fame.field,)),
        (KNOWN, spec.known and not fame.weight, recommend.known, ()),
        (WISH, True, recommend.wish, ()),
    ]
    return [
        SignalWeight(name=name, fields=fields, weight=weight)
        for name, is_there, weight, fields in parts
        if is_there
    ]


def signal_values(signals: Signals[float], spec: CatalogueSpec) -> dict[str, float]:
    """Return the signals of a recommendation that the spec weighs, by name, as they are shown."""
    values = {one.name: getattr(signals, one.name) for one in signal_weights(spec)}
    return {name: round(value, 4) for name, value in values.items() if value is not None}


def _with_signals(spec: CatalogueSpec) -> RecommendSpec:
    """Return the `[recommend]` section of a spec, with the signals that its fields allow and it
    does not declare.
    """
    recommend = spec.recommend or RecommendSpec()
    tags = [field.name for field in spec.column_fields if field.type is FieldType.TAGS]
    time, fame = spec.field_with_role(FieldRole.TIME), spec.field_with_role(FieldRole.POPULARITY)
    more: dict[str, object] = {}
    if tags and not recommend.taxonomy.fields:
        more[TAXONOMY] = specs.OverlapSpec(weight=0.0, fields=tuple(tags))
    if time and time.type is FieldType.INT and not recommend.temporal.field:
        more[TEMPORAL] = specs.TemporalSpec(weight=0.0, field=time.name)
    if fame and fame.is_numeric and not recommend.popularity.field:
        more[POPULARITY] = specs.PopularitySpec(weight=0.0, field=fame.name)
    return recommend.model_copy(update=more)
