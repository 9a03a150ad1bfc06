"""Part 1: calls a second and CPU a call of each transport, ours and a bare server in turn in the
same minutes.
"""

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from load_client import TRANSPORTS, Caller, StdioCaller, Target
from load_report import Check, Part
from load_server import Library, Process, bare_stdio_command, cpu_of, ours_stdio_command

CONNECTIONS = 8
ROUNDS = 7
WARM_UP = 30
MOST = 1.3
"""How many times the bare server's CPU ours may take, for each call."""
WITHOUT_PEER = "rest"
"""REST is no part of the SDK: beside it stands a bare Starlette route, for scale and not as a
bound.
"""


@dataclass(slots=True, kw_only=True)
class Side:
    """One of the two servers under one transport, and what its rounds took."""

    callers: Sequence[Caller]
    pid: int
    cpu_ms: list[float] = field(default_factory=list)
    calls_s: list[float] = field(default_factory=list)

    async def run(self, tool: str, arguments: Mapping[str, Any], calls: int) -> None:
        """Make calls on all connections at once, each as fast as it is answered, and note what they
        took.
        """
        cpu, start = cpu_of(self.pid), time.perf_counter()
        await self.call(tool, arguments, calls)
        took, spent = time.perf_counter() - start, cpu_of(self.pid) - cpu
        self.cpu_ms.append(spent / calls * 1000)
        self.calls_s.append(calls / took)

    async def call(self, tool: str, arguments: Mapping[str, Any], calls: int) -> None:
        """Make calls; each must be answered."""
        left = iter(range(calls))

        async def work(caller: Caller) -> None:
            for _ in left:
                answer = await caller.call(tool, arguments)
                if not answer.is_ok:
                    raise RuntimeError(f"{tool} was answered with {answer.code}")

        await asyncio.gather(*(work(caller) for caller in self.callers))

    async def close(self) -> None:
        """Hang up."""
        for caller in dict.fromkeys(self.callers):
            await caller.close()


Opener = Callable[[], Awaitable[tuple[Side, Side]]]


async def measure_speed(
    library: Library,
    ours: Process,
    bare: Process,
    calls: Mapping[str, Mapping[str, Any]],
    requests: int,
) -> Part:
    """Measure every transport for every call; `calls` is name → tool and arguments."""
    rows = []
    for transport, opener in _openers(library, ours, bare).items():
        our_side, bare_side = await opener()
        for name, call in calls.items():
            rows.append(await _compare(transport, name, our_side, bare_side, call, requests))
        await our_side.close()
        await bare_side.close()
    return Part(
        title=(
            f"1. Speed: {CONNECTIONS} connections, {ROUNDS} × {requests} calls each side, in turn"
            " (medians)"
        ),
        rows=rows,
        checks=[_check(row, MOST) for row in rows if row["transport"] != WITHOUT_PEER],
    )


def _check(row: Mapping[str, Any], most: float) -> Check:
    return Check(
        promise=f"{row['transport']}, {row['call']}: at most {most} × the CPU of a bare server",
        measured=f"{row['CPU ratio']:.2f} ×",
        holds=row["CPU ratio"] <= most,
    )


async def _compare(
    transport: str, name: str, ours: Side, bare: Side, call: Mapping[str, Any], requests: int
) -> dict[str, Any]:
    for side in (ours, bare):
        side.cpu_ms.clear()
        side.calls_s.clear()
        await side.call(**call, calls=WARM_UP)
    for number in range(ROUNDS):
        for side in (ours, bare) if number % 2 else (bare, ours):
            await side.run(**call, calls=requests)
    ratios = [one / other for one, other in zip(ours.cpu_ms, bare.cpu_ms, strict=True)]
    return {
        "transport": transport,
        "call": name,
        "ours /s": round(statistics.median(ours.calls_s)),
        "bare /s": round(statistics.median(bare.calls_s)),
        "ours CPU ms": statistics.median(ours.cpu_ms),
        "bare CPU ms": statistics.median(bare.cpu_ms),
        "CPU ratio": statistics.median(ratios),
    }


def _openers(library: Library, ours: Process, bare: Process) -> dict[str, Opener]:
    """Return what opens both sides, by transport."""

    def by_port(name: str) -> Opener:
        async def both() -> tuple[Side, Side]:
            targets = (Target(port=ours.port, token=library.tokens["fast"]), Target(port=bare.port))
            sides = [
                [await TRANSPORTS[name](target) for _ in range(CONNECTIONS)] for target in targets
            ]
            return Side(callers=sides[0], pid=ours.pid), Side(callers=sides[1], pid=bare.pid)

        return both

    async def by_pipe() -> tuple[Side, Side]:
        environment = library.environment()
        commands = (ours_stdio_command(), bare_stdio_command(library))
        one, other = [await StdioCaller.open(command, environment) for command in commands]
        return (
            Side(callers=[one] * CONNECTIONS, pid=one.process.pid),
            Side(callers=[other] * CONNECTIONS, pid=other.process.pid),
        )

    return {**{name: by_port(name) for name in TRANSPORTS}, "stdio": by_pipe}
