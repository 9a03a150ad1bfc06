"""Every call is noted once, whatever becomes of it; and reads that storage failed are tried
again.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from stackroom.control.accounts.limits import RateLimiter
from stackroom.control.control import Control
from stackroom.errors import (
    ExpectedError,
    ForbiddenError,
    InputError,
    NotFoundError,
    OverloadedError,
    RateLimitedError,
    StorageError,
    UnauthenticatedError,
)
from stackroom.gate.answer import AnswerCache
from stackroom.gate.auditing import REDACTED, CallContext, Observer
from stackroom.gate.gate import PAUSES_S, Gate
from stackroom.model.principal import Action, AuditEntry, Cost, Outcome, Principal, Quotas
from stackroom.settings import Settings
from stackroom.tools.operation import AnyOperation, Call
from stackroom.tools.resources.resource import ResourceContent, ResourceSpec
from stackroom.tools.spec import ToolParams, ToolResult
from stackroom.tools.toolbox import Toolbox
from support.control import audit_rows
from support.plain_tools import make_tool

READER = Principal(name="reader", actions=frozenset({Action.ACCESS_CATALOG}))
EDITOR = replace(READER, name="editor", actions=frozenset(Action))
PATIENT = replace(EDITOR, quotas=Quotas(read=2, write=1, sql=0))
TEMPLATE = "notes://{name}"


class Params(ToolParams):
    query: str = ""
    password: str = ""


class Result(ToolResult):
    found: str


class Notes:
    """Implements `Observer` by remembering; refuses to where there is a problem."""

    def __init__(self) -> None:
        self.entries: list[AuditEntry] = []
        self.durable: list[bool] = []
        self.problem: StorageError | None = None

    def write(self, entry: AuditEntry, *, durable: bool) -> None:
        if self.problem:
            raise self.problem
        self.entries.append(entry)
        self.durable.append(durable)

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


def raising(error: Exception) -> Callable[[Principal, Params], Result]:
    def run(_principal: Principal, _params: Params) -> Result:
        raise error

    return run


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
TOOLS = [
    tool("search", is_kept=True),
    tool("edit", action=Action.EDIT_CATALOG, cost=Cost.WRITE),
    tool("sql", action=Action.SERVER_ADMIN, cost=Cost.SQL),
    tool("wrong", raising(InputError("not so"))),
    tool("missing", raising(NotFoundError("no such record"))),
    tool("broken", raising(ZeroDivisionError("a bug"))),
]


def gate_of(*observers: Observer, **named: Any) -> Gate:
    return Gate(Toolbox(TOOLS, [NOTE]), observers=observers, **named)


@pytest.fixture
def notes() -> Notes:
    return Notes()


@pytest.fixture
def control(tmp_path: Path) -> Iterator[Control]:
    opened = Control.open(Settings(home=tmp_path))
    yield opened
    opened.close()


CALLS = [
    ("search", {"query": "sea"}, Outcome.OK, None),
    ("search", {"query": 7}, Outcome.ERROR, "invalid_input"),
    ("wrong", {}, Outcome.ERROR, "invalid_input"),
    ("missing", {}, Outcome.ERROR, "not_found"),
    ("broken", {}, Outcome.FAILED, None),
    ("edit", {}, Outcome.REFUSED, "unknown_tool"),
    ("serch", {}, Outcome.REFUSED, "unknown_tool"),
]


@pytest.mark.row("Z13")
@pytest.mark.parametrize(("name", "arguments", "outcome", "code"), CALLS)
def test_a_call_leaves_one_note_with_who_what_and_what_became_of_it(
    notes: Notes, name: str, arguments: dict[str, Any], outcome: Outcome, code: str | None
) -> None:
    before = datetime.now(UTC)
    try:
        answer = gate_of(notes).call(READER, name, arguments, via="websocket")
    except (ExpectedError, ZeroDivisionError):
        answer = None
    entry = notes.only
    assert (entry.principal, entry.via, entry.operation) == ("reader", "websocket", "tools/call")
    is_read = (name, arguments) != ("search", {"query": 7}) and code != "unknown_tool"
    assert entry.target == name
    assert entry.parameters == arguments if is_read else "problem" in entry.parameters
    assert (entry.outcome, entry.error_code) == (outcome, code)
    assert before <= entry.at <= datetime.now(UTC) + timedelta(seconds=1)
    assert entry.duration_ms > 0
    if outcome is Outcome.OK:
        assert answer is not None
        assert (entry.result_bytes, entry.result_digest) == (
            len(b'{"found":"sea"}'),
            hashlib.sha256(b'{"found":"sea"}').hexdigest(),
        )
    else:
        assert (entry.result_bytes, entry.result_digest) == (0, "")


@pytest.mark.row("Z13")
@pytest.mark.parametrize("arguments", [{"pasword": "hunter22"}, {"query": {"key": "hunter22"}}])
@pytest.mark.parametrize("name", ["search", "edit", "serch"])
def test_of_arguments_that_are_not_valid_only_the_problem_is_noted(
    notes: Notes, name: str, arguments: dict[str, Any]
) -> None:
    with suppress(ExpectedError):
        gate_of(notes).call(READER, name, arguments)
    assert list(notes.only.parameters) == ["problem"]
    assert "hunter22" not in repr(notes.only)


@pytest.mark.row("Z13")
def test_each_note_has_an_id_of_its_own(notes: Notes) -> None:
    gate = gate_of(notes)
    for _ in range(50):
        gate.call(READER, "search", {"query": "sea"})
    assert len({entry.call_id for entry in notes.entries}) == 50


@pytest.mark.row("Z13")
def test_an_operation_is_told_the_id_under_which_its_call_is_noted(notes: Notes) -> None:
    def run(call: Call, params: Params) -> Result:
        return Result(found=f"{params.query} {call.call_id}")

    gate = Gate(Toolbox([replace(tool("edit"), run=run)]), observers=[notes])
    answers = [gate.call(READER, "edit", {"query": "sea"}).structured for _ in range(2)]
    assert answers == [{"found": f"sea {entry.call_id}"} for entry in notes.entries]
    assert notes.entries[0].call_id != notes.entries[1].call_id


@pytest.mark.row("Z13")
def test_a_limited_call_is_noted_as_such(notes: Notes) -> None:
    gate = gate_of(notes, limiter=RateLimiter())
    codes = [gate.call(PATIENT, "search", {"query": "sea"}).error_code for _ in range(3)]
    assert codes == [None, None, "rate_limited"]
    assert [entry.outcome for entry in notes.entries] == [Outcome.OK, Outcome.OK, Outcome.LIMITED]


@pytest.mark.row("Z13")
def test_a_call_that_there_was_no_room_for_is_noted_as_such(notes: Notes) -> None:
    arguments = {"query": "sea", "password": "hunter22"}
    ask = CallContext(
        principal=READER, via="http", operation="tools/call", target="search", parameters=arguments
    )
    gate_of(notes).refuse(ask, OverloadedError("too much"))
    assert (notes.only.error_code, notes.only.outcome) == ("overloaded", Outcome.OVERLOADED)
    assert notes.only.parameters == {"query": "sea", "password": REDACTED}


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
@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (None, Outcome.OK),
        (UnauthenticatedError("wrong password"), Outcome.REFUSED),
        (ForbiddenError("not you"), Outcome.REFUSED),
        (RateLimitedError("too often", retry_after_s=3), Outcome.LIMITED),
        (StorageError("away"), Outcome.ERROR),
        (KeyError("a bug"), Outcome.FAILED),
    ],
)
def test_what_is_neither_a_tool_nor_a_resource_is_noted_too(
    notes: Notes, error: Exception | None, outcome: Outcome
) -> None:
    def work() -> str:
        if error:
            raise error
        return "stk_s_" + "a" * 40

    parameters = {"name": "ada", "password": "hunter22"}
    ask = CallContext(
        principal=READER,
        via="rest",
        operation="account/login",
        target="ada",
        parameters=parameters,
        cost=Cost.WRITE,
    )
    if error:
        with pytest.raises(type(error)):
            gate_of(notes).perform(ask, work)
    else:
        gate_of(notes).perform(ask, work)
    assert (notes.only.operation, notes.only.target, notes.only.outcome) == (
        "account/login",
        "ada",
        outcome,
    )
    assert notes.only.parameters == {"name": "ada", "password": REDACTED}
    assert notes.durable == [True]


@pytest.mark.row("Z13")
def test_what_changes_something_is_durable_before_its_caller_hears_of_it(notes: Notes) -> None:
    gate = gate_of(notes)
    for name in ("search", "edit", "sql"):
        gate.call(EDITOR, name, {"query": "sea"})
    assert notes.durable == [False, True, True]


@pytest.mark.row("Z3")
def test_the_note_of_a_refusal_is_as_quick_for_what_is_forbidden_as_for_what_does_not_exist(
    notes: Notes,
) -> None:
    for name in ("edit", "exit"):
        with pytest.raises(NotFoundError):
            gate_of(notes).call(READER, name, {})
    assert notes.durable == [False, False]


@pytest.mark.row("Z13")
def test_what_cannot_be_noted_is_not_answered(notes: Notes) -> None:
    notes.problem = StorageError("the audit is away")
    gate = gate_of(notes)
    answer = gate.call(READER, "search", {"query": "sea"})
    assert (answer.error_code, answer.structured) == ("storage", None)
    with pytest.raises(StorageError, match="the audit is away"):
        gate.read(READER, "notes://sea")


@pytest.mark.row("Z13")
def test_an_answer_from_the_cache_is_noted_like_one_that_was_made(notes: Notes) -> None:
    gate = gate_of(notes, cache=AnswerCache(10))
    for _ in range(2):
        gate.call(READER, "search", {"query": "sea"})
    first, second = notes.entries
    assert (first.result_bytes, first.result_digest) == (second.result_bytes, second.result_digest)
    assert (first.outcome, second.outcome) == (Outcome.OK, Outcome.OK)


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


@pytest.mark.row("Z13")
def test_every_outcome_is_one_row_of_the_audit_and_no_secret_is_in_the_database(
    control: Control, tmp_path: Path
) -> None:
    gate = gate_of(control.audit, limiter=control.limiter)
    secrets = [
        "hunter22-hunter22",
        "stk_t_" + "Zm9vYmFy" * 4,
        "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhZGEifQ.MEUCIQDxyz",
    ]
    arguments = {
        "query": f"{secrets[1]} {secrets[2]} Authorization: Basic {secrets[0]}",
        "password": secrets[0],
    }
    limited = replace(READER, quotas=Quotas(read=0, write=0, sql=0))
    gate.call(READER, "search", arguments)
    gate.call(READER, "wrong", arguments)
    gate.call(limited, "search", arguments)
    ask = CallContext(
        principal=READER,
        via="http",
        operation="tools/call",
        target=secrets[1],
        parameters=arguments,
    )
    gate.refuse(ask, OverloadedError("too much"))
    for name in ("broken", f"edit {secrets[2]}"):
        with pytest.raises((ZeroDivisionError, NotFoundError)):
            gate.call(READER, name, arguments)
    with pytest.raises(NotFoundError):
        gate.read(READER, f"notes://{secrets[1]}")
    rows = audit_rows(control.audit)
    assert [row.outcome for row in rows] == [
        Outcome.OK,
        Outcome.ERROR,
        Outcome.LIMITED,
        Outcome.OVERLOADED,
        Outcome.FAILED,
        Outcome.REFUSED,
        Outcome.REFUSED,
    ]
    read = [row for row in rows if "problem" not in row.parameters][:-1]
    assert [row.outcome for row in read] == [
        Outcome.OK,
        Outcome.ERROR,
        Outcome.OVERLOADED,
        Outcome.FAILED,
    ]
    assert all(row.parameters["password"] == REDACTED for row in read)
    assert control.audit.verify().first_problem is None
    written = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"tools/call" in written
    for secret in secrets:
        assert secret.encode() not in written
        assert json.dumps(secret)[1:-1].encode() not in written


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
@pytest.mark.parametrize(
    "error", [InputError("no"), NotFoundError("no"), ForbiddenError("no"), OverloadedError("no")]
)
def test_other_failures_are_not_tried_again(error: ExpectedError) -> None:
    asked: list[str] = []

    def fail(_principal: Principal, params: Params) -> Result:
        asked.append(params.query)
        raise error

    assert Gate(Toolbox([tool("search", fail)])).call(READER, "search", {}).error_code == error.code
    assert len(asked) == 1
