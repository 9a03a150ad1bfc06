"""Part 7: ten hostile SQL statements at once, and somebody who searches beside them."""

import asyncio
import itertools
import time
from collections.abc import Mapping, Sequence
from typing import Any

from load_client import RestCaller, Target
from load_report import Check, Part
from load_server import Library, Process
from load_users import percentiles

STATEMENTS = (
    "SELECT count(*) FROM items a, items b, items c, items d",
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION SELECT x + 1 FROM c) SELECT max(x) FROM c",
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c",
)
AT_ONCE = 10
ROUNDS = 3
SEARCHES_ALONE = 150
ANSWERED_MS = 1500.0


async def measure_sql(
    library: Library, server: Process, arguments: Sequence[Mapping[str, Any]]
) -> Part:
    """Search alone, then beside the statements, and time both."""
    searcher = await RestCaller.open(Target(port=server.port, token=library.tokens["fast"]))
    target = Target(port=server.port, token=library.tokens["debugger"])
    debuggers = [await RestCaller.open(target) for _ in range(AT_ONCE)]
    different = itertools.cycle(arguments)

    async def search() -> float:
        began = time.perf_counter()
        await searcher.call("search_anime", next(different))
        return (time.perf_counter() - began) * 1000

    async def debug(number: int) -> float:
        began = time.perf_counter()
        statement = STATEMENTS[number % len(STATEMENTS)]
        await debuggers[number].call("debug.sql", {"query": statement, "catalogue": "anime"})
        return (time.perf_counter() - began) * 1000

    alone: list[float] = []
    beside: list[float] = []
    answered: list[float] = []
    for _ in range(ROUNDS):
        alone += [await search() for _ in range(SEARCHES_ALONE)]
        running = [asyncio.create_task(debug(number)) for number in range(AT_ONCE)]
        while not all(task.done() for task in running):
            beside.append(await search())
        answered += [task.result() for task in running]
    for caller in (searcher, *debuggers):
        await caller.close()
    quiet, busy = percentiles(alone), percentiles(beside)
    return Part(
        title=f"7. {AT_ONCE} hostile statements at once, and searches beside them (ms)",
        rows=[
            {"what": "search alone", "calls": len(alone), **quiet},
            {"what": "search beside", "calls": len(beside), **busy},
            {"what": "statement", "calls": len(answered), **percentiles(answered)},
        ],
        checks=[
            Check(
                promise="a search takes at most twice as long",
                measured=f"p50 {quiet['p50']} → {busy['p50']}",
                holds=busy["p50"] <= 2 * quiet["p50"],
            ),
            Check(
                promise="each statement is answered within 1.5 s",
                measured=f"{max(answered):.0f} ms",
                holds=max(answered) <= ANSWERED_MS,
            ),
        ],
    )
