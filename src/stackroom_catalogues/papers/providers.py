"""Papers from arXiv and Semantic Scholar: the answers to a query, page by page, with the pace and
limit of each.
"""

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, ClassVar, NamedTuple
from xml.parsers import expat

import orjson

from stackroom.api import InputError, UnavailableError
from stackroom.api.network import (
    Clock,
    Fetched,
    Pace,
    PoliteGetter,
    RowSource,
    Settings,
    SourceRow,
    UnusableAnswerError,
    read_provider_query,
    read_section,
)
from stackroom_catalogues.papers.settings import PapersSettings

PAGE_ROWS = 100
SPACES = {
    "atom": "http://www.w3.org/2005/Atom",
    "arxiv": "http://arxiv.org/schemas/atom",
    "opensearch": "http://a9.com/-/spec/opensearch/1.1/",
}
ERROR_ID = re.compile(r"https?://arxiv\.org/api/errors")
PAPER_ID = re.compile(r"https?://arxiv\.org/abs/(?P<id>.+?)(v\d+)?")
FIELDS = "title,abstract,year,venue,authors.name,authors.affiliations,externalIds,url,fieldsOfStudy"
PAST_THE_END = "is not available"  # part of the message that refuses a page after the last result


class PaperPage(NamedTuple):
    """A page of results, about how many there are in all, and where the next page begins; None at
    the end.
    """

    total: int
    rows: Sequence[tuple[Mapping[str, Any], str | None]]
    """The values of each result, and why it is none that can be used."""
    next: int | None


class ProviderPapers(RowSource):
    """Implements `RowSource` over a query to one service, which a subclass describes."""

    is_whole = False
    """Results of a query: a paper that is no longer among them is not deleted."""
    title: ClassVar[str]
    prefix: ClassVar[str]
    example: ClassVar[str]
    address: ClassVar[str]
    max_rows: ClassVar[int]
    usual_pace: ClassVar[Pace]

    def __init__(
        self,
        query: str,
        *,
        limit: int,
        base_url: str = "",
        headers: Mapping[str, str] | None = None,
        offline: bool = False,
        pace: Pace | None = None,
        clock: Clock | None = None,
    ) -> None:
        if not query.strip():
            raise InputError(f"{self.title} needs a query, such as {self.example}")
        if not 1 <= limit <= self.max_rows:
            raise InputError(
                f"'limit' is {limit}; {self.title} gives from 1 to {self.max_rows:,} results for a"
                " query"
            )
        self._query = query.strip()
        self._limit = limit
        self._getter = PoliteGetter(
            base_url=base_url or self.address,
            pace=pace or self.usual_pace,
            headers=dict(headers or {}),
            offline=offline,
            clock=clock or Clock(),
        )

    @property
    def name(self) -> str:
        """The query with the prefix of the service."""
        return f"{self.prefix}:{self._query}"

    def count_rows(self) -> int | None:
        """Return the number of papers, from the first page; of some services an estimate."""
        return min(self._first_page.total, self._limit)

    def iter_rows(self, *, start: int = 0) -> Iterator[SourceRow]:
        """Yield the papers in the order of relevance, after the first `start` ones."""
        position: int | None = start
        while position is not None and position < self._limit:
            page = self._first_page if position == 0 else self._fetch_page(position)
            for number, (values, problem) in enumerate(
                page.rows[: self._limit - position], start=position + 1
            ):
                yield SourceRow(place=f"result {number}", values=values, problem=problem)
            position = page.next

    def params_of(self, query: str, position: int, count: int) -> dict[str, str | int]:
        """Return the parameters of a request for so many results from a position on."""
        raise NotImplementedError

    def read_page(self, answer: Fetched, *, position: int) -> PaperPage:
        """Return the page; raise UnusableAnswerError, which retries, where it cannot be the page at
        this position.
        """
        raise NotImplementedError

    @cached_property
    def _first_page(self) -> PaperPage:
        return self._fetch_page(0)

    def _fetch_page(self, position: int) -> PaperPage:
        params = self.params_of(self._query, position, min(PAGE_ROWS, self._limit - position))
        try:
            return self._getter.fetch(params, read=partial(self.read_page, position=position))
        except UnavailableError as error:
            raise UnavailableError(
                f"{self.name}: stopped at result {position + 1}: {error.message}; add it again to"
                " go on from there"
            ) from error


class ArxivPapers(ProviderPapers):
    """A query in arXiv's own syntax (`all:attention`, `cat:cs.CL AND ti:parsing`), answered by an
    Atom feed.

    Its rules: one request in three seconds, at most 30,000 results a query. It is known to answer
    an empty page in the middle of results now and then; such a page is asked for again, and is
    never taken for the end.
    """

    title = "arXiv"
    prefix = "arxiv"
    example = "all:attention"
    address = "https://export.arxiv.org/api/query"
    max_rows = 30_000
    usual_pace = Pace(interval_s=3.0)

    def params_of(self, query: str, position: int, count: int) -> dict[str, str | int]:
        """Return the parameters of a request, the most relevant first."""
        order = {"sortBy": "relevance", "sortOrder": "descending"}
        return {"search_query": query, "start": position, "max_results": count, **order}

    def read_page(self, answer: Fetched, *, position: int) -> PaperPage:
        """Return the page of a feed; an empty one in the middle of the results is asked for
        again.
        """
        if answer.status not in (200, 400):
            raise UnavailableError(f"arXiv answered status {answer.status}; try again later")
        try:
            total, entries = read_feed(answer.body)
        except UnusableAnswerError:
            if answer.status == 400:
                raise InputError(
                    "arXiv refused the query (status 400) and did not say why; write it as"
                    " all:attention AND cat:cs.CL"
                ) from None
            raise
        if not entries and not position >= total > 0 and not position == total == 0:
            raise UnusableAnswerError("answered an empty page in the middle of the results")
        end = position + len(entries)
        rows = [
            (values, None if values["id"] else "an entry that is not a paper of arXiv")
            for values in entries
        ]
        return PaperPage(total=total, rows=rows, next=end if end < total else None)


def open_arxiv(text: str, settings: Settings) -> ArxivPapers:
    """Return the source of a query such as `all:attention?limit=500`."""
    query, limit = read_provider_query(text)
    return ArxivPapers(query, limit=limit, offline=settings.offline)


def read_feed(body: bytes) -> tuple[int, list[dict[str, Any]]]:
    """Return the number of all results and those of a feed; raise InputError with arXiv's message
    where it has one.
    """
    root = _parse(body)
    entries = root.findall("atom:entry", SPACES)
    for entry in entries:
        if ERROR_ID.match(_text(entry, "atom:id")):
            raise InputError(
                f"arXiv refused the query: {_text(entry, 'atom:summary')}; write it as"
                " all:attention"
            )
    total = _text(root, "opensearch:totalResults")
    if not total.isdecimal():
        raise UnusableAnswerError("answered a feed without the number of results")
    return int(total), [_values_of(entry) for entry in entries]


def _parse(body: bytes) -> ET.Element:
    """Return the root of an XML document; one with a DTD, which may hold entities, is not read."""
    scout = expat.ParserCreate()
    scout.StartDoctypeDeclHandler = _refuse_doctype
    try:
        scout.Parse(body, True)
        return ET.fromstring(body)
    except (expat.ExpatError, ET.ParseError) as error:
        raise UnusableAnswerError(f"answered incomplete or invalid XML ({error})") from error


def _refuse_doctype(*_declaration: object) -> None:
    raise UnusableAnswerError("answered XML with a DTD, which is not read")


def _values_of(entry: ET.Element) -> dict[str, Any]:
    found = PAPER_ID.fullmatch(_text(entry, "atom:id"))
    published = _text(entry, "atom:published")[:4]
    categories = [category.get("term", "") for category in entry.findall("atom:category", SPACES)]
    return {
        "id": f"arxiv:{found['id']}" if found else "",
        "title": _text(entry, "atom:title"),
        "abstract": _text(entry, "atom:summary"),
        "authors": [
            {
                "name": _text(author, "atom:name"),
                "affiliations": _texts(author, "arxiv:affiliation"),
            }
            for author in entry.findall("atom:author", SPACES)
        ],
        "year": int(published) if published.isdecimal() else None,
        "keywords": [term for term in categories if term],
        "doi": _text(entry, "arxiv:doi"),
        "url": f"https://arxiv.org/abs/{found['id']}" if found else "",
        "venue": _text(entry, "arxiv:journal_ref"),
    }


def _texts(element: ET.Element, path: str) -> list[str]:
    """Return the texts of elements, each on one line."""
    return [
        text
        for one in element.findall(path, SPACES)
        if (text := " ".join((one.text or "").split()))
    ]


def _text(element: ET.Element, path: str) -> str:
    """Return the text of an element on one line; empty where it is missing."""
    return next(iter(_texts(element, path)), "")


class SemanticScholarPapers(ProviderPapers):
    """A query in plain words to the Graph API, answered by JSON.

    Its rules: one request a second, and no more than the first 1,000 results of a query. Its total
    is an estimate: results may end before it, which shows in a page without `next`, or in a refusal
    of the page after the last.
    """

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
        """Return the page of an answer; the refusal of a page after the last result is the end of
        the results.
        """
        if answer.status == 400:
            said = _error_of(answer.body)
            if position and PAST_THE_END in said:
                return PaperPage(total=position, rows=[], next=None)
            raise InputError(
                f"Semantic Scholar refused the query: {said or 'status 400'}; ask in plain words"
            )
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
                    return PaperPage(
                        total=total, rows=[_row_of(paper) for paper in papers], next=following
                    )
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
        "authors": [
            {"name": one.get("name"), "affiliations": one.get("affiliations") or []}
            for one in authors
        ],
        "keywords": paper.get("fieldsOfStudy") or [],
        "doi": (paper.get("externalIds") or {}).get("DOI"),
        **{name: paper.get(name) for name in ("title", "abstract", "year", "url", "venue")},
    }
    return values, None
