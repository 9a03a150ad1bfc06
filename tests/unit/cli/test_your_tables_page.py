"""`docs/your-tables.md`, followed to the letter: every command is run, and prints what the page shows."""

import csv
import re
import shlex
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openpyxl
import orjson
import pytest

from pinakes.settings import Settings
from support.libraries import opened

PAGE = Path(__file__).parents[3] / "docs" / "your-tables.md"
PROMPT = "Build it?"
QUESTION = re.compile(r"Build it\?.*? for how\): ")
"""The question as it is printed; what is typed is not, so that the next output follows on the same line."""
LEFT_OUT = "…"
"""Stands for lines that are not shown, and ends a line that is not shown whole."""
GONE = "Petra Assyrtiko"
"""The wine that is drunk before the table is added again."""
ENDLESS = ("pinakes watch",)

pytestmark = pytest.mark.row("N1")
Run = Callable[..., Any]


@dataclass(frozen=True, kw_only=True)
class Step:
    """A command of the page, and the lines that it is shown to print."""

    command: str
    shown: tuple[str, ...]

    @property
    def typed(self) -> str:
        """The answers to its questions, one per line."""
        asked = (line for line in self.shown if line.startswith(PROMPT))
        return "".join(f"{line.rsplit(': ', 1)[1]}\n" for line in asked)

    @property
    def is_update(self) -> bool:
        """Whether the table was added before, so that nothing is asked."""
        return self.command == "pinakes add wines.csv" and not self.typed


def fenced(language: str) -> list[str]:
    """Return the blocks of a language on the page."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return [text for named, text in blocks if named == language]


def iter_steps() -> Iterator[Step]:
    """Yield the commands of the page, in order."""
    for block in fenced(""):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *shown = part.splitlines()
            yield Step(command=command, shown=tuple(shown))


def missing_lines(shown: tuple[str, ...], printed: str) -> list[str]:
    """Return the shown lines that were not printed in this order; blanks are not compared."""
    lines = iter([" ".join(line.split()) for line in QUESTION.sub("\n", printed).splitlines()])
    missing = []
    for line in shown:
        wanted = " ".join(line.split())
        if wanted in ("", LEFT_OUT) or wanted.startswith(PROMPT):
            continue
        start, is_cut = wanted.removesuffix(LEFT_OUT).rstrip(), wanted.endswith(LEFT_OUT)
        if not any(one.startswith(start) if is_cut else one == start for one in lines):
            missing.append(line)
    return missing


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the page speaks of; the user's own folder and library are in it too."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PINAKES_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "home").mkdir()
    (tmp_path / "wines.csv").write_text(fenced("csv")[0], encoding="utf-8")
    rows = list(csv.reader(fenced("csv")[0].splitlines()))
    write_workbook(tmp_path / "cellar.xlsx", rows)
    write_database(tmp_path / "cellar.db", rows)
    write_survey(tmp_path / "survey.csv")
    lines = fenced("csv")[0].splitlines()
    (tmp_path / "2023.csv").write_text("\n".join(lines[:7]), encoding="utf-8")
    (tmp_path / "2024.csv").write_text("\n".join([lines[0], *lines[7:]]), encoding="utf-8")
    return tmp_path


def write_workbook(path: Path, rows: list[list[str]]) -> None:
    """Write a spreadsheet with a title above the table, and a second sheet."""
    book = openpyxl.Workbook()
    bottles = book.active
    assert bottles is not None
    bottles.title = "Bottles"
    for row in (["My cellar, spring"], [], *rows):
        bottles.append(row)
    book.create_sheet("Shops").append(["shop", "town"])
    book.save(path)


def write_database(path: Path, rows: list[list[str]]) -> None:
    """Write a database whose bottles refer to the countries that they are from."""
    countries = {row[1]: number for number, row in enumerate(rows[1:], start=1)}
    with closing(sqlite3.connect(path)) as database, database:
        database.executescript(
            "CREATE TABLE country (id INTEGER PRIMARY KEY, name TEXT);"
            "CREATE TABLE bottle (id INTEGER PRIMARY KEY, name TEXT, notes TEXT, country INTEGER REFERENCES country);"
        )
        database.executemany(
            "INSERT INTO country VALUES (?, ?)", [(number, name) for name, number in countries.items()]
        )
        database.executemany(
            "INSERT INTO bottle VALUES (?, ?, ?, ?)",
            [(number, row[0], row[6], countries[row[1]]) for number, row in enumerate(rows[1:], start=1)],
        )


def write_survey(path: Path) -> None:
    """Write answers of people to questions, which no column names."""
    answers = [
        (at, at % 5 + 1, ("No", "Yes")[at % 2], ("No", "Yes", "Yes")[at % 3], ("young", "old")[at % 2])
        for at in range(40)
    ]
    with path.open("w", encoding="utf-8", newline="") as file:
        header = ["Respondent ID", "How satisfied are you?", "Would you come back?", "Do you drink wine?", "Age"]
        csv.writer(file).writerows([header, *answers])


def follow(folder: Path, run: Run, run_typing: Run, *, with_model: bool) -> dict[str, list[str]]:
    """Run every command of the page; return the lines that each did not print."""
    missing = {}
    steps = list(iter_steps())
    assert len(steps) >= 8
    for step in steps:
        _program, *arguments = shlex.split(step.command, comments=True)
        if step.command.startswith(ENDLESS):
            continue
        if step.is_update:
            kept = [line for line in fenced("csv")[0].splitlines() if not line.startswith(GONE)]
            (folder / "wines.csv").write_text("\n".join(kept), encoding="utf-8")
        if arguments[0] == "add" and not with_model:
            arguments.append("--no-embed")
        ran = run_typing(arguments, step.typed) if step.typed else run(arguments)
        assert ran.code == 0, f"{step.command}: {ran.out}{ran.err}"
        if lines := missing_lines(step.shown, ran.out + ran.err):
            missing[step.command] = lines
    return missing


def test_every_command_of_the_page_works_and_prints_what_is_shown(folder: Path, run: Run, run_typing: Run) -> None:
    assert follow(folder, run, run_typing, with_model=False) == {}


@pytest.mark.model
def test_the_page_is_true_with_the_embedding_model_too(
    folder: Path, models_folder: Path, run: Run, run_typing: Run
) -> None:
    (folder / "home" / "models").symlink_to(models_folder, target_is_directory=True)
    assert follow(folder, run, run_typing, with_model=True) == {}


def test_the_calls_that_an_assistant_makes_are_answered_as_shown(folder: Path, run: Run, run_typing: Run) -> None:
    first = next(iter_steps())
    run_typing([*shlex.split(first.command)[1:], "--no-embed"], first.typed)
    calls, answers = fenced("json"), fenced("text")
    assert len(calls) == len(answers) >= 2
    with opened(Settings(home=folder / "home", offline=True), "wines") as library:
        for call, shown in zip(calls, answers, strict=True):
            asked = orjson.loads(call)
            answer = library.call(asked["name"], **asked["arguments"])
            assert answer.structured is not None
            found = [f"{hit['title']}: {hit['text']}" for hit in answer.structured.get("results", ())]
            assert missing_lines(tuple(shown.splitlines()), "\n".join(found) or answer.text) == []
