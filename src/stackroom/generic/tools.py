"""The generic tools: `search`, `fetch`, `similar`, `recommend`, `browse` and `explain` over every served catalogue.

`search` and `fetch` also fit the shape that connectors of research assistants expect: results with id, title and url;
a record with id, title, text, url and metadata. The page asks the same tools over REST, with `include` for the parts
that it draws; `map` is for pages alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np

from stackroom.background.threads import new_pool
from stackroom.catalogue.codec import plain_record
from stackroom.catalogue.spec import CatalogueSpec, FieldType
from stackroom.errors import InputError, NotFoundError
from stackroom.generic.browse import (
    AggregateResult,
    BrowsedCatalogue,
    BrowsedValuesResult,
    BrowseParams,
    BrowseResult,
    RankedResult,
    browse_text,
    browse_view,
    cursor_of_values,
    has_fields,
    unread_catalogue,
)
from stackroom.generic.explain import ExplainResult, WhyParams, explain_call
from stackroom.generic.export import ExportedTable, facet_table, figures_table, plain_table, table_of
from stackroom.generic.filter_guide import FilterFacts, advice_over, facts_in_words, filter_guide
from stackroom.generic.maps import in_area, map_operation
from stackroom.generic.page_parts import describe_catalogue, draw_record, result_parts
from stackroom.generic.recommend import RecommendParams, RecommendResult, place_by_taste, recommend_by_taste
from stackroom.generic.record import (
    RankedRecord,
    RecordForm,
    find_place,
    list_written,
    shape_records,
    url_of,
)
from stackroom.generic.record_text import record_text
from stackroom.generic.result_set import (
    ResultSet,
    list_keys,
    list_page,
    named_keys,
    only_view,
    question_notes,
    search_keys,
    search_notes,
    search_page,
    understood_of,
    verdict_notes,
    with_conditions,
)
from stackroom.generic.shapes import (
    BundledResult,
    FetchParams,
    FetchResult,
    SearchParams,
    SearchResult,
    SimilarParams,
    SimilarResult,
    json_text,
    pieces_of,
)
from stackroom.model.hits import Evidence
from stackroom.model.principal import Principal
from stackroom.model.record import RecordId
from stackroom.model.scope import Scope
from stackroom.recommend.recommender import Placing
from stackroom.search.ids import page_forms
from stackroom.search.values import is_adult
from stackroom.text.normalise import meant
from stackroom.tools.catalogue import (
    ByCatalogue,
    CatalogueView,
    FoundRecord,
    OpenCatalogue,
    address_of,
    ask_each,
    get_catalogue,
    parse_address,
    promise_notes,
    unread_notes,
)
from stackroom.tools.filters import (
    ADULT,
    filter_schema,
    filters_of,
    includes_adult,
    parse_exclusions,
    parse_filters,
    require_excludable,
)
from stackroom.tools.listing import EVERY, is_list, words_conditions, words_of_list
from stackroom.tools.media import CallerMedia, MediaSpec
from stackroom.tools.merge import (
    FURTHEST,
    CatalogueScopes,
    ScopeRequest,
    SearchPath,
    depth_for,
    scope_each,
    scope_of,
    shown_scope,
    usual_path,
)
from stackroom.tools.reading import ReadQuestion, plain_reading, read_question
from stackroom.tools.result_text import catalogue_tool as declare_catalogue_tool
from stackroom.tools.spec import ToolSpec, explanation_lines

MOST_GROUPS = 1_000_000
"""The most groups of a file."""


class GenericTools:
    """The tools over these catalogues; `media` are the files of their records, `own` the tools of their packages."""

    def __init__(
        self, catalogues: Sequence[OpenCatalogue], *, media: Sequence[MediaSpec] = (), own: Sequence[ToolSpec] = ()
    ) -> None:
        self._catalogues = {catalogue.name: catalogue for catalogue in catalogues}
        self._recommending = {name: one for name, one in self._catalogues.items() if can_recommend(one.spec)}
        self._media = tuple(media)
        self._own = tuple(own)
        self._pool = new_pool("catalogue", max(1, min(4, len(catalogues))))

    def search(self, principal: Principal, params: SearchParams) -> SearchResult:
        """Search one catalogue in its own order, or all of them merged by strength; or list what has the filters."""
        chosen, notes = self._chosen(params)
        scoped, readings = _read(chosen, params, principal)
        found = self._find(params, scoped, readings, principal)
        understood, asked = None, params
        if len(readings) == 1:
            (name, reading), *_ = (found.readings or readings).items()
            read = understood_of(reading, params, scoped.views.found[name].spec)
            asked = with_conditions(params, read)
            understood = read if params.include or read.phrases else None
        is_bundle = params.max_tokens is not None
        return (BundledResult if is_bundle else SearchResult)(
            results=shape_records(found.page, self._form(asked, principal)),
            total=found.total,
            evidence=found.evidence,
            has_more=found.cursor is not None,
            cursor=found.cursor,
            notes=[
                *verdict_notes(asked, found),
                *question_notes(params, found, readings),
                *notes,
                *scoped.notes,
                *search_notes(asked, scoped, found),
            ],
            unread=found.unread,
            understood=understood,
            **result_parts(asked, scoped, found, CallerMedia(principal, self._media)),
        )

    def export(self, principal: Principal, params: SearchParams) -> ExportedTable:
        """Return all records that a search of one catalogue lists, in its order, as a table; or counts by a `facet`."""
        if params.facet:
            counted = params.model_copy(update={"limit": 1, "include": ["facets"]})
            facets = self.search(principal, counted).facets
            return facet_table(facets[0]) if facets else plain_table([params.facet, "count"], [])
        chosen, _ = self._chosen(params)
        scoped, readings = _read(chosen, params, principal)
        view = only_view(scoped.views, "catalogue")
        if not params.ids and (is_list(params.query) or readings[view.name].is_list):
            return table_of(view.spec, list_keys(view, readings[view.name]).iter_records(), is_ranked=False)
        every = params.model_copy(update={"limit": FURTHEST, "cursor": None})
        found = self._find(every, scoped, readings, principal)
        return table_of(view.spec, found.page, is_ranked=bool(found.searched))

    def export_figures(self, principal: Principal, params: BrowseParams) -> ExportedTable:
        """Return all groups that a `browse` counts, or all records by a number, as a table."""
        if not params.has_figures:
            raise InputError("'by' or 'of' is needed: the fields to group by, or the number to describe")
        every = params.model_copy(update={"limit": MOST_GROUPS, "cursor": None})
        return figures_table(self.browse(principal, every).catalogues[0])

    def _find(
        self, params: SearchParams, scoped: CatalogueScopes, readings: Mapping[str, ReadQuestion], principal: Principal
    ) -> ResultSet:
        """Return the page of the result set that is asked for."""
        views, start, limit = scoped.views, params.start, params.limit
        if params.ids:
            seen = Scope(visibility=principal.visibility)
            return named_keys(only_view(views, "ids"), seen, params.ids).page(start, limit)
        view = only_view(views, "sort") if params.sort else next(iter(views.found.values()))
        reading, is_single = readings[view.name], len(views.found) == 1
        if is_list(params.query) or (is_single and reading.is_list):
            return list_page(views, readings, start=start, limit=limit)
        found = search_page(
            views,
            scoped.scopes,
            params.query,
            start=start,
            limit=limit,
            explain=params.explain,
            pool=self._pool,
            readings=readings,
        )
        may_order = reading.names_moods and (has_filters(params) or bool(reading.conditions))
        if found.evidence is not Evidence.NONE or not may_order or not is_single:
            return found
        return search_keys(view, reading, may_order=True).page(start, limit)

    def path(self, principal: Principal, params: SearchParams, name: str, _kind: str = "") -> SearchPath:
        """Return how `search` searches one catalogue."""
        if is_list(params.query):
            raise InputError("a list has no ranking to explain; give a query in words")
        view = self._get(name).view()
        require_excludable(params.exclude or {}, [view.spec])
        scope, notes = scope_of(view, _asked(params, principal))
        within = in_area(view, scope, params.area)
        return usual_path(view, params.query, scope=within, limit=FURTHEST, page=params.limit, notes=notes)

    def fetch(self, principal: Principal, params: FetchParams) -> FetchResult:
        """Return the whole record, or what follows the cursor of its text."""
        scope = Scope(visibility=principal.visibility)
        view, record = self._get_record(params.id, scope)
        catalogue, text = view.catalogue, record_text(record, view.spec)
        media = CallerMedia(principal, self._media)
        drawn = draw_record(view, record, scope, media) if params.include else {}
        return FetchResult(
            id=address_of(catalogue.name, record.id),
            title=catalogue.spec.title_of(record),
            text=_text_after(text, params.start) if params.start else text,
            url=url_of(catalogue.spec, catalogue.name, record),
            metadata={} if params.start else plain_record(record, catalogue.spec),
            origin=find_place(catalogue, record),
            written={} if params.start else list_written(catalogue, record),
            **drawn,
        )

    def similar(self, principal: Principal, params: SimilarParams) -> SimilarResult:
        """Return the records nearest in meaning to one, in its own catalogue or another; adult ones to an adult one."""
        scope = Scope(visibility=principal.visibility)
        view, record = self._get_record(params.id, scope)
        home, own = view.catalogue, view.reader
        target = view if params.catalogue in (None, home.name) else self._get(params.catalogue or "").view()
        reader = target.reader
        vectors = own.vectors(list(own.find([record.id], scope=scope).values()))
        if reader.model is None or reader.model != own.model or not np.any(vectors):
            raise InputError(
                f"'{params.id}' cannot be compared with '{target.name}': vectors are missing or by different models"
            )
        end = min(params.start + params.limit, FURTHEST)
        within = scope if is_adult(record, view.spec) else shown_scope(target, principal.visibility)
        (ranking,) = reader.nearest(vectors, scope=within, limit=depth_for(params.start, params.limit) + 1)
        records = reader.fetch(ranking.keys.tolist(), scope=scope)
        near = [
            RankedRecord(view=target, record=records[one.key], score=one.score)
            for one in ranking.best
            if one.key in records and (target is not view or records[one.key].id != record.id)
        ]
        return SimilarResult(
            results=shape_records(near[params.start : end], self._form(params, principal)),
            cursor=str(end) if len(near) > end and end < FURTHEST else None,
        )

    def recommend(self, principal: Principal, params: RecommendParams) -> RecommendResult:
        """Return what suits a taste."""
        form = RecordForm(media=CallerMedia(principal, self._media) if params.include else None)
        return recommend_by_taste(self._of_taste(params).view(), principal, params, form)

    def place(self, principal: Principal, params: RecommendParams, name: str, about: RecordId) -> Placing | None:
        """Return the place of one record among what `recommend` recommends from its catalogue."""
        return place_by_taste(self._get(name).view(), principal, params, about)

    def read_by_taste(self, params: RecommendParams) -> list[str]:
        """Return the names of the catalogues that a taste may be about: one that is named, by itself or in an id."""
        stated = [params.catalogue, *map(self._catalogue_of, params.likes)]
        named = next((name for name in stated if name), None)
        return [meant(named, self._catalogues)] if named else list(self._recommending)

    def _of_taste(self, params: RecommendParams) -> OpenCatalogue:
        names = self.read_by_taste(params)
        if len(names) > 1:
            raise InputError(f"'catalogue' is missing; there are {', '.join(names)}")
        return get_catalogue(self._recommending, names[0])

    def explain(self, tools: Sequence[ToolSpec], principal: Principal, params: WhyParams) -> ExplainResult:
        """Return why a record is in the answer of one of these tools, or why not."""
        found = self._get_record(params.id, Scope(visibility=principal.visibility))
        return explain_call(found, [*self._own, *tools], principal, params)

    def _form(self, params: SearchParams | SimilarParams, principal: Principal) -> RecordForm:
        """Return what results have: beside the telling fields those that a call filters by; tiles for pages."""
        asked = list(params.filters or ()) if isinstance(params, SearchParams) else ()
        is_drawn = "tiles" in params.include or "cells" in params.include
        return RecordForm(
            whole=params.max_tokens is not None,
            asked=asked,
            query=params.query if isinstance(params, SearchParams) else "",
            media=CallerMedia(principal, self._media) if is_drawn else None,
            has_cells="cells" in params.include,
        )

    def browse(self, principal: Principal, params: BrowseParams) -> BrowseResult:
        """List the catalogues with their fields, the values of one field, or figures by group."""
        params = self._of_one(params)
        chosen, notes = self._chosen(params)
        scoped = _browsed_scopes(ask_each(chosen, OpenCatalogue.view), principal, params)
        if params.include:
            return self._overviews(scoped, principal)
        browsed = ask_each(scoped.views.found, lambda view: browse_view(view, scoped.scopes[view.name], params))
        unread = [*scoped.views.skipped, *browsed.skipped]
        has_values = any(field.values for one in browsed.found.values() for field in one.fields)
        unlike = ["no value is like the one searched for"] if params.search and not has_values else []
        every = [*browsed.found.values(), *(unread_catalogue(self._catalogues[name]) for name in unread)]
        notes += [*scoped.notes, *unlike, *promise_notes(scoped.views.found)]
        if params.field is None and not params.has_figures:
            return BrowseResult(catalogues=every, unread=unread, notes=notes).after(params.start)
        figures = AggregateResult if params.dimensions else RankedResult
        shape = figures if params.has_figures else BrowsedValuesResult
        return shape(catalogues=every, unread=unread, notes=notes, cursor=cursor_of_values(every, params))

    def _overviews(self, scoped: CatalogueScopes, principal: Principal) -> BrowseResult:
        """Return every catalogue in short, for pages; one that cannot be read is only named."""
        media, seen = CallerMedia(principal, self._media), Scope(visibility=principal.visibility)

        def described(view: CatalogueView) -> BrowsedCatalogue:
            listed = scope_of(view, _asked(SearchParams(query=EVERY), principal))[0]
            return BrowsedCatalogue(
                name=view.name,
                title=view.spec.title,
                records=view.reader.count(seen),
                fields=[],
                overview=describe_catalogue(view, listed, media),
            )

        each = ask_each(scoped.views.found, described)
        unread = [*scoped.views.skipped, *each.skipped]
        return BrowseResult(catalogues=list(each.found.values()), unread=unread, notes=unread_notes(unread))

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

    def read_by_address(self, params: FetchParams | SimilarParams | WhyParams) -> Iterable[str]:
        """Return the names of the catalogues that a call reads: that of the record, and the one it is compared with."""
        named = self._catalogue_of(params.id)
        other = params.catalogue if isinstance(params, SimilarParams) else None
        names = [*([named] if named else self._catalogues), *([other] if other else ())]
        return [meant(name, self._catalogues) for name in names]

    def _catalogue_of(self, address: str) -> str | None:
        """Return the catalogue of `CATALOGUE/ID`; None where the address is something else, such as a title."""
        parsed = parse_address(address)
        name = meant(parsed[0], self._catalogues) if parsed and not page_forms(address) else ""
        return name if name in self._catalogues else None

    def _chosen(self, params: SearchParams | BrowseParams) -> tuple[dict[str, OpenCatalogue], list[str]]:
        """Return the catalogues to search, the named one or all that have these filters, and notes."""
        name, filters = params.catalogue, params.filters or {}
        chosen = self._catalogues if name is None else self._only(name)
        require_excludable(params.exclude or {}, [one.spec for one in chosen.values()])
        if len(chosen) == 1:
            return chosen, []
        problems = {catalogue: _filter_problem(filters, self._get(catalogue).spec) for catalogue in self._catalogues}
        left_out = [one for one, problem in problems.items() if problem is not None]
        if len(left_out) == len(problems):
            having = [one for one in left_out if set(filters) <= set(filters_of(self._get(one).spec))]
            specs = {catalogue: self._get(catalogue).spec for catalogue in self._catalogues}
            advice = problems[having[0]] if having else advice_over(filters, specs)
            raise InputError(f"no catalogue has these filters; {advice}")
        notes = [f"not searched, without these filters: {', '.join(left_out)}"] if left_out else []
        return {name: one for name, one in self._catalogues.items() if name not in left_out}, notes

    def _get_record(self, address: str, scope: Scope) -> FoundRecord:
        """Return the record of `CATALOGUE/ID`, of a page, or of an id or exact title that only one catalogue has."""
        named, parsed = self._catalogue_of(address), parse_address(address)
        stated, asked = (str(parsed[1]), self._only(named)) if named and parsed else (address, self._catalogues)
        views = ask_each(asked, OpenCatalogue.view).found
        for find in (_find_by_id, _find_by_title):
            having = [found for found in (find(view, stated, scope) for view in views.values()) if found is not None]
            if len(having) == 1:
                return having[0]
        if parsed and not page_forms(address):
            self._only(parsed[0])
        elif len(asked) > 1 and not page_forms(address):
            raise InputError(f"'id' must be CATALOGUE/ID, as search returns it; given: {address[:80]!r}")
        raise NotFoundError(f"there is no record '{address[:200]}'; give the id of a result of search")

    def _only(self, name: str) -> dict[str, OpenCatalogue]:
        found = self._get(name)
        return {found.name: found}

    def _get(self, name: str) -> OpenCatalogue:
        return get_catalogue(self._catalogues, name)


def generic_tools(
    catalogues: Sequence[OpenCatalogue],
    *,
    media: Sequence[MediaSpec] = (),
    own: Sequence[ToolSpec] = (),
    is_listed: bool = True,
) -> list[ToolSpec]:
    """Declare the tools that serve every catalogue, and those for pages, which are in no list.

    Without `is_listed` all of them are for pages alone.
    """
    tools = GenericTools(catalogues, media=media, own=own)
    asked = _listed_tools(tools, catalogues, has_media=bool(media))
    explain = declare_catalogue_tool(
        name="explain",
        description="Explain why a record is, or is not, in the answer of a tool.",
        params=WhyParams,
        result=ExplainResult,
        reads=tools.read_by_address,
        run=partial(tools.explain, asked),
        text=lambda told: "\n".join(explanation_lines(told.model_dump(mode="json"))),
    )
    listed = [replace(tool, is_listed=is_listed) for tool in (*asked, explain)]
    return [*listed, map_operation(catalogues)]


def can_recommend(spec: CatalogueSpec) -> bool:
    """Tell whether a catalogue has something to recommend by: vectors or tags."""
    return spec.embed is not None or any(field.type is FieldType.TAGS for field in spec.column_fields)


def _listed_tools(tools: GenericTools, catalogues: Sequence[OpenCatalogue], *, has_media: bool) -> list[ToolSpec]:
    names = [catalogue.name for catalogue in catalogues]
    specs = {catalogue.name: catalogue.spec for catalogue in catalogues}
    filters, definitions = _filters_over(specs)
    catalogue_tool = partial(
        declare_catalogue_tool,
        reads_more=lambda params: bool((has_media and params.include) or getattr(params, "area", "")),
    )
    facts = {catalogue.name: FilterFacts(catalogue) for catalogue in catalogues}
    recommend = catalogue_tool(
        name="recommend",
        description="Recommend records: by liked and disliked ones, and wishes in plain words.",
        params=RecommendParams,
        result=RecommendResult,
        reads=tools.read_by_taste,
        run=tools.recommend,
        recommends=tools.place,
        text=json_text,
        count_of=lambda result: len(result.results),
    )
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
            descriptions=lambda: {"filters": _filters_now(specs, facts)},
            count_of=attrgetter("total"),
        ),
        catalogue_tool(
            name="fetch",
            description="Read one record or passage whole, by its id in a result.",
            params=FetchParams,
            result=FetchResult,
            reads=tools.read_by_address,
            run=tools.fetch,
            text=json_text,
        ),
        catalogue_tool(
            name="similar",
            description="Find records similar in meaning to one, in its catalogue or another.",
            params=SimilarParams,
            result=SimilarResult,
            reads=tools.read_by_address,
            run=tools.similar,
            text=json_text,
            count_of=lambda result: len(result.results),
        ),
        *([recommend] if any(can_recommend(spec) for spec in specs.values()) else []),
        catalogue_tool(
            name="browse",
            description="List catalogues, fields and values to filter by; count, average or sum records by group.",
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


def _filters_now(specs: Mapping[str, CatalogueSpec], facts: Mapping[str, FilterFacts]) -> str:
    """Return the description of `filters` with the bounds and values that the records have now."""
    known = {name: one.read() for name, one in facts.items()}
    return filter_guide(specs, known) if len(specs) > 1 else facts_in_words(*known.values())


def _find_by_id(view: CatalogueView, stated: str, scope: Scope) -> FoundRecord | None:
    record = view.find_stated(stated, scope=scope)
    return FoundRecord(view, record) if record else None


def _find_by_title(view: CatalogueView, stated: str, scope: Scope) -> FoundRecord | None:
    choice = view.resolve(stated, scope=scope)
    return FoundRecord(view, choice.record) if choice.record and choice.is_certain else None


def _asked(params: SearchParams | BrowseParams, principal: Principal) -> ScopeRequest:
    filters, excluded, query = params.filters or {}, params.exclude or {}, params.query or ""
    has_words = isinstance(params, BrowseParams) or is_list(query)
    words = words_conditions(words_of_list(query)) if has_words else []
    return ScopeRequest(
        query=words_of_list(query),
        visibility=principal.visibility,
        conditions=lambda spec: [*parse_filters(filters, spec), *parse_exclusions(excluded, spec), *words],
        with_adult=lambda spec: includes_adult(filters, spec),
    )


def _read(
    chosen: Mapping[str, OpenCatalogue], params: SearchParams, principal: Principal
) -> tuple[CatalogueScopes, Mapping[str, ReadQuestion]]:
    """Return how each catalogue reads a call, and the scope in which it answers."""
    scoped = scope_each(ask_each(chosen, OpenCatalogue.view), _asked(params, principal))
    if params.area:
        view = only_view(scoped.views, "area")
        scoped = replace(scoped, scopes={view.name: in_area(view, scoped.scopes[view.name], params.area)})
    readings = _readings(params, scoped)
    return replace(scoped, scopes={name: reading.scope for name, reading in readings.items()}), readings


def _readings(params: SearchParams, scoped: CatalogueScopes) -> Mapping[str, ReadQuestion]:
    """Return how each catalogue reads the query, in the scope and the order of the call; a list is not read."""
    if params.ids or is_list(params.query) or not params.read_conditions:
        words = "" if is_list(params.query) else params.query
        plain = {name: plain_reading(params.query, scope) for name, scope in scoped.scopes.items()}
        return {name: replace(reading, query=words, sort=params.sort) for name, reading in plain.items()}
    readings = {
        name: read_question(view, params.query, scoped.scopes[name], as_words=params.as_words)
        for name, view in scoped.views.found.items()
    }
    return {name: replace(reading, sort=params.sort or reading.sort) for name, reading in readings.items()}


def has_filters(params: SearchParams) -> bool:
    """Tell whether a call asks for some of the records only."""
    return bool({*(params.filters or ()), *(params.exclude or ())} - {ADULT} or params.area)


def _browsed_scopes(views: ByCatalogue[CatalogueView], principal: Principal, params: BrowseParams) -> CatalogueScopes:
    """Return the scope of a browse: that of a search where it counts or limits, else everything that can be seen."""
    if params.has_figures or params.has_limits:
        return scope_each(views, _asked(params, principal))
    return CatalogueScopes(
        views=views, scopes=dict.fromkeys(views.found, Scope(visibility=principal.visibility)), notes=[]
    )


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
