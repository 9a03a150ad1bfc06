"""Every REST answer in these tests is held against the OpenAPI document; here, that this can
fail.
"""

from collections.abc import Callable
from typing import Any

import pytest

from stackroom.serve.http.server import LiveResult
from stackroom.tools.faces.rest import PageParams
from stackroom.tools.operation import Call, addressed
from stackroom.tools.spec import GenericResult
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


class Notes(GenericResult):
    by: str
    texts: list[str]
    call_id: str


@addressed("GET /health", tag="notes")
def hide_health(_call: Call, _params: PageParams) -> Notes:
    """Answer where the server does."""
    return Notes(by="", texts=[], call_id="")


def test_two_endpoints_with_one_address_are_refused(make_site: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match="two endpoints answer GET /health"):
        make_site(operations=[hide_health])
