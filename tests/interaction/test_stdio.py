"""A real MCP client, and a raw one, against the real server process over standard input and output."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from queue import Empty, Queue
from typing import Any

import anyio.from_thread
import jsonschema
import pytest
from mcp import Client, types
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError

pytestmark = pytest.mark.model

STACKROOM = str(Path(sys.executable).with_name("stackroom"))
TOOLS = ["browse_taxonomy", "get_anime_details", "recommend_similar", "search_anime"]
ERAS = {"legacy": "2025-11-25", "2026-07-28": "2026-07-28"}
"""How the client connects, and the revision both ends then speak."""

GOOD_CALLS: list[tuple[str, dict[str, Any]]] = [
    ("search_anime", {"query": "melancholy journey through space"}),
    ("search_anime", {"query": "re:zero", "limit": 50}),
    ("search_anime", {"query": "進撃", "limit": 1, "filters": None}),
    ("search_anime", {"query": "robots", "filters": {"type": ["MOVIE"], "yearMin": 1980, "yearMax": 2000}}),
    ("search_anime", {"query": "nothing fits", "filters": {"yearMin": 2999}}),
    ("search_anime", {"query": "drama", "filters": {"status": ["FINISHED"], "tags": ["drama", "romance"]}}),
    ("recommend_similar", {"titles": ["Cowbow Bebop"]}),
    (
        "recommend_similar",
        {"titles": ["Mushishi", "Aria the Animation"], "preferences": "post-2010, not horror", "limit": 20},
    ),
    ("recommend_similar", {"titles": ["Monster"], "excludeTitles": ["Death Note"], "preferences": None}),
    ("get_anime_details", {"title": "fulmetal alchemst"}),
    ("get_anime_details", {"id": "mal-1"}),
    ("get_anime_details", {"id": "mal-does-not-exist"}),
    ("get_anime_details", {"title": "qqqqqqqq zzzzzzz"}),
    ("browse_taxonomy", {}),
    ("browse_taxonomy", {"category": "setting"}),
    ("browse_taxonomy", {"search": "vampir"}),
    ("browse_taxonomy", {"category": "demographic", "search": "nothing of the kind"}),
]
BAD_CALLS: list[tuple[str, dict[str, Any], str]] = [
    ("search_anime", {}, "'query' is missing"),
    ("search_anime", {"query": 7}, "'query'"),
    ("search_anime", {"query": "x", "limit": 51}, "must be 50 or less"),
    ("search_anime", {"query": "x", "limit": 0}, "must be 1 or more"),
    ("search_anime", {"query": "x", "limit": "many"}, "'limit'"),
    ("search_anime", {"query": "x", "qurey": "y"}, "did you mean 'query'?"),
    ("search_anime", {"query": "x", "filters": {"yearmin": 2000}}, "did you mean 'yearMin'?"),
    ("search_anime", {"query": "x", "filters": {"year_min": 2000}}, "did you mean 'yearMin'?"),
    ("search_anime", {"query": "x", "filters": {"type": ["BOOK"]}}, "MOVIE"),
    ("search_anime", {"query": "x", "filters": {"yearMin": 2010, "yearMax": 2000}}, "2010 is after"),
    ("search_anime", {"query": "x", "filters": {"yearMin": 10**400}}, "yearMin"),
    ("recommend_similar", {"titles": []}, "'titles'"),
    ("recommend_similar", {"titles": ["x"] * 11}, "'titles'"),
    ("recommend_similar", {"titles": ["Monster"], "limit": 21}, "must be 20 or less"),
    ("recommend_similar", {"titles": ["qqqqqqqq zzzzzzz"]}, "no title like 'qqqqqqqq zzzzzzz'"),
    ("get_anime_details", {}, "either 'title' or 'id'"),
    ("get_anime_details", {"title": "Monster", "id": "mal-19"}, "either 'title' or 'id'"),
    ("browse_taxonomy", {"category": "gnere"}, "'genre'"),
]


class Assistant:
    """A connected client, for code that does not wait."""

    def __init__(self, client: Client, portal: anyio.from_thread.BlockingPortal) -> None:
        self._client = client
        self._portal = portal

    @property
    def revision(self) -> str:
        """The protocol revision in use."""
        return str(self._client.protocol_version)

    def list_tools(self) -> list[types.Tool]:
        """Ask for the tools, past the client's cache."""
        return list(self._portal.call(lambda: self._client.list_tools(cache_mode="bypass")).tools)

    def call(self, tool: str, arguments: Mapping[str, Any]) -> types.CallToolResult:
        """Call a tool."""
        return self._portal.call(self._client.call_tool, tool, dict(arguments))

    def read(self, uri: str) -> types.TextResourceContents | types.BlobResourceContents:
        """Read a resource."""
        (content,) = self._portal.call(self._client.read_resource, uri).contents
        return content

    def schema(self, tool: str) -> dict[str, Any]:
        """Return the output schema of a tool."""
        return next(one.output_schema for one in self.list_tools() if one.name == tool) or {}


def environment(home: Path) -> dict[str, str]:
    return {"STACKROOM_HOME": str(home), "PYTHONWARNINGS": "error::RuntimeWarning"}


@pytest.fixture(scope="module", params=list(ERAS))
def assistant(request: pytest.FixtureRequest, sample_home: Path, tmp_path_factory: Any) -> Iterator[Assistant]:
    """A client that started the server, in each era of the protocol."""
    server = StdioServerParameters(command=STACKROOM, args=["serve", "anime"], env=environment(sample_home))
    with (
        (tmp_path_factory.mktemp("log") / "stderr").open("w") as log,
        anyio.from_thread.start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Client(stdio_client(server, errlog=log), mode=request.param)) as client,
    ):
        yield Assistant(client, portal)


@pytest.mark.row("A13")
def test_the_server_speaks_the_revision_of_the_client_s_era(
    assistant: Assistant, request: pytest.FixtureRequest
) -> None:
    assert assistant.revision in ERAS.values()
    assert assistant.revision == ERAS[request.node.callspec.params["assistant"]]


@pytest.mark.row("A13")
def test_the_tools_come_in_the_same_order_every_time_and_only_read(assistant: Assistant) -> None:
    first, second = assistant.list_tools(), assistant.list_tools()
    assert [tool.name for tool in first] == TOOLS
    assert first == second
    assert all(tool.annotations and tool.annotations.read_only_hint for tool in first)


@pytest.mark.row("Z16")
def test_the_view_of_hits_is_read_over_stdio_too(assistant: Assistant) -> None:
    content = assistant.read("ui://stackroom/hits.html")
    assert content.mime_type == "text/html;profile=mcp-app"


@pytest.mark.parametrize(("tool", "arguments"), GOOD_CALLS, ids=lambda value: str(value)[:60])
@pytest.mark.row("A2")
@pytest.mark.row("A8")
def test_an_answer_fits_the_tool_s_own_schema_and_has_text_beside_it(
    assistant: Assistant, tool: str, arguments: dict[str, Any]
) -> None:
    result = assistant.call(tool, arguments)
    assert result.is_error is False
    jsonschema.validate(result.structured_content, assistant.schema(tool))
    assert [block.type for block in result.content] == ["text"]


@pytest.mark.parametrize(("tool", "arguments", "says"), BAD_CALLS, ids=lambda value: str(value)[:60])
def test_bad_arguments_are_a_result_that_says_what_is_wrong(
    assistant: Assistant, tool: str, arguments: dict[str, Any], says: str
) -> None:
    result = assistant.call(tool, arguments)
    assert result.is_error is True
    assert result.structured_content is None
    text = result.content[0].text
    assert text.startswith("invalid_input: ")
    assert says in text
    assert len(text) < 1_000


def test_an_unknown_tool_is_a_protocol_error_with_a_hint(assistant: Assistant) -> None:
    with pytest.raises(MCPError, match="did you mean 'search_anime'") as caught:
        assistant.call("serch_anime", {"query": "x"})
    assert caught.value.error.code == types.INVALID_PARAMS


@pytest.mark.row("A1")
def test_mushishi_is_among_the_first_ten_for_anime_like_it_but_in_space(assistant: Assistant) -> None:
    found = assistant.call("search_anime", {"query": "anime like mushishi but in space"}).structured_content
    assert "Mushishi" in [hit["title"] for hit in found["results"]]


def test_the_same_question_gets_the_same_answer_to_the_letter(assistant: Assistant) -> None:
    ask = ("search_anime", {"query": "lonely robots", "limit": 50})
    assert assistant.call(*ask).structured_content == assistant.call(*ask).structured_content


def test_many_questions_at_once_are_all_answered(assistant: Assistant) -> None:
    answers: Queue[types.CallToolResult] = Queue()

    def ask(number: int) -> None:
        answers.put(assistant.call("search_anime", {"query": f"question {number}", "limit": 1}))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [answers.get_nowait().is_error for _ in threads] == [False] * 20


class RawClient:
    """Lines in, lines out, with nothing in between."""

    def __init__(self, command: list[str], env: Mapping[str, str], log: Path) -> None:
        with log.open("wb") as errors:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, env={**os.environ, **env}
            )
        self.lines: Queue[bytes] = Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._last_id = 0

    def send(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def ask(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Send a request and return its answer, passing over answers to others."""
        self._last_id += 1
        body = {"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": dict(params or {})}
        self.send(json.dumps(body).encode())
        while True:
            answer: dict[str, Any] = json.loads(self.next_line())
            if answer.get("id") == self._last_id:
                return answer

    def shake_hands(self) -> None:
        """Do what a client of 2025 does first."""
        told = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
        assert "result" in self.ask("initialize", told)
        self.send(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        return self.ask("tools/call", {"name": tool, "arguments": arguments})

    def next_line(self) -> bytes:
        try:
            return self.lines.get(timeout=120)
        except Empty:
            raise AssertionError("the server did not answer within 30 s") from None

    def close_input(self) -> int:
        """Close the server's input and return its exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        code = self.process.wait(120)
        self._reader.join(120)
        return code

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            stream.close()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line)


@pytest.fixture
def start_raw(sample_home: Path, tmp_path: Path) -> Iterator[Callable[..., RawClient]]:
    """Start the server with a raw client."""
    started: list[RawClient] = []

    def start(home: Path = sample_home, **env: str) -> RawClient:
        log = tmp_path / "stderr"
        started.append(RawClient([STACKROOM, "serve", "anime"], {**environment(home), **env}, log))
        return started[-1]

    yield start
    for client in started:
        client.end()


MALFORMED = [
    b"{not json",
    b"",
    b"   ",
    b"null",
    b"42",
    b'"text"',
    b"[]",
    b"[1, 2]",
    b'{"jsonrpc": "2.0"}',
    b'{"jsonrpc": "1.0", "id": 99, "method": "tools/list"}',
    b'{"jsonrpc": "2.0", "id": {}, "method": "tools/list"}',
    b'{"jsonrpc": "2.0", "id": 98, "method": 5}',
    b'{"jsonrpc": "2.0", "id": 97, "result": {}}',
    b'{"jsonrpc": "2.0", "method": "notifications/nonsense"}',
    b'{"jsonrpc": "2.0", "id": 96, "method": "no/such/method"}',
    b'{"jsonrpc": "2.0", "id": 95, "method": "tools/call", "params": {"name": 7}}',
    b'{"jsonrpc": "2.0", "id": 94, "method": "tools/call", "params": {"name": "search_anime", "arguments": "x"}}',
    b"[" * 50_000,
    b'{"a":' * 5_000,
    b"\xff\xfe\x00\x80",
    b"\x00" * 100,
    b"x" * 1_000_000,
]


@pytest.mark.row("A13")
def test_after_malformed_frames_a_good_call_still_works_and_only_protocol_was_written(
    start_raw: Callable[..., RawClient],
) -> None:
    client = start_raw()
    for frame in MALFORMED:
        client.send(frame)
    client.shake_hands()
    for frame in MALFORMED:
        client.send(frame)
    answer = client.call("search_anime", query="re:zero", limit=1)
    assert answer["result"]["structuredContent"]["results"][0]["title"].startswith("Re:Zero")
    assert client.close_input() == 0
    rest = [client.lines.get_nowait() for _ in range(client.lines.qsize())]
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in rest)


def test_a_text_cut_in_the_middle_of_a_character_is_refused_with_the_reason(
    start_raw: Callable[..., RawClient],
) -> None:
    client = start_raw()
    client.shake_hands()
    answer = client.call("search_anime", query="space pirates \ud83d", limit=1)
    assert answer["error"]["code"] == -32602
    assert "surrogate pair" in answer["error"]["message"]
    kept = client.call("get_anime_details", title="\\ud83d 🏴 Mushishi")
    assert kept["result"]["isError"] is False


@pytest.mark.row("A13")
def test_the_server_ends_when_its_input_closes(start_raw: Callable[..., RawClient]) -> None:
    client = start_raw()
    client.shake_hands()
    assert client.close_input() == 0


@pytest.mark.row("A13")
def test_the_server_ends_when_its_input_closes_before_anything_was_asked(start_raw: Callable[..., RawClient]) -> None:
    assert start_raw().close_input() == 0


@pytest.mark.row("A12")
def test_a_server_whose_embedder_is_not_there_starts_warns_and_answers_by_words(
    start_raw: Callable[..., RawClient], tmp_path: Path
) -> None:
    model = {"STACKROOM_EMBED_MODEL": "all-MiniLM-L6-v2", "STACKROOM_EMBED_DIMENSION": "384"}
    client = start_raw(STACKROOM_EMBED_KIND="infinity", STACKROOM_EMBED_URL="http://127.0.0.1:9", **model)
    client.shake_hands()
    found = client.call("search_anime", query="re:zero")["result"]["structuredContent"]
    assert found["searchMode"] == "fts_only"
    assert "cannot be reached" in found["degraded"]
    assert found["results"][0]["matchType"] == "fts"
    assert client.close_input() == 0
    assert "vector search is off" in (tmp_path / "stderr").read_text()
