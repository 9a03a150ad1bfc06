"""Part 8: the CPU of a search over HTTP with its embedding, one at a time, and fifty different
questions at once.
"""

import asyncio
import statistics
import time
from collections.abc import Mapping, Sequence
from typing import Any

from load_client import TRANSPORTS, Caller, Target
from load_report import Check, Part
from load_server import Library, Process

TOOL = "search_anime"
ONE_BY_ONE = ("rest", "http 2026-07-28", "websocket")
ROUND = 25
ROUNDS = 6
WARM_UP = 20
MOST_CPU_MS = 8.0
AT_ONCE = 50
WAVES = 5
MOST_WAVE_S = 1.0


async def measure_searches(
    library: Library, server: Process, arguments: Sequence[Mapping[str, Any]]
) -> Part:
    """Search over each transport in turn, each question asked once; then ask fifty at the same
    moment, in waves.
    """
    questions = iter(arguments)
    target = Target(port=server.port, token=library.tokens["fast"])
    one_by_one = {name: [await TRANSPORTS[name](target)] for name in ONE_BY_ONE}
    await _ask(one_by_one["rest"], [next(questions) for _ in range(WARM_UP)])
    alone: dict[str, list[float]] = {name: [] for name in ONE_BY_ONE}
    for _ in range(ROUNDS):
        for name, callers in one_by_one.items():
            alone[name].append(
                (await _measure(server, callers, [next(questions) for _ in range(ROUND)]))[0]
            )
    waves: dict[str, list[tuple[float, float]]] = {name: [] for name in ONE_BY_ONE}
    for _ in range(WAVES):
        for name in ONE_BY_ONE:  # connections that send nothing for long are closed
            callers = [await TRANSPORTS[name](target) for _ in range(AT_ONCE)]
            waves[name].append(
                await _measure(server, callers, [next(questions) for _ in range(AT_ONCE)])
            )
            await _close(callers)
    for callers in one_by_one.values():
        await _close(callers)
    rows = [
        {
            "transport": name,
            "one at a time, CPU ms": statistics.median(alone[name]),
            f"{AT_ONCE} at once, CPU ms each": statistics.median(cpu for cpu, _ in waves[name]),
            "last answer after s": statistics.median(took for _, took in waves[name]),
        }
        for name in ONE_BY_ONE
    ]
    return Part(
        title=(
            f"8. Searches with vectors, all different: {ROUNDS} × {ROUND}, and {WAVES} × {AT_ONCE}"
            " at once (medians)"
        ),
        rows=rows,
        checks=[check for row in rows for check in _checks(row)],
    )


def _checks(row: Mapping[str, Any]) -> list[Check]:
    _, alone, together, last = row.values()
    return [
        Check(
            promise=f"{row['transport']}: a search takes at most {MOST_CPU_MS:.0f} ms of CPU",
            measured=f"{alone:.1f} ms; {together:.1f} ms with {AT_ONCE} at once",
            holds=max(alone, together) <= MOST_CPU_MS,
        ),
        Check(
            promise=(
                f"{row['transport']}: {AT_ONCE} different questions at once answered within"
                f" {MOST_WAVE_S:.0f} s"
            ),
            measured=f"{last:.2f} s",
            holds=last <= MOST_WAVE_S,
        ),
    ]


async def _measure(
    server: Process, callers: Sequence[Caller], questions: Sequence[Mapping[str, Any]]
) -> tuple[float, float]:
    """Return the CPU milliseconds of a question, and the seconds until the last answer."""
    cpu, start = server.cpu_s(), time.perf_counter()
    await _ask(callers, questions)
    return (server.cpu_s() - cpu) / len(questions) * 1000, time.perf_counter() - start


async def _close(callers: Sequence[Caller]) -> None:
    await asyncio.gather(*(caller.close() for caller in callers))


async def _ask(callers: Sequence[Caller], questions: Sequence[Mapping[str, Any]]) -> None:
    """Ask on all connections at once, on each one after the other; each question must be
    answered.
    """
    left = iter(questions)

    async def work(caller: Caller) -> None:
        for question in left:
            answer = await caller.call(TOOL, question)
            if not answer.is_ok:
                raise RuntimeError(f"{TOOL} was answered with {answer.code}")

    await asyncio.gather(*(work(caller) for caller in callers))
