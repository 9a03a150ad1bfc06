"""The generic tools: `search`, `fetch`, `similar` and `browse` over every catalogue that is served.

`search` and `fetch` also fit the shape that connectors of research assistants expect: results with id, title and url;
a record with id, title, text, url and metadata.
"""

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from operator import attrgetter
from typing import Any

import numpy as np

from pinakes.catalogue.codec import plain_record
from pinakes.catalogue.spec import CatalogueSpec
from pinakes.errors import InputError, NotFoundError, did_you_mean
from pinakes.model.hits import Evidence, SearchMode
from pinakes.model.principal import Principal
from pinakes.model.scope import Scope
from pinakes.search.ids import page_forms
from pinakes.text.spelling import meant
from pinakes.tools.catalogue import (
    CatalogueView,
    FoundRecord,
    Gathered,
    OpenCatalogue,
    ask_each,
    list_names,
    unread_notes,
)
from pinakes.tools.explain.search_path import SearchPath, usual_path
from pinakes.tools.filters import (
    filter_schema,
    filters_of,
    includes_adult,
    parse_exclusions,
    parse_filters,
    require_excludable,
)
from pinakes.tools.generic.browse import browse_text, browse_view, cursor_of_values, has_fields, unread_catalogue
from pinakes.tools.generic.browse_shapes import (
    AggregateResult,
    BrowsedValuesResult,
    BrowseParams,
    BrowseResult,
    RankedResult,
)
from pinakes.tools.generic.filter_facts import Facts, FilterFacts
from pinakes.tools.generic.filter_guide import advice_over, facts_in_words, filter_guide
from pinakes.tools.generic.found import FoundForm, shape_hits, shape_list, shape_record, url_of
from pinakes.tools.generic.listing import (
    NOTHING_LISTED,
    fitting_notes,
    is_list,
    list_records,
    words_conditions,
    words_of_list,
)
from pinakes.tools.generic.shapes import (
    BundledResult,
    FetchParams,
    FetchResult,
    SearchParams,
    SearchResult,
    SimilarParams,
    SimilarResult,
    pieces_of,
)
from pinakes.tools.generic.texts import json_text, similar_text
from pinakes.tools.merge import FURTHEST, MergedPage, depth_for, search_scopes
from pinakes.tools.provenance import find_place, list_places
from pinakes.tools.record_text import record_text
from pinakes.tools.resources.records import address_of, parse_address
from pinakes.tools.scopes import Asked, Scoped, scope_each, scope_of
from pinakes.tools.spec import NOTHING_ANSWERS, ToolSpec, catalogue_tool


class GenericTools:
    """The tools over these catalogues."""

    def __init__(self, catalogues: Sequence[OpenCatalogue]) -> None:
        self._catalogues = {catalogue.name: catalogue for catalogue in catalogues}
        self._pool = ThreadPoolExecutor(max(1, min(4, len(catalogues))), "catalogue")

    def search(self, principal: Principal, params: SearchParams) -> SearchResult:
        """Search one catalogue in its own order, or all of them merged by strength."""
        start, end = params.start, params.start + params.limit
        chosen, notes = self._chosen(params)
        scoped = scope_each(ask_each(chosen, OpenCatalogue.view), _asked(params, principal))
        if is_list(params.query):
            return _list(params, scoped, notes)
        found = search_scopes(
            scoped.views,
            scoped.scopes,
            params.query,
            limit=depth_for(start, params.limit),
            explain=params.explain,
            pool=self._pool,
        )
        is_answered = found.evidence is not Evidence.NONE
        cursor = found.cursor_after(end)
        is_bundle = params.max_tokens is not None
        return (BundledResult if is_bundle else SearchResult)(
            results=shape_hits(found.page(start, params.limit), _form(params)),
            total=found.total_matches,
            evidence=found.evidence,
            has_more=cursor is not None,
            cursor=cursor,
            notes=[
                *([] if is_answered else [NOTHING_ANSWERS]),
                *notes,
                *scoped.notes,
                *_notes(found),
                *(fitting_notes(scoped.views.found, scoped.scopes, len(found.items)) if params.filters else ()),
            ],
            unread=found.unread,
        )

    def path(self, principal: Principal, params: SearchParams, name: str, _kind: str) -> SearchPath:
        """Return how `search` searches one catalogue."""
        if is_list(params.query):
            raise InputError("a list has no ranking to explain; give a query in words")
        view = self._get(name).view()
        require_excludable(params.exclude or {}, [view.spec])
        scope, notes = scope_of(view, _asked(params, principal))
        return usual_path(view, params.query, scope=scope, limit=FURTHEST, page=params.limit, notes=notes)

    def fetch(self, principal: Principal, params: FetchParams) -> FetchResult:
        """Return the whole record, or what follows the cursor of its text."""
        view, record = self._get_record(params.id, Scope(visibility=principal.visibility))
        catalogue, text = view.catalogue, record_text(record, view.spec)
        return FetchResult(
            id=address_of(catalogue.name, record.id),
            title=catalogue.spec.title_of(record),
            text=_text_after(text, params.start) if params.start else text,
            url=url_of(catalogue, record),
            metadata={} if params.start else plain_record(record, catalogue.spec),
            origin=find_place(catalogue, record),
        )

    def similar(self, principal: Principal, params: SimilarParams) -> SimilarResult:
        """Return the records nearest in meaning to one, in its own catalogue or another."""
        scope = Scope(visibility=principal.visibility)
        view, record = self._get_record(params.id, scope)
        home, own = view.catalogue, view.reader
        target = self._get(params.catalogue) if params.catalogue else home
        reader = own if target is home else target.shelf.reader()
        vectors = own.vectors(list(own.find([record.id], scope=scope).values()))
        if reader.model is None or reader.model != own.model or not np.any(vectors):
            raise InputError(
                f"'{params.id}' cannot be compared with '{target.name}': vectors are missing or by different models"
            )
        end = min(params.start + params.limit, FURTHEST)
        (ranking,) = reader.nearest(vectors, scope=scope, limit=depth_for(params.start, params.limit) + 1)
        records = reader.fetch(ranking.keys.tolist(), scope=scope)
        near = [(records[one.key], one.score) for one in ranking.best if one.key in records]
        kept = [(other, score) for other, score in near if target is not home or other.id != record.id]
        shown, form = kept[params.start : end], FoundForm(whole=params.max_tokens is not None)
        places = list_places(target, [other for other, _ in shown])
        return SimilarResult(
            results=[
                shape_record(target, other, form, score=score, label=None, origin=places.get(other.id))
                for other, score in shown
            ],
            cursor=str(end) if len(kept) > end and end < FURTHEST else None,
        )

    def browse(self, principal: Principal, params: BrowseParams) -> BrowseResult:
        """List the catalogues with their fields, the values of one field, or figures by group."""
        params = self._of_one(params)
        chosen, notes = self._chosen(params)
        scoped = _browsed_scopes(ask_each(chosen, OpenCatalogue.view), principal, params)
        browsed = ask_each(scoped.views.found, lambda view: browse_view(view, scoped.scopes[view.name], params))
        unread = [*scoped.views.skipped, *browsed.skipped]
        has_values = any(field.values for one in browsed.found.values() for field in one.fields)
        unlike = ["no value is like the one searched for"] if params.search and not has_values else []
        every = [*browsed.found.values(), *(unread_catalogue(self._catalogues[name]) for name in unread)]
        notes += [*scoped.notes, *unlike]
        if params.field is None and not params.has_figures:
            return BrowseResult(catalogues=every, unread=unread, notes=notes).after(params.start)
        figures = AggregateResult if params.dimensions else RankedResult
        shape = figures if params.has_figures else BrowsedValuesResult
        return shape(catalogues=every, unread=unread, notes=notes, cursor=cursor_of_values(every, params))

    def _of_one(self, params: BrowseParams) -> BrowseParams:
        """Return a call about fields with the only catalogue that has them; InputError where several do, or none."""
        if params.field and params.by:
            raise InputError("'field' lists values and 'by' groups records; give one of them")
        named = params.named_fields
        if not named or params.catalogue or len(self._catalogues) == 1:
            return params
        having = [name for name, one in self._catalogues.items() if has_fields(one.spec, [field for _, field in named])]
        if len(having) == 1 and params.has_figures:
            return params.model_copy(update={"catalogue": having[0]})
        raise InputError(f"'{named[0][0]}' needs a 'catalogue'; there are {', '.join(having or self._catalogues)}")

    def read_by_name(self, params: SearchParams | BrowseParams) -> Iterable[str]:
        """Return the names of the catalogues that a call reads: the one it names, or all."""
        return self._catalogues if params.catalogue is None else [meant(params.catalogue, self._catalogues)]

    def read_by_address(self, params: FetchParams | SimilarParams) -> Iterable[str]:
        """Return the names of the catalogues that a call reads: that of the record, and the one it is compared with."""
        parsed = parse_address(params.id)
        other = params.catalogue if isinstance(params, SimilarParams) else None
        is_addressed = parsed is not None and not page_forms(params.id)
        names = [*([parsed[0]] if parsed and is_addressed else self._catalogues), *([other] if other else ())]
        return [meant(name, self._catalogues) for name in names]

    def _chosen(self, params: SearchParams | BrowseParams) -> tuple[dict[str, OpenCatalogue], list[str]]:
        """Return the catalogues to search, the named one or all that have these filters, and notes."""
        name, filters = params.catalogue, params.filters or {}
        chosen = self._catalogues if name is None else self._only(name)
        require_excludable(params.exclude or {}, [one.spec for one in chosen.values()])
        if name is not None:
            return chosen, []
        problems = {one: _filter_problem(filters, self._get(one).spec) for one in self._catalogues}
        left_out = [one for one, problem in problems.items() if problem is not None]
        if len(left_out) == len(problems):
            having = [one for one in left_out if set(filters) <= set(filters_of(self._get(one).spec))]
            specs = {one: self._get(one).spec for one in self._catalogues}
            advice = problems[having[0]] if having else advice_over(filters, specs)
            raise InputError(f"no catalogue has these filters; {advice}")
        notes = [f"not searched, without these filters: {', '.join(left_out)}"] if left_out else []
        return {name: one for name, one in self._catalogues.items() if name not in left_out}, notes

    def _get_record(self, address: str, scope: Scope) -> FoundRecord:
        """Return the record of `CATALOGUE/ID`, of a page, or of an id that only one catalogue has."""
        parsed = parse_address(address)
        if parsed is not None and not page_forms(address):
            stated, asked = str(parsed[1]), self._only(parsed[0])
        else:
            stated, asked = address, self._catalogues
        found = ask_each(asked, lambda one: _find(one.view(), stated, scope)).found.values()
        having = [one for one in found if one is not None]
        if len(having) == 1:
            return having[0]
        if len(asked) > 1 and not page_forms(address):
            raise InputError(f"'id' must be CATALOGUE/ID, as search returns it; given: {address[:80]!r}")
        raise _no_record(address)

    def _only(self, name: str) -> dict[str, OpenCatalogue]:
        found = self._get(name)
        return {found.name: found}

    def _get(self, name: str) -> OpenCatalogue:
        found = self._catalogues.get(meant(name, self._catalogues))
        if found is None:
            known = list(self._catalogues)
            raise NotFoundError(f"no catalogue '{name[:80]}'{did_you_mean(name, known)}; there are {', '.join(known)}")
        return found


def generic_tools(catalogues: Sequence[OpenCatalogue]) -> list[ToolSpec]:
    """Declare the tools that serve every catalogue."""
    tools = GenericTools(catalogues)
    names = [catalogue.name for catalogue in catalogues]
    specs = {catalogue.name: catalogue.spec for catalogue in catalogues}
    filters, definitions = _filters_over(specs)
    facts = {catalogue.name: FilterFacts(catalogue) for catalogue in catalogues}
    return [
        catalogue_tool(
            name="search",
            description="Search one catalogue or all, by meaning and words: records, and passages of documents; "
            "* lists all.",
            params=SearchParams,
            result=SearchResult,
            reads=tools.read_by_name,
            run=tools.search,
            searches=tools.path,
            text=json_text,
            properties={"catalogue": {"type": "string", "enum": names}, "filters": filters},
            definitions=definitions,
            facts=lambda: _facts_of_filters(specs, {name: one.read() for name, one in facts.items()}),
            count_of=attrgetter("total"),
        ),
        catalogue_tool(
            name="fetch",
            description="One record or passage whole, by its id in a result.",
            params=FetchParams,
            result=FetchResult,
            reads=tools.read_by_address,
            run=tools.fetch,
            text=json_text,
        ),
        catalogue_tool(
            name="similar",
            description="Records nearest in meaning to one, in its catalogue or another.",
            params=SimilarParams,
            result=SimilarResult,
            reads=tools.read_by_address,
            run=tools.similar,
            text=similar_text,
            count_of=lambda result: len(result.results),
        ),
        catalogue_tool(
            name="browse",
            description="What there is: catalogues, fields, values, ranges to filter by; counts, means, sums by group.",
            params=BrowseParams,
            result=BrowseResult,
            reads=tools.read_by_name,
            run=tools.browse,
            text=browse_text,
        ),
    ]


def _filters_over(specs: Mapping[str, CatalogueSpec]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the schema of `filters` and its definitions: exact for one catalogue, in words for several."""
    if len(specs) == 1:
        return filter_schema(*specs.values())
    return {"type": "object", "description": filter_guide(specs)}, {}


def _facts_of_filters(specs: Mapping[str, CatalogueSpec], facts: Mapping[str, Facts]) -> dict[str, dict[str, Any]]:
    """Return the description of `filters` with what the records of now have."""
    if len(specs) > 1:
        return {"filters": {"description": filter_guide(specs, facts)}}
    ((name, spec),) = specs.items()
    words = facts_in_words(spec, facts[name])
    return {"filters": {"description": words}} if words else {}


def _find(view: CatalogueView, stated: str, scope: Scope) -> FoundRecord | None:
    record = view.find_stated(stated, scope=scope)
    return FoundRecord(view, record) if record else None


def _no_record(address: str) -> NotFoundError:
    return NotFoundError(f"there is no record '{address[:200]}'; give the id of a result of search")


def _asked(params: SearchParams | BrowseParams, principal: Principal) -> Asked:
    filters, excluded, query = params.filters or {}, params.exclude or {}, params.query or ""
    has_words = isinstance(params, BrowseParams) or is_list(query)
    words = words_conditions(words_of_list(query)) if has_words else []
    return Asked(
        query=words_of_list(query),
        visibility=principal.visibility,
        conditions=lambda spec: [*parse_filters(filters, spec), *parse_exclusions(excluded, spec), *words],
        with_adult=lambda spec: includes_adult(filters, spec),
    )


def _browsed_scopes(views: Gathered[CatalogueView], principal: Principal, params: BrowseParams) -> Scoped:
    """Return the scope of a browse: that of a search where it counts or limits, else everything that can be seen."""
    if params.has_figures or params.has_limits:
        return scope_each(views, _asked(params, principal))
    return Scoped(views=views, scopes=dict.fromkeys(views.found, Scope(visibility=principal.visibility)), notes=[])


def _form(params: SearchParams) -> FoundForm:
    """Return what results have: beside the telling fields, those that a call filters by; whole texts in a bundle."""
    return FoundForm(whole=params.max_tokens is not None, asked=list(params.filters or ()))


def _list(params: SearchParams, scoped: Scoped, notes: Sequence[str]) -> SearchResult:
    """Return a page of all records in scope, not ranked."""
    found = list_records(scoped.views.found, scoped.scopes, start=params.start, limit=params.limit)
    unread = [*scoped.views.skipped, *found.unread]
    is_bundle = params.max_tokens is not None
    return (BundledResult if is_bundle else SearchResult)(
        results=shape_list(found.page, _form(params)),
        total=found.total,
        evidence=Evidence.STRONG if found.total else Evidence.NONE,
        has_more=found.cursor is not None,
        cursor=found.cursor,
        notes=[*([] if found.total else [NOTHING_LISTED]), *notes, *scoped.notes, *unread_notes(unread)],
        unread=unread,
    )


def _notes(found: MergedPage) -> list[str]:
    """Return a note on the catalogues that were not read, and one for all that are degraded for one reason."""
    by_words: dict[str | None, list[str]] = {}
    partly: dict[str | None, list[str]] = {}
    for name, page in found.pages.items():
        if page.mode is SearchMode.FTS_ONLY:
            by_words.setdefault(page.degraded, []).append(name)
        if page.is_partly_embedded:
            partly.setdefault(page.degraded, []).append(name)
    return [
        *unread_notes(found.unread),
        *(f"{list_names(names)}: searched by words alone ({reason})" for reason, names in by_words.items()),
        *(f"{list_names(names)}: {reason}" for reason, names in partly.items()),
    ]


def _filter_problem(filters: dict[str, Any], spec: CatalogueSpec) -> str | None:
    """Return why these filters do not fit a catalogue, None where they do."""
    try:
        parse_filters(filters, spec)
    except InputError as error:
        return error.message
    return None


def _text_after(text: str, start: int) -> str:
    """Return the text after so many words; InputError where it has fewer."""
    rest = "".join(pieces_of(text)[start:])
    if not rest:
        raise InputError(f"'cursor' is not valid here; this record has fewer than {start} words")
    return rest
