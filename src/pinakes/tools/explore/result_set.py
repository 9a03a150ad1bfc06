"""The result set of a request: the records that a search lists, or all that have the filters where nothing is asked."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pinakes.catalogue.spec import CatalogueSpec, FieldSpec, FieldType, FilterKind, Role
from pinakes.errors import InputError, did_you_mean
from pinakes.model.hits import EVIDENCE_AT, Evidence, Hit
from pinakes.model.record import Key, Record
from pinakes.model.scope import AnyOf, Range, Scope
from pinakes.tools.catalogue import CatalogueView
from pinakes.tools.merge import FURTHEST, NEAREST_SHOWN

DEEP = 400
"""How many hits of a search are looked at for the records with evidence beyond those that it lists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultSet:
    """Keys in their order, how many answer, and for a search the strength of each listed one."""

    view: CatalogueView
    scope: Scope
    keys: Sequence[Key]
    listed: int
    """How many there are in all, where only the first keys were asked for."""
    total: int
    """How many records answer a search, or are in a list."""
    evidence: Evidence
    strengths: dict[Key, float] | None = None
    """None: nothing was searched for, or the words only order."""
    degraded: str | None = None

    def read(self, start: int, limit: int) -> list[tuple[Record, float | None]]:
        """Return a page of records, each with its strength."""
        keys = self.keys[start : start + limit]
        records = self.view.reader.fetch(keys, scope=self.scope)
        strengths = self.strengths
        return [
            (records[key], None if strengths is None else strengths.get(key, 0.0)) for key in keys if key in records
        ]


def find_results(
    view: CatalogueView,
    query: str,
    scope: Scope,
    *,
    sort: str = "",
    reach: int = FURTHEST,
    only_orders: bool = False,
) -> ResultSet:
    """Return the result set of a query in a scope; without a query, all records of the scope.

    Of a search that is not sorted, only the first `reach` keys are put in order. A query that `only_orders` leaves no
    record out, though none may answer it.
    """
    reach = FURTHEST if sort else reach
    found = _searched(view, query, scope, reach, only_orders=only_orders) if query else _listed(view, scope)
    return replace(found, keys=_sorted(view, found.keys, sort)) if sort else found


def find_further(view: CatalogueView, query: str, scope: Scope) -> list[Key]:
    """Return the keys of all records with evidence for a query, as far as a deep search finds them, best first."""
    ranked = view.catalogue.searcher.rank(view.reader, query, scope=scope, limit=DEEP)
    return [one.key for one in ranked.ranking if one.score >= EVIDENCE_AT]


def sortable_fields(spec: CatalogueSpec) -> list[FieldSpec]:
    """Return the fields that results can be sorted by: numbers, dates, and single values."""
    single = (FieldType.ENUM, FieldType.TEXT)
    return [field for field in spec.column_fields if field.is_numeric or field.type in single]


def without_field(scope: Scope, field: str) -> Scope:
    """Return the scope without what is wanted of a field, so that other choices of it can be counted."""
    kept = [one for one in scope.conditions if not (isinstance(one, AnyOf | Range) and one.field == field)]
    return Scope(conditions=tuple(kept), visibility=scope.visibility)


def widens(field: FieldSpec) -> bool:
    """Tell whether a further value of a field finds more records, and not fewer."""
    return field.filter is not FilterKind.ALL_OF


def _searched(view: CatalogueView, query: str, scope: Scope, reach: int, *, only_orders: bool) -> ResultSet:
    """Return the hits of the catalogue's search, as deep as its pages reach; a few where nothing answers."""
    ranked = view.catalogue.searcher.rank(view.reader, query, scope=scope, limit=FURTHEST)
    page = ranked.page(min(reach, FURTHEST))
    keys, listed = [hit.key for hit in page.hits], min(len(ranked.ranking), FURTHEST)
    is_ordered = only_orders and page.evidence is Evidence.NONE
    if page.evidence is Evidence.NONE:
        keys = _with_others(view, scope, ranked.page(FURTHEST).hits) if is_ordered else keys[:NEAREST_SHOWN]
        listed = len(keys) if is_ordered else min(listed, NEAREST_SHOWN)
    return ResultSet(
        view=view,
        scope=scope,
        keys=keys,
        listed=listed,
        total=ranked.total_matches,
        evidence=page.evidence,
        strengths=None if is_ordered else {one.key: one.score for one in ranked.ranking},
        degraded=page.degraded,
    )


def _with_others(view: CatalogueView, scope: Scope, hits: Sequence[Hit]) -> list[Key]:
    """Return the keys of hits, and after them those of all others in scope."""
    return list(dict.fromkeys((*(hit.key for hit in hits), *_listed(view, scope).keys)))


def _listed(view: CatalogueView, scope: Scope) -> ResultSet:
    """Return all records in scope, the most popular first where that is known, else as they were added."""
    keys = view.reader.scan(scope=scope, limit=max(view.reader.count(scope), 1))
    popularity = view.spec.field_with_role(Role.POPULARITY)
    if popularity is not None and keys:
        keys = _by_number(keys, -view.reader.numbers(popularity.name, keys))
    evidence = Evidence.STRONG if keys else Evidence.NONE
    return ResultSet(view=view, scope=scope, keys=keys, listed=len(keys), total=len(keys), evidence=evidence)


def _sorted(view: CatalogueView, keys: Sequence[Key], sort: str) -> list[Key]:
    """Return the keys by a field; those without a value come last, and equals stay in their order."""
    name, is_falling = sort.removeprefix("-"), sort.startswith("-")
    fields = {field.name: field for field in sortable_fields(view.spec)}
    if name not in fields:
        hint = did_you_mean(name, list(fields))
        known = ", ".join(fields) or "nothing here"
        raise InputError(f"'sort': '{view.name}' cannot be sorted by '{name[:60]}'{hint}; right are {known}")
    if fields[name].is_numeric:
        numbers = view.reader.numbers(name, keys)
        return _by_number(keys, -numbers if is_falling else numbers)
    terms = [min(some, default="") for some in view.reader.terms(name, keys)]
    having = [place for place, term in enumerate(terms) if term]
    having.sort(key=lambda place: terms[place], reverse=is_falling)
    return [keys[place] for place in (*having, *(place for place, term in enumerate(terms) if not term))]


def _by_number(keys: Sequence[Key], numbers: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> list[Key]:
    return [keys[place] for place in np.argsort(numbers, kind="stable").tolist()]
