"""A tool that is done at once, and an observer that remembers, for tests of what is around
tools.
"""

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from pydantic import BaseModel

from stackroom.gate.gate import Gate
from stackroom.model.principal import Action, AuditEntry, Cost, Principal
from stackroom.tools.faces.mcp import NO_WORDS, Words
from stackroom.tools.operation import (
    NOTED_WHOLE,
    AnyOperation,
    Audit,
    Faces,
    Needs,
    Operation,
    Reads,
    Tool,
)
from stackroom.tools.spec import ToolParams, ToolResult


class NoParams(ToolParams):
    """No arguments."""


class Done(ToolResult):
    """The answer of a tool that is done."""

    done: bool = True


def make_tool(
    name: str,
    run: Callable[[Principal, Any], Any] = lambda *_given: Done(),
    *,
    description: str = "",
    title: str = "",
    params: type[BaseModel] = NoParams,
    result: type[BaseModel] = Done,
    action: Action = Action.ACCESS_CATALOG,
    cost: Cost = Cost.READ,
    text: Callable[[Any], str] = lambda _result: "done",
    is_kept: bool = False,
    reads_nothing: bool = False,
    words: Words = NO_WORDS,
    count_of: Callable[[Any], int | None] = NOTED_WHOLE.count_of,
    **more: Any,
) -> AnyOperation:
    """Return a tool for readers; `is_kept` caches its answers, which may depend on no catalogue."""
    reads: Reads[Any] = Reads(names=(lambda _served, _params: ()) if reads_nothing else None)
    return Operation(
        name=name,
        summary=description,
        params=params,
        result=result,
        needs=Needs(any_of=(action,)),
        cost=cost,
        run=lambda call, given: run(call.principal, given),
        reads=reads if is_kept else None,
        faces=Faces(
            tool=Tool(title=title, words=lambda _served: words),
            audit=Audit(count_of=count_of),
            text=text,
        ),
        **more,
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
