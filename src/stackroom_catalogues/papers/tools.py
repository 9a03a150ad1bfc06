"""The paper tool: search. Its name, parameters, defaults, limits and fields are a fixed
interface.
"""

from collections.abc import Sequence
from dataclasses import astuple
from operator import attrgetter
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints

from stackroom import api
from stackroom.api.shapes import optional

Keyword = Annotated[str, StringConstraints(min_length=1, max_length=100)]


def _require_years(years: list[int]) -> list[int]:
    """Refuse years of more than four digits, and a range that ends before it begins."""
    if not all(0 <= year <= 9999 for year in years):
        raise ValueError("a year has at most four digits, as 2018")
    start, end = years
    if start > end:
        raise ValueError(f"{start} is after {end}; [start, end] is right")
    return years


Query = Annotated[api.QueryText, AfterValidator(lambda text: " ".join(text.split()))]
"""A query in the form in which papers are embedded: trimmed, its spaces collapsed."""
YearRange = Annotated[list[int], Field(min_length=2, max_length=2), AfterValidator(_require_years)]


class SearchPapersParams(api.ExplainParams, api.PagedParams, api.GenericParams):
    """Arguments of `search_papers`."""

    sized_by = ("paper_count",)

    query: Query = Field(description="A topic or question")
    paper_count: int = Field(default=10, ge=1, le=50, description="Most results")
    publish_year_range: YearRange | None = optional("[first, last]")
    keywords: list[Keyword] | None = optional("Words that must all occur", max_length=20)
    exclude_keywords: list[Keyword] | None = optional("Words that must not occur", max_length=20)


class AuthorShape(api.ToolResult):
    """An author with affiliations."""

    name: str
    affiliations: list[str]


class PaperShape(api.Explained, api.FromCatalogue):
    """One result of a search."""

    title: str
    authors: list[AuthorShape]
    abstract: str | None
    relevance: str | None
    score: float
    id: str
    year: int | None
    venue: str | None
    url: str | None


class SearchPapersResult(api.FoundResult, api.PricedResult):
    """The answer of `search_papers`."""

    paged = "papers"
    unit = "papers"
    long_texts = ("abstract", "authors")

    papers: list[PaperShape]
    total: int
    search_mode: Literal["hybrid", "fts_only"]
    degraded: str | None


def find_papers(call: api.Call, params: SearchPapersParams) -> api.ResultSet:
    """Return the papers that a call finds."""
    scoped = api.Views.of(call).scoped(params.query, _conditions(params), label=_argument_of)
    return scoped.find(page_size=params.paper_count, explains=params.explain)


@api.operation("search_papers", finds=find_papers, reads=True, count_of=attrgetter("total"))
def search_papers(call: api.Call, params: SearchPapersParams) -> SearchPapersResult:
    """Search research papers by topic or author, in titles and abstracts."""
    found = find_papers(call, params)
    fitting = api.fitting_notes(found) if _conditions(params) else []
    return SearchPapersResult(
        notes=[*found.question_notes, *_missing(call, found, params), *found.word_notes, *fitting],
        papers=[_shape(call, hit) for hit in found.page(params.start)],
        total=found.total,
        search_mode=found.mode.value,
        degraded=found.degraded,
        **found.told(params.start),
    )


TOOLS = (search_papers,)


def _shape(call: api.Call, hit: api.Hit) -> PaperShape:
    record = hit.record
    return PaperShape(
        authors=[AuthorShape(**author) for author in record.get("authors") or ()],
        id=record.id,
        year=record.get("publish_year"),
        **{name: record.get(name) for name in ("title", "abstract", "venue", "url")},
        catalogue=call.label_of(hit.view.name),
        **hit.told(),
    )


def _conditions(params: SearchPapersParams) -> list[api.Condition]:
    years, words, unwanted = params.publish_year_range, params.keywords, params.exclude_keywords
    return [
        *([api.Range("publish_year", *years)] if years else ()),
        *([_having(words)] if words else ()),
        *([api.NoneOf(*astuple(_having(unwanted)))] if unwanted else ()),
    ]


def _argument_of(condition: api.Condition) -> str:
    """Return the argument that a condition came from."""
    if isinstance(condition, api.Range):
        return "publish_year_range"
    return "exclude_keywords" if isinstance(condition, api.NoneOf) else "keywords"


def _having(keywords: Sequence[str]) -> api.AllOf:
    """Return the condition that a paper has every word of all keywords."""
    for keyword in keywords:
        if not api.having_words([keyword]).values:
            raise api.InputError(
                f"'keywords': {keyword!r} has no letter or digit in it; give a word"
            )
    return api.having_words(keywords)


def _missing(call: api.Call, found: api.ResultSet, params: SearchPapersParams) -> list[str]:
    """Return a note on each keyword that no paper has."""
    readers = [part.view.reader for part in found.parts]
    scopes = {
        keyword: call.scope.narrowed(_having([keyword]))
        for keyword in (() if found.listed else params.keywords or ())
    }
    return [
        f"no paper has the keyword '{keyword}'"
        for keyword, scope in scopes.items()
        if not any(reader.count(scope) for reader in readers)
    ]
