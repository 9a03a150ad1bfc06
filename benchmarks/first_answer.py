"""How long after `stackroom add` of a table the first search finds what it should, and what the
time is spent on.

    .venv/bin/python benchmarks/first_answer.py [--rows 20000] [--vectors 256]

A table of 15 columns with a text of about 200 characters is written, `stackroom add --yes` is
started on it as a process of its own, and this process asks for one row's own words until it is the
first hit. Then it waits for some vectors and stops the command as Ctrl-C does. Wall and CPU seconds
are of the command, from its start, without the process that indexes beside it; they control for
nothing but the machine, so compare them within one run only. Without an embedding model, the
command runs with --no-embed.
"""

import argparse
import csv
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from stackroom.assembly.app import App
from stackroom.errors import ExpectedError
from stackroom.model.scope import WHOLE
from stackroom.settings import load_settings

SYLLABLES = (
    "ba",
    "ko",
    "ri",
    "ta",
    "mo",
    "lu",
    "sen",
    "dar",
    "vel",
    "pi",
    "ner",
    "os",
    "ul",
    "gan",
    "the",
    "mir",
)
GENRES = ("Drama", "Comedy", "Horror", "War", "Crime", "Family", "Action", "Music")
COUNTRIES = ("France", "Japan", "Italy", "India", "Chile", "Kenya")
COLUMNS = [
    "id",
    "title",
    "overview",
    "genres",
    "director",
    "cast",
    "country",
    "language",
    "year",
    "release_date",
]
COLUMNS += ["runtime", "budget", "rating", "votes", "homepage"]
PATIENCE_S = 120.0
POLL_S = 0.02


def write_table(path: Path, rows: int) -> tuple[str, str]:
    """Write the table; return the title of a row near its end, and the words to find it by."""
    chance = random.Random(20261116)
    words = ["".join(chance.choices(SYLLABLES, k=chance.randint(2, 4))) for _ in range(8_000)]

    def some(count: int) -> str:
        return " ".join(chance.choices(words, k=count))

    title = overview = ""
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(COLUMNS)
        for number in range(1, rows + 1):
            row_title, row_overview = some(3).title(), some(28)
            if number == rows - 7:
                title, overview = row_title, row_overview
            year = chance.randint(1930, 2024)
            table.writerow(
                [
                    number,
                    row_title,
                    f"{row_overview}.",
                    "|".join(chance.sample(GENRES, 2)),
                    some(2).title(),
                    ", ".join(some(2).title() for _ in range(3)),
                    chance.choice(COUNTRIES),
                    chance.choice(("fr", "ja", "it", "hi", "es", "sw")),
                    year,
                    f"{year}-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}",
                    chance.randint(60, 200),
                    chance.randint(1, 300) * 100_000,
                    round(chance.uniform(1, 10), 1),
                    chance.randint(1, 50_000),
                    f"https://films.example/{number}",
                ]
            )
    return title, " ".join(overview.split()[:5])


def cpu_s(pid: int) -> float:
    """Return the CPU seconds of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_for(is_so: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    """Poll until something is so; end with an error where the command ends first, or it takes too
    long.
    """
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        if process.poll() not in (None, 0) or time.monotonic() > deadline:
            sys.exit(
                f"stackroom add ended with {process.poll()}, or took more than {PATIENCE_S:.0f} s"
            )
        time.sleep(POLL_S)


def measure(home: Path, rows: int, vectors: int) -> None:
    """Run the command, and print when each phase was over."""
    table = home / "films.csv"
    title, query = write_table(table, rows)
    settings = load_settings()
    app = App(settings)
    has_model = app.embedder.check() is None
    options = ["--yes"] if has_model else ["--yes", "--no-embed"]
    started = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "stackroom", "add", str(table), *options], stdout=subprocess.DEVNULL
    )

    def report(phase: str) -> None:
        used = cpu_s(process.pid) if process.poll() is None else float("nan")
        print(f"{phase:42} {time.monotonic() - started:7.2f} s   {used:7.2f} CPU s", flush=True)

    folder = settings.catalogues_folder / "films"
    wait_for((folder / "building.json").exists, process)
    report("spec inferred, build begun")
    wait_for((folder / "index").exists, process)
    report("index begun, while rows are written")
    wait_for((folder / "installed.json").exists, process)
    report(f"{rows:,} rows installed")

    def is_found() -> bool:
        try:
            view = app.open_catalogue("films").view()
        except ExpectedError:
            return False
        hits = view.search(query, scope=WHOLE).hits(1)
        return bool(hits) and view.spec.title_of(hits[0].record) == title

    wait_for(is_found, process)
    report("first right answer")
    if has_model:
        shelf = app.open_catalogue("films").shelf
        wait_for(lambda: rows - shelf.reader().awaiting_vectors >= min(vectors, rows), process)
        report(f"{vectors} records found by meaning")
        process.send_signal(signal.SIGINT)
    process.wait()
    app.close()


def main() -> None:
    """Measure in a library of its own, with the models of the present one."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--vectors", type=int, default=256)
    arguments = parser.parse_args()
    models = load_settings().models_folder
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        if models.is_dir():
            (home / "models").symlink_to(models.resolve())
        os.environ["STACKROOM_HOME"] = str(home)
        measure(home, arguments.rows, arguments.vectors)


if __name__ == "__main__":
    main()
