"""How much is known of a record, 0–1: a prior in rankings where the spec declares it, and the order of lists."""

import math

from stackroom.catalogue.spec import CatalogueSpec, KnownSpec
from stackroom.model.record import Record, Value

ANY = KnownSpec(weight=1, full=1)


def known_of(spec: CatalogueSpec, record: Record) -> float:
    """Return how much is known of a record by the fields that the spec names, or else how complete the record is."""
    fields = spec.known or {name: ANY for name, field in spec.fields.items() if field.is_of(record.kind)}
    known = sum(one.weight * _share(record.fields.get(name), one.full) for name, one in fields.items())
    return known / sum(one.weight for one in fields.values())


def _share(value: Value, full: float) -> float:
    """Return a value's amount as a share of the full amount: texts by length, lists and numbers by magnitude."""
    if value is None or value == "":
        return 0.0
    if isinstance(value, str):
        return min(1.0, len(value) / full)
    amount = len(value) if isinstance(value, tuple | list) else _number(value)
    return min(1.0, math.log1p(amount) / math.log1p(full))


def _number(value: Value) -> float:
    return max(0.0, float(value)) if isinstance(value, int | float) and math.isfinite(value) else 0.0
