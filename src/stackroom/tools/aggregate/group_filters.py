"""The filters that find the records of one group: those of the call, narrowed to the group's values and ranges."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stackroom.catalogue.spec import CatalogueSpec, FieldSpec, FieldType, FilterKind
from stackroom.model.scope import Condition, NoneOf, Range, Scope
from stackroom.search.conditions import asks_for_adult
from stackroom.text.spelling import meant
from stackroom.tools.aggregate.buckets import date_of, plain_number
from stackroom.tools.aggregate.dimensions import Dimension, Partition
from stackroom.tools.aggregate.groups import Group
from stackroom.tools.filters import ADULT, filters_of


def stated_filters(conditions: Iterable[Condition], spec: CatalogueSpec) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return conditions as the `filters` and the `exclude` of a call."""
    names = {field.name: name for name, field in filters_of(spec).items()}
    filters: dict[str, Any] = {}
    excluded: dict[str, Any] = {}
    for one in conditions:
        if isinstance(one, Range):
            filters[one.field] = written_range(one, spec.fields[one.field])
        else:
            into = excluded if isinstance(one, NoneOf) else filters
            into[names[one.field]] = list(one.values)
    return filters, excluded


def written_range(condition: Range, field: FieldSpec) -> dict[str, Any]:
    """Return a range as the filter of a call: a day number is a date."""
    bounds = {"min": condition.at_least, "max": condition.at_most}
    written = date_of if field.type is FieldType.DATE else plain_number
    return {name: written(float(bound)) for name, bound in bounds.items() if bound is not None}


@dataclass(frozen=True, kw_only=True)
class GroupFilters:
    """The filters of a call, and the scope that they make in one catalogue."""

    spec: CatalogueSpec
    scope: Scope
    stated: Mapping[str, Any]

    @property
    def base(self) -> dict[str, Any]:
        """The filters of the call under the names of fields; with adult records where they are asked for by a value."""
        known = filters_of(self.spec)
        named = {meant(name, known): value for name, value in self.stated.items()}
        has_adult = bool(self.spec.adult) and asks_for_adult(self.scope.conditions, self.spec) and ADULT not in known
        return {**named, ADULT: True} if has_adult else named

    def of(self, group: Group, partitions: Sequence[Partition]) -> dict[str, Any] | None:
        """Return the filters of a group; None where it is by a field that cannot be filtered by."""
        filters = self.base
        for part, partition in zip(group.parts, partitions, strict=True):
            dimension = partition.dimension
            if dimension.field.filter is None:
                return None
            if partition.is_ordered:
                filters[dimension.name] = self._range(dimension, partition.bounds[part])
            else:
                filters[dimension.name] = self._values(dimension, str(partition.labels[part]))
        return filters

    def _values(self, dimension: Dimension, value: str) -> list[str]:
        stated = self.base.get(dimension.name) or []
        if dimension.field.filter is not FilterKind.ALL_OF:
            return [value]
        return list(dict.fromkeys([*([stated] if isinstance(stated, str) else stated), value]))

    def _range(self, dimension: Dimension, bounds: tuple[float, float]) -> dict[str, Any]:
        """Return the range of a part within that of the call."""
        low, high = bounds
        for one in self.scope.conditions:
            if isinstance(one, Range) and one.field == dimension.field.name:
                low = low if one.at_least is None else max(low, one.at_least)
                high = high if one.at_most is None else min(high, one.at_most)
        return written_range(Range(dimension.field.name, low, high), dimension.field)
