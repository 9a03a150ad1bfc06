"""The generic tools: `search`, `fetch`, `similar`, `recommend`, `browse` and `explain` over every
served catalogue.

`search` and `fetch` also fit the shape that connectors of research assistants expect: results with
id, title and url; a record with id, title, text, url and metadata. The page asks the same tools
over REST, with `include` for the parts that it draws; `map` is for pages alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any

import numpy as np

from stackroom.catalogue.spec import CatalogueSpec, FieldType
from stackroom.errors import InputError, NotFoundError
from stackroom.generic.browse import (
    BrowseResult,
    browse_catalogues,
    browse_text,
    of_one_catalogue,
)
from stackroom.generic.explain import ExplainResult, WhyParams, explain_call
from stackroom.generic.filter_guide import FilterFacts, advice_over, facts_in_words, filter_guide
from stackroom.generic.maps import show_map
from stackroom.generic.recommend import (
    RecommendParams,
    RecommendResult,
    ask_by_taste,
    found_by_taste,
    recommend_by_taste,
)
from stackroom.generic.record import RecordForm, draw_record, fetch_record, shape_hits
from stackroom.generic.result_set import (
    answer_notes,
    describe_catalogues,
    find_records,
    result_parts,
    understood_of,
)
from stackroom.generic.shapes import (
    BrowseParams,
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
from stackroom.tools import finding
from stackroom.tools.catalogue import (
    CatalogueView,
    FoundRecord,
    OpenCatalogue,
    ask_each,
    parse_address,
)
from stackroom.tools.faces.mcp import Served, Words, serve
from stackroom.tools.filters import (
    filter_schema,
    includes_adult,
    parse_exclusions,
    parse_filters,
    require_excludable,
)
from stackroom.tools.operation import (
    OFF,
    AnyOperation,
    Audit,
    Call,
    Faces,
    Reads,
    Tool,
    get_catalogue,
    operation,
)
from stackroom.tools.reading import (
    EVERY,
    is_list,
    words_conditions,
    words_of_list,
)
from stackroom.tools.spec import (
    explanation_lines,
)

Named = Mapping[str, OpenCatalogue]


def can_recommend(spec: CatalogueSpec) -> bool:
    """Tell whether a catalogue has something to recommend by: vectors or tags."""
    return spec.embed is not None or any(
        field.type is FieldType.TAGS for field in spec.column_fields
    )


def _by_name(catalogues: Iterable[OpenCatalogue]) -> Named:
    return {catalogue.name: catalogue for catalogue in catalogues}


def _addressed(
    catalogues: Sequence[OpenCatalogue], params: FetchParams | SimilarParams | WhyParams
) -> list[str]:
    """Return the names of the catalogues that a call reads: that of the record, and the one it is
    compared with.
    """
    known = _by_name(catalogues)
    named = _catalogue_of(known, params.id)
    other = getattr(params, "catalogue", None)
    return [*([named] if named else known), *([meant(other, known)] if other else ())]


def _of_taste(catalogues: Sequence[OpenCatalogue], params: RecommendParams) -> list[str]:
    """Return the names of the catalogues that a taste may be about: one that is named, by itself or
    in an id.
    """
    known = _by_name(catalogues)
    stated = [params.catalogue, *(_catalogue_of(known, one) for one in params.likes)]
    named = next((name for name in stated if name), None)
    return [meant(named, known)] if named else list(known)


def _is_kept(call: Call, params: Any) -> bool:
    return not ((call.server.media and params.include) or getattr(params, "area", ""))


def _search_words(catalogues: Sequence[OpenCatalogue]) -> Words:
    specs = {catalogue.name: catalogue.spec for catalogue in catalogues}
    facts = {catalogue.name: FilterFacts(catalogue) for catalogue in catalogues}
    filters, definitions = {"type": "object", "description": filter_guide(specs)}, dict[str, Any]()
    if len(specs) == 1:  # its schema names the fields
        filters, definitions = filter_schema(*specs.values())

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

    return Words(
        properties={"catalogue": {"type": "string", "enum": list(specs)}, "filters": filters},
        definitions=definitions,
        descriptions=filters_now,
    )


def find(call: Call, params: SearchParams) -> ResultSet:
    """Return what `search` finds."""
    chosen, notes = _chosen(call, params)
    views = ask_each(chosen, OpenCatalogue.view)
    scoped = finding.scope_each(views, _asked(params, call.principal))
    return replace(
        find_records(params, scoped, pool=call.server.pool),
        page_size=params.limit,
        explains=params.explain,
        filter_notes=[*notes, *scoped.notes],
    )


@operation(
    "search",
    finds=find,
    reads=Reads(kept=_is_kept),
    faces=Faces(
        tool=Tool(words=_search_words), audit=Audit(count_of=attrgetter("total")), text=json_text
    ),
)
def search(call: Call, params: SearchParams) -> SearchResult:
    """Search one catalogue or all, by meaning and words: records, and passages of documents; *
    lists all.
    """
    found = find(call, params)
    understood, asked = None, params
    if len(found.parts) == 1:
        (part,) = found.parts
        read = understood_of(part.reading, params, part.view.spec)
        stated = {"query": read.query or EVERY, "filters": read.filters, "exclude": read.exclude}
        asked = params.model_copy(update=stated)  # with the conditions of the query as filters
        understood = read if params.include or read.phrases else None
    cursor = found.cursor_after(params.start)
    return (SearchResult if params.max_tokens is None else BundledResult)(
        results=shape_hits(found.page(params.start), _form(call, asked)),
        total=found.total,
        evidence=found.evidence,
        has_more=cursor is not None,
        cursor=cursor,
        notes=answer_notes(asked, found),
        unread=list(found.unread),
        understood=understood,
        **result_parts(asked, found, call.media),
    )


OF_RECORD = Reads(names=_addressed, kept=_is_kept)
AS_JSON = Faces(text=json_text, command=OFF)  # the command for people is `get`
COUNTED = Faces(text=json_text, audit=Audit(count_of=lambda result: len(result.results)))


@operation("fetch", reads=OF_RECORD, faces=AS_JSON)
def fetch(call: Call, params: FetchParams) -> FetchResult:
    """Read one record or passage whole, by its id in a result."""
    view, record = _get_record(call, params.id)
    drawn = draw_record(view, record, call.scope, call.media) if params.include else {}
    return fetch_record(view.catalogue, record, start=params.start).model_copy(update=drawn)


@operation("similar", reads=OF_RECORD, faces=COUNTED)
def similar(call: Call, params: SimilarParams) -> SimilarResult:
    """Find records similar in meaning to one, in its catalogue or another."""
    scope = call.scope
    view, record = _get_record(call, params.id)
    home, own = view.catalogue, view.reader
    target = view if params.catalogue in (None, home.name) else call.choose(params.catalogue).view()
    reader = target.reader
    key = own.find([record.id], scope=scope)[record.id]
    vectors = own.vectors([key])
    if reader.model is None or reader.model != own.model or not np.any(vectors):
        why = "vectors are missing or by different models"
        raise InputError(f"'{params.id}' cannot be compared with '{target.name}': {why}")
    # adult ones to an adult one
    is_whole = is_adult(record, view.spec)
    within = scope if is_whole else finding.shown_scope(target, scope.visibility)
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
        results=shape_hits(found.page(params.start), _form(call, params)),
        cursor=found.cursor_after(params.start),
    )


def find_by_taste(call: Call, params: RecommendParams) -> ResultSet:
    """Return what `recommend` recommends from one catalogue."""
    name = call.chosen or _of_taste(call.server.catalogues, params)[0]
    view = call.choose(name).view()
    return found_by_taste(view, ask_by_taste(view, call.principal, params)[1], params)


@operation(
    "recommend",
    finds=find_by_taste,
    reads=Reads(names=_of_taste, kept=_is_kept),
    over=can_recommend,
    faces=COUNTED,
)
def recommend(call: Call, params: RecommendParams) -> RecommendResult:
    """Recommend records: by liked and disliked ones, and wishes in plain words."""
    names = _of_taste(call.catalogues, params)
    if len(names) > 1:
        raise InputError(f"'catalogue' is missing; there are {', '.join(names)}")
    form = RecordForm(media=call.media if params.include else None)
    view = call.choose(names[0]).view()
    return recommend_by_taste(view, call.principal, params, form)


@operation(
    "browse",
    reads=Reads(kept=_is_kept),
    faces=Faces(text=browse_text),
)
def browse(call: Call, params: BrowseParams) -> BrowseResult:
    """List catalogues, fields and values to filter by; count, average or sum records by group."""
    known = _by_name(call.catalogues)
    params = of_one_catalogue(params, known)
    chosen, notes = _chosen(call, params)
    views = ask_each(chosen, OpenCatalogue.view)
    is_limited = params.filters or params.exclude or (params.query or "").strip()
    # what a search finds, in place of everything that can be seen
    if params.has_figures or is_limited:
        asked = _asked(params, call.principal)
    else:
        seen = call.principal.visibility
        asked = finding.ScopeRequest(query="", visibility=seen, with_adult=lambda _spec: True)
    scoped = finding.scope_each(views, asked)
    if params.include:
        everything = _asked(SearchParams(query=EVERY), call.principal)
        return describe_catalogues(scoped.views, everything, call.media)
    return browse_catalogues(known, scoped, params, notes)


@operation(
    "explain",
    reads=Reads(names=_addressed),
    faces=Faces(text=lambda told: "\n".join(explanation_lines(told.model_dump(mode="json")))),
)
def explain(call: Call, params: WhyParams) -> ExplainResult:
    """Explain why a record is, or is not, in the answer of a tool."""
    return explain_call(_get_record(call, params.id), call, params)


GENERIC_OPERATIONS: tuple[AnyOperation, ...] = (
    *(search, fetch, similar, recommend, browse, explain, show_map),
)


def generic_tools(catalogues: Sequence[OpenCatalogue], *, is_listed: bool = True) -> list[Served]:
    """Return the tools that serve every catalogue, and those for pages, which are in no list.

    Without `is_listed` all of them are for pages alone.
    """
    return serve(GENERIC_OPERATIONS, catalogues, is_listed=is_listed)


def _form(call: Call, params: SearchParams | SimilarParams) -> RecordForm:
    """Return what results have: beside the telling fields those that a call filters by; tiles for
    pages.
    """
    has_cells = "cells" in params.include
    return RecordForm(
        whole=params.max_tokens is not None,
        asked=list(getattr(params, "filters", None) or ()),
        query=getattr(params, "query", ""),
        media=call.media if has_cells or "tiles" in params.include else None,
        has_cells=has_cells,
    )


def _catalogue_of(known: Named, address: str) -> str | None:
    """Return the catalogue of `CATALOGUE/ID`; None where the address is something else, such as a
    title.
    """
    parsed = parse_address(address)
    name = meant(parsed[0], known) if parsed and not page_forms(address) else ""
    return name if name in known else None


def _chosen(call: Call, params: SearchParams | BrowseParams) -> tuple[Named, list[str]]:
    """Return the catalogues to search, the named one or all that have these filters, and notes."""
    known, name = _by_name(call.catalogues), call.chosen or params.catalogue
    chosen = known if name is None else _only(known, name)
    if params.exclude:
        require_excludable(params.exclude, [one.spec for one in chosen.values()])
    if len(chosen) == 1:
        return chosen, []
    specs = {each: one.spec for each, one in known.items()}
    problems, filters = dict[str, str](), params.filters or {}
    for each, spec in specs.items():
        try:
            parse_filters(filters, spec)
        except InputError as error:
            problems[each] = error.message
    if len(problems) == len(specs):
        raise InputError(f"no catalogue has these filters; {advice_over(filters, specs, problems)}")
    notes = [f"not searched, without these filters: {', '.join(problems)}"] if problems else []
    return {each: one for each, one in known.items() if each not in problems}, notes


def _get_record(call: Call, address: str) -> FoundRecord:
    """Return the record of `CATALOGUE/ID`, of a page, or of an id or exact title that only one
    catalogue has.
    """
    known = _by_name(call.catalogues)
    named, parsed = _catalogue_of(known, address), parse_address(address)
    stated, asked = (str(parsed[1]), _only(known, named)) if named and parsed else (address, known)
    views = ask_each(asked, OpenCatalogue.view).found
    for look_up in (CatalogueView.find_stated, _find_titled):
        looked = ((view, look_up(view, stated, scope=call.scope)) for view in views.values())
        found = [FoundRecord(view, record) for view, record in looked if record]
        if len(found) == 1:
            return found[0]
    if parsed and not page_forms(address):
        _only(known, parsed[0])
    elif len(asked) > 1 and not page_forms(address):
        raise InputError(
            f"'id' must be CATALOGUE/ID, as search returns it; given: {address[:80]!r}"
        )
    raise NotFoundError(f"there is no record '{address[:200]}'; give the id of a result of search")


def _only(known: Named, name: str) -> Named:
    found = get_catalogue(known, name)
    return {found.name: found}


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
