"""Requests whose body or query has not its form are in the audit, with what was wrong and without
any secret.
"""

from typing import Any

import pytest

from stackroom.model.principal import Outcome

pytestmark = pytest.mark.row("Z13")


@pytest.mark.parametrize(
    ("method", "path", "content", "operation", "problem"),
    [
        (
            "POST",
            "/v1/tools/echo",
            '{"text": "a", "text": "b"}',
            "tools/call",
            "the body is not valid JSON",
        ),
        ("POST", "/v1/tools/echo", "[]", "tools/call", "the body must be a JSON object"),
        ("GET", "/v1/resources/read", "", "resources/read", "'uri' is missing"),
        (
            "GET",
            "/v1/resources/read?uri=a&uri=b",
            "",
            "resources/read",
            "'uri' is in the query string 2 times",
        ),
    ],
)
def test_a_request_that_has_not_its_form_is_noted_with_what_was_wrong(
    make_site: Any, method: str, path: str, content: str, operation: str, problem: str
) -> None:
    site = make_site()
    site.add_user("ada")
    as_json = {"Content-Type": "application/json"}
    reply = site.by_session("ada").request(method, path, content=content, headers=as_json)
    assert reply.status_code == 400
    assert problem in reply.json()["error"]["message"]
    (note,) = site.notes.entries
    assert (note.principal, note.via, note.operation) == ("ada", "rest", operation)
    assert (note.outcome, note.error_code) == (Outcome.ERROR, "invalid_input")
    assert problem in note.parameters["problem"]
    assert note.target == ("echo" if operation == "tools/call" else "")


def test_a_body_that_is_not_json_is_noted_and_answered_as_before(make_site: Any) -> None:
    site = make_site()
    site.add_user("ada")
    as_text = {"Content-Type": "text/plain"}
    reply = site.by_session("ada").post("/v1/tokens", content="name=laptop", headers=as_text)
    assert reply.status_code == 415
    assert site.last_note().parameters == {
        "problem": "the body must be JSON: Content-Type: application/json"
    }


def test_unauthenticated_callers_cannot_fill_the_audit(make_site: Any) -> None:
    site = make_site()
    statuses = {
        site.client.post("/v1/login", json={"x": number}).status_code for number in range(30)
    }
    assert statuses == {400}
    assert len(site.notes.entries) == 10
