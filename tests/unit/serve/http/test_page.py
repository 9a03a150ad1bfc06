"""The root: JSON for programs, and a page for people in which nothing foreign can run."""

import base64
import hashlib
import re
from typing import Any

import pytest

from stackroom import __version__
from stackroom.model.principal import Action
from stackroom.serve.http.page_paths import FOLDER
from stackroom.settings import McpSettings, ServerSettings

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
WRITES_HTML = (
    "innerHTML",
    "outerHTML",
    "insertAdjacentHTML",
    "document.write",
    "eval(",
    "new Function",
    "srcdoc",
    "@import",
    "InnerHTML",
)


@pytest.mark.row("T6")
@pytest.mark.parametrize("accept", ["*/*", "application/json"])
def test_programs_are_told_where_everything_is(site: Any, accept: str) -> None:
    reply = site.client.get("/", headers={"Accept": accept})
    assert reply.status_code == 200
    assert reply.json() == {
        "name": "stackroom",
        "version": __version__,
        "mcp": {
            "streamable_http": "http://localhost:8080/mcp",
            "sse": "http://localhost:8080/sse",
            "websocket": "ws://localhost:8080/v1/mcp",
        },
        "rest": "http://localhost:8080/v1/tools",
        "openapi": "http://localhost:8080/openapi.json",
        "health": "http://localhost:8080/health",
        "docs": "http://localhost:8080/docs/",
        "authorization": "http://localhost:8080/.well-known/oauth-protected-resource",
        "accounts": True,
        "chat": True,
        "audio": None,
        "user": None,
    }
    assert "Accept" in reply.headers["vary"]


def test_addresses_are_what_clients_call_the_server_by(make_site: Any) -> None:
    site = make_site(server=ServerSettings(public_url="https://catalogue.example.org/stackroom"))
    mcp = site.client.get("/").json()["mcp"]
    assert mcp["streamable_http"] == "https://catalogue.example.org/stackroom/mcp"
    assert mcp["websocket"] == "wss://catalogue.example.org/stackroom/v1/mcp"


def test_without_mcp_it_is_not_offered(make_site: Any) -> None:
    assert make_site(mcp=McpSettings(enabled=False)).client.get("/").json()["mcp"] is None


def test_whoever_is_known_is_told_so(site: Any, local: Any) -> None:
    assert site.by_token().get("/").json()["user"] == "reader"
    answer = local.client.get("/").json()
    assert (answer["user"], answer["accounts"]) == ("local", False)


@pytest.mark.row("T6")
def test_browsers_get_a_page_that_needs_this_server_alone(site: Any) -> None:
    reply = site.client.get("/", headers=BROWSER)
    assert reply.headers["content-type"] == "text/html; charset=utf-8"
    assert reply.text.startswith("<!doctype html>")
    links = re.findall(r'(?:src|href)="([^"#]*)"', reply.text)
    assert links
    for link in (one for one in links if not one.startswith("data:")):
        assert link.startswith("/site/")
        assert site.client.get(link).status_code == 200
    assert "{{" not in reply.text


def test_an_address_without_anything_is_a_page_for_browsers_and_json_for_programs(
    site: Any,
) -> None:
    shown, told = site.client.get("/nope", headers=BROWSER), site.client.get("/nope")
    assert (shown.status_code, told.status_code) == (404, 404)
    assert "There is nothing here" in shown.text
    assert told.json()["error"]["code"] == "not_found"


def test_nothing_runs_in_the_page_but_its_own_files(site: Any) -> None:
    reply = site.client.get("/", headers=BROWSER)
    policy = dict(
        rule.split(" ", 1) for rule in reply.headers["content-security-policy"].split("; ")
    )
    assert policy["default-src"] == "'none'"
    assert policy["style-src"] == "'self'"
    (inside,) = re.findall(r"<script[^>]*>(.+?)</script>", reply.text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
    assert policy["script-src"] == f"'self' 'sha256-{digest}'"
    assert not re.search(r"""\s(on\w+|style)=["']""", reply.text)


def test_what_comes_from_the_server_is_put_into_the_page_as_text_only() -> None:
    own = [
        path
        for path in FOLDER.rglob("*")
        if path.suffix in (".js", ".css") and "vendor" not in path.parts
    ]
    assert len(own) > 10
    found = {
        path.name: [word for word in WRITES_HTML if word in path.read_text(encoding="utf-8")]
        for path in own
    }
    assert not {name: words for name, words in found.items() if words}


def test_the_page_tells_of_a_visitor_only_whether_they_are_known(site: Any, local: Any) -> None:
    stranger = site.client.get("/", headers=BROWSER).text
    known = [
        site.by_token().get("/", headers=BROWSER).text,
        local.client.get("/", headers=BROWSER).text,
    ]
    assert len(set(known)) == 1
    told = set(known[0].splitlines()) ^ set(stranger.splitlines())
    assert '<meta name="known">' in told
    assert all(line == '<meta name="known">' or line.startswith("<link ") for line in told)


PATHS = ("/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp")


@pytest.mark.parametrize("path", PATHS)
def test_clients_learn_which_resource_it_is_and_how_to_show_a_token(site: Any, path: str) -> None:
    assert site.client.get(path).json() == {
        "resource": "http://localhost:8080/mcp",
        "bearer_methods_supported": ["header"],
        "scopes_supported": sorted(Action),
        "resource_name": "Stackroom",
    }


def test_the_resource_is_what_clients_call_the_server_by(make_site: Any) -> None:
    site = make_site(server=ServerSettings(public_url="https://catalogue.example.org"))
    assert site.client.get(PATHS[1]).json()["resource"] == "https://catalogue.example.org/mcp"


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_who_is_refused_is_told_where_to_look_in_the_scheme_they_came_by(
    site: Any, scheme: str
) -> None:
    reply = site.client.get(f"{scheme}://localhost:8080/v1/tools")
    assert (
        f'resource_metadata="{scheme}://localhost:8080{PATHS[1]}"'
        in reply.headers["www-authenticate"]
    )


@pytest.mark.parametrize("path", PATHS)
def test_without_accounts_there_is_none(local: Any, path: str) -> None:
    assert local.client.get(path).status_code == 404
