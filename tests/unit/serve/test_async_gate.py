"""The gate on the event loop: threads only for work, and a note of all that there was no room for."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import anyio
import pytest

from stackroom.control.accounts.limits import RateLimiter
from stackroom.errors import OverloadedError, RateLimitedError
from stackroom.gate.answer import AnswerCache
from stackroom.gate.gate import Gate
from stackroom.model.principal import Action, AuditEntry, Cost, Outcome, Principal, Quotas
from stackroom.serve.async_gate import AsyncGate, Caller, RefusalThrottle, Workers
from stackroom.tools.resources.resource import ResourceContent, ResourceSpec
from stackroom.tools.spec import ToolParams, ToolResult, ToolSpec
from stackroom.tools.toolbox import Toolbox

TEMPLATE = "notes://{name}"
READER = Principal(name="ada", actions=frozenset({Action.ACCESS_CATALOG}))
CALLER = Caller(principal=READER, via="websocket")


class Params(ToolParams):
    query: str


class Result(ToolResult):
    found: str


class Notes:
    def __init__(self) -> None:
        self.entries: list[AuditEntry] = []

    def write(self, entry: AuditEntry, *, durable: bool) -> None:
        self.entries.append(entry)


def gate_of(*, limiter: RateLimiter | None = None, notes: Notes | None = None) -> Gate:
    search = ToolSpec(
        name="search",
        description="",
        params=Params,
        result=Result,
        action=Action.ACCESS_CATALOG,
        cost=Cost.READ,
        cacheable=True,
        run=lambda _principal, params: Result(found=params.query),
        text=lambda result: result.found,
    )
    resource = ResourceSpec(
        prefix="notes://",
        name="notes",
        description="",
        action=Action.ACCESS_CATALOG,
        entries=lambda _principal: [],
        read=lambda _principal, rest: ResourceContent(mime_type="text/plain", text=rest),
        template=TEMPLATE,
        template_mime_type="text/plain",
    )
    observers = [notes] if notes else []
    return Gate(Toolbox([search], [resource]), cache=AnswerCache(10), limiter=limiter, observers=observers)


@contextmanager
def busy(workers: Workers, threads: int) -> Iterator[Callable[[anyio.abc.TaskGroup], Any]]:
    """Give what keeps every thread of these workers busy until the block ends."""
    release = threading.Event()

    async def occupy(tasks: anyio.abc.TaskGroup) -> None:
        begun = threading.Semaphore(0)

        def wait() -> None:
            begun.release()
            release.wait(20)

        for number in range(threads):
            tasks.start_soon(lambda number=number: workers.run(wait, of=f"other {number}"))
        for _ in range(threads):
            await anyio.to_thread.run_sync(begun.acquire)

    try:
        yield occupy
    finally:
        release.set()


def test_an_answer_that_was_given_before_needs_no_thread() -> None:
    workers = Workers(threads=1, queue=10)
    gate = AsyncGate(gate_of, workers)

    async def talk() -> None:
        first = await gate.call(CALLER, "search", {"query": "sea"})
        async with anyio.create_task_group() as tasks:
            with busy(workers, 1) as occupy:
                await occupy(tasks)
                with anyio.fail_after(5):
                    assert await gate.call(CALLER, "search", {"query": "sea"}) == first
                tasks.start_soon(gate.call, CALLER, "search", {"query": "moon"})
                await anyio.wait_all_tasks_blocked()
                assert workers.in_flight == 2, "a new question needs a thread, and there is none"

    anyio.run(talk)


@pytest.mark.parametrize("operation", ["tools/call", "resources/read"])
def test_what_there_is_no_room_for_is_noted_once(operation: str) -> None:
    notes, workers = Notes(), Workers(threads=1, queue=0)
    made = gate_of(notes=notes)
    gate = AsyncGate(lambda: made, workers, is_loaded=lambda: True)

    async def ask() -> None:
        if operation == "tools/call":
            answer = await gate.call(CALLER, "search", {"query": "sea"})
            assert answer.error_code == "overloaded"
        else:
            with pytest.raises(OverloadedError):
                await gate.read(CALLER, "notes://sea")

    async def talk() -> None:
        async with anyio.create_task_group() as tasks:
            with busy(workers, 1) as occupy:
                await occupy(tasks)
                await ask()

    anyio.run(talk)
    assert [(entry.operation, entry.outcome) for entry in notes.entries] == [(operation, Outcome.OVERLOADED)]


def test_reads_are_answered() -> None:
    gate = AsyncGate(gate_of, Workers())

    async def talk() -> str | None:
        return (await gate.read(CALLER, "notes://sea")).text

    assert anyio.run(talk) == "sea"


@pytest.mark.parametrize("operation", ["call", "read"])
def test_whoever_is_refused_for_asking_too_often_is_braked_until_they_are_let_in(operation: str) -> None:
    now = [0.0]
    made = gate_of(limiter=RateLimiter(monotonic=lambda: now[0]))
    throttle = RefusalThrottle(pause_s=0)
    gate = AsyncGate(lambda: made, Workers(), throttle=throttle)
    limited = Caller(
        principal=Principal(name="ada", actions=READER.actions, quotas=Quotas(read=1, write=1, sql=1)), via="http"
    )

    async def ask() -> str | None:
        try:
            if operation == "call":
                return (await gate.call(limited, "search", {"query": "sea"})).error_code
            await gate.read(limited, "notes://sea")
        except RateLimitedError as error:
            return error.code
        return None

    async def talk() -> list[Any]:
        seen: list[Any] = [await ask(), await throttle.wait("ada"), await ask(), await throttle.wait("ada")]
        now[0] = 61.0
        return [*seen, await ask(), await throttle.wait("ada")]

    assert anyio.run(talk) == [None, False, "rate_limited", True, None, False]
