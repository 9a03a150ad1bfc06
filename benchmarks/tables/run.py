"""Adds public tables as a user would, without a word about their columns, and marks what was
inferred from 0 to 10.

    .venv/bin/python benchmarks/tables/run.py [--only NAME …] [--cache FOLDER] [--mirror FOLDER]
        [--json]

Each table is added by `stackroom add --yes --no-embed` to a library of its own and asked five
questions through the tools. Tables that cannot be reached from here are named and left out.
README.md describes the points.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

from fetching import TableStore, UnreachableError
from marking import Mark, Question, TableTruth, fields_of, mark_table

from stackroom.assembly.app import App, gate_over
from stackroom.catalogue.spec import CatalogueSpec, FieldSpec, FilterKind
from stackroom.errors import ExpectedError
from stackroom.generic import tools
from stackroom.generic.shapes import BrowseParams, FetchParams, SearchParams, SearchResult
from stackroom.settings import Settings

HERE = Path(__file__).parent
DEFAULT_CACHE = Path(tempfile.gettempdir()) / "stackroom-bench" / "tables"
NAME = "table"
MOST_GROUPS = 200
TOLERANCE = 1e-6


def load_truth(only: Sequence[str] = ()) -> dict[str, TableTruth]:
    """Return what is known of the tables, by name."""
    stated: dict[str, Any] = {}
    for path in sorted(HERE.glob("*.toml")):
        stated |= tomllib.loads(path.read_text(encoding="utf-8"))
    if unknown := sorted(set(only) - stated.keys()):
        sys.exit(f"no table {', '.join(unknown)}; the tables: {', '.join(stated)}")
    return {name: TableTruth(**truth) for name, truth in stated.items() if name in only or not only}


def mark_file(truth: TableTruth, path: Path) -> Mark:
    """Add a file to an empty library, ask it the questions, and return the mark."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        path = _recoded(path, home, truth.recode) if truth.recode else path
        arguments = ["add", str(path), "--name", NAME, "--yes", "--no-embed", "--json"]
        environment = {**os.environ, "STACKROOM_HOME": folder}
        command = [sys.executable, "-m", "stackroom", *arguments]
        added = subprocess.run(
            command, check=False, env=environment, capture_output=True, text=True
        )
        if added.returncode:
            lines = (added.stderr or added.stdout).strip().splitlines()
            return Mark(
                points=0.0, wrong=(f"not added: {lines[-1] if lines else added.returncode}",)
            )
        with closing(App(Settings(home=home))) as app:
            asked = AskedCatalogue(app)
            wrong_answers = [
                problem for question in truth.questions if (problem := asked.check(question))
            ]
            return mark_table(
                truth, asked.spec, records=asked.count_records(), wrong_answers=wrong_answers
            )


def _recoded(path: Path, folder: Path, encoding: str) -> Path:
    """Write a UTF-8 file in another encoding, as office programs save it; return where."""
    written = folder / path.name
    written.write_bytes(path.read_text(encoding="utf-8-sig").encode(encoding, errors="replace"))
    return written


class AskedCatalogue:
    """A catalogue that is asked through the tools, as an assistant would, by the columns of its
    file.
    """

    def __init__(self, app: App) -> None:
        catalogue = app.open_catalogue(NAME)
        self.spec: CatalogueSpec = catalogue.spec
        self._gate = gate_over(catalogue)

    def count_records(self) -> int:
        """Return the number of all records."""
        return self._search("*", {}).total

    def check(self, question: Question) -> str:
        """Ask a question; return what was wrong with the answer, or nothing."""
        stated = question.model_dump(exclude_defaults=True)
        try:
            problem = self._find_problem(question)
        except (ExpectedError, LookupError, ValueError) as error:
            problem = str(error).splitlines()[0]
        return (
            f"question {json.dumps(stated, ensure_ascii=False, default=str)}: {problem}"
            if problem
            else ""
        )

    def _find_problem(self, question: Question) -> str:
        filters = dict(self._condition(column, value) for column, value in question.where.items())
        if question.words:
            return self._first_problem(question, filters)
        answered = self._figures(question, filters)
        wrong = [
            name
            for name, right in question.figures.items()
            if not _is_same(answered.get(name), right)
        ]
        return "; ".join(f"{name} is {answered.get(name)}" for name in wrong)

    def _first_problem(self, question: Question, filters: Mapping[str, Any]) -> str:
        results = self._search(question.words, filters).results
        if not results:
            return "nothing found"
        record = self._gate.ask(tools.fetch, FetchParams(id=results[0].id))
        is_right = (
            question.first.casefold() in f"{record.id}\n{record.title}\n{record.text}".casefold()
        )
        return "" if is_right else f"the first is {record.title}"

    def _figures(self, question: Question, filters: Mapping[str, Any]) -> dict[str, Any]:
        if not question.by and not question.of:
            return {"count": self._search("*", filters).total}
        by = [self._field(question.by).name] if question.by else None
        of = self._field(question.of, is_number=True).name if question.of else None
        asked = BrowseParams(by=by, of=of, filters=dict(filters), limit=MOST_GROUPS)
        (browsed,) = self._gate.ask(tools.browse, asked).catalogues
        if not by:
            return browsed.overall.model_dump() if browsed.overall else {}
        right = (
            group for group in browsed.groups or () if _is_same(group.values[by[0]], question.group)
        )
        return next((group.model_dump() for group in right), {})

    def _condition(self, column: str, value: Any) -> tuple[str, Any]:
        """Return the name of a field and the filter by it."""
        if isinstance(value, dict):
            return self._field(column, is_number=True).name, value
        field = self._field(column)
        if field.filter is not FilterKind.RANGE:
            return field.name, [_as_filter(field, column, value)]
        if isinstance(value, bool):
            raise LookupError(f"{column} is a number, not yes or no")
        number = float(value)
        return field.name, {"min": number, "max": number}

    def _field(self, column: str, *, is_number: bool = False) -> FieldSpec:
        for field in fields_of(self.spec, column):
            if field.is_numeric if is_number else field.filter or field.facet:
                return field
        raise LookupError(f"no {'number' if is_number else 'filter by'} {column}")

    def _search(self, query: str, filters: Mapping[str, Any]) -> SearchResult:
        return self._gate.ask(
            tools.search, SearchParams(query=query, filters=dict(filters), limit=1)
        )


def _as_filter(field: FieldSpec, column: str, value: Any) -> str:
    """Return a value as a filter names it: where several columns of yes and no are one list, a tag
    says yes.
    """
    if value is True and field.marked:
        return dict(field.marked)[column]
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _is_same(answer: Any, right: Any) -> bool:
    """Compare numbers within rounding, and texts without regard to case."""
    try:
        return math.isclose(float(answer), float(right), rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    except (TypeError, ValueError):
        return str(answer).casefold() == str(right).casefold()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", default=(), help="the names of some tables")
    parser.add_argument("--cache", type=Path, default=DEFAULT_CACHE, help="folder of the downloads")
    parser.add_argument(
        "--mirror", type=Path, help="folder of git directories of the repositories, by OWNER/NAME"
    )
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    store = TableStore(cache=options.cache.resolve(), mirror=options.mirror)
    marks: dict[str, Mark] = {}
    truths = load_truth(options.only)
    for name, truth in truths.items():
        try:
            path = store.fetch(name, source=truth.source, file=truth.file, sha256=truth.sha256)
        except UnreachableError as error:
            print(f"   –  {name}: not reached: {error}", file=sys.stderr)
            continue
        marks[name] = mark = mark_file(truth, path)
        if not options.json:
            print("\n        ".join([f"{mark.points:4.1f}  {name}", *mark.wrong]), flush=True)
    points = sorted(mark.points for mark in marks.values()) or [0.0]
    summary = {
        "tables": len(marks),
        "median": median(points),
        "lowest": points[0],
        "below 9": sum(value < 9 for value in points),
        "not reached": len(truths) - len(marks),
    }
    if options.json:
        print(
            json.dumps(
                {**summary, "marks": {name: asdict(mark) for name, mark in marks.items()}}, indent=1
            )
        )
    else:
        print(" · ".join(f"{name} {value}" for name, value in summary.items()))


if __name__ == "__main__":
    main()
