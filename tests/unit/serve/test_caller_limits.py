"""Whoever asks too often waits; nobody else does."""

import anyio
import pytest

from stackroom.serve.async_gate import MOST_KNOWN, RefusalThrottle

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
    assert [moment - start >= 0.02 * (place + 1) for place, moment in enumerate(passed)] == [True] * 4


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


def test_a_caller_that_gives_up_leaves_the_line() -> None:
    throttle = RefusalThrottle(pause_s=0.01)
    throttle.note("greedy", is_refused=True)

    async def flood() -> None:
        async with anyio.create_task_group() as tasks:
            for _ in range(500):
                tasks.start_soon(throttle.wait, "greedy")
            await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
        with anyio.fail_after(1):
            assert await throttle.wait("greedy")

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
