"""`make bench`: latency, start and memory on the real anime data, in one run.

Controls for: the machine (everything in one process or interleaved), warm caches (each kind of
question is asked before it is timed), the SDK's own start (a bare server is started beside ours),
and the text engine (SQLite FTS5 answers the same tokens on the same records, top 10, query by query
in turn).
"""

import argparse
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

from speed import bench, serve_command, time_start

from stackroom.assembly.app import App
from stackroom.model.scope import WHOLE
from stackroom.settings import load_settings
from stackroom.shelf.terms import text_tokens
from stackroom.text.analyser import analyse_query

ROOT = Path(__file__).parent.parent
DATA = ROOT.parent / "shared" / "data" / "anime" / "anime-20k.jsonl.zst"
STARTS = 5


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--home", type=Path, default=Path(tempfile.gettempdir()) / "stackroom-bench" / "anime"
    )
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if not DATA.is_file():
        sys.exit(f"{DATA} is not here: this benchmark needs the real data")
    os.environ["STACKROOM_HOME"] = str(options.home)
    if not (options.home / "catalogues" / "anime" / "pack").is_dir():
        subprocess.run(
            [sys.executable, "-m", "stackroom", "add", str(DATA), "--as", "anime"], check=True
        )
    report = measure(options.questions)
    print(json.dumps(report, indent=2) if options.json else as_text(report))


def measure(questions: int) -> dict:
    app = App(load_settings())
    catalogue = app.open_catalogue("anime")
    timings = {name: asdict(timing) for name, timing in bench(catalogue, queries=questions).items()}
    return {
        "records": catalogue.shelf.reader().count(WHOLE),
        "timings": timings,
        "text engine": compare_with_fts5(catalogue, questions),
        "start": compare_starts(),
    }


def compare_with_fts5(catalogue, count: int) -> dict:
    """Answer the same terms by our text engine and by FTS5, in turn."""
    reader = catalogue.shelf.reader()
    keys = reader.scan(scope=WHOLE, limit=1_000_000)
    records = reader.fetch(keys[: len(keys)], scope=WHOLE) if len(keys) < 30_000 else {}
    table = sqlite3.connect(":memory:")
    table.execute(
        "CREATE VIRTUAL TABLE texts USING fts5(body, tokenize = 'unicode61', content = '',"
        " columnsize = 1)"
    )
    table.executemany(
        "INSERT INTO texts (rowid, body) VALUES (?, ?)",
        (
            (key, " ".join(text_tokens(record, catalogue.spec.searched_fields)))
            for key, record in records.items()
        ),
    )
    ours, theirs = [], []
    for key in keys[:: max(1, len(keys) // count)]:
        words = (records[key].get("synopsis") or records[key].get("title")).split()[:8]
        query = analyse_query(" ".join(words), synonyms={})
        if not query.terms:
            continue
        start = time.perf_counter()
        reader.lexical(query, scope=WHOLE, limit=10)
        middle = time.perf_counter()
        match = " OR ".join(f'"{token}"' for token, _ in query.terms)
        table.execute(
            "SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY bm25(texts) LIMIT 10", (match,)
        ).fetchall()
        ours.append((middle - start) * 1000)
        theirs.append((time.perf_counter() - middle) * 1000)
    return {
        "ours p50 ms": round(statistics.median(ours), 3),
        "fts5 p50 ms": round(statistics.median(theirs), 3),
        "ours p95 ms": round(percentile(ours, 95), 3),
        "fts5 p95 ms": round(percentile(theirs, 95), 3),
        "times faster (median of ratios)": round(
            statistics.median(t / o for t, o in zip(theirs, ours, strict=True)), 1
        ),
        "times faster (total time)": round(sum(theirs) / sum(ours), 1),
    }


def compare_starts() -> dict:
    """Start our server and a bare one in turn, and time their first answers."""
    bare_command = [sys.executable, str(Path(__file__).parent / "bare_server.py")]
    ours, bare, memory = [], [], []
    for _ in range(STARTS):
        bare.append(time_start(bare_command, "echo", {"query": "x"})[0])
        seconds, megabytes = time_start(
            serve_command("anime"), "search_anime", {"query": "melancholy slice of life"}
        )
        ours.append(seconds)
        memory.append(megabytes)
    return {
        "ours s": round(statistics.median(ours), 2),
        "bare SDK server s": round(statistics.median(bare), 2),
        "difference s": round(statistics.median(ours) - statistics.median(bare), 2),
        "memory MB": round(max(memory), 1),
    }


def percentile(values: list[float], share: int) -> float:
    return statistics.quantiles(values, n=100)[share - 1]


def as_text(report: dict) -> str:
    lines = [f"{report['records']} records", f"{'':24}{'p50 ms':>9}{'p95 ms':>9}{'CPU ms':>9}"]
    for name, timing in report["timings"].items():
        lines.append(
            f"{name:24}{timing['p50_ms']:9.2f}{timing['p95_ms']:9.2f}{timing['cpu_ms']:9.2f}"
        )
    for part in ("text engine", "start"):
        lines += [f"{part}:"] + [f"  {name}: {value}" for name, value in report[part].items()]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
