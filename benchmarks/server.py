"""The server under load. `benchmarks/README.md` says what is controlled for.

1 speed of each transport beside a bare SDK server · 2 thousands of streams · 3 fifty busy users · 4
rate limits · 5 shutdown · 6 clients that do not read · 7 hostile SQL beside searches · 8 the CPU of
a search · 9 start over stdio. Each part starts a server of its own.
"""

import argparse
import gc
import json
import resource
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import uvloop
from load_report import Part
from load_server import (
    Library,
    Machine,
    Process,
    draw_arguments,
    prepare_library,
    start_bare,
    start_ours,
)
from server_searches import measure_searches
from server_speed import measure_speed
from server_sql import measure_sql
from server_start import measure_start
from server_streams import measure_connections, measure_shutdown, measure_slow_readers
from server_users import NEIGHBOURS, measure_limits, measure_users, users_of

DEFAULT_WORK = Path(tempfile.gettempdir()) / "stackroom-bench" / "server"
CALLS = {
    "ping": {"tool": "ping", "arguments": {}},
    "cached search": {
        "tool": "search_anime",
        "arguments": {"query": "melancholy slice of life", "limit": 10},
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What every part needs."""

    library: Library
    requests: int
    seconds: float
    against_bare: bool

    def ours(self) -> AbstractContextManager[Process]:
        """Start the server under test, and end it afterwards."""
        return self.bare() if self.against_bare else _running(start_ours(self.library))

    def bare(self) -> AbstractContextManager[Process]:
        """Start the bare server, and end it afterwards."""
        return _running(start_bare(self.library))

    def arguments(self, count: int) -> list[dict[str, Any]]:
        """Return arguments of different searches."""
        return draw_arguments(self.library.home, count)


async def speed(bench: Bench) -> Part:
    with bench.ours() as ours, bench.bare() as bare:
        return await measure_speed(bench.library, ours, bare, CALLS, bench.requests)


async def connections(bench: Bench) -> Part:
    return await measure_connections(bench.library, bench.ours, bench.bare)


async def users(bench: Bench) -> Part:
    arguments = bench.arguments(4000)
    with bench.ours() as ours, bench.bare() as bare:
        return await measure_users(bench.library, ours, bare, arguments, bench.seconds)


async def limits(bench: Bench) -> Part:
    arguments = bench.arguments(500)
    with bench.ours() as ours:
        return await measure_limits(bench.library, ours, arguments)


async def shutdown(bench: Bench) -> Part:
    arguments = bench.arguments(40)
    with bench.ours() as ours:
        return await measure_shutdown(bench.library, ours, arguments)


async def slow_readers(bench: Bench) -> Part:
    arguments = bench.arguments(500)
    neighbours = users_of(bench.library, [f"neighbour-{number}" for number in range(NEIGHBOURS)])
    with bench.ours() as ours:
        return await measure_slow_readers(bench.library, ours, arguments, neighbours)


async def hostile_sql(bench: Bench) -> Part:
    arguments = bench.arguments(2000)
    with bench.ours() as ours:
        return await measure_sql(bench.library, ours, arguments)


async def searches(bench: Bench) -> Part:
    arguments = bench.arguments(1500)
    with bench.ours() as ours:
        return await measure_searches(bench.library, ours, arguments)


async def start(bench: Bench) -> Part:
    return await measure_start(bench.library, against_bare=bench.against_bare)


PARTS: Mapping[int, Callable[[Bench], Awaitable[Part]]] = {
    1: speed,
    2: connections,
    3: users,
    4: limits,
    5: shutdown,
    6: slow_readers,
    7: hostile_sql,
    8: searches,
    9: start,
}


@contextmanager
def _running(server: Process) -> Iterator[Process]:
    try:
        yield server
    finally:
        server.stop()


def main() -> None:
    options = _options()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    parts = uvloop.run(_measure(options))
    if options.json:
        print(json.dumps({number: asdict(part) for number, part in parts.items()}, indent=1))
    if not all(check.holds for part in parts.values() for check in part.checks):
        sys.exit(1)


async def _measure(options: argparse.Namespace) -> dict[int, Part]:
    library = await prepare_library(options.work, options.library, CALLS.values())
    bench = Bench(
        library=library,
        requests=options.requests,
        seconds=options.seconds,
        against_bare=options.against == "bare",
    )
    gc.freeze()
    parts = {}
    for number in options.part or PARTS:
        machine = Machine()
        part = await PARTS[number](bench)
        parts[number] = replace(
            part, title=f"{part.title}; others used {machine.others():.2f} cores"
        )
        if not options.json:
            print(parts[number].as_text(), flush=True)
    return parts


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--part", type=int, action="append", choices=list(PARTS), help="one part; may be repeated"
    )
    parser.add_argument(
        "--requests", type=int, default=200, help="calls a round of part 1 (default 200)"
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=20.0,
        help="how long the users of part 3 search (default 20)",
    )
    parser.add_argument(
        "--library", type=Path, help="a library to copy; without, the samples without vectors"
    )
    parser.add_argument(
        "--work", type=Path, default=DEFAULT_WORK, help="where the copy and the logs are"
    )
    parser.add_argument(
        "--against", choices=["ours", "bare"], default="ours", help="bare: a control of the client"
    )
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
