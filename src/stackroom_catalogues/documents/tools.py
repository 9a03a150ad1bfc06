"""The document tools, and the documents as resources. Names, defaults, limits and fields are a
fixed interface.

Every catalogue of documents is a collection, and its name is the source that clients name.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any
from urllib.parse import quote, unquote

from pydantic import Field, StringConstraints

from stackroom import api
from stackroom.api.shapes import BARE_OBJECT, optional, when_any

DOCUMENT, PASSAGE = "document", "passage"
HANDBOOK = "handbook"
DECLARED_SOURCES = {HANDBOOK: "of a company", "dnd": "D&D rules", "personal": "own notes"}
"""Sources that a caller may name though they are not installed: they are reported as skipped."""

SCHEME = "documents://"
NAMES_SHOWN = 12
# a passage of which a better one of its file has more than this share is a repeat
MOST_SHARED = 0.5
ANCHOR_CHARS = 40  # the beginning of a passage by which an overlap is found in another
REPEATS = "it repeats a passage that is shown before it"

OF_PASSAGES = api.AnyOf(api.KIND_FIELD, (PASSAGE,))

Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class PingParams(api.GenericParams):
    """Arguments of `ping`: none."""


class PingResult(api.GenericResult):
    """The answer of `ping`."""

    status: str
    message: str


class SearchDocumentsParams(api.ExplainParams, api.PagedParams, api.GenericParams):
    """Arguments of `search_documents`."""

    sized_by = ("n_results",)

    query: api.QueryText = Field(description="A question or topic")
    sources: list[Name] | None = optional("Collections to search; default all")
    exclude_sources: list[Name] | None = optional("Sources to leave out")
    n_results: int = Field(default=10, ge=1, le=20, description="Passages per source")


class HandbookParams(api.ExplainParams, api.PagedParams, api.GenericParams):
    """Arguments of `search_handbook`."""

    sized_by = ("n_results",)

    query: api.QueryText = Field(description="A question or topic")
    section: Name | None = optional("Only this folder, e.g. engineering")
    exclude_sections: list[Name] | None = optional("Folders to leave out")
    n_results: int = Field(default=10, ge=1, le=20, description="Most results")


class PassageMetadata(api.GenericResult):
    """The place of a passage, and how well it answers (0–1)."""

    file_path: str
    source: str
    score: float
    relevance: str | None
    section: str
    title: str
    heading_path: str
    first_line: int | None
    last_line: int | None
    id: str


class FoundPassage(api.Explained, api.GenericResult):
    """One result."""

    content: str
    metadata: Annotated[PassageMetadata, BARE_OBJECT]
    """Whole in answers; the tool list, which costs tokens in every conversation, has no more of it
    than that there is one.
    """
    source: str


class PassagesResult(api.FoundResult, api.PricedResult, api.GenericResult):
    """Passages, which are kept whole where an answer is cut."""

    unit = "passages"
    has_passages = True
    long_texts = ("content",)
    whole_with = "fetch"

    results: list[FoundPassage]


class SearchDocumentsResult(PassagesResult):
    """The answer of `search_documents`."""

    skipped: list[str] = when_any()


def find(call: api.Call, params: SearchDocumentsParams) -> api.ResultSet:
    """Return the passages that `search_documents` finds in one collection."""
    return _find(call, params, [str(call.chosen)])


def read_names(
    catalogues: Sequence[api.OpenCatalogue], params: SearchDocumentsParams
) -> Iterable[str]:
    """Return the names of the collections that a search reads; none of a search that is refused."""
    try:
        return _sources(params, [one.name for one in catalogues])[0]
    except api.InputError:
        return ()


def describe_sources(catalogues: Sequence[api.OpenCatalogue]) -> dict[str, Any]:
    """Return the schema of `sources`, with the names of the first collections."""
    held = [
        f"{name} ({DECLARED_SOURCES[name]})" if name in DECLARED_SOURCES else name
        for name in [one.name for one in catalogues][:NAMES_SHOWN]
    ]
    shown = ", ".join(held) + (", …" if len(catalogues) > NAMES_SHOWN else "")
    described = {"items": {"type": "string"}, "description": f"Default all: {shown}"}
    return {"sources": {"type": "array", **described}}


@api.operation(
    "ping", reads=lambda *_: (), asks_all=True, text=lambda result: result.model_dump_json()
)
def ping(_call: api.Call, _params: PingParams) -> PingResult:
    """Check the connection."""
    return PingResult(status="ok", message="pong")


def whole_text(result: PassagesResult) -> str:
    """Return passages whole, with what was skipped."""
    skipped = result.skipped if isinstance(result, SearchDocumentsResult) else []
    names = [
        f"{name} (its storage cannot be read)" if name in result.unread else name
        for name in skipped
    ]
    remarks = [
        *([f"skipped: {', '.join(names)}"] if names else []),
        *(f"note: {remark}" for remark in result.remarks),
    ]
    if not result.results:
        return "\n\n".join([f"nothing was found, evidence: {result.evidence}", *remarks])
    texts = [_text(number, one) for number, one in enumerate(result.results, start=1)]
    return result.with_evidence("\n\n".join([f"evidence: {result.evidence}", *texts, *remarks]))


_passages = partial(
    api.operation, asks_all=True, count_of=lambda result: len(result.results), text=whole_text
)


@_passages("search_documents", finds=find, reads=read_names, schemas=describe_sources)
def search_documents(call: api.Call, params: SearchDocumentsParams) -> SearchDocumentsResult:
    """Find passages of documents, with file and lines; whole ones are at
    documents://COLLECTION/PATH.
    """
    there, sees = call.catalogues, call.principal.visibility.sees_catalogue
    damaged = list(filter(sees, there[0].list_unserved()))
    names, notes = _sources(params, [*(one.name for one in there), *damaged])
    found = _find(call, params, names)
    answered = [part.view.name for part in found.parts]
    unread = [*found.unread, *(name for name in names if name in damaged)]
    return SearchDocumentsResult(
        results=list(map(_shape, found.page(params.start))),
        skipped=[name for name in names if name not in answered],
        notes=[*notes, *_notes(found)],
        **{**found.told(), "unread": unread},
    )


def _find(call: api.Call, params: SearchDocumentsParams, names: Sequence[str]) -> api.ResultSet:
    scope, there = call.scope.narrowed(OF_PASSAGES), {one.name: one for one in call.catalogues}
    views = api.Views.open([there[name] for name in names if name in there], call.principal)
    counted = views.ask(lambda view: view.reader.count(scope))
    filled = views.only(filter(counted.found.get, counted.found), counted.skipped)
    scoped = filled.scoped(params.query, within=[OF_PASSAGES])
    return _without_repeats(scoped.find(pool=call.server.pool), params)


def find_in_handbook(call: api.Call, params: HandbookParams) -> api.ResultSet:
    """Return the passages that `search_handbook` finds."""
    unwanted = params.exclude_sections
    handbook = [one for one in call.catalogues if one.name == HANDBOOK]
    scoped = api.Views.open(handbook, call.principal).scoped(
        params.query,
        [
            *([api.AnyOf("section", (params.section,))] if params.section else ()),
            *([api.NoneOf("section", tuple(unwanted))] if unwanted else ()),
        ],
        within=[OF_PASSAGES],
        label=_argument_of,
    )
    return _without_repeats(scoped.find(), params)


@_passages("search_handbook", finds=find_in_handbook, reads=lambda *_: [HANDBOOK])
def search_handbook(call: api.Call, params: HandbookParams) -> PassagesResult:
    """Find passages of the collection handbook only."""
    found = find_in_handbook(call, params)
    return PassagesResult(
        results=list(map(_shape, found.page(params.start))),
        notes=[*found.filter_notes, *_notes(found)],
        **found.told(),
    )


def tools(catalogues: Sequence[api.OpenCatalogue]) -> list[api.Operation[Any, Any]]:
    """Declare the tools over these collections; the handbook's only where there is one."""
    has_handbook = any(one.name == HANDBOOK for one in catalogues)
    return [ping, search_documents, *([search_handbook] if has_handbook else ())]


def resources(catalogues: Sequence[api.OpenCatalogue]) -> list[api.ResourceSpec]:
    """Declare the documents of these collections."""
    collections = {one.name: one for one in catalogues}
    return [
        api.ResourceSpec(
            prefix=SCHEME,
            action=api.Action.ACCESS_CATALOG,
            entries=partial(_list_documents, catalogues),
            read=partial(_read_document, collections),
            template=SCHEME + "{collection}/{+path}",
            name="document",
            description="The whole text of a document.",
            template_mime_type="text/markdown",
        )
    ]


def _list_documents(
    catalogues: Sequence[api.OpenCatalogue], principal: api.Principal
) -> list[api.ResourceEntry]:
    """List every document of every collection."""
    of_documents = api.AnyOf(api.KIND_FIELD, (DOCUMENT,))
    scope = api.Scope(conditions=(of_documents,), visibility=principal.visibility)
    paths = api.Views.open(catalogues, principal).ask(lambda view: _ids(view, scope))
    return [
        api.ResourceEntry(
            uri=f"{SCHEME}{name}/{quote(path)}", name=f"{name}/{path}", mime_type=_mime_type(path)
        )
        for name, some in paths.found.items()
        for path in some
    ]


def _read_document(
    collections: Mapping[str, api.OpenCatalogue], principal: api.Principal, address: str
) -> api.ResourceContent | None:
    """Return the whole text of a document."""
    name, _, path = address.partition("/")
    if name not in collections:
        return None
    scope = api.Scope(visibility=principal.visibility)
    document = collections[name].view().find_record(api.RecordId(unquote(path)), scope=scope)
    if document is None or document.kind != DOCUMENT:
        return None
    return api.ResourceContent(mime_type=_mime_type(document.id), text=document.get("text"))


def _sources(params: SearchDocumentsParams, there: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the names of the collections that are meant, all by default, and notes."""
    chosen, notes = _resolve_sources(params.sources or there, there, label="sources")
    unwanted = params.exclude_sources or ()
    excluded, more = _resolve_sources(unwanted, there, label="exclude_sources")
    return [name for name in chosen if name not in excluded], [*notes, *more]


def _resolve_sources(
    asked: Sequence[str], there: Sequence[str], *, label: str
) -> tuple[list[str], list[str]]:
    """Return the sources meant, and notes; a declared one that is not there is taken by its exact
    name alone.
    """
    declared = {name for name in asked if name in DECLARED_SOURCES}
    resolved = {
        name: ([name], []) if name in declared else api.resolve_choices([name], there, label=label)
        for name in asked
    }
    names = dict.fromkeys(one for some, _ in resolved.values() for one in some)
    return list(names), [note for _, notes in resolved.values() for note in notes]


def _without_repeats(
    found: api.ResultSet, params: SearchDocumentsParams | HandbookParams
) -> api.ResultSet:
    """Return the passages of a search without repeats, at most so many of each collection."""
    return replace(
        found,
        page_size=len(found.parts) * params.n_results,
        most=params.n_results,
        explains=params.explain,
        rule=find_repeats,
    )


def find_repeats(found: Sequence[api.Hit]) -> list[str]:
    """Return for each passage whether it repeats an earlier one: the same text, or one of its file
    that has more than half of theirs.
    """
    texts: set[str] = set()
    of_file: dict[tuple[str, str], list[str]] = {}
    reasons = []
    for one in found:
        text = str(one.record.get("content"))
        words = " ".join(text.lower().split())
        others = of_file.setdefault((one.view.name, str(one.record.get("path"))), [])
        is_repeat = words in texts or any(_is_mostly_shared(text, other) for other in others)
        reasons.append(REPEATS if is_repeat else "")
        if not is_repeat:
            texts.add(words)
            others.append(text)
    return reasons


def _is_mostly_shared(one: str, other: str) -> bool:
    """Tell whether two parts of a text overlap by more than half of the shorter one."""
    shared = max(_overlap(one, other), _overlap(other, one))
    return shared > MOST_SHARED * min(len(one), len(other))


def _overlap(before: str, after: str) -> int:
    """Return how many characters at the beginning of a passage another one has, at its end or
    within it.
    """
    anchor = after[:ANCHOR_CHARS]
    at = before.find(anchor) if anchor else -1
    while at >= 0:
        rest = before[at : at + len(after)]
        if after.startswith(rest):
            return len(rest)
        at = before.find(anchor, at + 1)
    return 0


def _notes(found: api.ResultSet) -> list[str]:
    return [*found.question_notes, *found.word_notes, *found.degraded_notes]


def _argument_of(condition: api.Condition) -> str:
    """Return the argument of `search_handbook` that a condition came from."""
    return "exclude_sections" if isinstance(condition, api.NoneOf) else "section"


def _shape(found: api.Hit) -> FoundPassage:
    record, source, strength = found.record, found.view.name, found.told()
    why = strength.pop("why")
    metadata = PassageMetadata(
        file_path=record.get("path"),
        source=source,
        section=record.get("section") or "",
        heading_path=" > ".join(record.get("headings") or ()),
        id=record.id,
        **{name: record.get(name) for name in ("title", "first_line", "last_line")},
        **strength,
    )
    return FoundPassage(content=record.get("content"), metadata=metadata, source=source, why=why)


def _ids(view: api.CatalogueView, scope: api.Scope) -> list[api.RecordId]:
    reader = view.reader
    return sorted(reader.ids(reader.scan(scope=scope, limit=reader.count(scope))))


def _mime_type(path: str) -> str:
    """Return the media type of a document's stored text, which may differ from that of its file."""
    return "text/plain" if path.lower().endswith((".txt", ".text", ".pdf")) else "text/markdown"


def _text(number: int, found: FoundPassage) -> str:
    """Return a passage whole: a line with its place, headings and score, then what it says."""
    where = found.metadata
    lines = f":{where.first_line}-{where.last_line}" if where.first_line else ""
    known = (where.heading_path, where.title, where.section, where.id)
    place = f"{found.source}/{where.file_path}{lines}"
    for value in known:
        place += f" · {value}" if value and value not in place else ""
    head = (
        f"{number}. {place} · score"
        f" {where.score}{f', {where.relevance}' if where.relevance else ''}"
    )
    return "\n".join([head, found.content, *found.why_lines])
