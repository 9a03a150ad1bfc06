"""Cases of tables as people have them: the file, what must be proposed for it, and what searches
must find.

A case is a TOML file in `tests/tables/cases`; its rows are in `tests/tables/data`, or made by
`made_tables`. The proposal is compared in a compact form, with `tests/tables/proposals/NAME.txt`.
"""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stackroom.assembly.app import App
from stackroom.assembly.build import add_catalogue, open_rows, own_recipe
from stackroom.catalogue.infer.declare import Choices
from stackroom.ingest.pipeline import IngestReport
from stackroom.ingest.proposal import Proposal, profile_table
from stackroom.settings import Settings
from stackroom.sources.location import ReadOptions
from support.libraries import Library, opened
from support.made_tables import MADE_TABLES

FOLDER = Path(__file__).resolve().parent.parent / "tables"
SHOWN_KEYS = ("unit", "brackets", "take", "split", "template", "marked")
SHOWN_LEFT_OUT = 12
SHOWN_CELLS = 3


@dataclass(frozen=True, kw_only=True)
class TableSearch:
    """A search of a table, and what it must find: titles that come first, that are found, or that
    are all.
    """

    query: str = ""
    filters: Mapping[str, Any] = field(default_factory=dict)
    first: str = ""
    finds: Sequence[str] = ()
    only: Sequence[str] | None = None

    @property
    def label(self) -> str:
        """A short name for the search."""
        return self.query or " ".join(self.filters)


@dataclass(frozen=True, kw_only=True)
class TableCase:
    """A table, how it is read, the user's choices about it, and its searches."""

    name: str
    file: str
    encoding: str
    nul_at: int | None
    """The line in which a NUL byte is put, as a damaged file has it."""
    options: ReadOptions
    choices: Choices
    searches: Sequence[TableSearch]

    @property
    def golden(self) -> Path:
        """The file with the proposal in its compact form."""
        return FOLDER / "proposals" / f"{self.name}.txt"

    def write(self, folder: Path) -> Path:
        """Write the table's file into a folder, in its encoding."""
        path = folder / self.file
        if make := MADE_TABLES.get(self.file):
            make(path)
            return path
        text = (FOLDER / "data" / self.file).read_text(encoding="utf-8")
        if self.nul_at is not None:
            lines = text.splitlines(keepends=True)
            text = "".join(
                [*lines[: self.nul_at - 1], "\0" + lines[self.nul_at - 1], *lines[self.nul_at :]]
            )
        path.write_bytes(text.encode(self.encoding))
        return path


def load_case(path: Path) -> TableCase:
    """Load a case from its TOML file."""
    case = tomllib.loads(path.read_text(encoding="utf-8"))
    return TableCase(
        name=path.stem,
        file=case["file"],
        encoding=case.get("encoding", "utf-8"),
        nul_at=case.get("nul_at"),
        options=ReadOptions(**case.get("options", {})),
        choices=Choices(**case.get("choices", {})),
        searches=[TableSearch(**one) for one in case.get("search", ())],
    )


CASES = {path.stem: load_case(path) for path in sorted((FOLDER / "cases").glob("*.toml"))}


@dataclass(frozen=True, kw_only=True)
class BuiltTable:
    """The catalogue that was built of a table, in an open library, with its proposal and the report
    of its rows.
    """

    library: Library
    proposal: Proposal
    report: IngestReport


@contextmanager
def build_table(case: TableCase, folder: Path) -> Iterator[BuiltTable]:
    """Build the catalogue that is proposed for a table, without vectors, and open it."""
    settings = Settings(home=folder / "home", offline=True)
    source = open_rows(None, str(case.write(folder)), options=case.options)
    proposal = profile_table(source).propose(name=case.name, choices=case.choices)
    with closing(App(settings)) as app:
        report = add_catalogue(
            app,
            source,
            recipe=own_recipe(proposal.loaded),
            name=case.name,
            progress=lambda _report: None,
            embed=False,
        )
    with opened(settings, case.name) as library:
        yield BuiltTable(library=library, proposal=proposal, report=report)


def compact(built: BuiltTable) -> str:
    """Return a proposal for people to review: id, a line per field, the columns left out, remarks,
    and what is lost.
    """
    proposal, report = built.proposal, built.report
    declared = tomllib.loads(proposal.inferred.declaration)
    lines = [f"id: {declared.get('id', 'made of the values')}"]
    lines += [f"group: {declared['group']}"] if declared.get("group") else []
    lines += [_field_line(name, one) for name, one in declared["fields"].items()]
    left_out = proposal.inferred.left_out
    lines += [f"- {column}: {reason}" for column, reason in left_out[:SHOWN_LEFT_OUT]]
    lines += (
        [f"- {len(left_out) - SHOWN_LEFT_OUT} more columns"]
        if len(left_out) > SHOWN_LEFT_OUT
        else []
    )
    lines += [f"note: {note}" for note in (*proposal.inferred.notes, *proposal.notes)]
    lines += [f"no catalogue: {proposal.inferred.verdict}"] if proposal.inferred.verdict else []
    lines.append(f"{report.rows} rows: {report.written} records")
    lines += [f"not built: {place}: {reason}" for place, reason in report.rejects]
    lines += [
        f"cell left out: {place}: {reason}" for place, _field, reason in report.cells[:SHOWN_CELLS]
    ]
    return "\n".join(lines) + "\n"


def _field_line(name: str, declared: Mapping[str, Any]) -> str:
    """Return a field in a line: its type, role, unit and the like, and its uses."""
    shown = [f"{key}={declared[key]!r}" for key in SHOWN_KEYS if declared.get(key)]
    uses = [use for use in ("search", "filter", "facet", "required") if declared.get(use)]
    return " ".join(
        part
        for part in (f"{name}:", declared["type"], declared.get("role", ""), *shown, *uses)
        if part
    )


def iter_searches() -> Iterator[tuple[str, TableSearch]]:
    """Yield every search of every table, with the table's name."""
    for name, case in CASES.items():
        for search in case.searches:
            yield name, search
