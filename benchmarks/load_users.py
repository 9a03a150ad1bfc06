"""Users at their own pace, as a process of its own: the plan comes on standard input, what happened
goes to output.

Each user has one connection and calls at fixed moments, whether or not the answers are quick: a
call that has to wait for the one before it is late, and its waiting counts (no coordinated
omission). The client's own lateness is measured beside it by a task that only sleeps, so that it
can be told from the server's.
"""

import asyncio
import gc
import random
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import orjson
import uvloop
from load_client import TRANSPORTS, Caller, Target

TICK_S = 0.005
SETTLE_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """Who calls, and by which transport."""

    token: str
    transport: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What the users do: `rate` calls a second each, of one tool, with these arguments in turn."""

    port: int
    users: Sequence[User]
    rate: float
    seconds: float
    tool: str
    arguments: Sequence[Mapping[str, Any]]

    @classmethod
    def from_json(cls, text: bytes) -> "Plan":
        """Read a plan."""
        values = orjson.loads(text)
        return cls(**{**values, "users": [User(**user) for user in values["users"]]})

    def to_json(self) -> bytes:
        """Write the plan."""
        return orjson.dumps(asdict(self))


@dataclass(slots=True, kw_only=True)
class Tally:
    """What happened: milliseconds from when a call was due to its answer, outcomes, and how late
    the client was.
    """

    latency_ms: dict[str, list[float]] = field(default_factory=dict)
    outcomes: dict[str, int] = field(default_factory=dict)
    lag_ms: list[float] = field(default_factory=list)
    took_s: float = 0.0
    cpu_share: float = 0.0

    def note(self, outcome: str) -> None:
        """Count an outcome."""
        self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1

    @property
    def all_ms(self) -> list[float]:
        """The milliseconds of every transport together."""
        return [value for some in self.latency_ms.values() for value in some]

    @property
    def errors(self) -> int:
        """How many calls were not answered as asked."""
        return sum(count for outcome, count in self.outcomes.items() if outcome != "ok")


async def run_plan(plan: Plan) -> Tally:
    """Open every connection, let everybody call, and return what happened."""
    tally = Tally(latency_ms={user.transport: [] for user in plan.users})
    callers = [
        await TRANSPORTS[user.transport](Target(port=plan.port, token=user.token))
        for user in plan.users
    ]
    gc.collect()
    gc.disable()
    clock = asyncio.create_task(_watch_clock(tally))
    start, cpu = time.perf_counter() + SETTLE_S, time.process_time()
    dice = random.Random(1)
    await asyncio.gather(
        *(
            _call_on_time(plan, tally, number, caller, start + dice.random() / plan.rate)
            for number, caller in enumerate(callers)
        )
    )
    tally.took_s = time.perf_counter() - start
    tally.cpu_share = (time.process_time() - cpu) / tally.took_s
    clock.cancel()
    await asyncio.gather(*(caller.close() for caller in callers))
    return tally


async def _call_on_time(
    plan: Plan, tally: Tally, number: int, caller: Caller, start: float
) -> None:
    latencies = tally.latency_ms[plan.users[number].transport]
    for turn in range(int(plan.rate * plan.seconds)):
        due = start + turn / plan.rate
        if (wait := due - time.perf_counter()) > 0:
            await asyncio.sleep(wait)
        place = number + turn * len(plan.users)
        try:
            answer = await caller.call(plan.tool, plan.arguments[place % len(plan.arguments)])
        except (OSError, asyncio.IncompleteReadError) as error:
            tally.note(f"connection lost: {type(error).__name__}")
            return
        latencies.append((time.perf_counter() - due) * 1000)
        tally.note(answer.code)


async def _watch_clock(tally: Tally) -> None:
    """Note how much later than asked a sleep ends: what the client itself adds to a latency."""
    while True:
        due = time.perf_counter() + TICK_S
        await asyncio.sleep(TICK_S)
        tally.lag_ms.append((time.perf_counter() - due) * 1000)


async def run_elsewhere(plan: Plan) -> Tally:
    """Carry out a plan in a process of its own."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, __file__, stdin=pipe, stdout=pipe
    )
    output, _ = await process.communicate(plan.to_json())
    if process.returncode:
        raise RuntimeError(f"the users' process failed ({process.returncode})")
    return Tally(**orjson.loads(output))


def percentiles(values: Sequence[float]) -> dict[str, float]:
    """Return the median, the 95th and the 99th percentile, and the largest."""
    cuts = statistics.quantiles(values, n=100) if len(values) > 1 else [*values] * 99
    named = {"p50": cuts[49], "p95": cuts[94], "p99": cuts[98], "max": max(values)}
    return {name: round(value, 2) for name, value in named.items()}


if __name__ == "__main__":
    sys.stdout.buffer.write(
        orjson.dumps(asdict(uvloop.run(run_plan(Plan.from_json(sys.stdin.buffer.read())))))
    )
