"""A small library to be damaged, what it answers, and what became of its damage: it is found,
mended or harmless, and no answer is silently wrong.
"""

import json
import random
import traceback
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stackroom.assembly.app import App
from stackroom.assembly.build import add_catalogue, open_rows, own_recipe
from stackroom.assembly.serving import ToolChoice
from stackroom.catalogue.compiler import LoadedSpec, compile_text
from stackroom.embed.adapters import WatchedEmbedder
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
    app.__dict__["embedder"] = WatchedEmbedder(WordEmbedder())
    return app


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
