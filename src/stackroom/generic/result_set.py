"""What `search` finds, and what an answer says of it.

Without words a set has every record in scope, exactly. A search has its best, as deep as its pages
reach, or a few where nothing answers. Words that name no more than a mood leave no record out that
has the filters: they order them.
"""

from collections.abc import Collection, Iterable
from concurrent.futures import Executor
from dataclasses import replace

import numpy as np

from stackroom.catalogue.spec import CatalogueSpec
from stackroom.errors import InputError
from stackroom.generic.maps import in_area
from stackroom.generic.shapes import LeftOut, SearchParams, Understood, UnderstoodPhrase
from stackroom.model.hits import EVIDENCE_AT, Evidence, Ranking
from stackroom.model.record import RecordId
from stackroom.model.scope import KIND_FIELD, NoneOf, Scope
from stackroom.search.question import ReadQuestion, View, plain_reading
from stackroom.search.result_set import Part, ResultSet, unread_notes
from stackroom.search.values import adult_conditions
from stackroom.tools.catalogue import (
    CatalogueView,
    address_of,
    promise_notes,
)
from stackroom.tools.filters import ADULT, stated_filters
from stackroom.tools.finding import CatalogueScopes, find, fitting_notes
from stackroom.tools.reading import EVERY, is_list, read_question
from stackroom.tools.spec import verdict_of

MOST_KEYS = 250_000
# how many hits of a search are looked at for the records with evidence beyond those that it lists
DEEP = 400


def _require_only(names: Collection[str], argument: str) -> None:
    """Refuse an argument that needs a catalogue to be chosen, unless there is one of them."""
    if len(names) != 1:
        raise InputError(f"'{argument}' needs a 'catalogue'; there are {', '.join(names)}")


def only_part(found: ResultSet, argument: str) -> Part:
    """Return the only part; raise InputError where an argument needs a catalogue to be chosen."""
    _require_only([part.view.name for part in found.parts], argument)
    return found.parts[0]


def find_records(params: SearchParams, scoped: CatalogueScopes, *, pool: Executor) -> ResultSet:
    """Return what a call finds: named records, a list, or a search merged by strength."""
    views = scoped.views
    is_single = len(views.found) == 1
    for argument in [name for name in ("ids", "sort", "area") if getattr(params, name)]:
        _require_only(views.found, argument)
    if params.ids:
        (view,) = views.found.values()
        return ResultSet(
            parts=[_named_part(view, scoped.scopes[view.name], params.ids)], lists=True
        )

    def read(view: CatalogueView, given: Scope) -> ReadQuestion:
        scope = in_area(view, given, params.area)
        if is_list(params.query):
            reading = replace(plain_reading(params.query, scope), query="")
        elif params.read_conditions:
            reading = read_question(view, params.query, scope, as_words=params.as_words)
        else:
            reading = plain_reading(params.query, scope)
        filters = {*(params.filters or ()), *(params.exclude or ())} - {ADULT}
        limits = filters or params.area or reading.conditions
        return replace(
            reading,
            sort=params.sort or reading.sort,
            may_order=is_single and reading.names_moods and bool(limits),
            likely=() if is_single and reading.is_list else reading.likely,
        )

    found = find(scoped, read=read, pool=pool)
    lists_all = is_single and all(part.ranked is None for part in found.parts)
    return replace(found, lists=lists_all or is_list(params.query))


def _named_part(view: CatalogueView, scope: Scope, ids: Iterable[str]) -> Part:
    """Return records by their ids, in this order; those that may not be seen are left out."""
    stated = [RecordId(one.removeprefix(f"{view.name}/")) for one in dict.fromkeys(ids)]
    known = view.reader.find(stated, scope=Scope(visibility=scope.visibility))
    keys = np.array([known[one] for one in stated if one in known], dtype=np.int64)
    ranking = Ranking(keys=keys, scores=np.ones(len(keys)), total=len(keys))
    return Part(view=view, reading=plain_reading("", scope), ranking=ranking, is_graded=False)


def list_ids(found: ResultSet, part: Part) -> list[str]:
    """Return the ids of the whole set of one catalogue, and after them those of all further records
    with evidence, best first.
    """
    keys = found.keys()
    if not found.is_list and found.evidence is not Evidence.NONE:
        deeper = part.found_again(part.reading.scope, limit=DEEP).ranking
        further = deeper.keys[deeper.scores >= EVIDENCE_AT].tolist()
        keys = list(dict.fromkeys((*keys, *further)))
    return [address_of(part.view.name, one) for one in part.view.reader.ids(keys[:MOST_KEYS])]


def count_left_out(scopes: Iterable[tuple[View, Scope]]) -> LeftOut:
    """Return how many records that the caller may see are not in the scopes, each counted for the
    first reason.
    """
    adult = hidden = filtered = 0
    for view, scope in scopes:
        of_adults = adult_conditions(view.spec)
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


def answer_notes(params: SearchParams, found: ResultSet) -> list[str]:
    """Return notes on whether there is an answer, on how the call was understood, and on what was
    not read or listed; pages draw what was understood.
    """
    verdict, understood = [], found.question_notes
    if found.only_orders:
        verdict = [ONLY_ORDERS.format(query=params.query, count=found.listed)]
    elif found.evidence is Evidence.NONE:
        verdict = [verdict_of(found.mode) if found.searched else NOTHING_LISTED]
    if "tiles" in params.include:
        understood = [doubt for part in found.parts for doubt in part.reading.doubts]
    is_cut = found.searched and params.filters and not found.only_orders
    return [
        *verdict,
        *understood,
        *found.filter_notes,
        *unread_notes(found.unread),
        *found.word_notes,
        *found.degraded_notes,
        *(fitting_notes(found, as_read=True) if is_cut else ()),
        *promise_notes(part.view for part in found.parts),
    ]


def understood_of(reading: ReadQuestion, params: SearchParams, spec: CatalogueSpec) -> Understood:
    """Return a question as it was read, with all filters and exclusions."""
    filters, stated = stated_filters(reading.conditions, spec)
    exclude = {
        name: list(some) if isinstance(some, list | tuple) else [some]
        for name, some in (params.exclude or {}).items()
    }
    for name, values in stated.items():
        exclude[name] = [*exclude.get(name, ()), *values]
    return Understood(
        query="" if reading.query == EVERY else reading.query,
        filters={**(params.filters or {}), **filters},
        exclude={name: list(dict.fromkeys(values)) for name, values in exclude.items()},
        phrases=[UnderstoodPhrase.model_validate(one) for one in reading.phrases],
    )
