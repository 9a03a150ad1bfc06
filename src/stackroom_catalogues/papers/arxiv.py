"""Papers from the arXiv API: the answers to a query, page by page, as an Atom feed.

Its rules: one request in three seconds, at most 30,000 results a query. It is known to answer an empty page in the
middle of results now and then; such a page is asked for again, and is never taken for the end.
"""

import re
import xml.etree.ElementTree as ET
from typing import Any, NamedTuple
from xml.parsers import expat

from stackroom.api import InputError, Settings, UnavailableError
from stackroom.api.network import Fetched, Pace, UnusableAnswerError, read_provider_query
from stackroom_catalogues.papers.provider import PaperPage, ProviderPapers

SPACES = {
    "atom": "http://www.w3.org/2005/Atom",
    "arxiv": "http://arxiv.org/schemas/atom",
    "opensearch": "http://a9.com/-/spec/opensearch/1.1/",
}
ERROR_ID = re.compile(r"https?://arxiv\.org/api/errors")
PAPER_ID = re.compile(r"https?://arxiv\.org/abs/(?P<id>.+?)(v\d+)?")


class Feed(NamedTuple):
    """A page of results, and how many results the query has in all."""

    total: int
    entries: list[dict[str, Any]]


class ArxivPapers(ProviderPapers):
    """A query in arXiv's own syntax (`all:attention`, `cat:cs.CL AND ti:parsing`)."""

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
        """Return the page of a feed; an empty one in the middle of the results is asked for again."""
        if answer.status not in (200, 400):
            raise UnavailableError(f"arXiv answered status {answer.status}; try again later")
        try:
            feed = read_feed(answer.body)
        except UnusableAnswerError:
            if answer.status == 400:
                raise InputError(
                    "arXiv refused the query (status 400) and did not say why; write it as all:attention AND cat:cs.CL"
                ) from None
            raise
        if not feed.entries and not position >= feed.total > 0 and not position == feed.total == 0:
            raise UnusableAnswerError("answered an empty page in the middle of the results")
        end = position + len(feed.entries)
        rows = [(values, None if values["id"] else "an entry that is not a paper of arXiv") for values in feed.entries]
        return PaperPage(total=feed.total, rows=rows, next=end if end < feed.total else None)


def open_arxiv(text: str, settings: Settings) -> ArxivPapers:
    """Return the source of a query such as `all:attention?limit=500`."""
    query, limit = read_provider_query(text)
    return ArxivPapers(query, limit=limit, offline=settings.offline)


def read_feed(body: bytes) -> Feed:
    """Parse a feed; raise InputError with arXiv's message where the feed is an error."""
    root = _parse(body)
    entries = root.findall("atom:entry", SPACES)
    for entry in entries:
        if ERROR_ID.match(_text(entry, "atom:id")):
            raise InputError(f"arXiv refused the query: {_text(entry, 'atom:summary')}; write it as all:attention")
    total = _text(root, "opensearch:totalResults")
    if not total.isdecimal():
        raise UnusableAnswerError("answered a feed without the number of results")
    return Feed(total=int(total), entries=[_values_of(entry) for entry in entries])


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
            {"name": _text(author, "atom:name"), "affiliations": _texts(author, "arxiv:affiliation")}
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
    return [text for one in element.findall(path, SPACES) if (text := " ".join((one.text or "").split()))]


def _text(element: ET.Element, path: str) -> str:
    """Return the text of an element on one line; empty where it is missing."""
    return next(iter(_texts(element, path)), "")
