"""Part 9: from starting a process to its first answers over stdio, ours and a bare SDK server in
turn.
"""

import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from load_client import StdioCaller
from load_report import Check, Part
from load_server import Library, bare_stdio_command, cpu_of, ours_stdio_command

ROUNDS = 9
MOST_LATER_S = 0.3
"""How much later than the bare server ours may answer."""
FIRST, LISTED = "initialize", "tools/list"


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """The seconds to each answer, and the CPU seconds of the process until then."""

    first_s: float
    first_cpu_s: float
    listed_s: float
    listed_cpu_s: float


async def measure_start(library: Library, *, against_bare: bool = False) -> Part:
    """Start each server in turn, ask it to introduce itself and to list its tools, and end it."""
    commands = {"ours": ours_stdio_command(), "bare": bare_stdio_command(library)}
    if against_bare:
        commands["ours"] = commands["bare"]
    environment = library.environment(LOG_LEVEL="WARNING")
    starts: dict[str, list[Start]] = {name: [] for name in commands}
    for number in range(ROUNDS + 1):
        for name in commands if number % 2 else reversed(commands):
            start = await _start(commands[name], environment)
            if number:  # the first round fills the page cache
                starts[name].append(start)
    rows: list[dict[str, Any]] = [
        {
            "server": name,
            f"s to {FIRST}": statistics.median(one.first_s for one in some),
            "CPU s": statistics.median(one.first_cpu_s for one in some),
            f"s to {LISTED}": statistics.median(one.listed_s for one in some),
            "CPU s, listed": statistics.median(one.listed_cpu_s for one in some),
        }
        for name, some in starts.items()
    ]
    return Part(
        title=f"9. Start over stdio, {ROUNDS} × each, in turn (medians)",
        rows=rows,
        checks=[_check(FIRST, starts, "first"), _check(LISTED, starts, "listed")],
    )


def _check(answer: str, starts: Mapping[str, Sequence[Start]], field: str) -> Check:
    """Compare neighbours in time, by CPU seconds: on a busy machine the others say how long a start
    is.
    """
    later, later_cpu = (_later(starts, f"{field}_s"), _later(starts, f"{field}_cpu_s"))
    return Check(
        promise=(
            f"{answer} is answered at most {MOST_LATER_S} s (of CPU) later than by a bare server"
        ),
        measured=f"{later_cpu:+.2f} s of CPU, {later:+.2f} s",
        holds=later_cpu <= MOST_LATER_S,
    )


def _later(starts: Mapping[str, Sequence[Start]], field: str) -> float:
    pairs = zip(starts["ours"], starts["bare"], strict=True)
    return statistics.median(getattr(ours, field) - getattr(bare, field) for ours, bare in pairs)


async def _start(command: Sequence[str], environment: Mapping[str, str]) -> Start:
    start = time.perf_counter()
    caller = await StdioCaller.open(command, environment)
    first, first_cpu = time.perf_counter() - start, cpu_of(caller.process.pid)
    await caller.request(LISTED, {})
    listed, listed_cpu = time.perf_counter() - start, cpu_of(caller.process.pid)
    await caller.close()
    return Start(first_s=first, first_cpu_s=first_cpu, listed_s=listed, listed_cpu_s=listed_cpu)
