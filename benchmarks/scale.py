"""How a catalogue grows, by its records and engine: build, sizes, a second server, latency, recall,
searches, edits.

`benchmarks/README.md` says what is controlled for. Each part is written to the JSON file as soon as
it is measured; the same command continues a run that was interrupted.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
from real_anime import DEFAULT_WORK
from rich.console import Console
from rich.table import Table
from scale_engines import (
    EMBEDDED,
    ENGINES,
    MOVED,
    Engine,
    database_cpu_s,
    drop_schemas,
    moved_place,
    peak_mb_of,
    running_database,
)
from scale_parts import PARTS, Figures, say, truth_file
from svg_chart import line_chart

from stackroom.shelf.store_place import find_place

MEASURED = ("build", "join", "search", "throughput", "move", "edits")
"""In this order: edits leave words behind in a text index, and a move compares it with one that is
built anew.
"""
FIGURES_FILE = "figures.json"
SCOPES = ("all", "10 %", "1 %")
CPU_TIMES = ("cpu_p50_ms", "cpu_p95_ms")
LAST_STEPS = ("building", "switched")
"""The beginnings of the steps of a move after its rows are copied."""


def main() -> None:
    arguments = _arguments()
    if arguments.part:
        engine = Engine(root=_root(arguments, arguments.records), name=arguments.engines)
        print(json.dumps(PARTS[arguments.part](engine, arguments)), flush=True)
        return
    # of the parts, as `stackroom` sets it for itself
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # the database stops too
    sizes = dict.fromkeys(arguments.records.split(","), arguments.engines.split(","))
    if arguments.move:
        sizes.setdefault(str(arguments.move), [])
    figures: list[Figures] = []
    for records, engines in sizes.items():
        Run(arguments, records, figures).measure(engines)
    show(figures)
    if arguments.plots:
        draw(figures, arguments.plots)


def _root(arguments: argparse.Namespace, records: str) -> Path:
    root: Path = arguments.work / f"scale-{records}"
    return root


class Run:
    """The measurements of one number of records; what was measured before is kept, unless it is to
    be done again.
    """

    def __init__(self, arguments: argparse.Namespace, records: str, figures: list[Figures]) -> None:
        self._arguments = arguments
        self._records = records
        self._root = _root(arguments, records)
        self._others = list(figures)
        self._all = figures
        if arguments.rebuild:
            shutil.rmtree(self._root, ignore_errors=True)
        self._root.mkdir(parents=True, exist_ok=True)
        file = self._root / FIGURES_FILE
        self._kept: dict[str, Figures] = json.loads(file.read_text()) if file.is_file() else {}

    def measure(self, engines: Sequence[str]) -> None:
        """Measure each engine, and a move of the embedded one."""
        is_moved = self._arguments.move == int(self._records)
        with running_database(self._root, is_needed=is_moved or set(engines) != {EMBEDDED}):
            for name in engines:
                engine = Engine(root=self._root, name=name)
                self._measure_engine(engine, MEASURED)
                if self._arguments.discard and engine.is_in_database:
                    engine.remove()
            if is_moved and EMBEDDED not in engines:
                self._measure_engine(Engine(root=self._root, name=EMBEDDED), ("build", "move"))
            if self._arguments.discard:
                Engine(root=self._root, name=EMBEDDED).remove()
        self._tell()

    def _measure_engine(self, engine: Engine, parts: Sequence[str]) -> None:
        for part in parts:
            if part == ("move" if engine.is_in_database else "join"):
                continue
            if part == "move":
                if self._arguments.move == int(self._records) and self._is_wanted(MOVED, part):
                    self._save(MOVED, part, self._move(engine))
            elif self._is_wanted(engine.name, part):
                say(f"{self._records} records, {engine.name}: {part}")
                self._save(engine.name, part, self._run(engine, part))
            if part == "build" and not truth_file(self._root, self._arguments).is_file():
                self._run(engine, "truth")

    def _is_wanted(self, engine: str, part: str) -> bool:
        is_known = part in self._kept.get(engine, {})
        return not is_known or (self._arguments.again and part != "build")

    def _save(self, engine: str, part: str, figures: Figures) -> None:
        self._kept.setdefault(engine, {})[part] = figures
        (self._root / FIGURES_FILE).write_text(json.dumps(self._kept))
        self._tell()

    def _tell(self) -> None:
        """Write what is measured so far."""
        exact = self._kept.get(EMBEDDED, {}).get("search", {}).get("answers", ())
        records = int(self._records)
        own = [
            _compared({"records": records, "engine": name, **parts}, exact)
            for name, parts in self._kept.items()
        ]
        self._all[:] = [*self._others, *own]
        if self._arguments.json:
            self._arguments.json.write_text(json.dumps(self._all, indent=1))

    def _command(self, engine: Engine, part: str, *options: str) -> list[str]:
        arguments = self._arguments
        command = [
            sys.executable,
            __file__,
            "--part",
            part,
            "--engines",
            engine.name,
            "--records",
            self._records,
        ]
        return [
            *command,
            "--work",
            str(arguments.work),
            "--queries",
            str(arguments.queries),
            *options,
        ]

    def _run(self, engine: Engine, part: str) -> Figures:
        """Run a part in a process of its own."""
        done = subprocess.run(
            self._command(engine, part), check=True, stdout=subprocess.PIPE, text=True
        )
        figures: Figures = json.loads(done.stdout.splitlines()[-1])
        return figures

    def _move(self, engine: Engine) -> Figures:
        """Move the catalogue to a database and back, killed on the way, and compare its answers."""
        # it was left there by a run that was interrupted
        if find_place(engine.folder()) is not None:
            self._move_to(engine, "here", [])
        if "edits" in self._kept.get(EMBEDDED, {}):
            self._run(engine, "rebuild")
        drop_schemas(self._root, MOVED)
        rows, kills = 3 * int(self._records), self._arguments.kills
        copying = max(kills - len(LAST_STEPS) - 1, 0)
        at = [str(rows * (number + 1) // (copying + 1)) for number in range(copying)]
        place = moved_place(self._root)
        before = self._run(engine, "answer")["answers"]
        there = self._move_to(
            engine, f"{place.url} {place.schema}", [*at, *LAST_STEPS] if kills else []
        )
        answers_there = self._run(engine, "answer")["answers"]
        back = self._move_to(engine, "here", ["switched"] if kills else [])
        answers_back = self._run(engine, "answer")["answers"]
        drop_schemas(self._root, MOVED)
        return {
            "there": there,
            "back": back,
            "answers": len(before),
            "equal_there": sum(
                one == other for one, other in zip(before, answers_there, strict=True)
            ),
            "equal_back": sum(
                one == other for one, other in zip(before, answers_back, strict=True)
            ),
        }

    def _move_to(self, engine: Engine, to: str, kill_at: list[str]) -> Figures:
        """Run a move until it is done, killing it when it has copied so many rows, or has come to a
        step.
        """
        before, database_before_s, copied, killed, peak_mb = (
            engine.used(),
            database_cpu_s(self._root),
            0,
            0,
            0.0,
        )
        while True:
            result: Figures | None = None
            command = self._command(engine, "move", "--to", to)
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
                for line in process.stdout or ():
                    peak_mb = max(peak_mb, peak_mb_of(process.pid))
                    if line.startswith("{"):
                        result = json.loads(line)
                        continue
                    count, step = line.split(" ", 1)
                    copied += int(count)
                    if kill_at and _is_reached(kill_at[0], copied, step):
                        kill_at.pop(0)
                        process.kill()
                        killed += 1
                        say(f"move: killed at {copied} rows, {step.strip()}")
            if result is not None:
                used = engine.used_since(before)
                database_s = database_cpu_s(self._root) - database_before_s
                spent = {**used._asdict(), "database_cpu_s": database_s, "peak_mb": peak_mb}
                return {**result, **spent, "kills": killed}
            if process.returncode != -signal.SIGKILL:
                sys.exit("the move failed")


def _is_reached(wanted: str, copied: int, step: str) -> bool:
    return copied >= int(wanted) if wanted.isdigit() else step.startswith(wanted)


def _compared(figures: Figures, exact: Sequence[Sequence[int]]) -> Figures:
    """Replace the answers of an engine by how much they have of those of the embedded one."""
    if "search" not in figures:
        return figures
    search = {name: value for name, value in figures["search"].items() if name != "answers"}
    if pairs := list(zip(exact, figures["search"]["answers"], strict=False)):
        search["equal_answers"] = float(np.mean([one == other for one, other in pairs]))
        search["overlap"] = float(
            np.mean([len(set(one) & set(other)) / max(len(one), 1) for one, other in pairs])
        )
    return {**figures, "search": search}


def show(figures: Sequence[Figures]) -> None:
    """Print the figures for people: a column an engine and number of records."""
    columns = {
        f"{one['records']:,} {one['engine']}": _told(one)
        for one in figures
        if one["engine"] != MOVED
    }
    table = Table("", *columns)
    for label in dict.fromkeys(label for column in columns.values() for label in column):
        table.add_row(label, *(column.get(label, "") for column in columns.values()))
    console = Console(width=200)
    console.print(table)
    for one in figures:
        if "move" in one:
            console.print(f"{one['records']:,} records moved: {_told_move(one['move'])}")


def _told(figures: Figures) -> dict[str, str]:
    """Return the rows of the table; CPU times are of the servers and the database together, (of it
    in the database).
    """
    told: dict[str, str] = {}
    if build := figures.get("build"):
        told["build, CPU s"] = _with_share(
            build["cpu_s"] + build["database_cpu_s"], build["database_cpu_s"]
        )
        told["build, s: records, index"] = f"{build['apply_s']:.0f} + {build['publish_s']:.0f}"
        told["build, peak MB"] = f"{build['peak_mb']:,.0f}"
        told["a server, MB: records, text, arrays"] = _sum_of(build["disk_mb"].values())
        index_mb = build["database_mb"].get("index", 0.0)
        records_mb = sum(build["database_mb"].values()) - index_mb
        told["database, MB: records, index"] = _sum_of((records_mb, index_mb)) if records_mb else ""
    if join := figures.get("join"):
        told["a second server, CPU s"] = _with_share(
            join["cpu_s"] + join["database_cpu_s"], join["database_cpu_s"]
        )
        told["a second server, s"] = f"{join['wall_s']:.1f}"
    if search := figures.get("search"):
        told |= _told_searches(search)
    if throughput := figures.get("throughput"):
        told["searches/s, 1, 2, 3 processes"] = _joined(
            one["searches_a_second"] for one in throughput.values()
        )
        told["CPU ms of each"] = _joined(one["cpu_ms"] for one in throughput.values())
        told["memory of one, MB"] = f"{max(throughput['1']['memory_mb']):,.0f}"
    if edits := figures.get("edits"):
        told["edit until seen, CPU ms"] = _p50_p95(edits)
        told["edit until seen, ms"] = f"{edits['seen_p50_ms']:.0f} / {edits['seen_p95_ms']:.0f}"
    return told


def _told_searches(search: Figures) -> dict[str, str]:
    scopes = search["scopes"]
    told = {
        "recall@10: all, 10 %, 1 %": ", ".join(f"{one['recall@10']:.3f}" for one in scopes.values())
    }
    told |= {
        f"hybrid, {name}, CPU ms": _p50_p95(one["arms"]["hybrid"]) for name, one in scopes.items()
    }
    for arm in ("nearest", "lexical", "titles"):
        told |= {
            f"{arm}, {name}, CPU ms": _p50_p95(one["arms"][arm]) for name, one in scopes.items()
        }
    told["hybrid, all, ms"] = "{p50_ms:.1f} / {p95_ms:.1f}".format(
        **scopes["all"]["arms"]["hybrid"]
    )
    if "overlap" in search:
        told["answers of embedded: equal, overlap"] = (
            f"{search['equal_answers']:.3f}, {search['overlap']:.3f}"
        )
    return told


def _told_move(move: Figures) -> str:
    ways = [
        f"{name} {way['wall_s']:.0f} s, CPU"
        f" {_with_share(way['cpu_s'] + way['database_cpu_s'], way['database_cpu_s'])} s, peak"
        f" {way['peak_mb']:,.0f} MB, killed {way['kills']} times"
        for name, way in (("there", move["there"]), ("back", move["back"]))
    ]
    return (
        f"{'; '.join(ways)}; answers equal: {move['equal_there']} and {move['equal_back']} of"
        f" {move['answers']}"
    )


def _p50_p95(times: Figures) -> str:
    return " / ".join(
        _with_share(times[f"cpu_{at}_ms"], times[f"database_cpu_{at}_ms"]) for at in ("p50", "p95")
    )


def _with_share(total: float, share: float) -> str:
    return f"{total:.1f} ({share:.1f})" if share else f"{total:.1f}"


def _joined(values: Iterable[float]) -> str:
    return ", ".join(f"{value:.1f}" for value in values)


def _sum_of(values: Iterable[float]) -> str:
    return " + ".join(f"{value:,.0f}" for value in values)


def draw(figures: Sequence[Figures], folder: Path) -> None:
    """Draw what grows with the records, on each engine."""
    complete = [one for one in figures if "edits" in one]

    def lines(
        name: str, value_of: Callable[[Figures], float]
    ) -> dict[str, list[tuple[float, float]]]:
        return {
            f"{engine}{name}": [
                (one["records"], value_of(one)) for one in complete if one["engine"] == engine
            ]
            for engine in dict.fromkeys(one["engine"] for one in complete)
        }

    folder.mkdir(parents=True, exist_ok=True)
    searches, edits = ({} for _ in range(2))
    for key in CPU_TIMES:
        name = f", {key.removeprefix('cpu_').removesuffix('_ms')}"
        searches |= lines(
            name, lambda one, key=key: one["search"]["scopes"]["all"]["arms"]["hybrid"][key]
        )
        edits |= lines(name, lambda one, key=key: one["edits"][key])
    builds = lines(", CPU s", lambda one: one["build"]["cpu_s"] + one["build"]["database_cpu_s"])
    builds |= lines(
        ", MB",
        lambda one: sum((*one["build"]["disk_mb"].values(), *one["build"]["database_mb"].values())),
    )
    for file, title, drawn in (
        ("search", "hybrid search, ms of CPU", searches),
        ("build", "build, CPU seconds and MB on disk", builds),
        ("edits", "edit until another process shows it, ms of CPU", edits),
    ):
        # by engine
        (folder / f"scale-{file}.svg").write_text(line_chart(title, dict(sorted(drawn.items()))))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--work", type=Path, default=DEFAULT_WORK, help="where libraries and caches are kept"
    )
    parser.add_argument(
        "--records", default="10000,100000,1000000", help="sizes, separated by commas"
    )
    parser.add_argument(
        "--engines", default=EMBEDDED, help=f"separated by commas, of: {', '.join(ENGINES)}"
    )
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument(
        "--move", type=int, default=0, help="move the catalogue of this size to a database and back"
    )
    parser.add_argument(
        "--kills", type=int, default=20, help="how often a move is killed on the way"
    )
    parser.add_argument("--rebuild", action="store_true", help="begin anew")
    parser.add_argument("--again", action="store_true", help="measure again what was built before")
    parser.add_argument(
        "--discard", action="store_true", help="remove each library once it is measured"
    )
    parser.add_argument("--json", type=Path, help="a file to write the figures to")
    parser.add_argument("--plots", type=Path, help="a folder to draw the plots in")
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    parser.add_argument("--server", type=int, default=1, help=argparse.SUPPRESS)
    parser.add_argument("--to", default="", help=argparse.SUPPRESS)
    parser.set_defaults(script=Path(__file__).resolve())
    arguments = parser.parse_args()
    if unknown := set(arguments.engines.split(",")) - set(ENGINES):
        parser.error(f"no engine: {', '.join(sorted(unknown))}; there are: {', '.join(ENGINES)}")
    return arguments


if __name__ == "__main__":
    main()
