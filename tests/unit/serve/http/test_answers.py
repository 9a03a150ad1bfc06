"""Every REST answer in these tests is held against the OpenAPI document; here, that this can
fail.
"""

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import Field

from stackroom.model.principal import Action
from stackroom.serve.http.server import LiveResult
from stackroom.tools.faces.rest import PageParams
from stackroom.tools.operation import Call, Needs, addressed
from stackroom.tools.spec import GenericParams, GenericResult
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


class Note(GenericParams):
    text: str


class NoteOn(Note):
    topic: str = Field(description="what it is about")


class Notes(GenericResult):
    by: str
    texts: list[str]
    call_id: str


@addressed(
    "POST /v1/notes/{topic}",
    201,
    tag="notes",
    needs=Needs(any_of=(Action.EDIT_CATALOG,), accounts=True),
    target="topic",
)
def write_note(call: Call, params: NoteOn) -> Notes:
    """Write a note."""
    return Notes(by=call.principal.name, texts=[params.topic, params.text], call_id=call.call_id)


@addressed("GET /v1/notes", tag="notes")
def list_notes(call: Call, params: PageParams) -> Notes:
    """List the notes."""
    return Notes(by=call.principal.name, texts=["a", "b"][: params.limit], call_id="")


@addressed("GET /health", tag="notes")
def hide_health(_call: Call, _params: PageParams) -> Notes:
    """Answer where the server does."""
    return Notes(by="", texts=[], call_id="")


NOTES = [write_note, list_notes]


def test_an_endpoint_of_a_package_has_the_server_s_authentication_permissions_audit_and_document(
    make_site: Callable[..., Any],
) -> None:
    site = make_site(operations=NOTES)
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
    site = make_site(accounts=False, operations=NOTES)
    refused = site.client.post("/v1/notes/t", json={"text": "x"})
    assert (refused.status_code, "no accounts" in refused.json()["error"]["message"]) == (404, True)
    assert site.client.get("/v1/notes").json()["by"] == "local"


def test_two_endpoints_with_one_address_are_refused(make_site: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match="two endpoints answer GET /health"):
        make_site(operations=[hide_health])
