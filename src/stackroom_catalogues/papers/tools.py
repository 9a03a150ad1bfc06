"""The paper tool: search. Its name, parameters, defaults, limits and fields are a fixed interface."""

from collections.abc import Iterable, Sequence
from itertools import chain
from operator import attrgetter
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints

from stackroom.api import (
    WORDS_FIELD,
    AllOf,
    CatalogueView,
    Condition,
    Explained,
    ExplainParams,
    FoundResult,
    FromCatalogue,
    GenericParams,
    InputError,
    LayoutCatalogues,
    MergedHit,
    NoneOf,
    OpenCatalogue,
    PagedParams,
    PricedResult,
    Principal,
    QueryText,
    Range,
    Relevance,
    Scope,
    SearchPath,
    ToolResult,
    ToolSpec,
    catalogue_tool,
    depth_for,
    fitting_notes,
    query_tokens,
    reach_of,
    search_scopes,
    shape_why,
    usual_path,
    word_notes,
)

Keyword = Annotated[str, StringConstraints(min_length=1, max_length=100)]


def _require_years(years: list[int]) -> list[int]:
    """Refuse years of more than four digits, and a range that ends before it begins."""
    if not all(0 <= year <= 9999 for year in years):
        raise ValueError("a year has at most four digits, as 2018")
    start, end = years
    if start > end:
        raise ValueError(f"{start} is after {end}; [start, end] is right")
    return years


Query = Annotated[QueryText, AfterValidator(lambda text: " ".join(text.split()))]
"""A query in the form in which papers are embedded: trimmed, its spaces collapsed."""
YearRange = Annotated[list[int], Field(min_length=2, max_length=2), AfterValidator(_require_years)]


class SearchPapersParams(ExplainParams, PagedParams, GenericParams):
    """Arguments of `search_papers`."""

    sized_by = ("paper_count",)

    query: Query = Field(description="A topic or question")
    paper_count: int = Field(default=10, ge=1, le=50, description="Most results")
    publish_year_range: YearRange | None = Field(default=None, description="[first, last]")
    keywords: list[Keyword] | None = Field(default=None, max_length=20, description="Words that must all occur")
    exclude_keywords: list[Keyword] | None = Field(default=None, max_length=20, description="Words that must not occur")


class AuthorShape(ToolResult):
    """An author with affiliations."""

    name: str
    affiliations: list[str]


class PaperShape(Explained, FromCatalogue):
    """One result of a search."""

    title: str
    authors: list[AuthorShape]
    abstract: str | None
    relevance: Relevance
    score: float
    id: str
    year: int | None
    venue: str | None
    url: str | None


class SearchPapersResult(FoundResult, PricedResult):
    """The answer of `search_papers`."""

    paged = "papers"
    unit = "papers"
    long_texts = ("abstract", "authors")

    papers: list[PaperShape]
    total: int
    search_mode: Literal["hybrid", "fts_only"]
    degraded: str | None


class PaperTools:
    """The tool over every catalogue of papers."""

    def __init__(self, catalogues: LayoutCatalogues) -> None:
        self._catalogues = catalogues

    def search(
        self, principal: Principal, params: SearchPapersParams, *, catalogue: str | None = None
    ) -> SearchPapersResult:
        """Search research papers by topic or author, in titles and abstracts."""
        scope = _scope(principal, params)
        views = self._catalogues.views(catalogue)
        scopes = dict.fromkeys(views.found, scope)
        found = search_scopes(
            views, scopes, params.query, limit=depth_for(params.start, params.paper_count), explain=params.explain
        )
        missing = [] if found.items else _missing_words(views.found.values(), params.keywords or (), principal)
        fitting = fitting_notes(views.found, scopes, found.listed) if scope.conditions else []
        return SearchPapersResult(
            notes=[*found.notes, *missing, *word_notes(found.pages), *fitting],
            papers=[self._shape(item) for item in found.page(params.start, params.paper_count)],
            cursor=found.cursor_after(params.start + params.paper_count),
            total=found.total_matches,
            evidence=found.evidence,
            search_mode=found.mode.value,
            mode=found.mode,
            degraded=found.degraded,
            unread=found.unread,
        )

    def search_path(self, principal: Principal, params: SearchPapersParams, name: str, _kind: str) -> SearchPath:
        """Return how `search_papers` searches one catalogue."""
        return usual_path(
            self._catalogues.view(name),
            params.query,
            scope=_scope(principal, params),
            limit=reach_of(params, params.paper_count),
            page=params.paper_count,
            label=_argument_of,
        )

    def _shape(self, item: MergedHit) -> PaperShape:
        record = item.hit.record
        return PaperShape(
            authors=[AuthorShape(**author) for author in record.get("authors") or ()],
            relevance=item.hit.label,
            score=round(item.hit.score, 4),
            id=record.id,
            year=record.get("publish_year"),
            **{name: record.get(name) for name in ("title", "abstract", "venue", "url")},
            catalogue=self._catalogues.label(item.view.name),
            why=shape_why(item.hit.why),
        )


def tools(catalogues: Sequence[OpenCatalogue]) -> list[ToolSpec]:
    """Declare the paper tool over every catalogue of papers that is served."""
    layout = LayoutCatalogues(catalogues)
    papers = PaperTools(layout)
    search = catalogue_tool(
        name="search_papers", run=papers.search, searches=papers.search_path, count_of=attrgetter("total")
    )
    return layout.declare([search])


def _scope(principal: Principal, params: SearchPapersParams) -> Scope:
    conditions = (
        *([Range("publish_year", *params.publish_year_range)] if params.publish_year_range else ()),
        *([AllOf(WORDS_FIELD, _words_of(params.keywords))] if params.keywords else ()),
        *([NoneOf(WORDS_FIELD, _words_of(params.exclude_keywords))] if params.exclude_keywords else ()),
    )
    return Scope(conditions=conditions, visibility=principal.visibility)


def _argument_of(condition: Condition) -> str:
    """Return the argument that a condition came from."""
    if isinstance(condition, Range):
        return "publish_year_range"
    return "exclude_keywords" if isinstance(condition, NoneOf) else "keywords"


def _words_of(keywords: Sequence[str]) -> tuple[str, ...]:
    """Return the words of all keywords in the form in which texts are indexed; of a phrase, each of its words."""
    tokens = {keyword: query_tokens(keyword) for keyword in keywords}
    if not all(tokens.values()):
        empty = next(keyword for keyword, some in tokens.items() if not some)
        raise InputError(f"'keywords': {empty!r} has no letter or digit in it; give a word")
    return tuple(dict.fromkeys(chain.from_iterable(tokens.values())))


def _missing_words(views: Iterable[CatalogueView], keywords: Sequence[str], principal: Principal) -> list[str]:
    """Return a note on each keyword that no paper has."""
    readers, missing = [view.reader for view in views], []
    for keyword in keywords:
        scope = Scope(conditions=(AllOf(WORDS_FIELD, _words_of([keyword])),), visibility=principal.visibility)
        if not any(reader.count(scope) for reader in readers):
            missing.append(f"no paper has the keyword '{keyword}'")
    return missing
