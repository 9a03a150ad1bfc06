"""The generic tools: `search`, `fetch`, `similar`, `recommend`, `browse` and `explain` over every
served catalogue.

`search` and `fetch` also fit the shape that connectors of research assistants expect: results with
id, title and url; a record with id, title, text, url and metadata. The page asks the same tools
over REST, with `include` for the parts that it draws; `map` is for pages alone, and `GET
/v1/export` gives what a search lists, or figures, as a file.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import Any, Final, Literal

import numpy as np
import orjson
from pydantic import Field

from stackroom.background.threads import new_pool
from stackroom.catalogue.spec import CatalogueSpec, FieldType
from stackroom.errors import InputError, NotFoundError
from stackroom.generic.browse import (
    BrowseParams,
    BrowseResult,
    browse_catalogues,
    browse_text,
    of_one_catalogue,
)
from stackroom.generic.explain import ExplainResult, WhyParams, explain_call
from stackroom.generic.export import ExportedTable, facet_table, figures_table, table_of
from stackroom.generic.export_files import ExportFormat, to_download
from stackroom.generic.filter_guide import FilterFacts, advice_over, facts_in_words, filter_guide
from stackroom.generic.maps import in_area, map_operation
from stackroom.generic.page_parts import describe_catalogues, result_parts
from stackroom.generic.recommend import (
    RecommendParams,
    RecommendResult,
    ask_by_taste,
    found_by_taste,
    recommend_by_taste,
)
from stackroom.generic.record import RecordForm, draw_record, fetch_record, shape_hits
from stackroom.generic.result_set import (
    Readings,
    answer_notes,
    find_records,
    only_part,
    only_view,
    understood_of,
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
)
from stackroom.model.principal import Principal
from stackroom.model.record import Record
from stackroom.model.scope import Scope
from stackroom.search.names import page_forms
from stackroom.search.question import plain_reading
from stackroom.search.result_set import Part, ResultSet
from stackroom.search.searcher import FURTHEST
from stackroom.search.values import is_adult
from stackroom.text.normalise import meant
from stackroom.toml_text import load_packaged
from stackroom.tools import finding
from stackroom.tools.catalogue import (
    CatalogueView,
    FoundRecord,
    OpenCatalogue,
    ask_each,
    get_catalogue,
    parse_address,
)
from stackroom.tools.faces.mcp import DeclaredTool
from stackroom.tools.faces.rest import Download
from stackroom.tools.filters import (
    filter_schema,
    includes_adult,
    parse_exclusions,
    parse_filters,
    require_excludable,
)
from stackroom.tools.media import CallerMedia, MediaSpec
from stackroom.tools.operation import OFF, Call, Faces, Rest, operation
from stackroom.tools.reading import (
    EVERY,
    is_list,
    read_question,
    words_conditions,
    words_of_list,
)
from stackroom.tools.result_text import catalogue_tool
from stackroom.tools.spec import (
    GenericParams,
    ToolResult,
    ToolSpec,
    explanation_lines,
    validate_fields,
)

DESCRIPTIONS: Final = load_packaged("stackroom.generic", "tools.toml")
MOST_GROUPS = 1_000_000  # the most groups of a file


class GenericTools:
    """The tools over these catalogues; `media` are the files of their records, `own` the tools of
    their packages.
    """

    def __init__(
        self,
        catalogues: Sequence[OpenCatalogue],
        *,
        media: Sequence[MediaSpec] = (),
        own: Sequence[DeclaredTool] = (),
    ) -> None:
        self._catalogues = {catalogue.name: catalogue for catalogue in catalogues}
        self._recommending = {
            name: one for name, one in self._catalogues.items() if can_recommend(one.spec)
        }
        self._media = tuple(media)
        self._own = tuple(own)
        self._pool = new_pool("catalogue", max(1, min(4, len(catalogues))))

    def search(self, principal: Principal, params: SearchParams) -> SearchResult:
        """Search one catalogue in its own order, or all of them merged by strength; or list what
        has the filters.
        """
        found = self.find(principal, params)
        understood, asked = None, params
        if len(found.parts) == 1:
            (part,) = found.parts
            read = understood_of(part.reading, params, part.view.spec)
            stated = {
                "query": read.query or EVERY,
                "filters": read.filters,
                "exclude": read.exclude,
            }
            asked = params.model_copy(update=stated)  # with the conditions of the query as filters
            understood = read if params.include or read.phrases else None
        cursor = found.cursor_after(params.start)
        return (SearchResult if params.max_tokens is None else BundledResult)(
            results=shape_hits(found.page(params.start), self._form(asked, principal)),
            total=found.total,
            evidence=found.evidence,
            has_more=cursor is not None,
            cursor=cursor,
            notes=answer_notes(asked, found),
            unread=list(found.unread),
            understood=understood,
            **result_parts(asked, found, CallerMedia(principal, self._media)),
        )

    def find(
        self, principal: Principal, params: SearchParams, name: str | None = None
    ) -> ResultSet:
        """Return what `search` finds; in one catalogue, where it is named."""
        chosen, notes = self._chosen(params, name or params.catalogue)
        scoped, readings = _read(chosen, params, principal)
        found = find_records(params, scoped, readings, principal.visibility, pool=self._pool)
        return replace(
            found,
            page_size=params.limit,
            explains=params.explain,
            filter_notes=[*notes, *scoped.notes],
        )

    def export(self, principal: Principal, params: SearchParams) -> ExportedTable:
        """Return all records that a search of one catalogue lists, in its order, as a table; or
        counts by a `facet`.
        """
        if params.facet:
            counted = params.model_copy(update={"limit": 1, "include": ["facets"]})
            return facet_table(params.facet, self.search(principal, counted).facets)
        found = self.find(principal, params)
        part = only_part(found, "catalogue")
        return table_of(part.view.spec, found.records(), is_ranked=bool(found.searched))

    def export_figures(self, principal: Principal, params: BrowseParams) -> ExportedTable:
        """Return all groups that a `browse` counts, or all records by a number, as a table."""
        if not params.has_figures:
            raise InputError(
                "'by' or 'of' is needed: the fields to group by, or the number to describe"
            )
        every = params.model_copy(update={"limit": MOST_GROUPS, "cursor": None})
        return figures_table(self.browse(principal, every).catalogues[0])

    def fetch(self, principal: Principal, params: FetchParams) -> FetchResult:
        """Return the whole record, or what follows the cursor of its text."""
        scope = Scope(visibility=principal.visibility)
        view, record = self._get_record(params.id, scope)
        drawn = (
            draw_record(view, record, scope, CallerMedia(principal, self._media))
            if params.include
            else {}
        )
        return fetch_record(view.catalogue, record, start=params.start).model_copy(update=drawn)

    def similar(self, principal: Principal, params: SimilarParams) -> SimilarResult:
        """Return the records nearest in meaning to one, in its own catalogue or another; adult ones
        to an adult one.
        """
        scope = Scope(visibility=principal.visibility)
        view, record = self._get_record(params.id, scope)
        home, own = view.catalogue, view.reader
        target = (
            view
            if params.catalogue in (None, home.name)
            else self._get(params.catalogue or "").view()
        )
        reader = target.reader
        key = own.find([record.id], scope=scope)[record.id]
        vectors = own.vectors([key])
        if reader.model is None or reader.model != own.model or not np.any(vectors):
            why = "vectors are missing or by different models"
            raise InputError(f"'{params.id}' cannot be compared with '{target.name}': {why}")
        within = (
            scope
            if is_adult(record, view.spec)
            else finding.shown_scope(target, principal.visibility)
        )
        (near,) = reader.nearest(vectors, scope=within, limit=FURTHEST + 1)
        is_other = near.keys != (key if target is view else -1)
        ranking = replace(near, keys=near.keys[is_other], scores=near.scores[is_other])
        part = Part(
            view=target,
            reading=plain_reading("", within),
            ranking=ranking.first(FURTHEST),
            is_graded=False,
        )
        found = ResultSet(parts=[part], page_size=params.limit)
        return SimilarResult(
            results=shape_hits(found.page(params.start), self._form(params, principal)),
            cursor=found.cursor_after(params.start),
        )

    def recommend(self, principal: Principal, params: RecommendParams) -> RecommendResult:
        """Return what suits a taste."""
        names = self.read_by_taste(params)
        if len(names) > 1:
            raise InputError(f"'catalogue' is missing; there are {', '.join(names)}")
        form = RecordForm(media=CallerMedia(principal, self._media) if params.include else None)
        return recommend_by_taste(
            get_catalogue(self._recommending, names[0]).view(), principal, params, form
        )

    def find_by_taste(self, principal: Principal, params: RecommendParams, name: str) -> ResultSet:
        """Return what `recommend` recommends from one catalogue."""
        view = self._get(name).view()
        return found_by_taste(view, ask_by_taste(view, principal, params)[1], params)

    def read_by_taste(self, params: RecommendParams) -> list[str]:
        """Return the names of the catalogues that a taste may be about: one that is named, by
        itself or in an id.
        """
        stated = [params.catalogue, *map(self._catalogue_of, params.likes)]
        named = next((name for name in stated if name), None)
        return [meant(named, self._catalogues)] if named else list(self._recommending)

    def explain(
        self, tools: Sequence[ToolSpec], principal: Principal, params: WhyParams
    ) -> ExplainResult:
        """Return why a record is in the answer of one of these tools, or why not."""
        found = self._get_record(params.id, Scope(visibility=principal.visibility))
        return explain_call(found, [*self._own, *tools], principal, params)

    def _form(self, params: SearchParams | SimilarParams, principal: Principal) -> RecordForm:
        """Return what results have: beside the telling fields those that a call filters by; tiles
        for pages.
        """
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
        params = of_one_catalogue(params, self._catalogues)
        chosen, notes = self._chosen(params, params.catalogue)
        views, seen = ask_each(chosen, OpenCatalogue.view), Scope(visibility=principal.visibility)
        scoped = finding.CatalogueScopes(
            views=views, scopes=dict.fromkeys(views.found, seen), notes=[]
        )
        is_limited = params.filters or params.exclude or (params.query or "").strip()
        # what a search finds, in place of everything that can be seen
        if params.has_figures or is_limited:
            scoped = finding.scope_each(views, _asked(params, principal))
        if params.include:
            everything = _asked(SearchParams(query=EVERY), principal)
            return describe_catalogues(
                scoped.views, everything, CallerMedia(principal, self._media)
            )
        return browse_catalogues(self._catalogues, scoped, params, notes)

    def read_by_name(self, params: SearchParams | BrowseParams) -> Iterable[str]:
        """Return the names of the catalogues that a call reads: the one it names, or all."""
        return (
            self._catalogues
            if params.catalogue is None
            else [meant(params.catalogue, self._catalogues)]
        )

    def read_by_address(self, params: FetchParams | SimilarParams | WhyParams) -> Iterable[str]:
        """Return the names of the catalogues that a call reads: that of the record, and the one it
        is compared with.
        """
        named = self._catalogue_of(params.id)
        other = params.catalogue if isinstance(params, SimilarParams) else None
        names = [*([named] if named else self._catalogues), *([other] if other else ())]
        return [meant(name, self._catalogues) for name in names]

    def _catalogue_of(self, address: str) -> str | None:
        """Return the catalogue of `CATALOGUE/ID`; None where the address is something else, such as
        a title.
        """
        parsed = parse_address(address)
        name = meant(parsed[0], self._catalogues) if parsed and not page_forms(address) else ""
        return name if name in self._catalogues else None

    def _chosen(
        self, params: SearchParams | BrowseParams, name: str | None
    ) -> tuple[dict[str, OpenCatalogue], list[str]]:
        """Return the catalogues to search, the named one or all that have these filters, and
        notes.
        """
        filters = params.filters or {}
        chosen = self._catalogues if name is None else self._only(name)
        require_excludable(params.exclude or {}, [one.spec for one in chosen.values()])
        if len(chosen) == 1:
            return chosen, []
        specs = {each: one.spec for each, one in self._catalogues.items()}
        problems = {
            each: problem
            for each, spec in specs.items()
            if (problem := _filter_problem(filters, spec))
        }
        if len(problems) == len(specs):
            raise InputError(
                f"no catalogue has these filters; {advice_over(filters, specs, problems)}"
            )
        notes = [f"not searched, without these filters: {', '.join(problems)}"] if problems else []
        return {each: one for each, one in self._catalogues.items() if each not in problems}, notes

    def _get_record(self, address: str, scope: Scope) -> FoundRecord:
        """Return the record of `CATALOGUE/ID`, of a page, or of an id or exact title that only one
        catalogue has.
        """
        named, parsed = self._catalogue_of(address), parse_address(address)
        stated, asked = (
            (str(parsed[1]), self._only(named)) if named and parsed else (address, self._catalogues)
        )
        views = ask_each(asked, OpenCatalogue.view).found
        for find in (CatalogueView.find_stated, _find_titled):
            found = [
                FoundRecord(view, one)
                for view in views.values()
                if (one := find(view, stated, scope=scope))
            ]
            if len(found) == 1:
                return found[0]
        if parsed and not page_forms(address):
            self._only(parsed[0])
        elif len(asked) > 1 and not page_forms(address):
            raise InputError(
                f"'id' must be CATALOGUE/ID, as search returns it; given: {address[:80]!r}"
            )
        raise NotFoundError(
            f"there is no record '{address[:200]}'; give the id of a result of search"
        )

    def _only(self, name: str) -> dict[str, OpenCatalogue]:
        found = self._get(name)
        return {found.name: found}

    def _get(self, name: str) -> OpenCatalogue:
        return get_catalogue(self._catalogues, name)


def generic_tools(
    catalogues: Sequence[OpenCatalogue],
    *,
    media: Sequence[MediaSpec] = (),
    own: Sequence[DeclaredTool] = (),
    is_listed: bool = True,
) -> list[ToolSpec]:
    """Declare the tools that serve every catalogue, and those for pages, which are in no list.

    Without `is_listed` all of them are for pages alone.
    """
    tools = GenericTools(catalogues, media=media, own=own)
    asked = _listed_tools(tools, catalogues, has_media=bool(media))
    explain = catalogue_tool(
        name="explain",
        description=DESCRIPTIONS["explain"],
        params=WhyParams,
        result=ExplainResult,
        reads=tools.read_by_address,
        run=partial(tools.explain, asked),
        text=lambda told: "\n".join(explanation_lines(told.model_dump(mode="json"))),
    )
    return [
        *(replace(tool, is_listed=is_listed) for tool in (*asked, explain)),
        map_operation(catalogues),
    ]


def can_recommend(spec: CatalogueSpec) -> bool:
    """Tell whether a catalogue has something to recommend by: vectors or tags."""
    return spec.embed is not None or any(
        field.type is FieldType.TAGS for field in spec.column_fields
    )


def _listed_tools(
    tools: GenericTools, catalogues: Sequence[OpenCatalogue], *, has_media: bool
) -> list[ToolSpec]:
    specs = {catalogue.name: catalogue.spec for catalogue in catalogues}
    facts = {catalogue.name: FilterFacts(catalogue) for catalogue in catalogues}
    filters, definitions = {"type": "object", "description": filter_guide(specs)}, dict[str, Any]()
    if len(specs) == 1:  # its schema names the fields
        filters, definitions = filter_schema(*specs.values())

    def declare(run: Callable[..., ToolResult], **declared: Any) -> ToolSpec:
        known: dict[str, Any] = {
            "description": DESCRIPTIONS[run.__name__],
            "reads_more": reads_more,
            "text": json_text,
        }
        return catalogue_tool(name=run.__name__, run=run, **(known | declared))

    def reads_more(params: Any) -> bool:
        return bool((has_media and params.include) or getattr(params, "area", ""))

    def filters_now() -> dict[str, str]:
        """Return the description of `filters` with the bounds and values that the records have
        now.
        """
        known = {name: one.read() for name, one in facts.items()}
        return {
            "filters": filter_guide(specs, known)
            if len(specs) > 1
            else facts_in_words(*known.values())
        }

    def count_results(result: RecommendResult | SimilarResult) -> int:
        return len(result.results)

    recommend = declare(
        tools.recommend,
        reads=tools.read_by_taste,
        finds=tools.find_by_taste,
        count_of=count_results,
    )
    return [
        declare(
            tools.search,
            reads=tools.read_by_name,
            finds=tools.find,
            properties={"catalogue": {"type": "string", "enum": list(specs)}, "filters": filters},
            definitions=definitions,
            descriptions=filters_now,
            count_of=attrgetter("total"),
        ),
        declare(tools.fetch, reads=tools.read_by_address),
        declare(tools.similar, reads=tools.read_by_address, count_of=count_results),
        *([recommend] if any(can_recommend(spec) for spec in specs.values()) else []),
        declare(tools.browse, reads=tools.read_by_name, text=browse_text),
    ]


def _find_titled(view: CatalogueView, stated: str, *, scope: Scope) -> Record | None:
    choice = view.resolve(stated, scope=scope)
    return choice.record if choice.is_certain else None


def _asked(params: SearchParams | BrowseParams, principal: Principal) -> finding.ScopeRequest:
    filters, excluded, query = params.filters or {}, params.exclude or {}, params.query or ""
    has_words = isinstance(params, BrowseParams) or is_list(query)
    words = words_conditions(words_of_list(query)) if has_words else []
    return finding.ScopeRequest(
        query=words_of_list(query),
        visibility=principal.visibility,
        conditions=lambda spec: [
            *parse_filters(filters, spec),
            *parse_exclusions(excluded, spec),
            *words,
        ],
        with_adult=lambda spec: includes_adult(filters, spec),
    )


def _read(
    chosen: Mapping[str, OpenCatalogue], params: SearchParams, principal: Principal
) -> tuple[finding.CatalogueScopes, Readings]:
    """Return how each catalogue reads a call, in its order, and the scope in which it answers; a
    list is not read.
    """
    scoped = finding.scope_each(ask_each(chosen, OpenCatalogue.view), _asked(params, principal))
    scopes, is_read = (
        dict(scoped.scopes),
        params.read_conditions and not (params.ids or is_list(params.query)),
    )
    if params.area:
        view = only_view(scoped.views, "area")
        scopes = {view.name: in_area(view, scopes[view.name], params.area)}
    words = "" if is_list(params.query) else params.query
    readings = {
        name: read_question(scoped.views.found[name], params.query, scope, as_words=params.as_words)
        if is_read
        else replace(plain_reading(params.query, scope), query=words)
        for name, scope in scopes.items()
    }
    readings = {
        name: replace(reading, sort=params.sort or reading.sort)
        for name, reading in readings.items()
    }
    return replace(
        scoped, scopes={name: reading.scope for name, reading in readings.items()}
    ), readings


def _filter_problem(filters: dict[str, Any], spec: CatalogueSpec) -> str | None:
    """Return why these filters do not fit a catalogue, None where they do."""
    try:
        parse_filters(filters, spec)
    except InputError as error:
        return error.message
    return None


class ExportParams(GenericParams):
    """Which records or figures, and as which kind of file."""

    format: Literal["csv", "json", "jsonl", "parquet", "xlsx"] = Field(
        description="the kind of file"
    )
    search: str = Field(
        default="",
        max_length=20_000,
        description=(
            'the arguments of the tool search as a JSON object, such as {"catalogue": "NAME",'
            ' "query": "*"}; with "facet": "FIELD", the counts of its values'
        ),
    )
    browse: str = Field(
        default="",
        max_length=20_000,
        description=(
            'or the arguments of browse, for figures by group: {"catalogue": "NAME", "by":'
            ' ["FIELD"]}'
        ),
    )


@operation(
    "records/export",
    faces=Faces(
        tool=OFF,
        rest=Rest("GET /v1/export", tag="page", operation_id="exportRecords", media_type="*/*"),
    ),
)
def export_records(call: Call, query: ExportParams) -> Download:
    """Return all records that a search of one catalogue lists, in its order, as a file; or its
    figures by group.
    """
    tools = GenericTools(call.catalogues)
    if bool(query.search) == bool(query.browse):
        raise InputError("give 'search' or 'browse'")
    if query.browse:
        figures = validate_fields(BrowseParams, _read_object("browse", query.browse))
        name, table = figures.catalogue, tools.export_figures(call.principal, figures)
    else:
        params = validate_fields(SearchParams, _read_object("search", query.search))
        name, table = params.catalogue, tools.export(call.principal, params)
    return to_download(table, name, ExportFormat(query.format))


def _read_object(name: str, text: str) -> dict[str, object]:
    try:
        stated = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise InputError(f"'{name}' is not valid JSON: {error}") from error
    if not isinstance(stated, dict):
        raise InputError(f'\'{name}\' must be a JSON object, such as {{"catalogue": "NAME"}}')
    return stated


EXPORT = export_records
