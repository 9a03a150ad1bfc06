"""The fields that records are grouped by, as a caller names them: `country`, `year/decade`, `price/10`.

A record is in a group for each of its values; one without a value is in none.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stackroom.catalogue.spec import CatalogueSpec, FieldSpec, FieldType, FilterKind
from stackroom.errors import InputError, did_you_mean
from stackroom.model.scope import KIND_FIELD, AnyOf, Scope
from stackroom.shelf.port import ShelfReader
from stackroom.shelf.terms import term_of
from stackroom.text.messages import quoted
from stackroom.text.spelling import meant
from stackroom.tools.aggregate.buckets import Bucketing, Integers, bucket_numbers, parse_bucketing
from stackroom.tools.filters import KIND

MOST_DIMENSIONS = 2
NAMES_SHOWN = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Dimension:
    """A field to group by, under the name that callers use, and the buckets of a number."""

    name: str
    field: FieldSpec
    bucketing: Bucketing = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Partition:
    """The parts of the records in scope by one dimension: row `rows[i]` is in part `indexes[i]`."""

    dimension: Dimension
    rows: Integers
    indexes: Integers
    labels: Sequence[str | int | float]
    bounds: Sequence[tuple[float, float]] = ()
    """The bounds of each part of a number, both included; none where parts are values."""

    @property
    def is_ordered(self) -> bool:
        """Whether the parts have an order of their own."""
        return self.dimension.field.is_numeric


def parse_dimensions(by: Sequence[str], spec: CatalogueSpec) -> list[Dimension]:
    """Return the dimensions that are asked for; raise InputError naming what would be right."""
    if len(by) > MOST_DIMENSIONS:
        raise InputError(f"'by' has {len(by)} fields; at most {MOST_DIMENSIONS} are counted together")
    found = [_dimension(one, spec) for one in by]
    if len({one.name for one in found}) < len(found):
        raise InputError(f"'by' names '{found[0].name}' twice; give two different fields")
    return found


def _dimension(stated: str, spec: CatalogueSpec) -> Dimension:
    fields = groupable_fields(spec)
    if meant(stated, fields) in fields:
        name, _slash, bucket = stated, "", ""
    else:
        name, _slash, bucket = stated.partition("/")
    name = meant(name.strip(), fields)
    if name not in fields:
        raise InputError(f"'by': {_no_field(name, spec, list(fields))}")
    field = fields[name]
    return Dimension(name=name, field=field, bucketing=parse_bucketing(bucket, field) if bucket.strip() else None)


def groupable_fields(spec: CatalogueSpec) -> dict[str, FieldSpec]:
    """Return the fields that records can be grouped by, by the names that callers use."""
    found = {field.name: field for field in spec.column_fields}
    if len(spec.kinds) > 1:
        found.setdefault(KIND, FieldSpec(name=KIND_FIELD, type=FieldType.ENUM, filter=FilterKind.ANY_OF))
    return found


def find_number(name: str, spec: CatalogueSpec) -> FieldSpec:
    """Return the number that is to be described; raise InputError naming those that there are."""
    numbers = {field.name: field for field in spec.column_fields if field.is_numeric}
    chosen = meant(name.strip(), numbers)
    if chosen in numbers:
        return numbers[chosen]
    known = f"; numbers: {_listed(list(numbers))}" if numbers else f"; '{spec.name}' has no number"
    of_text = meant(name.strip(), spec.fields)
    if of_text in spec.fields:
        field = spec.fields[of_text]
        reason = "has no column" if field.is_numeric else f"is {field.type}, not a number"
        raise InputError(f"'of': '{field.name}' {reason}{known}")
    raise InputError(f"'of': {_no_field(name, spec, list(numbers))}")


def _no_field(name: str, spec: CatalogueSpec, known: list[str]) -> str:
    listed = f"; right are {_listed(known)}" if known else ""
    reason = "cannot be counted by" if name in spec.fields else "has no field"
    return f"'{spec.name}' {reason} '{quoted(name[:60])}'{did_you_mean(name, known)}{listed}"


def _listed(names: Sequence[str]) -> str:
    more = len(names) - NAMES_SHOWN
    return ", ".join(names) if more <= 0 else f"{', '.join(names[:NAMES_SHOWN])} and {more} more, which browse lists"


def partition_rows(reader: ShelfReader, dimension: Dimension, keys: Integers, scope: Scope) -> Partition:
    """Divide the records of these keys, all that are in scope in key order, by one dimension."""
    if dimension.field.is_numeric:
        return _by_number(reader, dimension, keys)
    found = reader.occurrences(dimension.field.name, scope=scope)
    rows, indexes = np.searchsorted(keys, found.keys), found.indexes
    asked = _asked_terms(dimension, scope)
    if asked is not None:
        kept = np.array([term_of(value) in asked for value in found.values], dtype=bool)[indexes]
        rows, indexes = rows[kept], indexes[kept]
    return Partition(dimension=dimension, rows=rows, indexes=indexes, labels=found.values)


def _asked_terms(dimension: Dimension, scope: Scope) -> set[str] | None:
    """Return the values of which a record has any by the filters; only these are groups. None where there are none.

    A filter for one value of them is then a narrower one, and finds the records of its group.
    """
    asked = [one.values for one in scope.conditions if isinstance(one, AnyOf) and one.field == dimension.field.name]
    terms = [{term_of(value) for value in values} for values in asked]
    return set.intersection(*terms) if terms else None


def _by_number(reader: ShelfReader, dimension: Dimension, keys: Integers) -> Partition:
    numbers = reader.numbers(dimension.field.name, keys.tolist())
    rows = np.flatnonzero(np.isfinite(numbers))
    if not len(rows):
        return Partition(dimension=dimension, rows=rows, indexes=rows, labels=())
    buckets = bucket_numbers(numbers[rows], dimension.field, dimension.bucketing)
    return Partition(
        dimension=dimension, rows=rows, indexes=buckets.indexes, labels=buckets.labels, bounds=buckets.bounds
    )
