"""The paper tool: search. Its name, parameters, defaults, limits and fields are a fixed
interface.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints

from stackroom import api

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
    publish_year_range: YearRange | None = Field(default=None, description="[first, last]")
    keywords: list[Keyword] | None = Field(
        default=None, max_length=20, description="Words that must all occur"
    )
    exclude_keywords: list[Keyword] | None = Field(
        default=None, max_length=20, description="Words that must not occur"
    )


class AuthorShape(api.ToolResult):
    """An author with affiliations."""

    name: str
    affiliations: list[str]


class PaperShape(api.Explained, api.FromCatalogue):
    """One result of a search."""

    title: str
    authors: list[AuthorShape]
    abstract: str | None
    relevance: api.Relevance
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
    asked = api.ScopeRequest(
        query=params.query,
        visibility=call.principal.visibility,
        conditions=lambda _spec: _conditions(params),
        label=_argument_of,
    )
    found = api.find(api.scope_each(api.open_views(call), asked))
    return replace(found, page_size=params.paper_count, explains=params.explain)


@api.operation(
    "search_papers",
    finds=find_papers,
    reads=api.Reads(),
    faces=api.Faces(audit=api.Audit(count_of=attrgetter("total"))),
)
def search_papers(call: api.Call, params: SearchPapersParams) -> SearchPapersResult:
    """Search research papers by topic or author, in titles and abstracts."""
    found = find_papers(call, params)
    keywords = () if found.listed else params.keywords or ()
    missing = _missing_words([part.view.reader for part in found.parts], keywords, call.scope)
    fitting = api.fitting_notes(found) if _conditions(params) else []
    return SearchPapersResult(
        notes=[*found.question_notes, *missing, *found.word_notes, *fitting],
        papers=list(map(partial(_shape, call), found.page(params.start))),
        total=found.total,
        search_mode=found.mode.value,
        degraded=found.degraded,
        **api.told_of(found, params.start),
    )


def _shape(call: api.Call, hit: api.Hit) -> PaperShape:
    record = hit.record
    return PaperShape(
        authors=[AuthorShape(**author) for author in record.get("authors") or ()],
        id=record.id,
        year=record.get("publish_year"),
        **{name: record.get(name) for name in ("title", "abstract", "venue", "url")},
        catalogue=api.label_of(call, hit.view.name),
        **api.strength_of(hit),
    )


def tools(_catalogues: api.Catalogues) -> Sequence[api.AnyOperation]:
    """Return the tool of papers."""
    return [search_papers]


def _conditions(params: SearchPapersParams) -> list[api.Condition]:
    years, words, unwanted = params.publish_year_range, params.keywords, params.exclude_keywords
    return [
        *([api.Range("publish_year", *years)] if years else ()),
        *([api.AllOf(api.WORDS_FIELD, _words_of(words))] if words else ()),
        *([api.NoneOf(api.WORDS_FIELD, _words_of(unwanted))] if unwanted else ()),
    ]


def _argument_of(condition: api.Condition) -> str:
    """Return the argument that a condition came from."""
    if isinstance(condition, api.Range):
        return "publish_year_range"
    return "exclude_keywords" if isinstance(condition, api.NoneOf) else "keywords"


def _words_of(keywords: Sequence[str]) -> tuple[str, ...]:
    """Return the words of all keywords in the form in which texts are indexed; of a phrase, each of
    its words.
    """
    tokens = {keyword: api.query_tokens(keyword) for keyword in keywords}
    if not all(tokens.values()):
        empty = next(keyword for keyword, some in tokens.items() if not some)
        raise api.InputError(f"'keywords': {empty!r} has no letter or digit in it; give a word")
    return tuple(dict.fromkeys(chain.from_iterable(tokens.values())))


def _missing_words(
    readers: Sequence[api.ShelfReader], keywords: Sequence[str], seen: api.Scope
) -> list[str]:
    """Return a note on each keyword that no paper has."""
    scopes = [
        (keyword, seen.narrowed(api.AllOf(api.WORDS_FIELD, _words_of([keyword]))))
        for keyword in keywords
    ]
    missing = [
        keyword for keyword, scope in scopes if not any(reader.count(scope) for reader in readers)
    ]
    return [f"no paper has the keyword '{keyword}'" for keyword in missing]
