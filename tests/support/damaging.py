"""Random damage over every file of a small library: each is found, mended or harmless, and no
answer is silently wrong.

    PYTHONPATH=tests .venv/bin/python -m support.damaging 1000

A round copies the library, flips one bit of a file or truncates it, opens it as a server would,
lets the check run, and compares the answers with those of the whole library.
"""

import json
import random
import shutil
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stackroom.assembly.app import App
from stackroom.assembly.build import add_catalogue, open_rows, own_recipe
from stackroom.assembly.serving import ToolChoice
from stackroom.catalogue.compiler import LoadedSpec, compile_text
from stackroom.errors import ExpectedError
from stackroom.model.principal import LOCAL_USER
from stackroom.settings import Settings
from stackroom.shelf.store_place import STORE_FILE
from stackroom.tools.health import check_catalogue
from support.embedders import WordEmbedder

NAME = "films"
SPEC = """
name = "films"
title = "Films"
summary = "Films."
id = "title"
editable = true

[fields]
title = { type = "text", role = "title", search = true }
year = { type = "int", filter = true }
genre = { type = "text[]", facet = true }
plot = { type = "text", search = true }

[embed]
template = "{title}. {plot}"
"""
WORDS = (
    "robot",
    "river",
    "detective",
    "winter",
    "letter",
    "garden",
    "ship",
    "thief",
    "singer",
    "moon",
    "storm",
)
GENRES = ("drama", "comedy", "crime", "war")
ROWS = 40
QUERIES = ("robot detective", "a storm at the harbour", "film 7", "winter", "singer on the moon")
UNTOUCHED = ("lock", "-shm")
"""Endings of files that hold nothing: locks, and what SQLite makes anew when the first process
opens a file.
"""

FOUND, REBUILT, HARMLESS, WRONG = "reported", "rebuilt", "harmless", "WRONG"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What became of one damaged library."""

    outcome: str
    damage: str
    detail: str = ""


def build_library(home: Path) -> None:
    """Build a catalogue of a few films, with its own spec, vectors, a ledger, a pack and a
    calibration.
    """
    add_films(home, write_table(home.parent / "films.csv"))


def write_table(table: Path) -> Path:
    """Write the rows of the films."""
    chooser = random.Random(7)
    rows = [
        "Film"
        f" {number},{1950 + number},{chooser.choice(GENRES)},{' '.join(chooser.sample(WORDS, 6))}"
        for number in range(ROWS)
    ]
    table.write_text("\n".join(["title,year,genre,plot", *rows]) + "\n")
    return table


def add_films(home: Path, table: Path) -> None:
    """Add the films of a table, or add them again."""
    loaded = LoadedSpec(spec=compile_text(SPEC, origin=NAME), declaration=SPEC)
    with closing(open_app(home)) as app:
        add_catalogue(
            app,
            open_rows(None, str(table)),
            recipe=own_recipe(loaded),
            name=NAME,
            progress=lambda _report: None,
        )


def open_app(home: Path) -> App:
    """Open a library with an embedder that hashes words."""
    app = App(Settings(home=home, offline=True))
    app.__dict__["embedder"] = WordEmbedder()
    return app


def list_files(home: Path) -> list[Path]:
    """Return the files of a library that can be damaged."""
    files = (
        path
        for path in sorted((home / "catalogues").rglob("*"))
        if path.is_file() and path.stat().st_size
    )
    return [path for path in files if not path.name.endswith(UNTOUCHED)]


def damage(path: Path, chooser: random.Random) -> str:
    """Flip one bit of a file, or truncate it; return what was done."""
    content = bytearray(path.read_bytes())
    place = chooser.randrange(len(content))
    if chooser.random() < 0.25:
        path.write_bytes(content[:place])
        return f"{path.name}: truncated from {len(content)} to {place} bytes"
    bit = chooser.randrange(8)
    content[place] ^= 1 << bit
    path.write_bytes(content)
    return f"{path.name}: bit {bit} of byte {place}"


def answers_of(app: App) -> dict[str, Any]:
    """Return what a library answers: searches, a count by genre, and every record."""
    gate = app.build_gate([NAME], tools=ToolChoice.GENERIC)
    calls: list[tuple[str, dict[str, Any]]] = [
        *(("search", {"query": query}) for query in QUERIES),
        ("search", {"query": "storm", "filters": {"year": {"min": 1960, "max": 1980}}}),
        ("browse", {"by": ["genre"]}),
        *(("fetch", {"id": f"{NAME}/Film {number}"}) for number in range(ROWS)),
    ]
    answers: dict[str, Any] = {}
    for tool, arguments in calls:
        told = gate.call(LOCAL_USER, tool, arguments)
        answers[f"{tool} {json.dumps(arguments)}"] = (
            told.error_code if told.is_error else told.structured
        )
    return answers


def judge(home: Path, right: Mapping[str, Any], done_to: str) -> Verdict:
    """Let the check run over a damaged library, and compare its answers with the right ones."""
    try:
        with closing(open_app(home)) as app:
            catalogue = app.open_catalogue(NAME)
            done = catalogue.shelf.mend()
            problems = [str(one) for one in check_catalogue(catalogue)]
            answers = answers_of(app)
    except ExpectedError as error:
        return Verdict(outcome=FOUND, damage=done_to, detail=error.message)
    except Exception as error:  # a bug, to be counted among those that were not noticed
        where = traceback.extract_tb(error.__traceback__)[-1]
        return Verdict(
            outcome=WRONG, damage=done_to, detail=f"{error!r} at {where.filename}:{where.lineno}"
        )
    wrong = [call for call, answer in right.items() if answers[call] != answer]
    if problems:
        # a record is never shown altered, whatever is reported
        is_truth = done_to.startswith(STORE_FILE)
        altered = [
            call
            for call in wrong
            if call.startswith("fetch") and not _is_part(answers[call], right[call])
        ]
        detail = "; ".join(problems)
        return Verdict(
            outcome=WRONG if altered and is_truth else FOUND, damage=done_to, detail=detail
        )
    if wrong:
        return Verdict(
            outcome=WRONG, damage=done_to, detail=f"{wrong[0]}: {str(answers[wrong[0]])[:300]}"
        )
    return Verdict(outcome=REBUILT if done else HARMLESS, damage=done_to, detail="; ".join(done))


def _is_part(answer: Any, right: Any) -> bool:
    """Tell whether an answer says nothing but what the right one says; it may be an error, or say
    less.
    """
    if isinstance(answer, dict) and isinstance(right, dict):
        return all(name in right and _is_part(value, right[name]) for name, value in answer.items())
    return answer == right or not isinstance(right, str | int | float)


def run_rounds(rounds: int, *, seed: int, home: Path) -> list[Verdict]:
    """Damage copies of a library, one file each, and return what became of each."""
    with closing(open_app(home)) as app:
        right = answers_of(app)
    verdicts = []
    for number in range(rounds):
        chooser = random.Random(f"{seed}-{number}")
        with tempfile.TemporaryDirectory(prefix="damage-") as scratch:
            copy = Path(scratch) / "home"
            shutil.copytree(home, copy)
            files = list_files(copy)
            weights = [path.stat().st_size for path in files]
            path = chooser.choice(files) if number % 2 else chooser.choices(files, weights)[0]
            verdicts.append(judge(copy, right, damage(path, chooser)))
    return verdicts


def main(arguments: Sequence[str]) -> int:
    """Run many rounds, print what became of them, and return 1 where an answer was silently
    wrong.
    """
    rounds, seed = (
        int(arguments[0]) if arguments else 1_000,
        int(arguments[1]) if arguments[1:] else 1,
    )
    with tempfile.TemporaryDirectory(prefix="damage-") as folder:
        home = Path(folder) / "home"
        build_library(home)
        verdicts = run_rounds(rounds, seed=seed, home=home)
    counted = Counter(one.outcome for one in verdicts)
    sys.stdout.write(f"{rounds} damaged files: {dict(counted)}\n")
    for one in verdicts:
        if one.outcome == WRONG:
            sys.stdout.write(f"WRONG {one.damage}: {one.detail}\n")
    return 1 if counted[WRONG] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
