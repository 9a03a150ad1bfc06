"""Papers from the Semantic Scholar Graph API: the answers to a query, page by page, as JSON.

Its rules: one request a second, and no more than the first 1,000 results of a query. Its total is an estimate: results
may end before it, which shows in a page without `next`, or in a refusal of the page after the last.
"""

from collections.abc import Mapping
from typing import Any

import orjson

from stackroom.api import InputError, Settings, UnavailableError, read_section
from stackroom.api.network import Fetched, Pace, UnusableAnswerError, read_provider_query
from stackroom_catalogues.papers.provider import PaperPage, ProviderPapers
from stackroom_catalogues.papers.settings import PapersSettings

FIELDS = "title,abstract,year,venue,authors.name,authors.affiliations,externalIds,url,fieldsOfStudy"
PAST_THE_END = "is not available"
"""Part of the message that refuses a page after the last result."""


class SemanticScholarPapers(ProviderPapers):
    """A query in plain words."""

    title = "Semantic Scholar"
    prefix = "s2"
    example = "graph neural networks"
    address = "https://api.semanticscholar.org/graph/v1/paper/search"
    max_rows = 1_000
    usual_pace = Pace(interval_s=1.0)

    def params_of(self, query: str, position: int, count: int) -> dict[str, str | int]:
        """Return the parameters of a request."""
        return {"query": query, "offset": position, "limit": count, "fields": FIELDS}

    def read_page(self, answer: Fetched, *, position: int) -> PaperPage:
        """Return the page of an answer; the refusal of a page after the last result is the end of the results."""
        if answer.status == 400:
            said = _error_of(answer.body)
            if position and PAST_THE_END in said:
                return PaperPage(total=position, rows=[], next=None)
            raise InputError(f"Semantic Scholar refused the query: {said or 'status 400'}; ask in plain words")
        if answer.status != 200:
            hint = "; is the key right?" if answer.status in (401, 403) else "; try again later"
            raise UnavailableError(f"Semantic Scholar answered status {answer.status}{hint}")
        page = _page_of(answer.body)
        if not page.rows and (page.next is not None or page.total > position == 0):
            raise UnusableAnswerError("answered an empty page in the middle of the results")
        if page.next is not None and page.next <= position:
            raise UnusableAnswerError(f"answered that result {page.next} follows result {position}")
        return page


def open_semantic_scholar(text: str, settings: Settings) -> SemanticScholarPapers:
    """Return the source of a query such as `graph networks?limit=500`."""
    query, limit = read_provider_query(text)
    api_key = read_section(settings, "", PapersSettings).semantic_scholar_key
    headers = {"x-api-key": api_key} if api_key else {}
    return SemanticScholarPapers(query, limit=limit, headers=headers, offline=settings.offline)


def _page_of(body: bytes) -> PaperPage:
    """Return the page of an answer; where nothing was found it has no `data`."""
    try:
        match orjson.loads(body):
            case {"total": int(total), **more}:
                papers, following = more.get("data", []), more.get("next")
                if isinstance(papers, list) and isinstance(following, int | None):
                    return PaperPage(total=total, rows=[_row_of(paper) for paper in papers], next=following)
    except orjson.JSONDecodeError as error:
        raise UnusableAnswerError(f"answered incomplete or invalid JSON ({error})") from error
    raise UnusableAnswerError("answered JSON that is not a page of results")


def _error_of(body: bytes) -> str:
    """Return the message of an error answer; empty where it has none."""
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        return ""
    said = document.get("error") or document.get("message") if isinstance(document, dict) else None
    return str(said or "")[:300]


def _row_of(paper: Any) -> tuple[Mapping[str, Any], str | None]:
    """Return the values of a result, and why it is none."""
    if not isinstance(paper, Mapping) or not paper.get("paperId"):
        return {}, "a result without a paper id"
    authors = [author for author in paper.get("authors") or () if isinstance(author, Mapping)]
    values = {
        "id": f"s2:{paper['paperId']}",
        "authors": [{"name": one.get("name"), "affiliations": one.get("affiliations") or []} for one in authors],
        "keywords": paper.get("fieldsOfStudy") or [],
        "doi": (paper.get("externalIds") or {}).get("DOI"),
        **{name: paper.get(name) for name in ("title", "abstract", "year", "url", "venue")},
    }
    return values, None
