"""Every REST answer in these tests is held against the OpenAPI document; here, that this can
fail.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from stackroom.model.principal import Action
from stackroom.serve.http.server import LiveResult
from stackroom.tools.endpoint import (
    BodyParams,
    Endpoint,
    EndpointRequest,
    EndpointResult,
    PageParams,
)
from support.rest_answers import AnswerCheck


def test_a_server_whose_answer_has_an_undocumented_field_fails_its_test(
    local: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        LiveResult, "model_dump", lambda _self, **_options: {"live": True, "extra": 1}
    )
    with pytest.raises(AssertionError, match="'extra' was unexpected"):
        local.client.get("/health/live")


@pytest.mark.parametrize(
    ("status", "body", "says"),
    [
        (200, b'{"live": 7}', "7 is not of type"),
        (200, b"{}", "'live' is a required property"),
        (201, b'{"live": true}', "answers 201, which is not documented"),
        (404, b'{"error": {"code": "not_found"}}', "'message' is a required property"),
    ],
)
def test_an_undocumented_status_or_value_fails(
    local: Any, status: int, body: bytes, says: str
) -> None:
    documented = AnswerCheck(lambda: local.client.get("/openapi.json").json())
    with pytest.raises(AssertionError, match=says):
        documented.check(
            "GET", "/health/live", status=status, content_type="application/json", body=body
        )


class Note(BodyParams):
    text: str


class Notes(EndpointResult):
    by: str
    texts: list[str]
    call_id: str


def write_note(request: EndpointRequest[None, Note]) -> Notes:
    """Write a note."""
    return Notes(
        by=request.principal.name,
        texts=[request.path["topic"], request.body.text],
        call_id=request.call_id,
    )


def list_notes(request: EndpointRequest[PageParams, None]) -> Notes:
    """List the notes."""
    return Notes(by=request.principal.name, texts=["a", "b"][: request.query.limit], call_id="")


NOTES = [
    Endpoint(
        "POST",
        "/v1/notes/{topic}",
        write_note,
        tag="notes",
        path_parameters={"topic": "what it is about"},
        body=Note,
        result=Notes,
        status=201,
        action=Action.EDIT_CATALOG,
        target="topic",
        needs_accounts=True,
    ),
    Endpoint(
        "GET",
        "/v1/notes",
        list_notes,
        tag="notes",
        query=PageParams,
        result=Notes,
        action=Action.ACCESS_CATALOG,
    ),
]


def test_an_endpoint_of_a_package_has_the_server_s_authentication_permissions_audit_and_document(
    make_site: Callable[..., Any],
) -> None:
    site = make_site(endpoints=NOTES)
    site.add_user("reader")
    site.add_user("editor", "admin")
    reader, editor = site.token("reader"), site.token("editor")
    assert site.client.get("/v1/notes").status_code == 401
    assert site.client.get("/v1/notes?limit=1", headers=reader).json()["texts"] == ["a"]
    assert site.client.get("/v1/notes?limit=none", headers=reader).json()["error"]["message"] == (
        "'limit': must be a whole number of at most 15 digits (given: 'none')"
    )
    written = {"json": {"text": "x"}}
    assert (
        site.client.post("/v1/notes/t", headers=reader, **written).json()["error"]["code"]
        == "forbidden"
    )
    reply = site.client.post("/v1/notes/t", headers=editor, **written)
    note = site.last_note()
    assert (reply.status_code, reply.json()) == (
        201,
        {"by": "editor", "texts": ["t", "x"], "call_id": note.call_id},
    )
    assert (note.operation, note.target) == ("notes/write_note", "t")
    described = site.client.get("/openapi.json", headers=reader).json()["paths"][
        "/v1/notes/{topic}"
    ]["post"]
    assert (described["operationId"], described["summary"]) == ("writeNote", "Write a note.")
    assert set(described["responses"]) == {"201", "default"}
    assert "/v1/notes" not in site.client.get("/openapi.json").json()["paths"]


def test_without_accounts_an_endpoint_of_a_package_that_needs_them_says_so_and_others_answer(
    make_site: Callable[..., Any],
) -> None:
    site = make_site(accounts=False, endpoints=NOTES)
    refused = site.client.post("/v1/notes/t", json={"text": "x"})
    assert (refused.status_code, "no accounts" in refused.json()["error"]["message"]) == (404, True)
    assert site.client.get("/v1/notes").json()["by"] == "local"


def test_two_endpoints_with_one_address_are_refused(make_site: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match="two endpoints answer GET /health"):
        make_site(endpoints=[replace(NOTES[1], path="/health")])
