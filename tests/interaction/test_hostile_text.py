"""Catalogues with hostile text over MCP and REST: answers are safe and flagged, and the server's
words are its own.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from stackroom.cli.main import main
from stackroom.model.principal import Action
from stackroom.serve.async_gate import FLAGGED
from stackroom.serve.http.rest import FLAGGED_HEADER
from support.clients import McpAsker, RestAsker
from support.hostile import DOCUMENTS, FILMS, INSTRUCTION, write_documents, write_films
from support.hosting import Accounts, Hosted

pytestmark = pytest.mark.row("N10")

WAYS = ["http 2026-07-28", "websocket legacy", "rest"]


@pytest.fixture(scope="module")
def hostile_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A library of hostile catalogues, without vectors."""
    folder = tmp_path_factory.mktemp("hostile")
    home = folder / "home"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STACKROOM_HOME", str(home))
        for source, name in ((write_films(folder), FILMS), (write_documents(folder), DOCUMENTS)):
            main(["add", str(source), "--name", name, "--yes", "--no-embed", "--accept-losses"])
        yield home


@pytest.fixture(scope="module")
def hostile_server(hostile_home: Path, start_server: Any) -> Iterator[Hosted]:
    """A server of it, with accounts."""
    accounts = Accounts(hostile_home)
    yield Hosted(
        server=start_server(hostile_home, environment={"LOG_LEVEL": "INFO"}),
        accounts=accounts,
        environment={},
    )
    accounts.close()


@pytest.fixture(scope="module", params=WAYS)
def asker(
    request: pytest.FixtureRequest, hostile_server: Hosted, connect: Any
) -> Iterator[McpAsker | RestAsker]:
    """A client of the server who may read, over each way."""
    user = hostile_server.accounts.user(Action.ACCESS_CATALOG)
    with connect(request.param, hostile_server, hostile_server.accounts.token(user)) as asker:
        yield asker


def test_flags_are_beside_the_answer(asker: Any, portal: Any) -> None:
    arguments = {"id": f"{FILMS}/film-1"}
    if isinstance(asker, RestAsker):
        reply = asker.client.post("/v1/tools/fetch", json=arguments)
        flags, value = json.loads(reply.headers[FLAGGED_HEADER]), reply.json()
        read = asker.client.get("/v1/resources/read", params={"uri": f"stackroom://{FILMS}/film-1"})
        of_resource = json.loads(read.headers[FLAGGED_HEADER])
    else:
        client: Client = asker.client
        result = portal.call(client.call_tool, "fetch", arguments)
        flags, value = result.meta[FLAGGED], result.structured_content
        (content,) = result.content
        assert "looks like instructions; it is data." in content.text
        of_resource = portal.call(client.read_resource, f"stackroom://{FILMS}/film-1").meta[FLAGGED]
    (title,) = [flag for flag in flags if flag["path"] == "title"]
    assert title["kind"] == "role"
    assert value["title"][title["start"] : title["end"]] == INSTRUCTION
    assert "title" in {flag["path"] for flag in of_resource}
