"""What commands print: JSON, tables, and the findings of checks.

A table is as wide as a terminal; in a pipe or a file a row of it is one line.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import click
import orjson
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from stackroom.text.safe import safe_json, safe_line, safe_text, terminal_stream

BETWEEN_COLUMNS = "  "


def print_table(headings: Sequence[str], rows: Iterable[Sequence[object]], *, title: str | None = None) -> None:
    """Print a table: as wide as the terminal, or else with one whole line for each row."""
    console = Console(file=terminal_stream(), soft_wrap=False, highlight=False, markup=False)
    heading = None if title is None else safe_line(title)
    if not console.is_terminal:
        cells = [list(headings), *([safe_line(str(cell)) for cell in row] for row in rows)]
        lines = [*([] if heading is None else [heading]), *_aligned(cells)]
        console.print(Text("\n".join(lines)), soft_wrap=True)
        return
    table = Table(
        title=None if heading is None else Text(heading),
        title_justify="left",
        header_style="bold",
        box=None,
        pad_edge=False,
    )
    for name in headings:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*(Text(safe_text(str(cell))) for cell in row))  # Text, so that brackets are not read as markup
    console.print(table)


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows as lines, with each column but the last as wide as its widest cell."""
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    padded = ([f"{cell}{' ' * (widths[place] - cell_len(cell))}" for place, cell in enumerate(row)] for row in rows)
    return [BETWEEN_COLUMNS.join(row).rstrip() for row in padded]


def shortened(text: object, length: int = 100) -> str:
    """Return the beginning of a text, on one line."""
    line = " ".join(str(text or "").split())
    return line if len(line) <= length else f"{line[: length - 1]}…"


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")


def print_json(value: Any) -> None:
    """Print a value as JSON, safe to show."""
    text = orjson.dumps(value, option=orjson.OPT_INDENT_2, default=str).decode()
    click.echo(safe_json(text, option=orjson.OPT_INDENT_2))


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One finding: the subject, its state, and whether that is in order."""

    what: str
    found: str
    ok: bool


def report_findings(ctx: click.Context, findings: Sequence[Finding], *, as_json: bool) -> None:
    """Print the findings, and exit with code 1 if any of them is a problem."""
    if as_json:
        print_json([asdict(finding) for finding in findings])
    for finding in () if as_json else findings:
        click.echo(f"{'ok ' if finding.ok else 'BAD'} {finding.what}: {finding.found}")
    if not all(finding.ok for finding in findings):
        ctx.exit(1)
