"""A message is taken for the same of the four kinds as by the SDK."""

import json
from typing import Any

import pytest
from mcp import types

from pinakes.serve.frames import BadFrameError, read_frame

MESSAGES: list[dict[str, Any]] = [
    {"id": 1, "method": "ping"},
    {"id": "a", "method": "tools/call", "params": {"name": "x", "arguments": {"error": 1}}},
    {"method": "notifications/initialized"},
    {"method": "notifications/cancelled", "params": {"requestId": 1}},
    {"id": 1, "result": {}},
    {"id": "1", "result": {"method": "x", "id": 2}},
    {"id": 1, "error": {"code": -1, "message": "no"}},
    {"id": 1, "error": {"code": -1, "message": "no", "data": {"result": 1}}},
    {"id": 1, "method": "ping", "extra": 1},
]


@pytest.mark.parametrize("message", MESSAGES, ids=json.dumps)
def test_a_message_is_what_the_sdk_takes_it_for(message: dict[str, Any]) -> None:
    raw = json.dumps({"jsonrpc": "2.0", **message})
    ours, theirs = read_frame(raw), types.jsonrpc_message_adapter.validate_json(raw, by_name=False)
    assert (type(ours), ours) == (type(theirs), theirs)


@pytest.mark.parametrize("error", [{}, {"code": 1}, {"code": "x", "message": "no"}, "no", None])
def test_an_error_that_is_none_is_refused_with_its_id(error: Any) -> None:
    with pytest.raises(BadFrameError) as refused:
        read_frame(json.dumps({"jsonrpc": "2.0", "id": 5, "error": error}))
    assert (refused.value.answer.id, refused.value.answer.error.code) == (5, types.INVALID_REQUEST)
