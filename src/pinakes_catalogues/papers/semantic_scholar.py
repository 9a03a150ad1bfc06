"""Papers from the Semantic Scholar Graph API: the answers to a query, page by page, as JSON.

Its rules: one request a second, and no more than the first 1,000 results of a query. Its total is an estimate: results
may end before it, which shows in a page without `next`, or in a refusal of the page after the last.
"""

import logging
from collections.abc import Iterator, Mapping
from functools import cached_property, partial
from typing import Any, NamedTuple

import orjson

from pinakes.api import InputError, Settings, SourceRow, UnavailableError, read_section
from pinakes.api.network import Clock, Fetched, Pace, PoliteGetter, UnusableAnswerError, read_provider_query
from pinakes_catalogues.papers.settings import PapersSettings

logger = logging.getLogger(__name__)

BASE_URL = "https://api.semanticscholar.org/graph/v1/paper/search"
PAGE_ROWS = 100
MAX_ROWS = 1_000
PACE = Pace(interval_s=1.0)
FIELDS = "title,abstract,year,venue,authors.name,authors.affiliations,externalIds,url,fieldsOfStudy"
PAST_THE_END = "is not available"
"""Part of the message that refuses a page after the last result."""


class Page(NamedTuple):
    """A page of results, about how many there are in all, and where the next page begins."""

    total: int
    papers: list[Any]
    next: int | None


class SemanticScholarPapers:
    """Implements `RowSource` over a query in plain words."""

    is_whole = False
    """Results of a query: a paper that is no longer among them is not deleted."""

    def __init__(
        self,
        query: str,
        *,
        limit: int,
        api_key: str = "",
        base_url: str = BASE_URL,
        offline: bool = False,
        pace: Pace = PACE,
        clock: Clock | None = None,
    ) -> None:
        if not query.strip():
            raise InputError("Semantic Scholar needs a query, such as graph neural networks")
        if not 1 <= limit <= MAX_ROWS:
            raise InputError(f"'limit' is {limit}; Semantic Scholar gives from 1 to {MAX_ROWS:,} results for a query")
        self._query = query.strip()
        self._limit = limit
        headers = {"x-api-key": api_key} if api_key else {}
        self._getter = PoliteGetter(
            base_url=base_url, pace=pace, headers=headers, offline=offline, clock=clock or Clock()
        )

    @property
    def name(self) -> str:
        """The query with the prefix of Semantic Scholar."""
        return f"s2:{self._query}"

    def count_rows(self) -> int | None:
        """Return the estimated number of papers, from the first page."""
        return min(self._first_page.total, self._limit)

    def iter_rows(self, *, start: int = 0) -> Iterator[SourceRow]:
        """Yield the papers in the order of relevance, after the first `start` ones."""
        position: int | None = start
        while position is not None and position < self._limit:
            page = self._first_page if position == 0 else self._fetch_page(position)
            for number, paper in enumerate(page.papers[: self._limit - position], start=position + 1):
                yield _row_of(paper, f"result {number}")
            if page.next is None:
                logger.info("%s: the results end after result %d", self.name, position + len(page.papers))
            position = page.next

    @cached_property
    def _first_page(self) -> Page:
        return self._fetch_page(0)

    def _fetch_page(self, position: int) -> Page:
        params: dict[str, str | int] = {
            "query": self._query,
            "offset": position,
            "limit": min(PAGE_ROWS, self._limit - position),
            "fields": FIELDS,
        }
        try:
            return self._getter.fetch(params, read=partial(_read_page, position=position))
        except UnavailableError as error:
            raise UnavailableError(f"{self.name}: stopped at result {position + 1}: {error.message}") from error


def open_semantic_scholar(text: str, settings: Settings) -> SemanticScholarPapers:
    """Return the source of a query such as `graph networks?limit=500`."""
    query, limit = read_provider_query(text)
    api_key = read_section(settings, "", PapersSettings).semantic_scholar_key
    return SemanticScholarPapers(query, limit=limit, api_key=api_key, offline=settings.offline)


def _read_page(answer: Fetched, *, position: int) -> Page:
    """Return the page; raise UnusableAnswerError, which retries, where it cannot be the page at this position."""
    if answer.status == 400:
        said = _error_of(answer.body)
        if position and PAST_THE_END in said:
            return Page(total=position, papers=[], next=None)
        raise InputError(f"Semantic Scholar refused the query: {said or 'status 400'}")
    if answer.status != 200:
        hint = "; is the key right?" if answer.status in (401, 403) else ""
        raise UnavailableError(f"Semantic Scholar answered status {answer.status}{hint}")
    page = _page_of(_parse(answer.body))
    if not page.papers and (page.next is not None or page.total > position == 0):
        raise UnusableAnswerError("answered an empty page in the middle of the results")
    if page.next is not None and page.next <= position:
        raise UnusableAnswerError(f"answered that result {page.next} follows result {position}")
    return page


def _parse(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise UnusableAnswerError(f"answered incomplete or invalid JSON ({error})") from error


def _page_of(document: Any) -> Page:
    """Return the page in a document; where nothing was found it has no `data`."""
    total = document.get("total") if isinstance(document, dict) else None
    if not isinstance(total, int):
        raise UnusableAnswerError("answered JSON that is not a page of results")
    papers, following = document.get("data", []), document.get("next")
    if not isinstance(papers, list) or not isinstance(following, int | None):
        raise UnusableAnswerError("answered JSON that is not a page of results")
    return Page(total=total, papers=papers, next=following)


def _error_of(body: bytes) -> str:
    """Return the message of an error answer; empty where it has none."""
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        return ""
    said = document.get("error") or document.get("message") if isinstance(document, dict) else None
    return str(said or "")[:300]


def _row_of(paper: Any, place: str) -> SourceRow:
    if not isinstance(paper, Mapping) or not paper.get("paperId"):
        return SourceRow(place=place, values={}, problem="a result without a paper id")
    values = {
        "id": f"s2:{paper['paperId']}",
        "title": paper.get("title"),
        "abstract": paper.get("abstract"),
        "authors": [_author_of(author) for author in paper.get("authors") or () if isinstance(author, Mapping)],
        "year": paper.get("year"),
        "keywords": paper.get("fieldsOfStudy") or [],
        "doi": (paper.get("externalIds") or {}).get("DOI"),
        "url": paper.get("url"),
        "venue": paper.get("venue"),
    }
    return SourceRow(place=place, values=values)


def _author_of(author: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": author.get("name"), "affiliations": author.get("affiliations") or []}
