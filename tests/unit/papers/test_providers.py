"""arXiv and Semantic Scholar as sources, against a server on loopback that answers as each is
documented to.
"""

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from xml.sax.saxutils import escape

import pytest

from stackroom.errors import InputError, UnavailableError
from stackroom.ingest.ledger import Ledger
from stackroom.ingest.pipeline import Target, ingest
from stackroom.model.scope import WHOLE
from stackroom.net.polite import Clock, Pace
from stackroom.packages import PACKAGES
from stackroom.settings import Settings
from stackroom_catalogues.papers.providers import (
    ArxivPapers,
    ProviderPapers,
    SemanticScholarPapers,
    open_arxiv,
    open_semantic_scholar,
    read_feed,
)
from stackroom_catalogues.papers.rows import MAPPING
from support.memory_shelf import MemoryShelf

pytestmark = pytest.mark.row("P3")

ONLINE = Settings(home=Path("/nowhere"))
OFFLINE = Settings(home=Path("/nowhere"), offline=True)

HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<feed xmlns="http://www.w3.org/2005/Atom">
  <title type="html">ArXiv Query</title>
  <opensearch:totalResults xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/">{total}</opensearch:totalResults>
"""
ERROR = """<entry><id>http://arxiv.org/api/errors#incorrect_id_format_for_1234</id><title>Error</title>
  <summary>incorrect id format for 1234</summary></entry>"""
FULL_ENTRY = """<entry>
    <id>http://arxiv.org/abs/hep-ex/0307015v1</id>
    <published>2003-07-07T13:46:39-04:00</published>
    <title>Multi-Electron Production at High
      Transverse Momenta in ep Collisions at HERA</title>
    <summary>  Multi-electron production is studied &amp; measured.
    </summary>
    <author><name>H1 Collaboration</name></author>
    <author><name>A. Aktas</name>
      <arxiv:affiliation xmlns:arxiv="http://arxiv.org/schemas/atom">DESY,
        Hamburg</arxiv:affiliation></author>
    <arxiv:doi xmlns:arxiv="http://arxiv.org/schemas/atom">10.1140/epjc/s2003-01326-x</arxiv:doi>
    <arxiv:journal_ref
      xmlns:arxiv="http://arxiv.org/schemas/atom">Eur.Phys.J. C31 (2003) 17-29</arxiv:journal_ref>
    <arxiv:primary_category xmlns:arxiv="http://arxiv.org/schemas/atom" term="hep-ex"/>
    <category term="hep-ex" scheme="http://arxiv.org/schemas/atom"/>
    <category term="nucl-ex" scheme="http://arxiv.org/schemas/atom"/>
  </entry>"""
DTD = '<?xml version="1.0" encoding="{0}"?><!DOCTYPE feed [<!ENTITY a "lol">]><feed>&a;</feed>'
NOT_AVAILABLE = {"error": "Requested data for this limit and/or offset is not available"}

Reply = tuple[int, bytes]
"""A status and a body."""


def feed(total: int, *entries: str) -> bytes:
    return (HEAD.format(total=total) + "".join(entries) + "</feed>").encode()


def entry(number: int) -> str:
    return (
        f"<entry><id>http://arxiv.org/abs/2101.{number:05}v3</id><published>2021-01-02T00:00:00Z</published>"
        f"<title>{escape(f'Paper {number}')}</title><summary>About {number}.</summary>"
        f"<author><name>Author {number}</name></author></entry>"
    )


def answer_feed(server: "Server", start: int, size: int) -> Reply:
    last = min(start + size, server.total)
    return 200, feed(server.total, *(entry(number) for number in range(start + 1, last + 1)))


def paper(number: int) -> dict[str, Any]:
    return {
        "paperId": f"{number:040x}",
        "externalIds": {"DOI": f"10.1/{number}", "CorpusId": number},
        "url": f"https://www.semanticscholar.org/paper/{number:040x}",
        "title": f"Paper {number}",
        "abstract": None,
        "venue": "NeurIPS",
        "year": 2020,
        "fieldsOfStudy": ["Computer Science"],
        "authors": [{"authorId": "1", "name": "Ada", "affiliations": ["Analytical Engines"]}],
    }


def answer_json(server: "Server", start: int, size: int) -> Reply:
    had = server.total if server.had is None else server.had
    if start + size > 1_000 or (start and start >= had):
        return 400, json.dumps(NOT_AVAILABLE).encode()
    end = min(start + size, had)
    found = {
        "total": server.total,
        "offset": start,
        "data": [paper(n) for n in range(start + 1, end + 1)],
    }
    return 200, json.dumps(found if end >= server.total else {**found, "next": end}).encode()


@dataclass(frozen=True, kw_only=True)
class Service:
    """One of the services: how it is asked, how it answers, and its pace."""

    papers: type[ProviderPapers]
    open: Callable[[str, Settings], ProviderPapers]
    query: str
    position: str
    answer: Callable[["Server", int, int], Reply]
    interval_s: float
    asked_first: dict[str, str]
    refusal: Reply
    said: str


ARXIV = Service(
    papers=ArxivPapers,
    open=open_arxiv,
    query="all:attention",
    position="start",
    answer=answer_feed,
    interval_s=3.0,
    asked_first={
        "search_query": "all:attention",
        "start": "0",
        "max_results": "100",
        "sortBy": "relevance",
        "sortOrder": "descending",
    },
    refusal=(400, feed(1, ERROR)),
    said="arXiv refused the query: incorrect id format for 1234",
)
SCHOLAR = Service(
    papers=SemanticScholarPapers,
    open=open_semantic_scholar,
    query="graph networks",
    position="offset",
    answer=answer_json,
    interval_s=1.0,
    asked_first={
        "query": "graph networks",
        "offset": "0",
        "limit": "100",
        "fields": (
            "title,abstract,year,venue,authors.name,authors.affiliations,externalIds,url,fieldsOfStudy"
        ),
    },
    refusal=(400, b'{"error": "Unrecognized or unsupported fields: [nmae]"}'),
    said=r"refused the query: Unrecognized or unsupported fields: \[nmae\]",
)


class Handler(BaseHTTPRequestHandler):
    server: "Server"

    def do_GET(self) -> None:
        asked = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
        self.server.asked.append(asked)
        self.server.keys.append(self.headers.get("x-api-key"))
        start = int(asked[self.server.service.position])
        size = int(asked.get("max_results") or asked.get("limit") or 0)
        trouble = self.server.trouble.get(start, [])
        status, body = (
            trouble.pop(0) if trouble else self.server.service.answer(self.server, start, size)
        )
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: Any) -> None:
        """Say nothing."""


class Server(ThreadingHTTPServer):
    """So many papers, of which fewer may really be had; `trouble` is what happens at a position
    before all is well.
    """

    daemon_threads = True

    def __init__(self, service: Service) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.service = service
        self.total = 250
        self.had: int | None = None
        self.trouble: dict[int, list[Reply]] = {}
        self.asked: list[dict[str, str]] = []
        self.keys: list[str | None] = []
        self.slept: list[float] = []

    def source(self, query: str = "", *, limit: int = 1_000, **changes: Any) -> ProviderPapers:
        clock = Clock(
            monotonic=lambda: sum(self.slept), sleep=self.slept.append, chance=lambda: 0.0
        )
        pace = Pace(interval_s=self.service.interval_s, attempts=3)
        url = f"http://127.0.0.1:{self.server_port}/search"
        settings = {"base_url": url, "clock": clock, "pace": pace, **changes}
        return self.service.papers(query or self.service.query, limit=limit, **settings)

    def titles(self, *, start: int = 0, **changes: Any) -> list[Any]:
        return [row.values.get("title") for row in self.source(**changes).iter_rows(start=start)]

    @property
    def starts(self) -> list[int]:
        return [int(asked[self.service.position]) for asked in self.asked]


@pytest.fixture(params=[ARXIV, SCHOLAR], ids=["arxiv", "s2"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A server of each service."""
    with Server(request.param) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


only_arxiv = pytest.mark.parametrize("server", [ARXIV], indirect=True, ids=["arxiv"])
only_scholar = pytest.mark.parametrize("server", [SCHOLAR], indirect=True, ids=["s2"])


def named(first: int, last: int) -> list[str]:
    return [f"Paper {number}" for number in range(first, last + 1)]


def test_pages_of_a_hundred_are_asked_for_one_after_the_other_at_the_pace_of_the_service(
    server: Server,
) -> None:
    rows = list(server.source().iter_rows())
    assert [row.values["title"] for row in rows] == named(1, 250)
    assert [row.place for row in rows[98:101]] == ["result 99", "result 100", "result 101"]
    assert (server.starts, server.slept) == ([0, 100, 200], [server.service.interval_s] * 2)
    assert server.asked[0] == server.service.asked_first


def test_the_limit_cuts_the_results_and_the_count(server: Server) -> None:
    source = server.source(limit=130)
    assert server.asked == []
    assert source.count_rows() == 130
    assert [row.values["title"] for row in source.iter_rows()] == named(1, 130)
    assert [asked.get("max_results", asked.get("limit")) for asked in server.asked] == ["100", "30"]


EMPTY_PAGE = "answered an empty page in the middle of the results"
TROUBLES = [
    pytest.param(service, (status, body), reason, id=f"{service.position} {reason}")
    for service, status, body, reason in (
        (ARXIV, 503, b"Rate exceeded.", "answered status 503"),
        (ARXIV, 200, feed(250, entry(101))[:-20], "incomplete or invalid XML"),
        (ARXIV, 200, feed(250), EMPTY_PAGE),
        (ARXIV, 200, DTD.format("utf-16").encode("utf-16"), "XML with a DTD, which is not read"),
        (
            ARXIV,
            200,
            b'<feed xmlns="http://www.w3.org/2005/Atom"></feed>',
            "without the number of results",
        ),
        (SCHOLAR, 429, b"{}", "answered status 429"),
        (SCHOLAR, 200, b'{"total": 250, "da', "incomplete or invalid JSON"),
        (SCHOLAR, 200, b'{"total": 250, "next": 200, "data": []}', EMPTY_PAGE),
        (SCHOLAR, 200, b'{"total": 250, "data": {}}', "not a page of results"),
        (
            SCHOLAR,
            200,
            b'{"total": 250, "next": 100, "data": [{"paperId": "x"}]}',
            "result 100 follows result 100",
        ),
    )
]


@pytest.mark.parametrize(("server", "trouble", "reason"), TROUBLES, indirect=["server"])
def test_what_goes_wrong_is_tried_again_and_stops_with_the_position_if_it_goes_on(
    server: Server, trouble: Reply, reason: str
) -> None:
    server.trouble[100] = [trouble, trouble]
    assert server.titles() == named(1, 250)
    assert server.starts == [0, 100, 100, 100, 200]
    server.trouble[100] = [trouble] * 3
    rows = server.source().iter_rows()
    assert [next(rows).values["title"] for _ in range(100)] == named(1, 100)
    name = f"{server.service.papers.prefix}:{server.service.query}"
    with pytest.raises(
        UnavailableError, match=f"{name}: stopped at result 101: .*{reason}.*asked 3 times"
    ):
        next(rows)


def test_a_refused_query_is_refused_in_their_own_words_and_not_asked_again(server: Server) -> None:
    server.trouble[0] = [server.service.refusal]
    with pytest.raises(InputError, match=server.service.said):
        server.titles()
    assert len(server.asked) == 1


@pytest.mark.parametrize(("service", "cap"), [(ARXIV, 30_000), (SCHOLAR, 1_000)])
def test_what_a_service_does_not_take_is_refused_before_it_is_asked(
    service: Service, cap: int
) -> None:
    for limit in (0, cap + 1):
        with pytest.raises(InputError, match=f"from 1 to {cap:,} results for a query"):
            service.papers("x", limit=limit)
    for query in ("", "  "):
        with pytest.raises(InputError, match="needs a query"):
            service.papers(query, limit=1)
    for stated in ("", "many", "-1", "1e3", "0", "99999", "9" * 20):
        with pytest.raises(InputError):
            service.open(f"x?limit={stated}", ONLINE)
    with pytest.raises(UnavailableError, match="offline"):
        service.open("x", OFFLINE).count_rows()


def test_an_entry_of_arxiv_becomes_the_row_of_a_paper() -> None:
    assert read_feed(feed(1, FULL_ENTRY))[1] == [
        {
            "id": "arxiv:hep-ex/0307015",
            "title": (
                "Multi-Electron Production at High Transverse Momenta in ep Collisions at HERA"
            ),
            "abstract": "Multi-electron production is studied & measured.",
            "authors": [
                {"name": "H1 Collaboration", "affiliations": []},
                {"name": "A. Aktas", "affiliations": ["DESY, Hamburg"]},
            ],
            "year": 2003,
            "keywords": ["hep-ex", "nucl-ex"],
            "doi": "10.1140/epjc/s2003-01326-x",
            "url": "https://arxiv.org/abs/hep-ex/0307015",
            "venue": "Eur.Phys.J. C31 (2003) 17-29",
        }
    ]


@only_arxiv
def test_a_page_with_fewer_entries_than_asked_for_is_followed_by_the_rest(server: Server) -> None:
    server.trouble[100] = [answer_feed(server, 100, 30)]
    assert server.titles() == named(1, 250)
    assert server.starts == [0, 100, 130, 230]


@only_arxiv
def test_an_interrupted_ingest_asks_on_from_where_it_stopped(server: Server) -> None:
    spec = PACKAGES.get("papers").spec
    shelf, ledger = MemoryShelf(spec), Ledger()
    target = Target(spec=spec, mapping=MAPPING, writer=shelf, ledger=ledger)
    server.total = 700
    server.trouble[600] = [(503, b"Rate exceeded.")] * 3
    with pytest.raises(UnavailableError):
        ingest(server.source(), target, progress=lambda _report: None)
    server.asked.clear()
    ingest(server.source(), target, progress=lambda _report: None)
    assert server.starts[0] == 512
    assert shelf.reader().count(WHOLE) == 700


@only_scholar
def test_a_result_of_semantic_scholar_becomes_the_row_of_a_paper(server: Server) -> None:
    bare = {
        "paperId": "x",
        "externalIds": None,
        "authors": None,
        "fieldsOfStudy": None,
        "title": None,
    }
    found = {"total": 3, "offset": 0, "data": [paper(1), bare, {"paperId": None}]}
    server.trouble[0] = [(200, json.dumps(found).encode())]
    first, second, third = server.source().iter_rows()
    assert first.values == {
        "id": f"s2:{1:040x}",
        "title": "Paper 1",
        "abstract": None,
        "authors": [{"name": "Ada", "affiliations": ["Analytical Engines"]}],
        "year": 2020,
        "keywords": ["Computer Science"],
        "doi": "10.1/1",
        "url": f"https://www.semanticscholar.org/paper/{1:040x}",
        "venue": "NeurIPS",
    }
    assert (second.values["id"], second.values["doi"], second.values["authors"]) == (
        "s2:x",
        None,
        [],
    )
    assert third.problem == "a result without a paper id"


@only_scholar
@pytest.mark.parametrize(("key", "sent"), [("secret", "secret"), ("", None)])
def test_the_key_is_sent_where_there_is_one(server: Server, key: str, sent: str | None) -> None:
    server.source(headers={"x-api-key": key} if key else {}).count_rows()
    assert server.keys == [sent]


@only_scholar
def test_no_page_reaches_past_the_first_thousand(server: Server) -> None:
    server.total = 5_000
    assert server.titles() == named(1, 1_000)
    assert server.titles(start=950) == named(951, 1_000)


@only_scholar
@pytest.mark.parametrize("had", [100, 192])
def test_results_that_end_before_the_estimated_total_are_all_the_results(
    server: Server, had: int
) -> None:
    server.had = had
    assert server.titles() == named(1, had)


@only_scholar
@pytest.mark.parametrize(
    ("status", "hint"), [(403, "status 403; is the key right"), (404, "status 404; try again")]
)
def test_any_other_status_is_unavailable_at_once(server: Server, status: int, hint: str) -> None:
    server.trouble[0] = [(status, b'{"message": "Forbidden"}')]
    with pytest.raises(UnavailableError, match=hint):
        server.titles()
    assert len(server.asked) == 1
