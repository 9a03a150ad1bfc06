"""Administration over HTTP: who sees a catalogue, and everybody's sessions and tokens."""

from collections.abc import Callable
from typing import Any

import pytest

from stackroom.model.principal import LOCAL_USER
from stackroom.tools.toolbox import Toolbox
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
    everybodys = {
        "catalogue": "anime",
        "restricted": False,
        "users": [],
        "roles": [],
        "installed": True,
    }
    assert access(managed).json() == {"catalogues": [everybodys]}
    reply = managed.client.put(
        "/v1/access/anime", json={"users": ["ada"], "roles": ["editor"]}, headers=root
    )
    assert reply.json() == {**everybodys, "restricted": True, "users": ["ada"], "roles": ["editor"]}
    note = managed.last_note()
    assert (note.operation, note.target, note.parameters["users"]) == (
        "account/restrict_catalogue",
        "anime",
        ["ada"],
    )
    assert access(managed).json()["catalogues"] == [reply.json()]
    assert managed.client.delete("/v1/access/anime", headers=root).json() == everybodys
    assert managed.last_note().operation == "account/open_catalogue"


def test_who_may_not_restrict_is_told_no_names(managed: Any) -> None:
    reply = managed.client.put("/v1/access/anmie", json={}, headers=managed.token("ada"))
    assert reply.status_code == 403
    assert "anime" not in reply.text


def test_a_catalogue_is_not_named_to_a_manager_who_may_not_see_it(managed: Any) -> None:
    managed.control.accounts.create_role(
        LOCAL_USER, "manager", ["AccessCatalog", "ManagePermissions"], None
    )
    managed.add_user("mia", "manager")
    managed.control.access.restrict(LOCAL_USER, "anime", users=["ada"])
    managed.control.access.restrict(LOCAL_USER, "removed", roles=["manager"])
    assert [one["catalogue"] for one in access(managed, "mia").json()["catalogues"]] == ["removed"]
    assert (
        managed.client.delete("/v1/access/anime", headers=managed.token("mia")).status_code == 404
    )


def test_tokens_of_everybody_are_listed_without_their_secrets_and_revoked_by_a_manager(
    managed: Any,
) -> None:
    theirs = managed.token("ada", catalogues=["anime"])
    root = managed.token("root")
    listed = managed.client.get("/v1/tokens", headers=root)
    by_user = {one["user"]: one for one in listed.json()["tokens"]}
    assert by_user["ada"]["catalogues"] == ["anime"]
    assert (by_user["root"]["is_this"], by_user["ada"]["is_this"]) == (True, False)
    assert theirs["Authorization"].removeprefix("Bearer ") not in listed.text
    assert (
        managed.client.delete(f"/v1/tokens/{by_user['ada']['id']}", headers=root).status_code == 200
    )
    assert managed.client.get("/v1/me", headers=theirs).status_code == 401
