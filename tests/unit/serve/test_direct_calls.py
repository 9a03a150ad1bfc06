"""Calls that are answered without the SDK: the same answers, from bytes that are kept, and little
work.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import orjson
import pytest
from mcp import types
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from starlette.testclient import TestClient

from stackroom.control.accounts.limits import RateLimiter
from stackroom.gate.answer import AnswerCache
from stackroom.gate.gate import Gate
from stackroom.model.principal import LOCAL_USER
from stackroom.serve.async_gate import AsyncGate, DirectCalls, Workers, caller_of
from stackroom.serve.connections import Streams
from stackroom.serve.http.app import build_app
from stackroom.serve.http.guard import Authenticator
from stackroom.settings import Settings
from stackroom.tools.operation import Origin, origin_of
from stackroom.tools.toolbox import Toolbox
from support.clients import build_server
from support.plain_tools import Notes, loaded, make_tool
from support.work import record

pytestmark = pytest.mark.row("A14")

LOCAL = origin_of(via="stdio")
MODERN = MODERN_PROTOCOL_VERSIONS[-1]
LEGACY = HANDSHAKE_PROTOCOL_VERSIONS[-1]
ABOUT = {"name": "raw", "version": "1"}
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": ABOUT,
    "io.modelcontextprotocol/clientCapabilities": {},
}
MOST_OWN_CALLS = 60
BOTH = {"Accept": "application/json, text/event-stream"}


def make_gate(*observers: Any) -> Gate:
    works = make_tool("works", is_kept=True, reads_nothing=True)
    tools = [works, make_tool("slow"), make_tool("broken", run=lambda *_given: 1 // 0)]
    return Gate(Toolbox(tools), observers=observers, cache=AnswerCache(10), limiter=RateLimiter())


def call(name: str = "works", number: Any = 1, **params: Any) -> dict[str, Any]:
    return {
        "jsonrpc": "2.0",
        "id": number,
        "method": "tools/call",
        "params": {"name": name, **params},
    }


def request(**given: Any) -> types.JSONRPCRequest:
    return types.JSONRPCRequest.model_validate(call(**given))


def direct_over(gate: Gate) -> DirectCalls:
    return DirectCalls(AsyncGate(loaded(gate), Workers()), {"name": "stackroom"})


def answer(direct: DirectCalls, caller: Origin, message: Any, revision: str) -> Any:
    """Return the answer to a message, for which nothing may be waited for."""
    with pytest.raises(StopIteration) as ended:
        direct.answer(caller, message, revision).send(None)
    return ended.value.value


@pytest.fixture
def notes() -> Notes:
    return Notes()


@pytest.fixture
def client(tmp_path: Path, notes: Notes) -> Iterator[TestClient]:
    gate = make_gate(notes)
    app = build_app(
        build_server(lambda: gate, caller_of),
        Settings(home=tmp_path),
        authenticator=Authenticator(None, base_url=lambda _scope: ""),
        streams=Streams(10),
    )
    with TestClient(app, base_url="http://localhost") as opened:
        yield opened


def result_of(response: Any) -> Any:
    text = response.text
    if response.headers["content-type"].startswith("text/event-stream"):
        text = next(line for line in text.splitlines() if line.startswith("data: ")).removeprefix(
            "data: "
        )
    return orjson.loads(text)["result"]


def post_alone(client: TestClient, name: str, meta: dict[str, Any] = META, **headers: str) -> Any:
    given = {
        **BOTH,
        "MCP-Protocol-Version": MODERN,
        "Mcp-Method": "tools/call",
        "Mcp-Name": name,
        **headers,
    }
    return client.post("/mcp", json=call(name, _meta=meta), headers=given)


def test_without_a_session_a_read_needs_no_sdk_unless_its_client_shows_views(
    client: TestClient, notes: Notes
) -> None:
    shown = {
        "extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]}}
    }
    views = {**META, "io.modelcontextprotocol/clientCapabilities": shown}
    # which waits for the gate to be loaded, and so is the SDK's
    first = post_alone(client, "works")
    handle = StreamableHTTPSessionManager.handle_request
    with patch.object(
        StreamableHTTPSessionManager, "handle_request", autospec=True, side_effect=handle
    ) as passed_on:
        cached, read = post_alone(client, "works"), post_alone(client, "slow")
        assert passed_on.call_count == 0
        assert (
            result_of(first)
            == result_of(cached)
            == result_of(read)
            == result_of(post_alone(client, "slow", views))
        )
        assert all("error" in post_alone(client, name).json() for name in ("broken", "no.such"))
    assert passed_on.call_count == 3
    assert [note.outcome for note in notes.entries] == ["ok"] * 4 + ["failed", "refused"]


def test_in_a_session_a_cached_answer_is_the_same_and_one_body(client: TestClient) -> None:
    hello = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": ABOUT}
    opened = client.post(
        "/mcp", json={**call(number=0), "method": "initialize", "params": hello}, headers=BOTH
    )
    session = {
        **BOTH,
        "MCP-Protocol-Version": LEGACY,
        "Mcp-Session-Id": opened.headers["mcp-session-id"],
    }
    first, cached = [client.post("/mcp", json=call(), headers=session) for _ in range(2)]
    assert first.headers["content-type"].startswith("text/event-stream")
    assert cached.headers["content-type"] == "application/json"
    assert cached.headers["mcp-session-id"] == session["Mcp-Session-Id"]
    assert result_of(first) == result_of(cached)
    client.delete("/mcp", headers=session)
    assert client.post("/mcp", json=call(), headers=session).status_code == 404
    assert (
        client.post(
            "/mcp", json=call(), headers={**session, "Mcp-Session-Id": "0" * 32}
        ).status_code
        == 404
    )


@pytest.mark.parametrize(
    "changed",
    [
        {"Mcp-Name": "slow"},
        {"Mcp-Method": "tools/list"},
        {"Accept": "text/event-stream"},
        {"Mcp-Name": ""},
    ],
)
def test_a_request_whose_headers_say_something_else_is_refused_although_its_answer_is_cached(
    client: TestClient, changed: dict[str, str]
) -> None:
    for _ in range(2):
        assert post_alone(client, "works").status_code == 200
    assert post_alone(client, "works", **changed).status_code in {400, 406}


@pytest.mark.parametrize("revision", [*HANDSHAKE_PROTOCOL_VERSIONS, *MODERN_PROTOCOL_VERSIONS])
def test_only_revisions_that_know_the_type_of_a_result_say_it(revision: str) -> None:
    gate = make_gate()
    direct = direct_over(gate)
    gate.call(LOCAL_USER, "works", {})
    meta = {"_meta": META} if revision in MODERN_PROTOCOL_VERSIONS else {}
    found = answer(direct, LOCAL, request(**meta), revision)
    assert isinstance(found, bytes)
    result = orjson.loads(found)["result"]
    assert result["structuredContent"] == {"done": True}
    assert ("resultType" in result) == (revision in MODERN_PROTOCOL_VERSIONS)


def test_what_is_not_answered_yet_goes_on_with_what_was_begun_and_is_noted_once(
    notes: Notes,
) -> None:
    gate = make_gate(notes)
    begun = answer(direct_over(gate), LOCAL, request(name="slow"), LEGACY)
    assert begun.finish().text == "done"
    assert len(notes.entries) == 1


def test_an_unknown_tool_and_wrong_parameters_are_left_to_the_sdk(notes: Notes) -> None:
    direct = direct_over(make_gate(notes))
    for given in ({"name": "no.such"}, {"name": ["x"]}, {"arguments": "x"}):
        assert not isinstance(answer(direct, LOCAL, request(**given), LEGACY), bytes)
    assert len(notes.entries) == 1  # the unknown tool, whose call is begun


def test_a_cached_answer_is_encoded_once_and_takes_no_more_than_so_many_own_calls() -> None:
    """The bound is a tenth above what was measured."""
    gate = make_gate(Notes())
    direct = direct_over(gate)
    gate.call(LOCAL_USER, "works", {})
    answer(direct, LOCAL, request(), LEGACY)
    again = record(lambda: answer(direct, LOCAL, request(), LEGACY))
    assert again.own.total() <= MOST_OWN_CALLS
    assert (again.files.total(), again.statements) == (0, 0)
    assert not any(code.co_name == "tool_result" for code in again.own)
