"""A client chooses the form of tool names by its address; calls by either name are noted by the
true one.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient, WebSocketDenialResponse

from stackroom.errors import InputError
from stackroom.gate.gate import Gate
from stackroom.serve.async_gate import asked_names, caller_of
from stackroom.serve.connections import Streams
from stackroom.serve.http.app import build_app
from stackroom.serve.http.guard import Authenticator
from stackroom.settings import Settings, ToolNames
from stackroom.tools.toolbox import Toolbox
from support.clients import build_server
from support.plain_tools import Notes, make_tool

pytestmark = pytest.mark.row("N17")

MODERN = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "somebody", "version": "1"},
}
LEGACY = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "somebody", "version": "1"},
}


@pytest.fixture
def notes() -> Notes:
    return Notes()


def open_client(notes: Notes, tool_names: ToolNames = "dotted") -> TestClient:
    tool = make_tool("catalog.get", description="After catalog.get.")
    gate = Gate(Toolbox([tool]), observers=[notes])
    app = build_app(
        build_server(lambda: gate, caller_of, tool_names=tool_names),
        Settings(home=Path("unused")),
        authenticator=Authenticator(None, base_url=lambda _scope: ""),
        streams=Streams(10),
    )
    return TestClient(app, base_url="http://localhost")


@pytest.fixture
def client(notes: Notes) -> Iterator[TestClient]:
    with open_client(notes) as opened:
        yield opened


def ask(client: TestClient, path: str, method: str, **params: Any) -> Any:
    """Send a request of the present protocol, which has no sessions."""
    headers = {
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": MODERN,
        "Mcp-Method": method,
    }
    named = {"Mcp-Name": params["name"]} if "name" in params else {}
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": META}}
    return client.post(path, json=message, headers={**headers, **named})


def result_of(reply: Any) -> Any:
    text = (
        reply.text
        if reply.text.startswith("{")
        else reply.text.partition("data: ")[2].partition("\n")[0]
    )
    return json.loads(text)["result"]


def names_at(client: TestClient, path: str) -> list[str]:
    return [tool["name"] for tool in result_of(ask(client, path, "tools/list"))["tools"]]


def test_an_address_chooses_the_form_of_tool_names_for_its_client_alone(client: TestClient) -> None:
    assert names_at(client, "/mcp?tool_names=plain") == ["catalog_get"]
    assert names_at(client, "/mcp?tool_names=dotted") == ["catalog.get"]
    assert names_at(client, "/mcp") == ["catalog.get"]
    described = result_of(ask(client, "/mcp?tool_names=plain", "tools/list"))["tools"][0][
        "description"
    ]
    assert described == "After catalog_get."


def test_an_address_also_chooses_against_the_setting(notes: Notes) -> None:
    with open_client(notes, "plain") as client:
        assert names_at(client, "/mcp") == ["catalog_get"]
        assert names_at(client, "/mcp?tool_names=dotted") == ["catalog.get"]


def test_a_tool_is_called_by_either_name_and_noted_by_its_own(
    client: TestClient, notes: Notes
) -> None:
    for path in ("/mcp", "/mcp?tool_names=plain"):
        for name in ("catalog.get", "catalog_get"):
            answer = result_of(ask(client, path, "tools/call", name=name, arguments={}))
            assert answer["structuredContent"] == {"done": True}
    assert [entry.target for entry in notes.entries] == ["catalog.get"] * 4


def test_a_websocket_chooses_by_its_address_too(client: TestClient) -> None:
    with client.websocket_connect("ws://localhost/v1/mcp?tool_names=plain") as socket:
        socket.send_json({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": LEGACY})
        socket.receive_json()
        socket.send_json({"jsonrpc": "2.0", "method": "notifications/initialized"})
        socket.send_json({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
        assert [tool["name"] for tool in socket.receive_json()["result"]["tools"]] == [
            "catalog_get"
        ]


@pytest.mark.parametrize(
    "query", ["tool_names=dots", "tool_names=", "tool_names=plain&tool_names=dotted"]
)
def test_another_form_is_refused_with_those_there_are(client: TestClient, query: str) -> None:
    refused = ask(client, f"/mcp?{query}", "tools/list")
    assert refused.status_code == 400
    assert "is not valid; one of: plain, dotted" in refused.json()["error"]["message"]
    with (
        pytest.raises(WebSocketDenialResponse) as denied,
        client.websocket_connect(f"ws://localhost/v1/mcp?{query}"),
    ):
        pass
    assert denied.value.status_code == 400


def test_other_parameters_of_an_address_are_left_to_others() -> None:
    assert asked_names(b"") is None
    assert asked_names(b"session=1&a=%FF") is None
    assert asked_names(b"a=1&tool_names=plain") == "plain"
    with pytest.raises(InputError, match="'tool_names': 'x"):
        asked_names(b"tool_names=x%00y")
