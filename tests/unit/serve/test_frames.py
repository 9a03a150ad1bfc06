"""A message is taken for what the SDK takes it for; a malformed answer is taken for nothing."""

import json
from typing import Any

import pytest
from mcp import types

from stackroom.serve.frames import (
    MAX_FRAME_BYTES,
    BadFrameError,
    UnaskedAnswerError,
    read_frame,
    require_served_revision,
)

MESSAGES: list[dict[str, Any]] = [
    {"id": 1, "method": "ping"},
    {"id": "a", "method": "tools/call", "params": {"name": "x", "arguments": {"error": 1}}},
    {"method": "notifications/initialized"},
    {"method": "notifications/cancelled", "params": {"requestId": 1}},
    {"id": 77, "result": {"method": "x", "id": 2}},
    {"id": 77, "error": {"code": -1, "message": "no", "data": {"result": 1}}},
]


@pytest.mark.parametrize("message", MESSAGES, ids=json.dumps)
def test_a_message_is_what_the_sdk_takes_it_for(message: dict[str, Any]) -> None:
    raw = json.dumps({"jsonrpc": "2.0", **message})
    ours, theirs = read_frame(raw), types.jsonrpc_message_adapter.validate_json(raw, by_name=False)
    assert (type(ours), ours) == (type(theirs), theirs)


ANSWERS: list[dict[str, Any]] = [
    {"result": 5},
    {"error": {}},
    {"error": {"code": "x", "message": "no"}},
]


@pytest.mark.parametrize("answer", ANSWERS, ids=json.dumps)
def test_a_malformed_answer_is_not_answered(answer: dict[str, Any]) -> None:
    """Its sender may have a request of its own open under the same id, and would take ours for the
    answer to that.
    """
    with pytest.raises(UnaskedAnswerError):
        read_frame(json.dumps({"jsonrpc": "2.0", "id": 77, **answer}))


def test_what_is_two_kinds_of_answer_is_refused_under_no_id() -> None:
    with pytest.raises(BadFrameError) as refused:
        read_frame(
            '{"jsonrpc": "2.0", "id": 77, "result": {}, "error": {"code": 1, "message": "x"}}'
        )
    assert json.loads(refused.value.body)["id"] is None


def test_a_message_that_is_too_long_is_refused_as_that_and_not_as_bad_json() -> None:
    with pytest.raises(BadFrameError) as refused:
        read_frame(b"{" * (MAX_FRAME_BYTES + 1))
    assert refused.value.answer.error.code == types.INVALID_REQUEST
    assert str(MAX_FRAME_BYTES) in refused.value.answer.error.message


@pytest.mark.parametrize("version", ["1999-01-01", "9999-01-01", "2025-11-25", ""])
def test_a_request_of_a_revision_that_is_not_served_is_told_those_that_are(version: str) -> None:
    meta = {"io.modelcontextprotocol/protocolVersion": version}
    asked = {"jsonrpc": "2.0", "id": 5, "method": "tools/list", "params": {"_meta": meta}}
    with pytest.raises(BadFrameError) as refused:
        require_served_revision(read_frame(json.dumps(asked)))
    error = refused.value.answer.error
    assert (refused.value.answer.id, error.code) == (5, types.UNSUPPORTED_PROTOCOL_VERSION)
    assert error.data == {"supported": ["2026-07-28"], "requested": version}


@pytest.mark.parametrize(
    "meta", [{"io.modelcontextprotocol/protocolVersion": "2026-07-28"}, {}, {"progressToken": 1}]
)
def test_a_request_of_a_served_revision_or_of_none_is_let_through(meta: dict[str, Any]) -> None:
    asked = {"jsonrpc": "2.0", "id": 5, "method": "tools/list", "params": {"_meta": meta}}
    require_served_revision(read_frame(json.dumps(asked)))
