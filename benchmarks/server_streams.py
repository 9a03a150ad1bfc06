"""Parts 2, 5 and 6: many open streams, an orderly end, and clients that do not read."""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import orjson
from load_client import (
    ACCEPT_BOTH,
    MODERN,
    MODERN_META,
    TRANSPORTS,
    Caller,
    HttpConnection,
    IdleGet,
    RefusedError,
    SseCaller,
    Target,
    WebSocketCaller,
    text_frame,
)
from load_report import Check, Part
from load_server import Library, Process, settle
from load_users import Plan, Tally, User, percentiles, run_elsewhere

AT_ONCE = 50
WAVES = (
    ("sse", 50),
    ("websocket", 500),
    ("websocket", 2000),
    ("get stream", 500),
    ("get stream", 2000),
)
COMPARED = 500
"""Up to how many streams the bare server is measured too."""
MOST_GROWTH = 1.05
ORDERLY_CLOSES = ("close 1001", "close 1012", "end of body")
SLOW_READERS = 20
SLOW_CALLS = 60
DROPPED_WITHIN_S = 30.0
PATIENCE_S = 45.0


Starter = Callable[[], AbstractContextManager[Process]]


class Stream(Protocol):
    """An open stream, and how it ended."""

    end: str
    reading: "asyncio.Task[None]"

    async def close(self) -> None: ...

    def hang_up(self) -> None: ...


STREAMS: dict[str, Callable[[Target], Awaitable[Stream]]] = {
    "sse": SseCaller.open,
    "websocket": WebSocketCaller.open,
    "get stream": IdleGet.open,
}


async def measure_connections(library: Library, start: Starter, start_bare: Starter) -> Part:
    """Open waves of streams on one process, twice each, and read its memory; a new process for each
    kind and number.
    """
    rows, checks = [], []
    for kind, count in WAVES:
        with start() as server:
            target = Target(port=server.port, token=library.tokens["fast"])
            first, second = [await _wave(server, target, kind, count) for _ in range(2)]
        rows += [{"wave": number, **wave} for number, wave in ((1, first), (2, second))]
        if count <= COMPARED:
            with start_bare() as bare:
                rows.append(
                    {"wave": "bare", **await _wave(bare, Target(port=bare.port), kind, count)}
                )
        refused, left = (first[name] + second[name] for name in ("refused", "left open"))
        growth = second["closed MB"] / first["closed MB"]
        checks += [
            Check(
                promise=f"{count} × {kind}: none refused",
                measured=f"{refused} refused",
                holds=not refused,
            ),
            Check(
                promise=f"{count} × {kind}: all let go of when closed",
                measured=f"{left} left",
                holds=not left,
            ),
            Check(
                promise=f"{count} × {kind}: memory after wave two less than 5 % above wave one",
                measured=f"{(growth - 1) * 100:+.1f} %",
                holds=growth < MOST_GROWTH,
            ),
        ]
    return Part(title="2. Connections on one process, two waves each", rows=rows, checks=checks)


async def _wave(server: Process, target: Target, kind: str, count: int) -> dict[str, Any]:
    before, cpu, start = await settle(server.rss_mb), server.cpu_s(), time.perf_counter()
    streams, refused = await open_streams(kind, target, count)
    took, spent = time.perf_counter() - start, server.cpu_s() - cpu
    opened = await settle(server.rss_mb, within_s=4)
    await _close_all(streams)
    closed = await settle(server.rss_mb)
    return {
        "streams": f"{count} {kind}",
        "refused": refused,
        "open ms each": took / count * 1000,
        "CPU ms each": spent / count * 1000,
        "before MB": before,
        "open MB": opened,
        "KB each": (opened - before) * 1024 / count,
        "closed MB": closed,
        "left open": len(server.held_ports()),
    }


async def open_streams(kind: str, target: Target, count: int) -> tuple[list[Stream], int]:
    """Open streams, some at a time; return them and how many were refused."""
    streams: list[Stream] = []
    refused = 0
    left = iter(range(count))

    async def work() -> None:
        nonlocal refused
        for _ in left:
            try:
                streams.append(await STREAMS[kind](target))
            except (RefusedError, OSError, asyncio.IncompleteReadError):
                refused += 1

    await asyncio.gather(*(work() for _ in range(AT_ONCE)))
    return streams, refused


async def _close_all(streams: Sequence[Stream]) -> None:
    left = iter(streams)

    async def work() -> None:
        for stream in left:
            await stream.close()

    await asyncio.gather(*(work() for _ in range(AT_ONCE)))


SHUTDOWN_STREAMS = {"websocket": 250, "get stream": 150, "sse": 100}
IN_FLIGHT = ("http 2026-07-28", "http 2025-11-25", "sse", "websocket", "rest")
CALLS_EACH = 4
EXIT_WITHIN_S = 10.0


async def measure_shutdown(
    library: Library, server: Process, arguments: Sequence[Mapping[str, Any]]
) -> Part:
    """End the server while streams are open and calls are being answered."""
    target = Target(port=server.port, token=library.tokens["fast"])
    streams = {
        kind: (await open_streams(kind, target, count))[0]
        for kind, count in SHUTDOWN_STREAMS.items()
    }
    callers = [
        (name, await TRANSPORTS[name](target)) for name in IN_FLIGHT for _ in range(CALLS_EACH)
    ]
    start = time.perf_counter()
    await asyncio.gather(
        *(
            caller.call("search_anime", one)
            for (_, caller), one in zip(callers, arguments, strict=False)
        )
    )
    usual_s = time.perf_counter() - start
    signalled: list[float] = []
    calls = [
        asyncio.create_task(_call_through(name, caller, one, signalled))
        for (name, caller), one in zip(callers, reversed(arguments), strict=False)
    ]
    await asyncio.sleep(usual_s / 3)  # all have arrived by then, and most are not answered
    server.terminate()
    signalled.append(time.perf_counter())
    while server.exit_code() is None and time.perf_counter() - signalled[0] < PATIENCE_S:
        await asyncio.sleep(0.01)
    took = time.perf_counter() - signalled[0]
    await asyncio.wait(
        [*calls, *(stream.reading for some in streams.values() for stream in some)], timeout=3
    )
    answered = Counter((name, state) for name, state in (await _results(calls)))
    ends = {
        kind: Counter(stream.end or "open" for stream in some) for kind, some in streams.items()
    }
    for left in (
        *(stream for some in streams.values() for stream in some),
        *(caller for _, caller in callers),
    ):
        left.hang_up()
    return _shutdown_part(server, took, answered, ends)


def _shutdown_part(
    server: Process,
    took: float,
    answered: Counter[tuple[str, str]],
    ends: Mapping[str, Counter[str]],
) -> Part:
    lost = sum(count for (_, state), count in answered.items() if not state.startswith("answered"))
    after = sum(
        count for (_, state), count in answered.items() if state == "answered after the signal"
    )
    rough = {
        end: count
        for some in ends.values()
        for end, count in some.items()
        if end not in ORDERLY_CLOSES
    }
    rows = [
        {"what": f"call, {name}", "end": state, "count": count}
        for (name, state), count in answered.items()
    ]
    rows += [
        {"what": kind, "end": end, "count": count}
        for kind, some in ends.items()
        for end, count in some.items()
    ]
    total = sum(answered.values())
    return Part(
        title=(
            f"5. SIGTERM with {sum(SHUTDOWN_STREAMS.values())} streams and {total} calls under way"
        ),
        rows=rows,
        checks=[
            Check(
                promise="it ends within 10 s", measured=f"{took:.2f} s", holds=took < EXIT_WITHIN_S
            ),
            Check(
                promise="exit code 0",
                measured=str(server.exit_code()),
                holds=server.exit_code() == 0,
            ),
            Check(
                promise="some calls were still under way",
                measured=f"{after} of {total}",
                holds=after > 0,
            ),
            Check(promise="calls under way are answered", measured=f"{lost} lost", holds=not lost),
            Check(
                promise="streams end in order (1001, 1012, end of body)",
                measured=str(rough or "all"),
                holds=not rough,
            ),
        ],
    )


async def _call_through(
    name: str, caller: Caller, arguments: Mapping[str, Any], signalled: Sequence[float]
) -> tuple[str, str]:
    try:
        answer = await caller.call("search_anime", arguments)
    except (RefusedError, OSError, asyncio.IncompleteReadError) as error:
        return name, f"lost: {type(error).__name__}"
    if not answer.is_ok:
        return name, f"lost: {answer.code}"
    return name, "answered after the signal" if signalled else "answered before the signal"


async def _results(calls: "Sequence[asyncio.Task[tuple[str, str]]]") -> list[tuple[str, str]]:
    for call in calls:
        call.cancel()
    return [
        ("?", "lost: no answer") if isinstance(one, BaseException) else one
        for one in await asyncio.gather(*calls, return_exceptions=True)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowReader:
    """A client that asks for big answers and never reads them."""

    kind: str
    connection: HttpConnection
    """Where the answers come."""
    ask: Callable[[], Awaitable[None]]
    hang_up: Callable[[], None]


async def measure_slow_readers(
    library: Library, server: Process, arguments: Sequence[Mapping[str, Any]], users: Sequence[User]
) -> Part:
    """Measure other users alone and beside clients that never read, and when those are dropped."""
    plan = Plan(
        port=server.port,
        users=users,
        rate=2.0,
        seconds=10,
        tool="search_anime",
        arguments=arguments[: len(users) * 20],
    )
    alone = await run_elsewhere(plan)
    big = {**arguments[-1], "limit": 50}
    target = Target(port=server.port, token=library.tokens["fast"], small_buffers=True)
    kinds = ("websocket", "sse", "rest", "http 2026-07-28")
    memory = await settle(server.rss_mb)
    slow = [
        await _open_slow(kinds[number % len(kinds)], target, big) for number in range(SLOW_READERS)
    ]
    beside_task = asyncio.create_task(run_elsewhere(plan))
    asking = [asyncio.create_task(_ask_often(one)) for one in slow]
    gone, peak = await _watch_drops(server, slow)
    beside = await beside_task
    for task in asking:
        task.cancel()
    for one in slow:
        one.hang_up()
    return _slow_part(slow, gone, (memory, peak), alone, beside)


def _slow_part(
    slow: Sequence[SlowReader],
    gone: Mapping[int, float],
    memory: tuple[float, float],
    alone: Tally,
    beside: Tally,
) -> Part:
    ports = {
        kind: [one.connection.local_port for one in slow if one.kind == kind]
        for kind in {s.kind for s in slow}
    }
    rows: list[dict[str, Any]] = []
    for kind, some in sorted(ports.items()):
        times = [gone[port] for port in some if port in gone]
        rows.append(
            {
                "slow readers": kind,
                "count": len(some),
                "dropped": len(times),
                "last s": max(times, default=0.0),
            }
        )
    calm = [percentiles(one.all_ms) for one in (alone, beside)]
    rows += [
        {"other users": name, **one} for name, one in zip(("alone", "beside"), calm, strict=True)
    ]
    late = len(slow) - sum(1 for after in gone.values() if after <= DROPPED_WITHIN_S)
    return Part(
        title=f"6. {len(slow)} clients that never read {SLOW_CALLS} big answers each",
        rows=rows,
        checks=[
            Check(
                promise="all dropped within 30 s", measured=f"{late} held longer", holds=not late
            ),
            Check(
                promise="others' p95 at most twice that alone, or 50 ms",
                measured=f"{calm[0]['p95']} → {calm[1]['p95']} ms",
                holds=calm[1]["p95"] <= max(50.0, 2 * calm[0]["p95"]),
            ),
            Check(
                promise="others see no error",
                measured=str(beside.outcomes),
                holds=not beside.errors,
            ),
            Check(
                promise="buffers bounded: less than 2 MB a slow reader",
                measured=f"{memory[0]:.0f} → {memory[1]:.0f} MB",
                holds=memory[1] - memory[0] < 2 * len(slow),
            ),
        ],
    )


async def _open_slow(kind: str, target: Target, arguments: Mapping[str, Any]) -> SlowReader:
    """Open a client that stops reading before its first big answer."""
    params: dict[str, Any] = {"name": "search_anime", "arguments": arguments}
    body = orjson.dumps({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params})
    if kind == "websocket":
        websocket = await WebSocketCaller.open(target)
        frame = text_frame(body)
        return _deaf(
            kind,
            websocket.connection,
            lambda: websocket.connection.writer.write(frame),
            websocket.hang_up,
        )
    if kind == "sse":
        return _deaf_sse(await SseCaller.open(target), body)
    connection = await HttpConnection.open(target)
    if kind == "rest":
        payload = orjson.dumps(arguments)
        send = partial(connection.send, "POST", "/v1/tools/search_anime", body=payload)
        return _deaf(kind, connection, send, connection.hang_up)
    modern = orjson.dumps(
        {
            "jsonrpc": "2.0",
            "id": 7,
            "method": "tools/call",
            "params": {**params, "_meta": MODERN_META},
        }
    )
    headers = b"%sMCP-Protocol-Version: %s\r\nMcp-Method: tools/call\r\nMcp-Name: search_anime\r\n"
    headers %= (ACCEPT_BOTH, MODERN.encode())
    send = partial(connection.send, "POST", "/mcp", headers=headers, body=modern)
    return _deaf(kind, connection, send, connection.hang_up)


def _deaf(
    kind: str, connection: HttpConnection, send: Callable[[], None], hang_up: Callable[[], None]
) -> SlowReader:
    connection.writer.transport.pause_reading()

    async def ask() -> None:
        if connection.writer.is_closing():
            raise ConnectionResetError
        send()

    return SlowReader(kind=kind, connection=connection, ask=ask, hang_up=hang_up)


def _deaf_sse(caller: SseCaller, body: bytes) -> SlowReader:
    caller.stream.writer.transport.pause_reading()

    async def ask() -> None:
        await caller.posts.exchange("POST", caller.path, body=body)

    return SlowReader(kind="sse", connection=caller.stream, ask=ask, hang_up=caller.hang_up)


async def _ask_often(slow: SlowReader) -> None:
    for _ in range(SLOW_CALLS):
        try:
            await slow.ask()
        except (OSError, asyncio.IncompleteReadError):
            return
        await asyncio.sleep(0.1)


async def _watch_drops(
    server: Process, slow: Sequence[SlowReader]
) -> tuple[dict[int, float], float]:
    """Return when the server let go of each connection, by our port, and its largest memory
    meanwhile.
    """
    start, peak = time.perf_counter(), server.rss_mb()
    gone: dict[int, float] = {}
    ports = {one.connection.local_port for one in slow}
    while len(gone) < len(ports) and time.perf_counter() - start < PATIENCE_S:
        await asyncio.sleep(0.25)
        peak = max(peak, server.rss_mb())
        for port in ports - server.held_ports() - gone.keys():
            gone[port] = round(time.perf_counter() - start, 1)
    return gone, peak
