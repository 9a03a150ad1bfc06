"""What is noted of a call says how many records its answer tells of."""

from typing import Any

import pytest

from pinakes.errors import OverloadedError
from pinakes.gate.gate import CallContext, Gate
from pinakes.model.audit import AuditEntry
from pinakes.model.principal import LOCAL_USER, Action, Cost
from pinakes.tools.spec import ToolParams, ToolResult, ToolSpec
from pinakes.tools.toolbox import Toolbox

pytestmark = pytest.mark.row("Z7")


class Params(ToolParams):
    query: str = ""


class Answered(ToolResult):
    total: int | None = None
    total_matches: int | None = None
    results: list[str] | None = None
    artists: dict[str, Any] | None = None
    albums: dict[str, Any] | None = None


class Notes:
    def __init__(self) -> None:
        self.entries: list[AuditEntry] = []

    def write(self, entry: AuditEntry, *, durable: bool) -> None:
        self.entries.append(entry)


@pytest.mark.parametrize(
    ("result", "count"),
    [
        ({"total": 7, "results": ["a"]}, 7),
        ({"total": 0}, 0),
        ({"total_matches": 12}, 12),
        ({"results": ["a", "b"]}, 2),
        ({"results": []}, 0),
        ({"artists": {"total": 2, "items": []}, "albums": {"total": 3}}, 5),
        ({"artists": {"total": 0, "items": []}}, 0),
        ({"artists": {"total": "many"}, "albums": {"items": []}}, None),
        ({}, None),
    ],
)
def test_the_total_counts_before_the_list(result: dict[str, Any], count: int | None) -> None:
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
    )
    Gate(Toolbox([tool]), observers=[notes]).call(LOCAL_USER, "find", {"query": "x"})
    assert [entry.result_count for entry in notes.entries] == [count]


def test_a_failed_call_tells_of_no_records() -> None:
    notes = Notes()
    ask = CallContext(principal=LOCAL_USER, via="rest", operation="tools/call", target="find", parameters={})
    Gate(Toolbox([]), observers=[notes]).refuse(ask, OverloadedError("full"))
    assert [entry.result_count for entry in notes.entries] == [None]
