"""Semantic Scholar as a source, against a server on loopback that answers as the API is documented to."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from stackroom.errors import InputError, UnavailableError
from stackroom.net.polite import Clock, Pace
from stackroom.settings import Settings, load_settings, read_section
from stackroom_catalogues.papers.semantic_scholar import SemanticScholarPapers, open_semantic_scholar
from stackroom_catalogues.papers.settings import PapersSettings

pytestmark = pytest.mark.row("P3")

ONLINE = Settings(home=Path("/nowhere"))

NOT_AVAILABLE = {"error": "Requested data for this limit and/or offset is not available"}
Reply = tuple[int, Any]
"""A status, and a body: bytes, or what is to be sent as JSON."""


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


class Handler(BaseHTTPRequestHandler):
    server: "Server"

    def do_GET(self) -> None:
        asked = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
        self.server.asked.append(asked)
        self.server.keys.append(self.headers.get("x-api-key"))
        trouble = self.server.trouble.get(int(asked["offset"]), [])
        status, value = trouble.pop(0) if trouble else self.server.well(int(asked["offset"]), int(asked["limit"]))
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: Any) -> None:
        """Say nothing."""


class Server(ThreadingHTTPServer):
    """So many papers, of which fewer may really be had; `trouble` is what happens at an offset before all is well."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.total = 250
        self.had = 250
        self.trouble: dict[int, list[Reply]] = {}
        self.asked: list[dict[str, str]] = []
        self.keys: list[str | None] = []
        self.slept: list[float] = []

    def source(self, query: str = "graph networks", *, limit: int = 1_000, **changes: Any) -> SemanticScholarPapers:
        url = f"http://127.0.0.1:{self.server_port}/graph/v1/paper/search"
        clock = Clock(monotonic=lambda: sum(self.slept), sleep=self.slept.append, chance=lambda: 0.0)
        settings = {"base_url": url, "clock": clock, "pace": Pace(interval_s=1.0, attempts=3), **changes}
        return SemanticScholarPapers(query, limit=limit, **settings)

    def well(self, offset: int, limit: int) -> Reply:
        if offset + limit > 1_000 or (offset and offset >= self.had):
            return 400, NOT_AVAILABLE
        end = min(offset + limit, self.had)
        found = {"total": self.total, "offset": offset, "data": [paper(n) for n in range(offset + 1, end + 1)]}
        return 200, found if end >= self.total else {**found, "next": end}

    @property
    def offsets(self) -> list[int]:
        return [int(asked["offset"]) for asked in self.asked]


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def titles(source: SemanticScholarPapers, *, start: int = 0) -> list[Any]:
    return [row.values.get("title") for row in source.iter_rows(start=start)]


def named(first: int, last: int) -> list[str]:
    return [f"Paper {number}" for number in range(first, last + 1)]


def test_a_result_becomes_the_row_of_a_paper(server: Server) -> None:
    first = next(server.source().iter_rows())
    assert first.place == "result 1"
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


def test_a_result_with_nothing_but_its_id_is_still_a_row(server: Server) -> None:
    bare = {"paperId": "x", "externalIds": None, "authors": None, "fieldsOfStudy": None, "title": None}
    server.trouble[0] = [(200, {"total": 2, "offset": 0, "data": [bare, {"paperId": None}]})]
    first, second = server.source().iter_rows()
    assert (first.values["id"], first.values["doi"], first.values["authors"]) == ("s2:x", None, [])
    assert second.problem == "a result without a paper id"


def test_pages_of_a_hundred_follow_next_a_second_apart(server: Server) -> None:
    assert titles(server.source()) == named(1, 250)
    assert server.offsets == [0, 100, 200]
    assert server.slept == [1.0, 1.0]
    assert server.asked[0] == {
        "query": "graph networks",
        "offset": "0",
        "limit": "100",
        "fields": "title,abstract,year,venue,authors.name,authors.affiliations,externalIds,url,fieldsOfStudy",
    }


@pytest.mark.parametrize(("key", "sent"), [("secret", "secret"), ("", None)])
def test_the_key_is_sent_where_there_is_one(server: Server, key: str, sent: str | None) -> None:
    server.source(headers={"x-api-key": key} if key else {}).count_rows()
    assert server.keys == [sent]


def test_the_limit_cuts_the_results_and_the_count(server: Server) -> None:
    source = server.source(limit=130)
    assert server.asked == []
    assert source.count_rows() == 130
    assert titles(source) == named(1, 130)
    assert [asked["limit"] for asked in server.asked] == ["100", "30"]


def test_no_page_reaches_past_the_first_thousand(server: Server) -> None:
    server.total = server.had = 5_000
    assert titles(server.source()) == named(1, 1_000)
    assert titles(server.source(), start=950) == named(951, 1_000)


@pytest.mark.parametrize("had", [100, 192])
def test_results_that_end_before_the_estimated_total_are_all_the_results(server: Server, had: int) -> None:
    server.had = had
    assert titles(server.source()) == named(1, had)


@pytest.mark.parametrize(
    "trouble",
    [
        (200, b'{"total": 250, "da'),
        (200, {"total": 250, "offset": 100, "next": 200, "data": []}),
        (200, {"message": "Internal server error"}),
        (200, {"total": 250, "offset": 100, "next": 100, "data": [paper(101)]}),
        (200, []),
        (200, {"total": 250, "data": {}}),
    ],
)
def test_what_goes_wrong_once_is_tried_again(server: Server, trouble: Reply) -> None:
    server.trouble[100] = [trouble, trouble]
    assert titles(server.source()) == named(1, 250)
    assert server.offsets == [0, 100, 100, 100, 200]


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        ((429, {}), "answered status 429"),
        ((200, b"{"), "incomplete or invalid JSON"),
        ((200, {"total": 250, "next": 200, "data": []}), "answered an empty page in the middle"),
        ((200, {"error": "x"}), "not a page of results"),
    ],
)
def test_what_goes_on_being_wrong_stops_with_the_position(server: Server, trouble: Reply, reason: str) -> None:
    server.trouble[100] = [trouble] * 3
    rows = server.source().iter_rows()
    assert [next(rows).values["title"] for _ in range(100)] == named(1, 100)
    with pytest.raises(UnavailableError, match=f"s2:graph networks: stopped at result 101: .*{reason}.*asked 3 times"):
        next(rows)


def test_a_refused_query_is_refused_in_their_own_words_and_not_asked_again(server: Server) -> None:
    server.trouble[0] = [(400, {"error": "Unrecognized or unsupported fields: [nmae]"})]
    with pytest.raises(InputError, match=r"refused the query: Unrecognized or unsupported fields: \[nmae\]"):
        titles(server.source())
    assert len(server.asked) == 1


@pytest.mark.parametrize(("status", "hint"), [(403, "status 403; is the key right"), (404, "status 404$")])
def test_any_other_status_is_unavailable_at_once(server: Server, status: int, hint: str) -> None:
    server.trouble[0] = [(status, {"message": "Forbidden"})]
    with pytest.raises(UnavailableError, match=hint):
        titles(server.source())
    assert len(server.asked) == 1


def test_more_than_they_give_is_refused_with_their_cap() -> None:
    with pytest.raises(InputError, match="from 1 to 1,000 results for a query"):
        SemanticScholarPapers("x", limit=1_001)
    with pytest.raises(InputError, match="needs a query"):
        SemanticScholarPapers(" ", limit=1)


def test_a_question_may_say_how_many_results_are_wanted() -> None:
    assert open_semantic_scholar("graph networks?limit=5", ONLINE).name == "s2:graph networks"
    with pytest.raises(InputError, match="from 1 to 1,000"):
        open_semantic_scholar("graph networks?limit=1001", ONLINE)
    with pytest.raises(UnavailableError, match="offline"):
        open_semantic_scholar("graph networks", Settings(home=Path("/nowhere"), offline=True)).count_rows()


def test_the_key_comes_from_the_file_or_the_environment_and_a_number_is_refused(tmp_path: Path) -> None:
    (tmp_path / "stackroom.toml").write_text('semantic_scholar_key = "from the file"')
    environment = {"STACKROOM_HOME": str(tmp_path)}
    assert key_of(environment) == "from the file"
    assert key_of({**environment, "SEMANTIC_SCHOLAR_API_KEY": "from outside"}) == "from outside"
    (tmp_path / "stackroom.toml").write_text("semantic_scholar_key = 3")
    with pytest.raises(InputError, match="setting 'semantic_scholar_key': 3 is not a text; write one in quotes"):
        key_of(environment)


def key_of(environment: dict[str, str]) -> str:
    return read_section(load_settings(environment), "", PapersSettings).semantic_scholar_key
