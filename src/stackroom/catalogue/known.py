"""How much is known of a record, 0–1: a prior in rankings, since records of which little is known rarely answer."""

import math

from stackroom.catalogue.spec import CatalogueSpec
from stackroom.model.record import Record, Value


def known_of(spec: CatalogueSpec, record: Record) -> float:
    """Return how much is known of a record by the fields that the spec names; 0 where it names none."""
    known = total = 0.0
    for name, one in spec.known.items():
        known += one.weight * _share(record.fields.get(name), one.full)
        total += one.weight
    return known / total if total else 0.0


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
