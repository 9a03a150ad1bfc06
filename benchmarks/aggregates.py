"""`python benchmarks/aggregates.py`: the time that counting and summing takes on the real anime
catalogue.

Controls for: the machine (all in one process, each call beside a search of the same catalogue),
warm caches (each call is made before it is timed), and correctness (the groups of one call are
compared with SQLite's GROUP BY over the same records, which is timed too).
"""

import argparse
import json
import os
import sqlite3
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from stackroom.assembly.app import App, gate_over
from stackroom.gate.gate import Gate
from stackroom.generic import tools
from stackroom.generic.shapes import BrowseParams, SearchParams
from stackroom.model.scope import WHOLE
from stackroom.settings import load_settings
from stackroom.tools.catalogue import OpenCatalogue

CALLS = {
    "a number": {"of": "episodes"},
    "by a value": {"by": ["type"], "of": "episodes"},
    "by decade": {"by": ["year/decade"], "of": "episodes"},
    "by range": {"by": ["episodes/10"]},
    "by tags": {"by": ["tags"], "of": "episodes"},
    "by tags and type": {"by": ["tags", "type"], "of": "episodes"},
    "by tags, sorted by median": {"by": ["tags"], "of": "episodes", "sort": "median"},
    "with filters and words": {
        "by": ["type"],
        "of": "episodes",
        "query": "space",
        "filters": {"year": {"min": 1990}},
    },
}
SQL = "SELECT type, count(*), min(episodes), max(episodes), sum(episodes) FROM anime GROUP BY type"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--home", type=Path, help="a library with the catalogue anime; by default STACKROOM_HOME"
    )
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.home:
        os.environ["STACKROOM_HOME"] = str(options.home)
    report = measure(options.rounds)
    print(json.dumps(report, indent=2) if options.json else as_text(report))


def measure(rounds: int) -> dict[str, dict[str, float]]:
    catalogue = App(load_settings()).open_catalogue("anime")
    gate = gate_over(catalogue)
    table = in_sqlite(catalogue)
    require_same(gate, table)
    asked: dict[str, Callable[[], object]] = {
        name: lambda arguments=arguments: gate.ask(tools.browse, BrowseParams(**arguments))
        for name, arguments in CALLS.items()
    }
    asked["the records of a group"] = lambda: gate.ask(
        tools.search,
        SearchParams(query="*", filters={"type": ["OVA"], "year": {"min": 1990, "max": 1999}}),
    )
    asked["a search"] = lambda: gate.ask(tools.search, SearchParams(query="pirates in space"))
    asked["SQLite, by a value"] = lambda: table.execute(SQL).fetchall()
    return timed(asked, rounds)


def timed(asked: dict[str, Callable[[], object]], rounds: int) -> dict[str, dict[str, float]]:
    """Make every call in turn, so that a busy moment of the machine affects all of them."""
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in asked}
    for ask in asked.values():
        ask()
    for _ in range(rounds):
        for name, ask in asked.items():
            began, used = time.perf_counter(), time.process_time()
            ask()
            spent[name].append((time.perf_counter() - began, time.process_time() - used))
    return {
        name: {
            "p50_ms": round(1_000 * statistics.median(wall for wall, _ in some), 1),
            "cpu_ms": round(1_000 * statistics.mean(cpu for _, cpu in some), 1),
        }
        for name, some in spent.items()
    }


def in_sqlite(catalogue: OpenCatalogue) -> sqlite3.Connection:
    """Return a table in memory with the records that a search finds."""
    reader = catalogue.shelf.reader()
    records = reader.fetch(reader.scan(scope=WHOLE, limit=10**6), scope=WHOLE).values()
    marks = {mark for marks in catalogue.spec.adult.values() for mark in marks}
    table = sqlite3.connect(":memory:")
    table.execute("CREATE TABLE anime (type TEXT, episodes INTEGER)")
    table.executemany(
        "INSERT INTO anime VALUES (?, ?)",
        (
            (one.get("type"), one.get("episodes"))
            for one in records
            if marks.isdisjoint(tag.value for tag in one.get("tags") or ())
        ),
    )
    return table


def require_same(gate: Gate, table: sqlite3.Connection) -> None:
    (found,) = gate.ask(tools.browse, BrowseParams(by=["type"], of="episodes")).catalogues
    groups = {
        one.values["type"]: (one.count, one.min, one.max, one.sum) for one in found.groups or ()
    }
    assert groups == {kind: tuple(figures) for kind, *figures in table.execute(SQL)}


def as_text(report: dict[str, dict[str, float]]) -> str:
    width = max(map(len, report))
    rows = [
        f"{name:{width}}  {one['p50_ms']:7.1f}  {one['cpu_ms']:7.1f}"
        for name, one in report.items()
    ]
    return "\n".join([f"{'':{width}}  {'p50 ms':>7}  {'CPU ms':>7}", *rows])


if __name__ == "__main__":
    main()
