"""Every call is noted once, whatever becomes of it; and reads that storage failed are tried
again.
"""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from stackroom.errors import (
    ExpectedError,
    InputError,
    NotFoundError,
    OverloadedError,
    StorageError,
)
from stackroom.gate.answer import AnswerCache
from stackroom.gate.auditing import Observer
from stackroom.gate.gate import PAUSES_S, Gate
from stackroom.model.principal import Action, AuditEntry, Cost, Outcome, Principal
from stackroom.tools.operation import AnyOperation, Call
from stackroom.tools.resources import ResourceContent, ResourceSpec
from stackroom.tools.spec import ToolParams, ToolResult
from stackroom.tools.toolbox import Toolbox
from support import plain_tools
from support.plain_tools import make_tool

READER = Principal(name="reader", actions=frozenset({Action.ACCESS_CATALOG}))
TEMPLATE = "notes://{name}"


class Params(ToolParams):
    query: str = ""
    password: str = ""


class Result(ToolResult):
    found: str


class Notes(plain_tools.Notes):
    """Refuses to keep entries where there is a problem."""

    problem: StorageError | None = None

    def write(self, entry: AuditEntry, *, durable: bool) -> None:
        if self.problem:
            raise self.problem
        super().write(entry, durable=durable)

    @property
    def only(self) -> AuditEntry:
        (entry,) = self.entries
        return entry


class Storage:
    """Fails so many times, and counts how often it was asked."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.asked = 0

    def find(self, query: str) -> str:
        self.asked += 1
        if self.asked <= self.failures:
            raise StorageError("the disk is away")
        return query

    def run(self, _principal: Principal, params: Params) -> Result:
        return Result(found=self.find(params.query))

    def read(self, _principal: Principal, rest: str) -> ResourceContent | None:
        return ResourceContent(mime_type="text/plain", text=self.find(rest))


def found(_principal: Principal, params: Params) -> Result:
    return Result(found=params.query)


def tool(
    name: str, run: Callable[[Principal, Any], Result] = found, **changes: Any
) -> AnyOperation:
    values = {"action": Action.ACCESS_CATALOG, "cost": Cost.READ, **changes}
    return make_tool(
        name=name,
        description="",
        params=Params,
        result=Result,
        run=run,
        text=lambda one: one.found,
        **values,
    )


NOTE = ResourceSpec(
    prefix="notes://",
    action=Action.ACCESS_CATALOG,
    entries=lambda _principal: [],
    read=lambda _principal, rest: (
        ResourceContent(mime_type="text/plain", text="été") if rest == "sea" else None
    ),
    template=TEMPLATE,
)


def gate_of(*observers: Observer) -> Gate:
    return Gate(Toolbox([tool("search")], [NOTE]), observers=observers)


@pytest.fixture
def notes() -> Notes:
    return Notes()


@pytest.mark.row("Z13")
def test_an_operation_is_told_the_id_under_which_its_call_is_noted(notes: Notes) -> None:
    def run(call: Call, params: Params) -> Result:
        return Result(found=f"{params.query} {call.call_id}")

    gate = Gate(Toolbox([replace(tool("edit"), run=run)]), observers=[notes])
    answers = [gate.call(READER, "edit", {"query": "sea"}).structured for _ in range(2)]
    assert answers == [{"found": f"sea {entry.call_id}"} for entry in notes.entries]
    assert notes.entries[0].call_id != notes.entries[1].call_id


@pytest.mark.row("Z13")
def test_reading_is_noted_too(notes: Notes) -> None:
    gate = gate_of(notes)
    gate.read(READER, "notes://sea", via="sse")
    with pytest.raises(NotFoundError):
        gate.read(READER, "notes://moon")
    assert [(entry.operation, entry.target, entry.outcome) for entry in notes.entries] == [
        ("resources/read", "notes://sea", Outcome.OK),
        ("resources/read", "notes://moon", Outcome.REFUSED),
    ]
    text = "été".encode()
    assert (notes.entries[0].result_bytes, notes.entries[0].result_digest) == (
        5,
        hashlib.sha256(text).hexdigest(),
    )


@pytest.mark.row("Z13")
def test_what_cannot_be_noted_is_not_answered(notes: Notes) -> None:
    notes.problem = StorageError("the audit is away")
    gate = gate_of(notes)
    answer = gate.call(READER, "search", {"query": "sea"})
    assert (answer.error_code, answer.structured) == ("storage", None)
    with pytest.raises(StorageError, match="the audit is away"):
        gate.read(READER, "notes://sea")


@pytest.mark.row("Z7")
@pytest.mark.parametrize(
    ("declared", "count"), [({}, None), ({"count_of": lambda result: len(result.found)}, 3)]
)
def test_a_note_has_the_count_that_the_tool_declares_for_fresh_and_cached_answers(
    notes: Notes, declared: dict[str, Any], count: int | None
) -> None:
    gate = Gate(
        Toolbox([tool("search", is_kept=True, **declared)]),
        observers=[notes],
        cache=AnswerCache(10),
    )
    for _ in range(2):
        gate.call(READER, "search", {"query": "sea"})
    assert [entry.result_count for entry in notes.entries] == [count, count]


@pytest.mark.row("T8")
def test_a_read_that_storage_failed_twice_is_answered_and_noted_once(notes: Notes) -> None:
    storage = Storage(failures=2)
    gate = Gate(
        Toolbox([tool("search", storage.run)], [replace(NOTE, read=storage.read)]),
        observers=[notes],
    )
    assert gate.call(READER, "search", {"query": "sea"}).structured == {"found": "sea"}
    assert (storage.asked, notes.only.outcome) == (3, Outcome.OK)
    assert notes.only.duration_ms >= sum(PAUSES_S) * 1000
    storage.asked = 0
    assert gate.read(READER, "notes://sea").text == "sea"
    assert storage.asked == 3


@pytest.mark.row("T8")
def test_a_read_that_storage_always_fails_is_answered_with_that_after_a_few_attempts(
    notes: Notes,
) -> None:
    storage = Storage(failures=100)
    gate = Gate(
        Toolbox([tool("search", storage.run)], [replace(NOTE, read=storage.read)]),
        observers=[notes],
    )
    answer = gate.call(READER, "search", {"query": "sea"})
    assert (answer.error_code, answer.text) == ("storage", "storage: the disk is away")
    assert answer.error is not None
    assert answer.error.http_status == 503
    assert (storage.asked, notes.only.outcome, notes.only.error_code) == (
        3,
        Outcome.ERROR,
        "storage",
    )
    with pytest.raises(StorageError, match="the disk is away"):
        gate.read(READER, "notes://sea")
    assert storage.asked == 6


@pytest.mark.row("T8")
def test_what_changes_something_is_never_tried_again(notes: Notes) -> None:
    storage = Storage(failures=1)
    gate = Gate(Toolbox([tool("edit", storage.run, cost=Cost.WRITE)]), observers=[notes])
    assert gate.call(READER, "edit", {"query": "sea"}).error_code == "storage"
    assert storage.asked == 1


@pytest.mark.row("T8")
@pytest.mark.parametrize("error", [InputError("no"), OverloadedError("no")])
def test_other_failures_are_not_tried_again(error: ExpectedError) -> None:
    asked: list[str] = []

    def fail(_principal: Principal, params: Params) -> Result:
        asked.append(params.query)
        raise error

    assert Gate(Toolbox([tool("search", fail)])).call(READER, "search", {}).error_code == error.code
    assert len(asked) == 1
