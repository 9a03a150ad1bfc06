"""What is noted of a call says how many records its answer tells of."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from stackroom.errors import OverloadedError
from stackroom.gate.answer import AnswerCache
from stackroom.gate.gate import CallContext, Gate
from stackroom.model.principal import LOCAL_USER, Action, AuditEntry, Cost
from stackroom.tools.spec import ToolParams, ToolResult, ToolSpec
from stackroom.tools.toolbox import Toolbox

pytestmark = pytest.mark.row("Z7")


class Params(ToolParams):
    query: str = ""


class Answered(ToolResult):
    total: int | None = None
    results: list[str] | None = None


class Notes:
    def __init__(self) -> None:
        self.entries: list[AuditEntry] = []

    def write(self, entry: AuditEntry, *, durable: bool) -> None:
        self.entries.append(entry)


def find(count_of: Callable[[Any], int | None] | None, **result: Any) -> list[int | None]:
    """Return what is noted as the count of two calls, the second answered from the cache."""
    notes = Notes()
    tool = ToolSpec(
        name="find",
        description="",
        params=Params,
        result=Answered,
        action=Action.ACCESS_CATALOG,
        cost=Cost.READ,
        run=lambda _principal, _params: Answered(**result),
        text=str,
        cacheable=True,
    )
    counted = replace(tool, count_of=count_of) if count_of else tool
    gate = Gate(Toolbox([counted]), observers=[notes], cache=AnswerCache(10))
    for _ in range(2):
        gate.call(LOCAL_USER, "find", {"query": "x"})
    return [entry.result_count for entry in notes.entries]


@pytest.mark.parametrize("total", [0, 7, None])
def test_the_count_that_a_tool_declares_is_noted_for_fresh_and_cached_answers(total: int | None) -> None:
    assert find(lambda result: result.total, total=total, results=["a"]) == [total, total]


def test_a_tool_that_declares_no_count_has_none_whatever_its_fields_are_called() -> None:
    assert find(None, total=7, results=["a"]) == [None, None]


def test_a_failed_call_tells_of_no_records() -> None:
    notes = Notes()
    ask = CallContext(principal=LOCAL_USER, via="rest", operation="tools/call", target="find", parameters={})
    Gate(Toolbox([]), observers=[notes]).refuse(ask, OverloadedError("full"))
    assert [entry.result_count for entry in notes.entries] == [None]
