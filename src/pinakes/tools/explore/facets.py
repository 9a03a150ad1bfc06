"""Facets of a result set: the values of each field with counts, and the distribution of each number.

Of a field that any of several values may be wanted of, and of a range, the choices already made are left aside in its
own counts, so that further ones can be seen.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pinakes.catalogue.spec import FieldSpec, FilterKind
from pinakes.errors import InputError, did_you_mean
from pinakes.model.record import Key
from pinakes.model.scope import Scope
from pinakes.search.values import field_values
from pinakes.shelf.terms import term_of
from pinakes.text.cells import text_of
from pinakes.tools.catalogue import CatalogueView
from pinakes.tools.explore.histogram import draw_histogram
from pinakes.tools.explore.result_set import find_results, widens, without_field
from pinakes.tools.explore.understood import UnderstoodQuery
from pinakes.tools.filters import KIND, filters_of, useful_filters
from pinakes.tools.page.hits import label_of

MOST_FACETS = 16
VALUES_SHOWN = 12
VALUES_LIKE = 40
"""How many values are shown to someone who looks for one."""


@dataclass(frozen=True)
class FacetedSet:
    """A result set, as far as its facets are concerned."""

    view: CatalogueView
    asked: UnderstoodQuery
    scope: Scope

    @cached_property
    def keys(self) -> Sequence[Key]:
        """The records of the set."""
        return self._keys_in(self.scope)

    def count_facets(self, *, only: str = "", like: str = "") -> list[dict[str, Any]]:
        """Return the facets, the most useful first; only that of one field where it is named."""
        known = filters_of(self.view.spec)
        useful = [*([KIND] if KIND in known else ()), *(field.name for field in useful_filters(self.view.spec))]
        chosen = [name for name in known if name in self.asked.filters or name in self.asked.exclude]
        if only and only not in known:
            hint, there = did_you_mean(only, list(known)), ", ".join(known) or "none"
            raise InputError(f"'facet': no field '{only[:60]}'{hint} to filter by; there are {there}")
        names = [only] if only else dict.fromkeys((*useful, *chosen))
        facets = (self._facet(name, known[name], like=like) for name in names)
        return [one for one in facets if one is not None][:MOST_FACETS]

    def _facet(self, name: str, field: FieldSpec, *, like: str) -> dict[str, Any] | None:
        about = {"field": name, "label": label_of(name), "type": field.type.value}
        if field.filter is FilterKind.RANGE:
            numbers = self.view.reader.numbers(field.name, self._other_keys(field))
            found = draw_histogram(numbers, field)
            chosen = self.asked.filters.get(name) or {}
            bounds = {"low": chosen.get("min"), "high": chosen.get("max")}
            return None if found is None else {**about, **found, **bounds}
        counts = self._counts(field)
        chosen_terms, left_out = _terms(self.asked.filters.get(name)), _terms(self.asked.exclude.get(name))
        if not (chosen_terms or left_out) and _is_useless(counts):
            return None
        return {**about, **_shown(self._like(field, counts, like), chosen_terms, left_out, like=like)}

    def _counts(self, field: FieldSpec) -> Counter[str]:
        """Return how many records of the set have each value of a field."""
        scope = self._other_scope(field)
        if not self.asked.query:
            counts: Counter[str] = Counter()
            for facet in self.view.reader.facets(field.name, scope=scope):
                counts[facet.value] += facet.count
            return counts
        found = self.view.reader.occurrences(field.name, scope=scope)
        here = np.isin(found.keys, np.array(self._other_keys(field), dtype=np.int64))
        each = np.bincount(found.indexes[here], minlength=len(found.values)).tolist()
        return Counter({value: count for value, count in zip(found.values, each, strict=True) if count})

    def _like(self, field: FieldSpec, counts: Counter[str], like: str) -> Counter[str]:
        """Return the values that are like a text; those of the set, of which none may be."""
        if not like:
            return counts
        values = field_values(self.view.reader, self.view.spec, field.name, visibility=self.scope.visibility)
        begun = [value for value in counts if term_of(like) in term_of(value)]
        wanted = dict.fromkeys((*begun, *(one for one in values.matching(like) if one in counts)))
        return Counter({value: counts[value] for value in wanted})

    def _other_scope(self, field: FieldSpec) -> Scope:
        return without_field(self.scope, field.name) if widens(field) else self.scope

    def _other_keys(self, field: FieldSpec) -> Sequence[Key]:
        """Return the records that are found whatever is wanted of a field."""
        scope = self._other_scope(field)
        return self.keys if scope == self.scope else self._keys_in(scope)

    def _keys_in(self, scope: Scope) -> Sequence[Key]:
        if not self.asked.query:
            return self.view.reader.scan(scope=scope, limit=max(self.view.reader.count(scope), 1))
        return find_results(self.view, self.asked.query, scope, only_orders=self.asked.only_orders).keys


def _terms(values: Any) -> set[str]:
    given = values if isinstance(values, list | tuple) else [] if values is None else [values]
    return {term_of(text_of(value) if isinstance(value, bool) else str(value)) for value in given}


def _is_useless(counts: Counter[str]) -> bool:
    """Tell whether values part nothing: there is none, or each record has its own."""
    return not counts or (len(counts) > VALUES_SHOWN and counts.most_common(1)[0][1] == 1)


def _shown(counts: Counter[str], chosen: set[str], left_out: set[str], *, like: str) -> dict[str, Any]:
    """Return the most frequent values, with those that were chosen or left out among them."""
    ordered = sorted(counts, key=lambda value: (-counts[value], value))
    is_marked: Callable[[str], bool] = lambda value: term_of(value) in chosen | left_out  # noqa: E731
    first = ordered[: VALUES_LIKE if like else VALUES_SHOWN]
    marked = [value for value in ordered if value not in first and is_marked(value)]
    known = {term_of(value) for value in counts}
    gone = sorted(term for term in left_out if term not in known)
    values = [
        {
            "value": value,
            "count": counts[value],
            "chosen": term_of(value) in chosen,
            "excluded": term_of(value) in left_out,
        }
        for value in (*first, *marked, *gone)
    ]
    return {"values": values, "total": len(counts)}
