"""Administration over HTTP: who sees a catalogue, everybody's sessions and tokens, and calls over time."""

from collections.abc import Callable
from typing import Any

import pytest

from pinakes.model.principal import LOCAL_USER
from pinakes.tools.toolbox import Toolbox
from support.libraries import Library


@pytest.fixture
def managed(make_site: Callable[..., Any], plain: Library) -> Any:
    """A server of one catalogue, with an administrator and a reader."""
    tools = plain.gate.list_tools(LOCAL_USER)
    site = make_site(toolboxes=Toolbox(tools, catalogues=[plain.app.open_catalogue("anime")]))
    site.add_user("root", "admin")
    site.add_user("ada")
    return site


def access(site: Any, who: str = "root") -> Any:
    return site.client.get("/v1/access", headers=site.token(who))


def test_a_catalogue_is_restricted_and_opened_again_and_both_are_audited(managed: Any) -> None:
    root = managed.token("root")
    everybodys = {"catalogue": "anime", "restricted": False, "users": [], "roles": []}
    assert access(managed).json() == {"catalogues": [everybodys]}
    reply = managed.client.put("/v1/access/anime", json={"users": ["ada"], "roles": ["editor"]}, headers=root)
    assert reply.json() == {"catalogue": "anime", "restricted": True, "users": ["ada"], "roles": ["editor"]}
    note = managed.last_note()
    assert (note.operation, note.target, note.parameters["users"]) == ("admin/restrict_catalogue", "anime", ["ada"])
    assert access(managed).json()["catalogues"] == [reply.json()]
    assert managed.client.delete("/v1/access/anime", headers=root).json() == everybodys
    assert managed.last_note().operation == "admin/open_catalogue"


@pytest.mark.parametrize(
    ("path", "body", "status", "says"),
    [
        ("/v1/access/anmie", {}, 400, "did you mean 'anime'"),
        ("/v1/access/anime", {"users": ["nobody-here"]}, 404, "nobody-here"),
        ("/v1/access/anime", {"role": ["user"]}, 400, "unknown field 'role' (did you mean 'roles'?)"),
    ],
)
def test_a_restriction_that_names_nothing_changes_nothing(
    managed: Any, path: str, body: dict[str, Any], status: int, says: str
) -> None:
    reply = managed.client.put(path, json=body, headers=managed.token("root"))
    assert reply.status_code == status
    assert says in reply.json()["error"]["message"]
    assert access(managed).json()["catalogues"][0]["restricted"] is False


def test_who_may_not_restrict_is_told_no_names(managed: Any) -> None:
    reply = managed.client.put("/v1/access/anmie", json={}, headers=managed.token("ada"))
    assert reply.status_code == 403
    assert "anime" not in reply.text


def test_a_catalogue_is_not_named_to_a_manager_who_may_not_see_it(managed: Any) -> None:
    managed.control.accounts.create_role(LOCAL_USER, "manager", ["AccessCatalog", "ManagePermissions"], None)
    managed.add_user("mia", "manager")
    managed.control.access.restrict(LOCAL_USER, "anime", users=["ada"])
    managed.control.access.restrict(LOCAL_USER, "removed", roles=["manager"])
    assert [one["catalogue"] for one in access(managed, "mia").json()["catalogues"]] == ["removed"]
    assert managed.client.delete("/v1/access/anime", headers=managed.token("mia")).status_code == 404


def test_tokens_of_everybody_are_listed_without_their_secrets_and_revoked_by_a_manager(managed: Any) -> None:
    theirs = managed.token("ada", catalogues=["anime"])
    root = managed.token("root")
    listed = managed.client.get("/v1/credentials", headers=root)
    by_user = {one["user"]: one for one in listed.json()["credentials"]}
    assert by_user["ada"]["catalogues"] == ["anime"]
    assert (by_user["root"]["is_this"], by_user["ada"]["is_this"]) == (True, False)
    assert theirs["Authorization"].removeprefix("Bearer ") not in listed.text
    assert managed.client.delete(f"/v1/tokens/{by_user['ada']['id']}", headers=root).status_code == 204
    assert managed.client.get("/v1/me", headers=theirs).status_code == 401


@pytest.mark.parametrize("path", ["/v1/access", "/v1/credentials", "/v1/calls"])
def test_readers_are_refused_with_the_permission_that_they_lack(managed: Any, path: str) -> None:
    reply = managed.client.get(path, headers=managed.token("ada"))
    assert reply.status_code == 403
    assert "permissions" in reply.json()["error"]["message"]


def test_calls_over_time_have_their_number_failures_and_durations(managed: Any) -> None:
    root = managed.token("root")
    for query in ("robots", "space"):
        assert managed.client.post("/v1/tools/search_anime", json={"query": query}, headers=root).status_code == 200
    assert managed.client.post("/v1/tools/search_anime", json={"limit": -1}, headers=root).status_code == 400
    for span, step_s in (("hour", 10), ("day", 300)):
        told = managed.client.get(f"/v1/calls?span={span}", headers=root).json()
        assert (told["step_s"], sum(slot["calls"] for slot in told["slots"])) == (step_s, 3)
        assert sum(slot["errors"] for slot in told["slots"]) == 1
        assert (told["calls"], told["errors"]) == (3, 1)
        (tool,) = told["tools"]
        assert (tool["tool"], tool["calls"], tool["errors"]) == ("search_anime", 3, 1)
        assert 0 < tool["p50_ms"] <= tool["p95_ms"]
    assert managed.client.get("/v1/calls?span=week", headers=root).status_code == 400


def test_a_server_without_accounts_shows_its_local_user_the_calls_but_has_no_access_to_manage(local: Any) -> None:
    assert local.client.get("/v1/calls").json()["slots"] == []
    assert local.client.get("/v1/access").status_code == 404
