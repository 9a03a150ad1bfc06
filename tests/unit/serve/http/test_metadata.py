"""Who issues the tokens that are taken here."""

from typing import Any

import pytest

from stackroom.model.principal import Action
from stackroom.serve.http.page import build_metadata
from stackroom.settings import AuthSettings, ServerSettings

PATHS = ("/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp")


@pytest.mark.parametrize("path", PATHS)
def test_clients_learn_which_resource_it_is_and_how_to_show_a_token(site: Any, path: str) -> None:
    assert site.client.get(path).json() == {
        "resource": "http://localhost:8080/mcp",
        "bearer_methods_supported": ["header"],
        "scopes_supported": sorted(Action),
        "resource_name": "Stackroom",
    }


def test_an_external_issuer_is_named() -> None:
    auth = AuthSettings(issuer="https://login.example", audience="p", jwks_url="https://login.example/k")
    document = build_metadata("https://a.example", auth)
    assert document.authorization_servers == ["https://login.example"]


def test_the_resource_is_what_clients_call_the_server_by(make_site: Any) -> None:
    site = make_site(server=ServerSettings(public_url="https://catalogue.example.org"))
    assert site.client.get(PATHS[1]).json()["resource"] == "https://catalogue.example.org/mcp"


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_who_is_refused_is_told_where_to_look_in_the_scheme_they_came_by(site: Any, scheme: str) -> None:
    reply = site.client.get(f"{scheme}://localhost:8080/v1/tools")
    assert f'resource_metadata="{scheme}://localhost:8080{PATHS[1]}"' in reply.headers["www-authenticate"]


@pytest.mark.parametrize("path", PATHS)
def test_without_accounts_there_is_none(local: Any, path: str) -> None:
    assert local.client.get(path).status_code == 404
