"""The answer of a call, as the protocol has it in each revision."""

import pytest
from mcp import types
from mcp_types import methods

from stackroom.errors import InputError, RateLimitedError
from stackroom.gate.answer import Answer
from stackroom.serve.async_gate import RETRY_AFTER, tool_result

ANSWERS = {
    "found": Answer(
        structured={"results": [{"title": "Sea", "year": None}], "total": 1}, text="1 found"
    ),
    "wrong": Answer.of_error(InputError("no such field")),
    "limited": Answer.of_error(RateLimitedError("too often", retry_after_s=1.2)),
}


@pytest.mark.parametrize("version", ["2024-11-05", "2025-11-25", "2026-07-28"])
@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_is_sent_as_the_sdk_would_send_its_own_type(name: str, version: str) -> None:
    answer = ANSWERS[name]
    typed = types.CallToolResult(
        content=[types.TextContent(type="text", text=answer.text)],
        structured_content=answer.structured,
        is_error=answer.is_error,
        _meta={RETRY_AFTER: 2} if name == "limited" else None,
    )
    dumped = typed.model_dump(by_alias=True, mode="json", exclude_none=True)
    sent, expected = [
        methods.serialize_server_result("tools/call", version, one)
        for one in (tool_result(answer), dumped)
    ]
    assert sent == expected
