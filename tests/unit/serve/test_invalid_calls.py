"""MCP requests whose parameters have not their form never reach a handler; calls among them are
audited anyway.
"""

from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from mcp import types
from mcp.shared.exceptions import MCPError

from stackroom.control.accounts.limits import RateLimiter
from stackroom.gate.gate import Gate
from stackroom.model.principal import Outcome, Principal, Quotas
from stackroom.serve.async_gate import AsyncGate, Workers
from stackroom.serve.mcp_server import Handlers
from stackroom.tools.operation import origin_of
from stackroom.tools.toolbox import Toolbox
from support.plain_tools import Notes, loaded

pytestmark = pytest.mark.row("Z13")

ADA = origin_of(
    Principal(name="ada", actions=frozenset(), quotas=Quotas(read=2, write=0, sql=0)), via="http"
)


def send(notes: Notes, method: str, params: dict[str, Any], *, times: int = 1) -> Exception:
    """Pass requests on to a handler of the SDK that refuses their parameters; return the last
    error.
    """
    gate = Gate(Toolbox([]), observers=[notes], limiter=RateLimiter())
    handlers = Handlers(AsyncGate(loaded(gate), Workers()), lambda _context: ADA)
    context: Any = SimpleNamespace(method=method, params=params)

    async def refuse(_context: Any) -> Any:
        return types.CallToolRequestParams.model_validate(params)

    async def run() -> Exception:
        error: Exception | None = None
        for _ in range(times):
            with pytest.raises(MCPError) as caught:
                await handlers.answer(context, refuse)
            error = caught.value
        assert error is not None
        return error

    return anyio.run(run)


def test_a_call_whose_parameters_have_not_their_form_is_noted() -> None:
    notes = Notes()
    error = send(notes, "tools/call", {"name": "search", "arguments": "a secret"})
    assert isinstance(error, MCPError)
    assert error.error.code == types.INVALID_PARAMS
    (note,) = notes.entries
    assert (note.principal, note.via, note.operation, note.target) == (
        "ada",
        "http",
        "tools/call",
        "search",
    )
    assert (note.outcome, note.error_code) == (Outcome.ERROR, "invalid_input")
    assert "'arguments'" in note.parameters["problem"]
    assert "a secret" not in repr(note)


def test_a_call_without_a_name_is_noted_too() -> None:
    notes = Notes()
    send(notes, "tools/call", {"name": ["x"]})
    assert notes.entries[0].target == ""


def test_such_calls_count_against_the_rate_limit() -> None:
    notes = Notes()
    error = send(notes, "tools/call", {}, times=3)
    assert isinstance(error, MCPError)
    assert error.error.code == -32011
    assert [note.outcome for note in notes.entries] == [
        Outcome.ERROR,
        Outcome.ERROR,
        Outcome.LIMITED,
    ]


def test_other_requests_are_left_alone() -> None:
    notes = Notes()
    assert isinstance(send(notes, "logging/setLevel", {}), MCPError)
    assert notes.entries == []
