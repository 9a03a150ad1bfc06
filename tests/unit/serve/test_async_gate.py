"""The gate on the event loop: threads only for work, and a note of all that there was no room
for.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
import pytest

from stackroom.control.accounts.limits import MovingWindow, RateLimiter
from stackroom.errors import OverloadedError, RateLimitedError
from stackroom.gate.answer import AnswerCache
from stackroom.gate.gate import Gate
from stackroom.gate.resources import address_params, read_resource
from stackroom.model.principal import Action, Outcome, Principal, Quotas
from stackroom.serve.async_gate import (
    MOST_KNOWN,
    WAITING_THREADS,
    AsyncGate,
    RefusalThrottle,
    Workers,
)
from stackroom.tools.operation import FOLLOWING, Faces, RawParams, origin_of
from stackroom.tools.resources import ResourceContent, ResourceSpec
from stackroom.tools.spec import ToolParams
from stackroom.tools.toolbox import Toolbox
from support.plain_tools import Notes, loaded, make_tool

TEMPLATE = "notes://{name}"


class Query(ToolParams):
    query: str


READER = Principal(name="ada", actions=frozenset({Action.ACCESS_CATALOG}))
CALLER = origin_of(READER, via="websocket")


def gate_of(*, limiter: RateLimiter | None = None, notes: Notes | None = None) -> Gate:
    search = make_tool("search", params=Query, is_kept=True)
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
    return Gate(
        Toolbox([search], [resource]), cache=AnswerCache(10), limiter=limiter, observers=observers
    )


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
    gate = AsyncGate(loaded(gate_of()), workers)

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


def test_a_call_that_would_wait_too_long_is_refused_at_once_with_the_time_to_come_back() -> None:
    workers = Workers(threads=1, queue=1000, usual_s=0.8)

    async def talk() -> None:
        async with anyio.create_task_group() as tasks:
            with busy(workers, 1) as occupy:
                await occupy(tasks)
                for number in range(3):
                    tasks.start_soon(
                        lambda number=number: workers.run(lambda: None, of=f"caller {number}")
                    )
                await anyio.wait_all_tasks_blocked()
                with pytest.raises(OverloadedError) as refused:
                    await workers.run(lambda: None, of="one too many")
                assert refused.value.retry_after_s == 2.0
                assert workers.in_flight == 4
        for _ in range(100):
            await workers.run(lambda: None, of="quick")
        assert workers._usual_s < 0.1, "quick calls let others in again"

    anyio.run(talk)


@pytest.mark.parametrize("operation", ["tools/call", "resources/read", "not noted"])
def test_what_there_is_no_room_for_is_noted_once_if_it_is_noted_at_all(operation: str) -> None:
    notes, workers = Notes(), Workers(threads=1, queue=0)
    made = gate_of(notes=notes)
    gate = AsyncGate(loaded(made), workers)

    async def ask() -> None:
        if operation == "tools/call":
            answer = await gate.call(CALLER, "search", {"query": "sea"})
            assert answer.error_code == "overloaded"
        elif operation == "resources/read":
            with pytest.raises(OverloadedError):
                await gate.run(read_resource, CALLER, address_params("notes://sea"))
        else:
            following = replace(make_tool("progress"), faces=Faces(audit=FOLLOWING))
            with pytest.raises(OverloadedError):
                await gate.run(following, CALLER, RawParams(values={}))

    async def talk() -> None:
        async with anyio.create_task_group() as tasks:
            with busy(workers, 1) as occupy:
                await occupy(tasks)
                await ask()

    anyio.run(talk)
    told = [(entry.operation, entry.outcome) for entry in notes.entries]
    assert told == [(operation, Outcome.OVERLOADED)] * (operation != "not noted")


@pytest.mark.parametrize("operation", ["call", "read"])
def test_whoever_is_refused_for_asking_too_often_is_braked_until_they_are_let_in(
    operation: str,
) -> None:
    now = [0.0]
    made = gate_of(limiter=RateLimiter(MovingWindow(monotonic=lambda: now[0])))
    throttle = RefusalThrottle(pause_s=0)
    gate = AsyncGate(loaded(made), Workers(), throttle=throttle)
    quotas = Quotas(read=1, write=1, sql=1)
    limited = origin_of(replace(READER, quotas=quotas), via="http")

    async def ask() -> str | None:
        try:
            if operation == "call":
                return (await gate.call(limited, "search", {"query": "sea"})).error_code
            await gate.run(read_resource, limited, address_params("notes://sea"))
        except RateLimitedError as error:
            return error.code
        return None

    async def talk() -> list[Any]:
        seen: list[Any] = [
            await ask(),
            await throttle.wait("ada"),
            await ask(),
            await throttle.wait("ada"),
        ]
        now[0] = 61.0
        return [*seen, await ask(), await throttle.wait("ada")]

    assert anyio.run(talk) == [None, False, "rate_limited", True, None, False]


def test_what_only_waits_is_not_bounded_by_the_threads_that_work_and_keeps_none_of_them() -> None:
    anyio.run(wait_and_work)


async def wait_and_work() -> None:
    workers = Workers(threads=1)
    all_wait = threading.Barrier(WAITING_THREADS + 1)
    async with anyio.create_task_group() as tasks:
        for _ in range(WAITING_THREADS):
            tasks.start_soon(partial(workers.run, lambda: all_wait.wait(10), of="ada", waits=True))
        assert await workers.run(lambda: "done", of="ada") == "done"
        await anyio.to_thread.run_sync(all_wait.wait, 10)
    assert workers.in_flight == 0


ENDLESS_S = 60.0


def test_somebody_who_was_not_refused_never_waits() -> None:
    throttle = RefusalThrottle(pause_s=ENDLESS_S)
    throttle.note("greedy", is_refused=True)

    async def pass_by() -> bool:
        with anyio.fail_after(5):
            return await throttle.wait("ada")

    assert anyio.run(pass_by) is False


def test_requests_of_somebody_who_was_refused_go_on_one_after_the_other() -> None:
    throttle = RefusalThrottle(pause_s=0.02)
    throttle.note("greedy", is_refused=True)
    passed: list[float] = []

    async def go() -> None:
        await throttle.wait("greedy")
        passed.append(anyio.current_time())

    async def flood() -> float:
        start = anyio.current_time()
        async with anyio.create_task_group() as tasks:
            for _ in range(4):
                tasks.start_soon(go)
        return start

    start = anyio.run(flood)
    assert [moment - start >= 0.02 * (place + 1) for place, moment in enumerate(passed)] == [
        True
    ] * 4


def test_whoever_is_let_in_again_waits_no_longer() -> None:
    throttle = RefusalThrottle(pause_s=0.05)

    async def flood() -> None:
        throttle.note("greedy", is_refused=True)
        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                for _ in range(1000):
                    tasks.start_soon(throttle.wait, "greedy")
                await throttle.wait("greedy")
                throttle.note("greedy", is_refused=False)
        assert await throttle.wait("greedy") is False

    anyio.run(flood)


def test_nobody_is_held_for_longer_than_the_longest() -> None:
    throttle = RefusalThrottle(pause_s=ENDLESS_S, longest_s=0.05)
    throttle.note("greedy", is_refused=True)

    async def flood() -> None:
        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                for _ in range(20):
                    tasks.start_soon(throttle.wait, "greedy")

    anyio.run(flood)


def test_what_is_known_of_the_refused_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stackroom.serve.async_gate.MOST_KNOWN", 3)
    assert MOST_KNOWN > 3
    throttle = RefusalThrottle(pause_s=0)
    for number in range(4):
        throttle.note(f"greedy {number}", is_refused=True)

    async def held() -> list[bool]:
        return [await throttle.wait(f"greedy {number}") for number in range(4)]

    assert anyio.run(held) == [False, False, False, True]
