"""arXiv as a source, against a server on loopback that answers as the API is documented to, well and badly."""

import threading
from collections.abc import Callable, Iterator
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
from stackroom.sources.location import read_provider_query
from stackroom_catalogues.papers.arxiv import ArxivPapers, open_arxiv, read_feed
from stackroom_catalogues.papers.rows import MAPPING
from support.memory_shelf import MemoryShelf

pytestmark = pytest.mark.row("P3")

ONLINE = Settings(home=Path("/nowhere"))

HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<feed xmlns="http://www.w3.org/2005/Atom">
  <title type="html">ArXiv Query</title>
  <opensearch:totalResults xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/">{total}</opensearch:totalResults>
  <opensearch:startIndex xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/">{start}</opensearch:startIndex>
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
    <arxiv:journal_ref xmlns:arxiv="http://arxiv.org/schemas/atom">Eur.Phys.J. C31 (2003) 17-29</arxiv:journal_ref>
    <arxiv:primary_category xmlns:arxiv="http://arxiv.org/schemas/atom" term="hep-ex"/>
    <category term="hep-ex" scheme="http://arxiv.org/schemas/atom"/>
    <category term="nucl-ex" scheme="http://arxiv.org/schemas/atom"/>
    <link href="http://arxiv.org/abs/hep-ex/0307015v1" rel="alternate" type="text/html"/>
  </entry>"""

Reply = Callable[["Server", int, int], tuple[int, bytes, int]]
"""Position and size of a page → status, body, and how long it says to be."""


def entry(number: int) -> str:
    return (
        f"<entry><id>http://arxiv.org/abs/2101.{number:05}v3</id><published>2021-01-02T00:00:00Z</published>"
        f"<title>{escape(f'Paper <{number}>')}</title><summary>About {number}.</summary>"
        f"<author><name>Author {number}</name></author></entry>"
    )


def feed(total: int, entries: list[str], *, start: int = 0) -> bytes:
    return (HEAD.format(total=total, start=start) + "".join(entries) + "</feed>").encode()


class Handler(BaseHTTPRequestHandler):
    server: "Server"

    def do_GET(self) -> None:
        asked = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
        self.server.asked.append(asked)
        start = int(asked["start"])
        reply = self.server.trouble.pop(start, [well])
        status, body, length = reply.pop(0)(self.server, start, int(asked["max_results"]))
        if reply:
            self.server.trouble[start] = reply
        self.send_response(status)
        self.send_header("Content-Length", str(length))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: Any) -> None:
        """Say nothing."""


class Server(ThreadingHTTPServer):
    """So many papers; `trouble` is what happens at a position before all is well there."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.total = 250
        self.trouble: dict[int, list[Reply]] = {}
        self.asked: list[dict[str, str]] = []

    def source(self, query: str = "all:attention", *, limit: int = 1_000, **changes: Any) -> ArxivPapers:
        url = f"http://127.0.0.1:{self.server_port}/api/query"
        clock = Clock(monotonic=lambda: 0.0, sleep=lambda _seconds: None, chance=lambda: 0.0)
        pace = Pace(interval_s=3.0, attempts=3)
        return ArxivPapers(query, limit=limit, **{"base_url": url, "clock": clock, "pace": pace, **changes})

    @property
    def starts(self) -> list[int]:
        return [int(asked["start"]) for asked in self.asked]


def sized(status: int, body: bytes) -> tuple[int, bytes, int]:
    return status, body, len(body)


def page(server: Server, start: int, size: int) -> bytes:
    last = min(start + size, server.total)
    return feed(server.total, [entry(number) for number in range(start + 1, last + 1)], start=start)


def well(server: Server, start: int, size: int) -> tuple[int, bytes, int]:
    return sized(200, page(server, start, size))


def busy(_server: Server, _start: int, _size: int) -> tuple[int, bytes, int]:
    return sized(503, b"Rate exceeded.")


def malformed(server: Server, start: int, size: int) -> tuple[int, bytes, int]:
    whole = page(server, start, size)
    return sized(200, whole[: len(whole) // 2])


def empty(server: Server, start: int, _size: int) -> tuple[int, bytes, int]:
    return sized(200, feed(server.total, [], start=start))


def empty_and_none_in_all(_server: Server, start: int, _size: int) -> tuple[int, bytes, int]:
    return sized(200, feed(0, [], start=start))


def short(server: Server, start: int, _size: int) -> tuple[int, bytes, int]:
    return well(server, start, 30)


def html(_server: Server, _start: int, _size: int) -> tuple[int, bytes, int]:
    return sized(200, b"<!DOCTYPE html><html><body>We are down for maintenance</body></html>")


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def numbers(source: ArxivPapers, *, start: int = 0) -> list[str]:
    return [row.values["id"] for row in source.iter_rows(start=start)]


def ids(first: int, last: int) -> list[str]:
    return [f"arxiv:2101.{number:05}" for number in range(first, last + 1)]


def test_an_entry_becomes_the_row_of_a_paper() -> None:
    assert read_feed(feed(1, [FULL_ENTRY])).entries == [
        {
            "id": "arxiv:hep-ex/0307015",
            "title": "Multi-Electron Production at High Transverse Momenta in ep Collisions at HERA",
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


def test_pages_of_a_hundred_are_asked_for_one_after_the_other(server: Server) -> None:
    rows = list(server.source().iter_rows())
    assert [row.values["id"] for row in rows] == ids(1, 250)
    assert [row.place for row in rows[98:101]] == ["result 99", "result 100", "result 101"]
    assert server.starts == [0, 100, 200]
    assert server.asked[0] == {
        "search_query": "all:attention",
        "start": "0",
        "max_results": "100",
        "sortBy": "relevance",
        "sortOrder": "descending",
    }


def test_the_limit_cuts_the_results_and_the_count(server: Server) -> None:
    source = server.source(limit=130)
    assert source.count_rows() == 130
    assert numbers(source) == ids(1, 130)
    assert [asked["max_results"] for asked in server.asked] == ["100", "30"]


def test_reading_goes_on_from_where_it_was_interrupted(server: Server) -> None:
    assert numbers(server.source(), start=120) == ids(121, 250)
    assert server.starts == [120, 220]
    assert numbers(server.source(), start=250) == []


@pytest.mark.parametrize("trouble", [busy, malformed, empty, empty_and_none_in_all])
@pytest.mark.parametrize("start", [100, 200])
def test_what_goes_wrong_once_in_the_middle_is_tried_again(server: Server, trouble: Reply, start: int) -> None:
    server.trouble[start] = [trouble, trouble]
    assert numbers(server.source()) == ids(1, 250)
    assert server.starts.count(start) == 3


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        (busy, "answered status 503"),
        (malformed, "incomplete or invalid XML"),
        (empty, "answered an empty page in the middle of the results"),
        (empty_and_none_in_all, "answered an empty page in the middle of the results"),
        (html, "XML with a DTD"),
    ],
)
def test_what_goes_on_being_wrong_stops_with_the_position_and_never_short(
    server: Server, trouble: Reply, reason: str
) -> None:
    server.trouble[200] = [trouble] * 3
    rows = server.source().iter_rows()
    assert [next(rows).values["id"] for _ in range(200)] == ids(1, 200)
    with pytest.raises(
        UnavailableError, match=f"arxiv:all:attention: stopped at result 201: .*{reason}.*asked 3 times"
    ):
        next(rows)


def test_a_page_with_fewer_entries_than_asked_for_is_followed_by_the_rest(server: Server) -> None:
    server.trouble[100] = [short]
    assert numbers(server.source()) == ids(1, 250)
    assert server.starts == [0, 100, 130, 230]


@pytest.mark.parametrize("status", [200, 400])
def test_an_error_entry_is_refused_in_arxivs_own_words_and_not_asked_again(server: Server, status: int) -> None:
    server.trouble[0] = [lambda *_: sized(status, feed(1, [ERROR]))]
    with pytest.raises(InputError, match="arXiv refused the query: incorrect id format for 1234"):
        numbers(server.source())
    assert len(server.asked) == 1


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_entities_are_never_expanded(server: Server, encoding: str) -> None:
    bomb = f'<?xml version="1.0" encoding="{encoding}"?><!DOCTYPE feed [<!ENTITY a "lol">]><feed>&a;</feed>'
    server.trouble[0] = [lambda *_: sized(200, bomb.encode(encoding))] * 3
    with pytest.raises(UnavailableError, match="XML with a DTD, which is not read"):
        numbers(server.source())


def test_a_feed_without_a_total_is_not_believed(server: Server) -> None:
    server.trouble[0] = [lambda *_: sized(200, b'<feed xmlns="http://www.w3.org/2005/Atom"></feed>')] * 3
    with pytest.raises(UnavailableError, match="without the number of results"):
        numbers(server.source())


def test_an_entry_that_is_no_paper_comes_with_its_problem(server: Server) -> None:
    server.trouble[0] = [lambda *_: sized(200, feed(1, ["<entry><id>urn:x</id></entry>"]))]
    (row,) = server.source().iter_rows()
    assert row.problem == "an entry that is not a paper of arXiv"


@pytest.mark.parametrize(("query", "limit"), [("", 1), ("  ", 1), ("all:x", 0), ("all:x", 30_001)])
def test_what_arxiv_does_not_take_is_refused_before_it_is_asked(query: str, limit: int) -> None:
    with pytest.raises(InputError):
        ArxivPapers(query, limit=limit)


def test_an_interrupted_ingest_asks_on_from_where_it_stopped(server: Server) -> None:
    spec = PACKAGES.get("papers").spec
    shelf, ledger = MemoryShelf(spec), Ledger()
    target = Target(spec=spec, mapping=MAPPING, writer=shelf, ledger=ledger)
    server.total = 700
    server.trouble[600] = [busy] * 3
    with pytest.raises(UnavailableError):
        ingest(server.source(), target, progress=lambda _report: None)
    server.asked.clear()
    ingest(server.source(), target, progress=lambda _report: None)
    assert server.starts[0] == 512
    reader = shelf.reader()
    assert len(reader.find(ids(1, 700), scope=WHOLE)) == 700  # type: ignore[arg-type]


@pytest.mark.parametrize(("question", "count"), [("all:x?limit=7", 7), ("all:x", 250), ("all:what?limit=2?limit=3", 3)])
def test_a_question_may_say_how_many_results_are_wanted(server: Server, question: str, count: int) -> None:
    query, limit = read_provider_query(question)
    assert server.source(query, limit=limit).count_rows() == count
    assert open_arxiv(question, ONLINE).name == f"arxiv:{query}"


@pytest.mark.parametrize("limit", ["", "many", "-1", "1e3", "0", "99999", "9" * 20])
def test_a_limit_that_is_none_is_refused(limit: str) -> None:
    with pytest.raises(InputError):
        open_arxiv(f"all:x?limit={limit}", ONLINE)


def test_a_question_asked_offline_is_refused() -> None:
    with pytest.raises(UnavailableError, match="offline"):
        open_arxiv("all:x", Settings(home=Path("/nowhere"), offline=True)).count_rows()
