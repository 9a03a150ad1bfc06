"""Options of reading a source: which table of it, and how its header is laid out."""

from collections.abc import Collection
from dataclasses import dataclass, fields, replace

from pinakes.errors import InputError

TABLES = "SQLite files, databases and spreadsheets"
GRIDS = "CSV files and spreadsheets"
MEANT_FOR = {
    "table": TABLES,
    "query": "SQLite files and databases",
    "sheet": "spreadsheets (.xlsx, .ods)",
    "skip": GRIDS,
    "header_rows": GRIDS,
    "records": "JSON files",
    "max_unpacked_mb": "files",
}
"""The sources that each option is for."""
MOST_LINES = 1_000
"""The most lines that can be skipped, or be a header."""

ALL_SHEETS = "*"
"""Stands for all sheets with the columns of the main one, read as one table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """Options of reading a source, as a user gives them; None leaves the choice to the reader."""

    table: str | None = None
    """The table of a database, or the sheet of a spreadsheet."""
    query: str | None = None
    """A SELECT statement whose result is the table."""
    sheet: str | None = None
    skip: int | None = None
    """The number of lines above the header."""
    header_rows: int | None = None
    """The number of lines that the header has; 0 where there is none."""
    records: str | None = None
    """The path of the list of records in a JSON document, such as `data.items`."""

    max_unpacked_mb: int | None = None
    """The most megabytes that a compressed file may unpack to."""

    @property
    def given(self) -> tuple[str, ...]:
        """The names of the options that are given."""
        return tuple(field.name for field in fields(self) if getattr(self, field.name) is not None)

    @property
    def part(self) -> str | None:
        """The table or sheet."""
        return self.table if self.sheet is None else self.sheet

    def over(self, other: "ReadOptions") -> "ReadOptions":
        """Return these options, completed with those of another that are not given here."""
        return replace(other, **{name: getattr(self, name) for name in self.given})

    def require_only(self, allowed: Collection[str], *, location: str) -> None:
        """Refuse an option that means nothing for a source, and a number of lines that is out of range."""
        for name in self.given:
            if name not in allowed:
                raise InputError(f"{location}: {flag(name)} is for {MEANT_FOR[name]} only")
        for name, lines in (("skip", self.skip), ("header_rows", self.header_rows)):
            if lines is not None and not 0 <= lines <= MOST_LINES:
                raise InputError(
                    f"{location}: {flag(name)} is {lines}; a number of lines from 0 to {MOST_LINES:,} is right"
                )
        if self.max_unpacked_mb is not None and self.max_unpacked_mb < 1:
            raise InputError(f"{location}: --max-unpacked-mb is {self.max_unpacked_mb}; a number from 1 is right")


def flag(name: str) -> str:
    """Return an option as it is written on the command line."""
    return f"--{name.replace('_', '-')}"


NO_OPTIONS = ReadOptions()
