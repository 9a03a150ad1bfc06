"""The result set of a search or a list: which records, in which order, with which score, label and counts.

Every surface shows what is found here: none sorts, labels or counts again. Without words a set has every record in
scope, exactly. A search has its best, as deep as its pages reach, or a few where nothing answers. Words that name no
more than a mood leave no record out that has the filters: they order them.
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any

from stackroom.catalogue.spec import CatalogueSpec
from stackroom.errors import InputError
from stackroom.generic.record import RankedRecord
from stackroom.generic.shapes import LeftOut, SearchParams, Understood, UnderstoodPhrase
from stackroom.model.hits import EVIDENCE_AT, Evidence, Label, SearchPage
from stackroom.model.record import Key, Record, RecordId
from stackroom.model.scope import KIND_FIELD, NoneOf, Scope
from stackroom.search.values import adult_conditions
from stackroom.tools.catalogue import ByCatalogue, CatalogueView, ask_each, promise_notes, unread_notes
from stackroom.tools.filters import stated_filters
from stackroom.tools.listing import EVERY
from stackroom.tools.merge import (
    FURTHEST,
    NEAREST_SHOWN,
    CatalogueScopes,
    degraded_notes,
    depth_for,
    fitting_notes,
    mode_of,
    search_scopes,
    word_notes,
)
from stackroom.tools.reading import ReadQuestion, counted, in_order, list_strengths
from stackroom.tools.spec import verdict_of

BATCH = 1_000
DEEP = 400
"""How many hits of a search are looked at for the records with evidence beyond those that it lists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultSet:
    """A page of a result set, and what is said of the whole set."""

    page: list[RankedRecord]
    total: int
    """How many records answer, or are listed."""
    listed: int
    """How many records there are over all pages."""
    evidence: Evidence
    cursor: str | None
    """That of the next page; None where there is none."""
    unread: list[str] = field(default_factory=list)
    by_catalogue: Mapping[str, int] = field(default_factory=dict)
    """How many records of each catalogue answer."""
    searched: Mapping[str, SearchPage] = field(default_factory=dict)
    """The search of each catalogue; none of a list."""
    only_orders: bool = False
    readings: Mapping[str, ReadQuestion] = field(default_factory=dict)
    """How each catalogue read the question in the end."""
    question_notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedKeys:
    """The keys of one catalogue in the order of a result set, and the strength of each that was ranked."""

    view: CatalogueView
    scope: Scope
    keys: Sequence[Key]
    total: int
    evidence: Evidence
    strengths: Mapping[Key, float] | None = None
    """None: nothing was searched for."""
    searched: SearchPage | None = None
    only_orders: bool = False

    def page(self, start: int, limit: int) -> ResultSet:
        """Return a page of the set."""
        keys = self.keys[start : start + limit]
        records = self.view.reader.fetch(keys, scope=self.scope)
        return ResultSet(
            page=[self._ranked(key, records[key]) for key in keys if key in records],
            total=self.total,
            listed=len(self.keys),
            evidence=self.evidence,
            cursor=_cursor(start + len(keys), len(self.keys)),
            by_catalogue={self.view.name: self.total},
            searched={self.view.name: self.searched} if self.searched else {},
            only_orders=self.only_orders,
        )

    def iter_records(self) -> Iterator[RankedRecord]:
        """Yield all records of the set, read in batches."""
        for start in range(0, len(self.keys), BATCH):
            yield from self.page(start, BATCH).page

    def _ranked(self, key: Key, record: Record) -> RankedRecord:
        if self.strengths is None:
            return RankedRecord(view=self.view, record=record)
        score = self.strengths.get(key, 0.0)
        return RankedRecord(view=self.view, record=record, score=score, label=Label.of(score))


def only_view(views: ByCatalogue[CatalogueView], argument: str) -> CatalogueView:
    """Return the only view; raise InputError where an argument needs a catalogue to be chosen."""
    if len(views.found) != 1:
        raise InputError(f"'{argument}' needs a 'catalogue'; there are {', '.join(views.found)}")
    return next(iter(views.found.values()))


def search_page(
    views: ByCatalogue[CatalogueView],
    scopes: Mapping[str, Scope],
    query: str,
    *,
    start: int,
    limit: int,
    explain: bool = False,
    pool: Executor | None = None,
    readings: Mapping[str, ReadQuestion],
) -> ResultSet:
    """Search several catalogues, each in its scope, and return a page of what they found, merged by strength."""
    found = search_scopes(
        views, scopes, query, limit=depth_for(start, limit), explain=explain, pool=pool, readings=readings
    )
    return ResultSet(
        page=[
            RankedRecord(view=view, record=hit.record, score=hit.score, label=hit.label, why=hit.why)
            for view, hit in found.page(start, limit)
        ],
        total=found.total_matches,
        listed=found.listed,
        evidence=found.evidence,
        cursor=found.cursor_after(start + limit),
        unread=found.unread,
        by_catalogue={name: page.total_matches for name, page in found.pages.items()},
        searched=found.pages,
        readings=found.readings,
        question_notes=found.notes,
    )


def list_page(
    views: ByCatalogue[CatalogueView], readings: Mapping[str, ReadQuestion], *, start: int, limit: int
) -> ResultSet:
    """Return a page of all records that meet what is stated, catalogue by catalogue, and how many there are."""
    each = ask_each(views.found, lambda view: list_keys(view, readings[view.name]))
    pages, total = [], 0
    for keys in each.found.values():
        first, last = max(start - total, 0), start + limit - total
        if first < min(last, len(keys.keys)):
            pages.append(keys.page(first, last - first))
        total += len(keys.keys)
    shown = [record for page in pages for record in page.page]
    return ResultSet(
        page=shown,
        total=total,
        listed=total,
        evidence=Evidence.best(keys.evidence for keys in each.found.values()),
        cursor=_cursor(start + limit, total),
        unread=[*views.skipped, *each.skipped],
        by_catalogue={name: keys.total for name, keys in each.found.items()},
    )


def _cursor(end: int, listed: int) -> str | None:
    return str(end) if end < listed else None


def list_keys(view: CatalogueView, reading: ReadQuestion) -> RankedKeys:
    """Return all records that meet what is stated: in the order that is asked for, or the most popular first."""
    strengths = list_strengths(view, reading)
    return RankedKeys(
        view=view,
        scope=reading.scope,
        keys=list(strengths),
        total=len(strengths),
        evidence=Evidence.of(next(iter(strengths.values()), 0.0)),
        strengths=strengths,
    )


def named_keys(view: CatalogueView, scope: Scope, ids: Sequence[str]) -> RankedKeys:
    """Return the records of these ids in their order; those that are not in scope are left out."""
    stated = [RecordId(record_id.removeprefix(f"{view.name}/")) for record_id in dict.fromkeys(ids)]
    known = view.reader.find(stated, scope=scope)
    keys = [known[one] for one in stated if one in known]
    evidence = Evidence.STRONG if keys else Evidence.NONE
    return RankedKeys(view=view, scope=scope, keys=keys, total=len(keys), evidence=evidence)


def search_keys(view: CatalogueView, reading: ReadQuestion, *, may_order: bool = False) -> RankedKeys:
    """Return the records that a search lists; sorted, those that answer come before those that are only near.

    Where nothing answers, words that `may_order` leave no record of the scope out.
    """
    deep, scope = DEEP if reading.sort else FURTHEST, reading.scope
    ranked = view.catalogue.searcher.rank(view.reader, reading.query, scope=scope, limit=deep)
    page = in_order(ranked, view, reading).page(FURTHEST)
    strengths = {hit.key: hit.score for hit in page.hits}
    keys = list(strengths)
    only_orders = may_order and page.evidence is Evidence.NONE
    if only_orders:
        first = [] if reading.sort else keys
        keys = list(dict.fromkeys((*first, *list_strengths(view, reading))))
    elif page.evidence is Evidence.NONE:
        keys = keys[:NEAREST_SHOWN]
    return RankedKeys(
        view=view,
        scope=scope,
        keys=keys,
        total=len(keys) if only_orders else page.total_matches,
        evidence=Evidence.WEAK if only_orders and keys else page.evidence,
        strengths=strengths,
        searched=page,
        only_orders=only_orders,
    )


def further_keys(view: CatalogueView, query: str, scope: Scope) -> list[Key]:
    """Return the keys of all records with evidence for a query, as far as a deep search finds them, best first."""
    ranked = view.catalogue.searcher.rank(view.reader, query, scope=scope, limit=DEEP)
    return [one.key for one in ranked.ranking if one.score >= EVIDENCE_AT]


def count_left_out(view: CatalogueView, scope: Scope) -> LeftOut:
    """Return how many records that the caller may see are not in a scope, each counted for the first reason."""
    spec, seen = view.spec, Scope(visibility=scope.visibility)
    adult, hidden = adult_conditions(spec), NoneOf(KIND_FIELD, spec.kinds_hidden_from_search)
    stated = [condition for condition in scope.conditions if condition not in adult and condition != hidden]
    without_adult = [condition for condition in scope.conditions if condition not in adult]
    counts = [
        view.reader.count(seen.narrowed(*some) if some else seen)
        for some in ((), stated, without_adult, scope.conditions)
    ]
    promises = view.reader.promises
    if promises is not None and max(counts[1:]) > promises.facets_up_to:  # not all were counted
        return add_up(())
    return LeftOut(adult=counts[2] - counts[3], hidden=counts[1] - counts[2], filtered=counts[0] - counts[1])


def add_up(counts: Sequence[LeftOut]) -> LeftOut:
    """Return how many records several catalogues leave out."""
    return LeftOut(
        adult=sum(count.adult for count in counts),
        hidden=sum(count.hidden for count in counts),
        filtered=sum(count.filtered for count in counts),
    )


NOTHING_LISTED = "no record has these filters and words"
ONLY_ORDERS = "'{query}' only orders: all {count:,} records with the filters are listed, the nearest first"


def question_notes(params: SearchParams, found: ResultSet, readings: Mapping[str, ReadQuestion]) -> list[str]:
    """Return what was understood of the question, which pages draw, what was not, and the number that it asks for."""
    if "tiles" in params.include:
        return [doubt for reading in readings.values() for doubt in reading.doubts]
    if found.readings:
        return found.question_notes
    total = [f"{counted(found.total)} in all"] if any(reading.is_count for reading in readings.values()) else []
    return [*(note for reading in readings.values() for note in reading.notes), *total]


def verdict_notes(params: SearchParams, found: ResultSet) -> list[str]:
    """Return a note where nothing answers, nothing is listed, or words only order."""
    if found.only_orders:
        return [ONLY_ORDERS.format(query=params.query, count=found.listed)]
    if found.evidence is not Evidence.NONE:
        return []
    return [verdict_of(mode_of(found.searched.values())) if found.searched else NOTHING_LISTED]


def search_notes(params: SearchParams, scoped: CatalogueScopes, found: ResultSet) -> list[str]:
    """Return notes on catalogues that were not read or are degraded, and on records that were not listed."""
    is_cut = found.searched and params.filters and not found.only_orders
    return [
        *unread_notes(found.unread),
        *word_notes(found.searched),
        *degraded_notes(found.searched),
        *(fitting_notes(scoped.views.found, scoped.scopes, found.listed) if is_cut else ()),
        *promise_notes(scoped.views.found),
    ]


def understood_of(reading: ReadQuestion, params: SearchParams, spec: CatalogueSpec) -> Understood:
    """Return a question as it was read, with all filters and exclusions."""
    filters, exclude = stated_filters(reading.conditions, spec)
    return Understood(
        query="" if reading.query == EVERY else reading.query,
        filters={**(params.filters or {}), **filters},
        exclude=_united(params.exclude or {}, exclude),
        phrases=[UnderstoodPhrase(phrase=one.phrase, text=one.text, field=one.field) for one in reading.phrases],
    )


def with_conditions(params: SearchParams, understood: Understood) -> SearchParams:
    """Return a call with the conditions of its query as filters."""
    read = {"query": understood.query or EVERY, "filters": understood.filters, "exclude": understood.exclude}
    return params.model_copy(update=read)


def _united(given: Mapping[str, Any], stated: Mapping[str, Any]) -> dict[str, Any]:
    listed = {name: list(values) if isinstance(values, list | tuple) else [values] for name, values in given.items()}
    return {name: list(dict.fromkeys((*listed.get(name, ()), *stated.get(name, ())))) for name in {**listed, **stated}}
