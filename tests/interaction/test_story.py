"""The house by conversation: an admin and a listener on a music server, over WebSocket with a real
MCP client.
"""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from support.hosting import WHEREVER_KEPT

pytestmark = WHEREVER_KEPT

ADMIN_PASSWORD = "a library by the sea"
LISTENER_PASSWORD = "clouds over the harbour"
API_KEY = "sk-very-secret"
WAY = "websocket 2026-07-28"
ADMIN_TOOLS = [
    "analytics.query",
    "catalog.get",
    "catalog.mutate",
    "catalog.search",
    "debug.inspect",
    "debug.sql",
    "downloads.action",
    "downloads.query",
    "jobs.action",
    "jobs.query",
    "server.query",
    "users.mutate",
    "users.query",
]
ADMIN_RESOURCES = [
    "changelog://recent",
    "config://server",
    "jobs://integrity_check/output",
    "logs://errors",
    "logs://recent",
]
UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}


@dataclass(frozen=True, kw_only=True)
class Person:
    """Somebody who is logged in: an MCP client over WebSocket, and one of REST, with the same
    session.
    """

    name: str
    mcp: Any
    rest: httpx.Client
    request_of: Any

    def ask(self, operation: str, target: str = "", **arguments: Any) -> Any:
        """Ask for something, whatever the answer."""
        return self.mcp.ask(self.request_of(operation, target, **arguments))

    def call(self, tool: str, **arguments: Any) -> Any:
        """Call a tool that must answer."""
        reply = self.ask("tools/call", tool, **arguments)
        assert reply.error is None, reply.message
        return reply.value

    def read(self, uri: str) -> str:
        """Read a resource that must be there."""
        reply = self.ask("resources/read", uri)
        assert reply.error is None, reply.message
        return str(reply.value[1].decode())

    def list_tools(self) -> list[str]:
        return [tool["name"] for tool in self.ask("tools/list").value]

    def list_resources(self) -> list[str]:
        return [entry["uri"] for entry in self.ask("resources/list").value]

    def found(self, query: str, group: str) -> list[dict[str, Any]]:
        """Return what a search finds of a kind."""
        items: list[dict[str, Any]] = self.call("catalog.search", query=query)[group]["items"]
        return items


@dataclass(frozen=True, kw_only=True)
class Household:
    """The server, its admin, and a listener whom the admin let in."""

    hosted: Any
    admin: Person
    listener: Person


@pytest.fixture(scope="module")
def household(music_hosted: Any, connect: Any, request_of: Any) -> Iterator[Household]:
    """The admin logs in with the secret of the first start, and lets a listener in."""
    with ExitStack() as stack:

        def enter(name: str, once: str, password: str) -> Person:
            secret = _log_in(music_hosted, name, once, password)
            rest = stack.enter_context(music_hosted.rest(secret))
            mcp = stack.enter_context(connect(WAY, music_hosted, secret))
            return Person(name=name, mcp=mcp, rest=rest, request_of=request_of)

        admin = enter("admin", music_hosted.server.admin_secret, ADMIN_PASSWORD)
        made = admin.call("users.mutate", action="create", name="Ada", role="user")
        assert (made["name"], made["user"]["permissions"]) == ("ada", ["AccessCatalog"])
        listener = enter("ada", made["one_time_password"], LISTENER_PASSWORD)
        yield Household(hosted=music_hosted, admin=admin, listener=listener)


def _log_in(hosted: Any, name: str, once: str, password: str) -> str:
    """Log in with a one-time secret, which is of use once and for one thing, and return the
    session's token.
    """
    with hosted.rest() as client:
        begun = client.post("/v1/login", json={"name": name, "password": once}).json()
        assert begun["must_change_password"] is True
        client.cookies.clear()
        known = {"Authorization": f"Bearer {begun['token']}"}
        for method, path, more in (
            ("POST", "/mcp", {}),
            ("GET", "/sse", {}),
            ("GET", "/v1/mcp", UPGRADE),
        ):
            refused = client.request(
                method, path, json={} if method == "POST" else None, headers={**known, **more}
            )
            assert (refused.status_code, "choose a password first" in refused.text) == (
                403,
                True,
            ), path
        session = client.post("/v1/me/password", json={"password": password}, headers=known).json()
        assert session["must_change_password"] is False
        client.cookies.clear()
        assert client.post("/v1/login", json={"name": name, "password": once}).status_code == 401
        return str(session["token"])


@pytest.mark.row("Z7")
def test_an_admin_asks_what_was_heard_and_searched_for(household: Household) -> None:
    admin, ada = household.admin, household.listener
    track = next(one for one in ada.found("Moonlight Sonata", "tracks"))
    assert (
        ada.rest.post("/v1/plays", json={"track_id": track["id"], "seconds": 12}).status_code == 204
    )
    assert ada.found("zzyzx qqfrt", "albums") == []
    heard = {
        row["user"]: row for row in admin.call("analytics.query", query_type="listening")["rows"]
    }
    assert heard["ada"]["seconds"] >= 12
    popular = admin.call("analytics.query", query_type="popular")
    assert f"music/{track['id']}" in [row["id"] for row in popular["rows"]]
    searched = admin.call("analytics.query", query_type="top_queries", user="ada")["rows"]
    assert "moonlight sonata" in [row["query"] for row in searched]
    assert "zzyzx qqfrt" in [
        row["query"] for row in admin.call("analytics.query", query_type="no_results")["rows"]
    ]
    served = {
        row["user"]: row for row in admin.call("analytics.query", query_type="bandwidth")["rows"]
    }
    assert served["ada"]["served_bytes"] > 0


@pytest.mark.row("Z11")
def test_an_admin_reads_log_and_configuration_without_secrets(household: Household) -> None:
    admin = household.admin
    household.listener.call("catalog.search", query="Vivaldi")
    lines = json.loads(admin.read("logs://recent"))["lines"]
    assert any(line.get("target") == "catalog.search" for line in lines)
    assert json.loads(admin.read("logs://errors"))["lines"] == []
    config = admin.read("config://server")
    assert json.loads(config)["home"] == str(household.hosted.server.home)
    for secret in (API_KEY, ADMIN_PASSWORD, household.hosted.server.admin_secret):
        assert secret not in config + json.dumps(lines)


@pytest.mark.row("Z6")
@pytest.mark.row("Z9")
@pytest.mark.row("Z10")
def test_an_admin_looks_at_users_server_and_data(household: Household) -> None:
    admin = household.admin
    users = admin.call("users.query", query_type="list")
    assert {"ada", "admin"} <= {one["name"] for one in users["users"]}
    sessions = admin.call("server.query", query_type="sessions")
    assert {"ada", "admin"} <= {row["user"] for row in sessions["rows"]}
    counted = admin.call(
        "debug.sql", query="SELECT count(*) AS albums FROM items WHERE kind = 'album'"
    )
    assert counted["rows"][0][0] == admin.call("catalog.get", query_type="stats")["stats"]["albums"]
    refused = admin.ask("tools/call", "debug.sql", query="DELETE FROM items")
    assert refused.error == "forbidden"
    assert admin.call("debug.inspect", query_type="integrity")["query_type"] == "integrity"


@pytest.mark.row("Z6")
@pytest.mark.row("Z11")
def test_a_listener_has_nothing_of_the_admin_s(household: Household) -> None:
    ada = household.listener
    known = ada.list_resources()
    for uri in ADMIN_RESOURCES:
        assert uri not in known
        answer = ada.ask("resources/read", uri)
        nothing = ada.ask("resources/read", uri.replace("://", "://no-such-"))
        assert (answer.error, answer.value) == (nothing.error, None)
        assert answer.error is not None
    for tool in set(ADMIN_TOOLS) - {"catalog.get", "catalog.search"}:
        assert ada.ask("tools/call", tool).error == ada.ask("tools/call", "no.such").error
    assert [
        one["uriTemplate"]
        for one in ada.ask("resources/templates/list").value
        if "jobs" in str(one)
    ] == []
