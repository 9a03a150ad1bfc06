"""A tool that is done at once, and an observer that remembers, for tests of what is around
tools.
"""

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from stackroom.gate.gate import Gate
from stackroom.model.principal import Action, AuditEntry, Cost, Principal
from stackroom.tools.spec import ToolParams, ToolResult, ToolSpec


class NoParams(ToolParams):
    """No arguments."""


class Done(ToolResult):
    """The answer of a tool that is done."""

    done: bool = True


def make_tool(
    name: str, run: Callable[[Principal, Any], Any] = lambda *_given: Done(), **more: Any
) -> ToolSpec:
    """Return a tool for readers; other fields of the declaration may be given."""
    declared: dict[str, Any] = {
        "description": "",
        "params": NoParams,
        "result": Done,
        "text": lambda _result: "done",
    }
    return ToolSpec(
        name=name, run=run, action=Action.ACCESS_CATALOG, cost=Cost.READ, **{**declared, **more}
    )


def loaded(gate: Gate) -> "Future[Gate]":
    """Return a gate that does not load any more."""
    opened: Future[Gate] = Future()
    opened.set_result(gate)
    return opened


class Notes:
    """Implements `Observer`: keeps every entry."""

    def __init__(self) -> None:
        self.entries: list[AuditEntry] = []

    def write(self, entry: AuditEntry, *, durable: bool) -> None:
        """Keep an entry."""
        self.entries.append(entry)
