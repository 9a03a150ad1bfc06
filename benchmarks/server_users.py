"""Parts 3 and 4: fifty users searching at once, and one user who asks for far more than their
share.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from load_client import TRANSPORTS, Caller, Target, WebSocketCaller
from load_report import Check, Part
from load_server import Library, Process
from load_users import Plan, User, percentiles, run_elsewhere

BUSY_USERS = 50
RATE = 1.0
"""Searches a second of a user, all different: half of what the limit of 120 a minute allows."""
P95_MS = 150.0

QUOTA = 120
FLOOD_CONNECTIONS = 50
FLOOD_CALLS = 2000
FLOODS = 3
MIXED = ("http 2026-07-28", "http 2025-11-25", "sse", "websocket", "rest")
NEIGHBOURS = 10
ALONE_S, BESIDE_S = 10, 30
"""How long others are measured alone, and while the floods come one after the other; no question is
asked twice.
"""
ALONE_CALLS = NEIGHBOURS * ALONE_S


def users_of(library: Library, names: Sequence[str]) -> list[User]:
    """Return these users, spread over the transports."""
    return [
        User(token=library.tokens[name], transport=MIXED[number % len(MIXED)])
        for number, name in enumerate(names)
    ]


async def measure_users(
    library: Library,
    server: Process,
    bare: Process,
    arguments: Sequence[Mapping[str, Any]],
    seconds: float,
) -> Part:
    """Let fifty users search, and beside that let them ask the bare server for next to nothing."""
    users = users_of(library, [f"user-{number}" for number in range(BUSY_USERS)])
    plan = Plan(
        port=server.port,
        users=users,
        rate=RATE,
        seconds=seconds,
        tool="search_anime",
        arguments=arguments,
    )
    cpu = server.cpu_s()
    tally = await run_elsewhere(plan)
    spent_s = server.cpu_s() - cpu
    nobody = [User(token="", transport=user.transport) for user in users]
    floor = await run_elsewhere(
        Plan(port=bare.port, users=nobody, rate=RATE, seconds=5, tool="ping", arguments=[{}])
    )
    whole = percentiles(tally.all_ms)
    rows: list[dict[str, Any]] = [
        {"transport": name, "calls": len(values), **percentiles(values)}
        for name, values in tally.latency_ms.items()
    ]
    rows.append({"transport": "all", "calls": len(tally.all_ms), **whole})
    rows.append(
        {
            "transport": "client alone: lateness of its clock",
            "calls": "",
            **percentiles(tally.lag_ms),
        }
    )
    rows.append(
        {
            "transport": "client and a bare ping",
            "calls": len(floor.all_ms),
            **percentiles(floor.all_ms),
        }
    )
    asked, answered = len(users) * RATE, len(tally.all_ms) / tally.took_s
    cores, cpu_ms = spent_s / tally.took_s, spent_s / len(tally.all_ms) * 1000
    return Part(
        title=(
            f"3. {BUSY_USERS} users ask for {asked:.0f} searches a second, {len(arguments)}"
            " different (ms)"
        ),
        rows=rows,
        checks=[
            Check(
                promise="p95 under 150 ms",
                measured=f"{whole['p95']} ms",
                holds=whole["p95"] < P95_MS,
            ),
            Check(promise="no errors", measured=str(tally.outcomes), holds=not tally.errors),
            Check(
                promise="it keeps up",
                measured=f"{answered:.0f} a second",
                holds=answered > 0.95 * asked,
            ),
            Check(
                promise="the server has room left (less than 1.5 cores)",
                measured=f"{cores:.2f} cores, {cpu_ms:.1f} ms of CPU a search",
                holds=cores < 1.5,
            ),
            Check(
                promise="the client has room left (less than half a core)",
                measured=f"{tally.cpu_share:.2f} cores",
                holds=tally.cpu_share < 0.5,
            ),
        ],
    )


async def measure_limits(
    library: Library, server: Process, arguments: Sequence[Mapping[str, Any]]
) -> Part:
    """Flood the server as one user after another, and measure others meanwhile."""
    neighbours = users_of(library, [f"neighbour-{number}" for number in range(NEIGHBOURS)])
    first, rest = arguments[:ALONE_CALLS], arguments[ALONE_CALLS:]
    plan = Plan(
        port=server.port,
        users=neighbours,
        rate=RATE,
        seconds=ALONE_S,
        tool="search_anime",
        arguments=first,
    )
    alone = percentiles((await run_elsewhere(plan)).all_ms)
    beside_task = asyncio.create_task(
        run_elsewhere(replace(plan, seconds=BESIDE_S, arguments=rest))
    )
    await asyncio.sleep(1)
    rows, checks = [], []
    for number in range(FLOODS):
        kind = "websocket, all at once" if number % 2 == 0 else "mixed, back to back"
        outcomes = await _flood(
            server.port, library.tokens[f"greedy-{number}"], is_mixed=number % 2 == 1
        )
        rows.append({"flood": kind, **outcomes})
        checks.append(
            Check(
                promise=(
                    f"{FLOOD_CALLS} calls on {FLOOD_CONNECTIONS} connections ({kind}): exactly"
                    f" {QUOTA} accepted"
                ),
                measured=f"{outcomes['ok']} accepted, {outcomes.total()} answered",
                holds=outcomes["ok"] == QUOTA and outcomes.total() == FLOOD_CALLS,
            )
        )
    beside = await beside_task
    calm = percentiles(beside.all_ms)
    rows += [
        {"others": name, **one} for name, one in (("alone", alone), ("beside the floods", calm))
    ]
    checks += [
        Check(
            promise="others' p95 at most twice that alone, or 50 ms",
            measured=f"{alone['p95']} → {calm['p95']} ms",
            holds=calm["p95"] <= max(50.0, 2 * alone["p95"]),
        ),
        Check(
            promise="others see no error", measured=str(beside.outcomes), holds=not beside.errors
        ),
    ]
    return Part(title="4. A user far over the limit", rows=rows, checks=checks)


async def _flood(port: int, token: str, *, is_mixed: bool) -> Counter[str]:
    """Make 2,000 calls as one user: all at once over WebSocket, or each connection as fast as it is
    answered.
    """
    target = Target(port=port, token=token)
    openers = [
        TRANSPORTS[MIXED[n % len(MIXED)]] if is_mixed else WebSocketCaller.open
        for n in range(FLOOD_CONNECTIONS)
    ]
    callers = [await opener(target) for opener in openers]
    outcomes: Counter[str] = Counter()

    async def call(caller: Caller) -> None:
        outcomes[(await caller.call("ping", {})).code] += 1

    async def work(caller: Caller) -> None:
        each = FLOOD_CALLS // FLOOD_CONNECTIONS
        if caller.can_pipeline:
            await asyncio.gather(*(call(caller) for _ in range(each)))
        else:
            for _ in range(each):
                await call(caller)

    await asyncio.gather(*(work(caller) for caller in callers))
    for caller in callers:
        await caller.close()
    return outcomes
