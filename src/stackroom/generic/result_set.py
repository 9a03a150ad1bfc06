"""The result set of a search or a list: which records, in which order, with which score, label and
counts.

Every surface shows what is found here: none sorts, labels or counts again. Without words a set has
every record in scope, exactly. A search has its best, as deep as its pages reach, or a few where
nothing answers. Words that name no more than a mood leave no record out that has the filters: they
order them.
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace

from stackroom.catalogue.spec import CatalogueSpec
from stackroom.errors import InputError
from stackroom.generic.record import RankedRecord
from stackroom.generic.shapes import LeftOut, SearchParams, Understood, UnderstoodPhrase
from stackroom.model.hits import EVIDENCE_AT, Evidence, Label, SearchPage
from stackroom.model.record import Key, Record, RecordId
from stackroom.model.scope import KIND_FIELD, NoneOf, Scope, Visibility
from stackroom.search.values import adult_conditions
from stackroom.tools import merge
from stackroom.tools.catalogue import (
    ByCatalogue,
    CatalogueView,
    address_of,
    ask_each,
    promise_notes,
    unread_notes,
)
from stackroom.tools.filters import ADULT, stated_filters
from stackroom.tools.reading import (
    EVERY,
    ReadQuestion,
    counted,
    in_order,
    is_list,
    list_in_scope,
    list_strengths,
    plain_reading,
)
from stackroom.tools.spec import verdict_of

Readings = Mapping[str, ReadQuestion]
BATCH = 1_000
MOST_KEYS = 250_000
# how many hits of a search are looked at for the records with evidence beyond those that it lists
DEEP = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultSet:
    """A page of a result set, and what is said of the whole set."""

    page: list[RankedRecord]
    total: int  # how many records answer, or are listed
    listed: int  # how many records there are over all pages
    evidence: Evidence
    cursor: str | None  # that of the next page; None where there is none
    unread: list[str] = field(default_factory=list)
    # how many records of each catalogue answer
    by_catalogue: Mapping[str, int] = field(default_factory=dict)
    # the search of each catalogue; none of a list
    searched: Mapping[str, SearchPage] = field(default_factory=dict)
    only_orders: bool = False
    readings: Mapping[str, ReadQuestion] = field(default_factory=dict)
    """How each catalogue read the question in the end."""
    question_notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedKeys:
    """The keys of one catalogue in the order of a result set, and the strength of each that was
    ranked.
    """

    view: CatalogueView
    scope: Scope
    keys: Sequence[Key]
    total: int
    evidence: Evidence
    strengths: Mapping[Key, float] | None = None  # None: nothing was searched for
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


def find_page(
    params: SearchParams,
    scoped: merge.CatalogueScopes,
    readings: Readings,
    visibility: Visibility,
    *,
    pool: Executor,
) -> ResultSet:
    """Return the page that a call asks for: of named records, of a list, or of a search merged by
    strength.
    """
    views, start, limit = scoped.views, params.start, params.limit
    if params.ids:
        view, scope = only_view(views, "ids"), Scope(visibility=visibility)
        stated = [
            RecordId(record_id.removeprefix(f"{view.name}/"))
            for record_id in dict.fromkeys(params.ids)
        ]
        known = view.reader.find(stated, scope=scope)
        # in their order; those not in scope are left out
        keys = [known[one] for one in stated if one in known]
        evidence = Evidence.STRONG if keys else Evidence.NONE
        named = RankedKeys(view=view, scope=scope, keys=keys, total=len(keys), evidence=evidence)
        return named.page(start, limit)
    view = only_view(views, "sort") if params.sort else next(iter(views.found.values()))
    reading, is_single = readings[view.name], len(views.found) == 1
    if is_list(params.query) or (is_single and reading.is_list):
        return _list_page(views, readings, start=start, limit=limit)
    depth = merge.depth_for(start, limit)
    found = merge.search_scopes(
        views,
        scoped.scopes,
        params.query,
        limit=depth,
        explain=params.explain,
        pool=pool,
        readings=readings,
    )
    filters = {*(params.filters or ()), *(params.exclude or ())} - {ADULT}
    may_order = is_single and reading.names_moods and (filters or params.area or reading.conditions)
    if found.evidence is Evidence.NONE and may_order:
        return search_keys(view, reading, may_order=True).page(start, limit)
    return ResultSet(
        page=[
            RankedRecord(
                view=view, record=hit.record, score=hit.score, label=hit.label, why=hit.why
            )
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


def _list_page(
    views: ByCatalogue[CatalogueView], readings: Readings, *, start: int, limit: int
) -> ResultSet:
    """Return a page of all records that meet what is stated, catalogue by catalogue, and how many
    there are.
    """
    each = ask_each(views.found, lambda view: list_keys(view, readings[view.name]))
    shown: list[RankedRecord] = []
    total = 0
    for keys in each.found.values():
        first, last = max(start - total, 0), start + limit - total
        if first < min(last, len(keys.keys)):
            shown += keys.page(first, last - first).page
        total += len(keys.keys)
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
    """Return all records that meet what is stated: in the order that is asked for, or the most
    popular first.
    """
    strengths = list_strengths(view, reading)
    return RankedKeys(
        view=view,
        scope=reading.scope,
        keys=list(strengths),
        total=len(strengths),
        evidence=Evidence.of(next(iter(strengths.values()), 0.0)),
        strengths=strengths,
    )


def search_keys(
    view: CatalogueView, reading: ReadQuestion, *, may_order: bool = False
) -> RankedKeys:
    """Return the records that a search lists; sorted, those that answer come before those that are
    only near.

    Where nothing answers, words that `may_order` leave no record of the scope out.
    """
    deep, scope = DEEP if reading.sort else merge.FURTHEST, reading.scope
    ranked = view.catalogue.searcher.rank(view.reader, reading.query, scope=scope, limit=deep)
    page = in_order(ranked, view, reading).page(merge.FURTHEST)
    strengths = {hit.key: hit.score for hit in page.hits}
    keys = list(strengths)
    only_orders = may_order and page.evidence is Evidence.NONE
    if only_orders:
        first = [] if reading.sort else keys
        keys = list(dict.fromkeys((*first, *list_strengths(view, reading))))
    elif page.evidence is Evidence.NONE:
        keys = keys[: merge.NEAREST_SHOWN]
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


def list_ids(
    view: CatalogueView, scope: Scope, params: SearchParams, found: ResultSet
) -> list[str]:
    """Return the ids of a whole result set, and after them those of all further records with
    evidence, best first.
    """
    if is_list(params.query):
        keys = list_in_scope(view, scope, sort=params.sort)
    else:
        reading = replace(plain_reading(params.query, scope), sort=params.sort)
        listed = search_keys(view, reading, may_order=found.only_orders)
        keys = list(listed.keys)
        if listed.evidence is not Evidence.NONE and not listed.only_orders:
            ranked = view.catalogue.searcher.rank(
                view.reader, params.query, scope=scope, limit=DEEP
            )
            further = [one.key for one in ranked.ranking if one.score >= EVIDENCE_AT]
            keys = list(dict.fromkeys((*keys, *further)))
    return [address_of(view.name, record_id) for record_id in view.reader.ids(keys[:MOST_KEYS])]


def count_left_out(views: Mapping[str, CatalogueView], scopes: Mapping[str, Scope]) -> LeftOut:
    """Return how many records that the caller may see are not in the scopes, each counted for the
    first reason.
    """
    adult = hidden = filtered = 0
    for name, view in views.items():
        scope, of_adults = scopes[name], adult_conditions(view.spec)
        usual = NoneOf(KIND_FIELD, view.spec.kinds_hidden_from_search)
        without_adult = [condition for condition in scope.conditions if condition not in of_adults]
        stated = [condition for condition in without_adult if condition != usual]
        steps = [
            replace(scope, conditions=tuple(some))
            for some in ((), stated, without_adult, scope.conditions)
        ]
        every, *counts = (view.reader.count(step) for step in steps)
        promises = view.reader.promises
        if promises is None or max(counts) <= promises.facets_up_to:  # else not all were counted
            filtered += every - counts[0]
            hidden += counts[0] - counts[1]
            adult += counts[1] - counts[2]
    return LeftOut(adult=adult, hidden=hidden, filtered=filtered)


NOTHING_LISTED = "no record has these filters and words"
ONLY_ORDERS = (
    "'{query}' only orders: all {count:,} records with the filters are listed, the nearest first"
)


def answer_notes(
    params: SearchParams,
    scoped: merge.CatalogueScopes,
    found: ResultSet,
    readings: Readings,
    *,
    chosen: Sequence[str],
) -> list[str]:
    """Return notes on whether there is an answer, on how the call was understood, and on what was
    not read or listed.

    Pages draw what was understood. `chosen` are the notes on the choice of catalogues.
    """
    verdict, understood = [], found.question_notes
    if found.only_orders:
        verdict = [ONLY_ORDERS.format(query=params.query, count=found.listed)]
    elif found.evidence is Evidence.NONE:
        verdict = [
            verdict_of(merge.mode_of(found.searched.values())) if found.searched else NOTHING_LISTED
        ]
    if "tiles" in params.include:
        understood = [doubt for reading in readings.values() for doubt in reading.doubts]
    elif not found.readings:
        total = (
            [f"{counted(found.total)} in all"]
            if any(reading.is_count for reading in readings.values())
            else []
        )
        understood = [*(note for reading in readings.values() for note in reading.notes), *total]
    is_cut = found.searched and params.filters and not found.only_orders
    return [
        *verdict,
        *understood,
        *chosen,
        *scoped.notes,
        *unread_notes(found.unread),
        *merge.word_notes(found.searched),
        *merge.degraded_notes(found.searched),
        *(merge.fitting_notes(scoped.views.found, scoped.scopes, found.listed) if is_cut else ()),
        *promise_notes(scoped.views.found),
    ]


def understood_of(reading: ReadQuestion, params: SearchParams, spec: CatalogueSpec) -> Understood:
    """Return a question as it was read, with all filters and exclusions."""
    (filters, stated), excluded = stated_filters(reading.conditions, spec), params.exclude or {}
    exclude = {
        name: list(some) if isinstance(some, list | tuple) else [some]
        for name, some in excluded.items()
    }
    for name, values in stated.items():
        exclude[name] = [*exclude.get(name, ()), *values]
    return Understood(
        query="" if reading.query == EVERY else reading.query,
        filters={**(params.filters or {}), **filters},
        exclude={name: list(dict.fromkeys(values)) for name, values in exclude.items()},
        phrases=[UnderstoodPhrase.model_validate(one._asdict()) for one in reading.phrases],
    )
