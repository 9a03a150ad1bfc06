"""Part 9: from starting a process to its first answers over stdio, ours and a bare SDK server in turn."""

import resource
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from load_client import StdioCaller
from load_report import Check, Part
from load_server import Library, bare_stdio_command, ours_stdio_command

ROUNDS = 9
MOST_LATER_S = 0.3
"""How much later than the bare server ours may answer."""
FIRST, LISTED = "initialize", "tools/list"


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """The seconds to each answer, and the CPU seconds of the whole short life of the process."""

    first_s: float
    listed_s: float
    cpu_s: float


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
            f"s to {LISTED}": statistics.median(one.listed_s for one in some),
            "CPU s": statistics.median(one.cpu_s for one in some),
        }
        for name, some in starts.items()
    ]
    return Part(
        title=f"9. Start over stdio, {ROUNDS} × each, in turn (medians)",
        rows=rows,
        checks=[_check(FIRST, starts, "first_s"), _check(LISTED, starts, "listed_s")],
    )


def _check(answer: str, starts: Mapping[str, Sequence[Start]], field: str) -> Check:
    """Compare neighbours in time: the median of the differences."""
    pairs = zip(starts["ours"], starts["bare"], strict=True)
    later = statistics.median(getattr(ours, field) - getattr(bare, field) for ours, bare in pairs)
    return Check(
        promise=f"{answer} is answered at most {MOST_LATER_S} s later than by a bare server",
        measured=f"{later:+.2f} s",
        holds=later <= MOST_LATER_S,
    )


async def _start(command: Sequence[str], environment: Mapping[str, str]) -> Start:
    cpu, start = _children_s(), time.perf_counter()
    caller = await StdioCaller.open(command, environment)
    first = time.perf_counter() - start
    await caller.request(LISTED, {})
    listed = time.perf_counter() - start
    await caller.close()
    return Start(first_s=first, listed_s=listed, cpu_s=_children_s() - cpu)


def _children_s() -> float:
    use = resource.getrusage(resource.RUSAGE_CHILDREN)
    return use.ru_utime + use.ru_stime
