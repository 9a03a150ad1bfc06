"""The weights of a recommendation by name, for callers who set them: what each signal is called and counts now."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from stackroom.catalogue.spec import (
    CatalogueSpec,
    Declared,
    FieldRole,
    FieldType,
    OverlapSpec,
    PopularitySpec,
    RecommendSpec,
    TemporalSpec,
)
from stackroom.errors import InputError, did_you_mean
from stackroom.recommend.signals import KNOWN, WISH, Signals

SEMANTIC, TAXONOMY, TEMPORAL, FORMAT, POPULARITY = "semantic", "taxonomy", "temporal", "format", "popularity"


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalWeight:
    """A signal that a catalogue has, the fields it compares, and its weight, 0–1."""

    name: str
    fields: tuple[str, ...] = ()
    weight: float


def taste_spec(spec: CatalogueSpec, weights: Mapping[str, float]) -> CatalogueSpec:
    """Return a spec that recommends with these weights; without a `[recommend]` section, by meaning and the others."""
    able = replace(spec, recommend=_with_signals(spec))
    known = [signal_weight.name for signal_weight in signal_weights(able)]
    for name, weight in weights.items():
        if name not in known:
            raise InputError(
                f"'weights': no signal '{name[:80]}'{did_you_mean(name, known)}; one of {', '.join(known)}"
            )
        if not 0 <= weight <= 1:
            raise InputError(f"'weights.{name}' is {weight:g}; it must be between 0 and 1")
    recommend = able.recommend or RecommendSpec()
    weighed: dict[str, object] = dict(weights)
    for name, section in ((name, getattr(recommend, name)) for name in weights):
        if isinstance(section, Declared):  # its weight is beside the fields that it is about
            weighed[name] = section.model_copy(update={"weight": weights[name]})
    return replace(able, recommend=recommend.model_copy(update=weighed))


def signal_weights(spec: CatalogueSpec) -> list[SignalWeight]:
    """Return the signals of a spec with their weights, in the order in which they are shown."""
    recommend = spec.recommend or RecommendSpec()
    fame, time = recommend.popularity, recommend.temporal
    parts = [
        (SEMANTIC, spec.embed is not None, recommend.semantic, ()),
        (TAXONOMY, bool(recommend.taxonomy.fields), recommend.taxonomy.weight, recommend.taxonomy.fields),
        (FORMAT, bool(recommend.format.fields), recommend.format.weight, recommend.format.fields),
        (TEMPORAL, bool(time.field), time.weight, (time.field,)),
        (POPULARITY, bool(fame.field), fame.weight, (fame.field,)),
        (KNOWN, bool(spec.known) and not fame.weight, recommend.known, ()),
        (WISH, True, recommend.wish, ()),
    ]
    return [
        SignalWeight(name=name, fields=fields, weight=weight) for name, is_there, weight, fields in parts if is_there
    ]


def signal_values(signals: Signals[float], spec: CatalogueSpec) -> dict[str, float]:
    """Return the signals of a recommendation that the spec weighs, by name."""
    values = {one.name: getattr(signals, one.name) for one in signal_weights(spec)}
    return {name: value for name, value in values.items() if value is not None}


def _with_signals(spec: CatalogueSpec) -> RecommendSpec:
    """Return the `[recommend]` section of a spec, with the signals that its fields allow and it does not declare."""
    recommend = spec.recommend or RecommendSpec()
    tags = [field.name for field in spec.column_fields if field.type is FieldType.TAGS]
    time, fame = spec.field_with_role(FieldRole.TIME), spec.field_with_role(FieldRole.POPULARITY)
    more: dict[str, object] = {}
    if tags and not recommend.taxonomy.fields:
        more[TAXONOMY] = OverlapSpec(weight=0.0, fields=tuple(tags))
    if time and time.type is FieldType.INT and not recommend.temporal.field:
        more[TEMPORAL] = TemporalSpec(weight=0.0, field=time.name)
    if fame and fame.is_numeric and not recommend.popularity.field:
        more[POPULARITY] = PopularitySpec(weight=0.0, field=fame.name)
    return recommend.model_copy(update=more)
