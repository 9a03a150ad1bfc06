"""The OpenAPI document: what the structure must have, and that it tells of what is there and of
nothing else.
"""

import re
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

OPERATION = {
    "type": "object",
    "required": ["operationId", "summary", "tags", "responses"],
    "properties": {
        "summary": {"type": "string", "minLength": 3},
        "responses": {
            "minProperties": 1,
            "patternProperties": {
                "^([2-5][0-9]{2}|default)$": {
                    "oneOf": [{"required": ["$ref"]}, {"required": ["description"]}]
                }
            },
            "additionalProperties": False,
        },
        "requestBody": {"required": ["content"]},
        "parameters": {"items": {"required": ["name", "in", "schema"]}},
    },
}
STRUCTURE = {
    "required": ["openapi", "info", "servers", "paths", "components"],
    "properties": {
        "openapi": {"const": "3.1.0"},
        "paths": {
            "patternProperties": {
                "^/": {
                    "properties": dict.fromkeys(("get", "post", "put", "delete"), OPERATION),
                    "additionalProperties": False,
                    "minProperties": 1,
                }
            },
            "additionalProperties": False,
        },
    },
}


def document_of(client: Any) -> Any:
    reply = client.get("/openapi.json")
    assert reply.status_code == 200
    return reply.json()


def nodes(value: Any) -> Iterator[dict[str, Any]]:
    """Yield every object within a document."""
    if isinstance(value, dict):
        yield value
    children = (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    )
    for child in children:
        yield from nodes(child)


def resolved(document: Any, reference: str) -> Any:
    assert reference.startswith("#/components/")
    for step in reference[2:].split("/"):
        document = document[step]
    return document


def tools_of(document: Any) -> list[str]:
    return [
        path.removeprefix("/v1/tools/")
        for path in document["paths"]
        if path.startswith("/v1/tools/")
    ]


@pytest.fixture(params=["stranger", "reader", "admin", "local"])
def document(request: pytest.FixtureRequest, make_site: Any) -> Any:
    """The document as each kind of caller gets it."""
    site = make_site(accounts=request.param != "local")
    if request.param not in ("reader", "admin"):
        return document_of(site.client)
    site.add_user("somebody", "admin" if request.param == "admin" else "user")
    return document_of(site.by_token("somebody"))


def test_the_document_has_the_structure_of_openapi(document: Any) -> None:
    jsonschema.validate(document, STRUCTURE)
    ids = [node["operationId"] for node in nodes(document["paths"]) if "operationId" in node]
    assert len(set(ids)) == len(ids)


def test_every_reference_leads_somewhere_and_every_schema_is_one(document: Any) -> None:
    for node in nodes(document):
        if isinstance(node.get("$ref"), str):
            assert isinstance(resolved(document, node["$ref"]), dict)
        assert "$defs" not in node
    for schema in document["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)


def test_every_path_with_a_variable_declares_it(document: Any) -> None:
    for path, operations in document["paths"].items():
        for operation in operations.values():
            declared = {
                one["name"] for one in operation.get("parameters", ()) if one["in"] == "path"
            }
            assert declared == set(re.findall(r"{(\w+)}", path))


def test_strangers_are_told_of_no_tools(site: Any) -> None:
    document = document_of(site.client)
    assert tools_of(document) == []
    assert "/v1/tools" not in document["paths"]
    assert "/v1/login" in document["paths"]
    assert document["components"]["securitySchemes"] == {
        "bearer": {"type": "http", "scheme": "bearer"}
    }


def test_a_caller_is_told_of_exactly_their_tools(site: Any) -> None:
    site.add_user("boss", "admin")
    for name in ("reader", "boss"):
        client = site.by_token(name)
        listed = [tool["name"] for tool in client.get("/v1/tools").json()["tools"]]
        assert tools_of(document_of(client)) == listed
    assert "edit" in listed


def test_a_tool_s_schemas_are_its_own(site: Any) -> None:
    document = document_of(site.by_token())
    post = document["paths"]["/v1/tools/filter"]["post"]
    arguments = resolved(
        document, post["requestBody"]["content"]["application/json"]["schema"]["$ref"]
    )
    assert arguments["properties"]["query"]["anyOf"] == [{"minLength": 1}]
    answer = resolved(
        document, post["responses"]["200"]["content"]["application/json"]["schema"]["$ref"]
    )
    assert "foundBy" in answer["properties"]
    assert post["security"] == [{"bearer": []}]


def test_a_token_that_is_not_valid_is_refused_rather_than_ignored(site: Any) -> None:
    assert site.bearer("stk_t_wrong").get("/openapi.json").status_code == 401


def test_without_accounts_nothing_of_them_is_told_and_no_token_is_asked_for(local: Any) -> None:
    document = document_of(local.client)
    assert "/v1/login" not in document["paths"]
    assert "/v1/me" in document["paths"]
    assert tools_of(document)
    assert not [node for node in nodes(document["paths"]) if "security" in node]


@pytest.mark.parametrize("accounts", [True, False])
def test_every_route_is_told_of_and_nothing_that_is_not_there(
    make_site: Any, accounts: bool
) -> None:
    site = make_site(accounts=accounts)
    if accounts:
        site.add_user()
    document = document_of(site.by_token() if accounts else site.client)
    told = {
        (path if not path.startswith("/v1/tools/") else "/v1/tools/{name}", method.upper())
        for path, operations in document["paths"].items()
        for method in operations
    }
    there = {
        (route.path_format, method)
        for route in site.routes
        for method in route.methods
        if method != "HEAD"
    }
    other_spellings = {
        one
        for one in there
        if one[0].startswith("/rest/") and (one[0].endswith(".view") or one[1] == "POST")
    }
    there -= other_spellings
    absent = {(path, method) for path, method in there if _status(site, path, method) == 404}
    assert told == there - absent


def _status(site: Any, path: str, method: str) -> int:
    """Return 404 for what is only there to say that there are no accounts."""
    if site.service.control is not None or path == "/v1/tools/{name}":
        return 200
    reply = site.client.request(method, path.replace("{id}", "song"))
    return 404 if reply.status_code == 404 and "no accounts" in reply.text else 200
