"""The paper tool: search. Its name, parameters, defaults, limits and fields are a fixed interface."""

from collections.abc import Iterable, Sequence
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


def _collapse_spaces(text: str) -> str:
    """Return the query in the form in which papers are embedded: trimmed, its spaces collapsed."""
    return " ".join(text.split())


Query = Annotated[QueryText, AfterValidator(_collapse_spaces)]
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
        """Find papers on a topic."""
        scope = Scope(conditions=tuple(_conditions(params)), visibility=principal.visibility)
        views = self._catalogues.views(catalogue)
        scopes = dict.fromkeys(views.found, scope)
        found = search_scopes(
            views,
            scopes,
            params.query,
            limit=depth_for(params.start, params.paper_count),
            explain=params.explain,
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
        scope = Scope(conditions=tuple(_conditions(params)), visibility=principal.visibility)
        limit = reach_of(params, params.paper_count)
        return usual_path(
            self._catalogues.view(name),
            params.query,
            scope=scope,
            limit=limit,
            page=params.paper_count,
            label=_argument_of,
        )

    def _shape(self, item: MergedHit) -> PaperShape:
        record = item.hit.record
        return PaperShape(
            title=record.get("title"),
            authors=[AuthorShape(**author) for author in record.get("authors") or ()],
            abstract=record.get("abstract"),
            relevance=item.hit.label,
            score=round(item.hit.score, 4),
            id=record.id,
            year=record.get("publish_year"),
            venue=record.get("venue"),
            url=record.get("url"),
            catalogue=self._catalogues.label(item.view.name),
            why=shape_why(item.hit.why),
        )


def tools(catalogues: Sequence[OpenCatalogue]) -> list[ToolSpec]:
    """Declare the paper tool over every catalogue of papers that is served."""
    layout = LayoutCatalogues(catalogues)
    papers = PaperTools(layout)
    search = catalogue_tool(
        name="search_papers",
        description="Search research papers by topic or author, in titles and abstracts.",
        params=SearchPapersParams,
        result=SearchPapersResult,
        run=papers.search,
        searches=papers.search_path,
        count_of=attrgetter("total"),
    )
    return layout.declare([search])


def _conditions(params: SearchPapersParams) -> list[Condition]:
    found: list[Condition] = []
    if params.publish_year_range:
        start, end = params.publish_year_range
        found.append(Range("publish_year", start, end))
    if params.keywords:
        found.append(AllOf(WORDS_FIELD, _words_of(params.keywords)))
    if params.exclude_keywords:
        found.append(NoneOf(WORDS_FIELD, _words_of(params.exclude_keywords)))
    return found


def _argument_of(condition: Condition) -> str:
    """Return the argument that a condition came from."""
    if isinstance(condition, Range):
        return "publish_year_range"
    return "exclude_keywords" if isinstance(condition, NoneOf) else "keywords"


def _words_of(keywords: Sequence[str]) -> tuple[str, ...]:
    """Return the words of all keywords in the form in which texts are indexed; of a phrase, each of its words."""
    words: dict[str, None] = {}
    for keyword in keywords:
        tokens = query_tokens(keyword)
        if not tokens:
            raise InputError(f"'keywords': {keyword!r} has no letter or digit in it; give a word")
        words.update(dict.fromkeys(tokens))
    return tuple(words)


def _missing_words(views: Iterable[CatalogueView], keywords: Sequence[str], principal: Principal) -> list[str]:
    """Return a note on each keyword that no paper has."""
    readers = [view.reader for view in views]
    scopes = {
        keyword: Scope(conditions=(AllOf(WORDS_FIELD, _words_of([keyword])),), visibility=principal.visibility)
        for keyword in keywords
    }
    missing = [keyword for keyword, scope in scopes.items() if not any(reader.count(scope) for reader in readers)]
    return [f"no paper has the keyword '{keyword}'" for keyword in missing]
