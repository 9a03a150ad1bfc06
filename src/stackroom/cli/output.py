"""What commands print: their help, JSON, tables, and the findings of checks."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click
import orjson
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.table import Table
from rich.text import Text

from stackroom.text.safe import safe_json, safe_line, safe_text, terminal_stream
from stackroom.toml_text import load_packaged

BETWEEN_COLUMNS = "  "
HELP = load_packaged("stackroom.cli", "help.toml")


def print_table(
    headings: Sequence[str], rows: Iterable[Sequence[object]], *, title: str | None = None
) -> None:
    """Print a table: as wide as the terminal, or else with one whole line for each row."""
    console = Console(file=terminal_stream(), soft_wrap=False, highlight=False, markup=False)
    heading = None if title is None else safe_line(title)
    if not console.is_terminal:
        cells = [list(headings), *([safe_line(str(cell)) for cell in row] for row in rows)]
        widths = [max(map(cell_len, column)) for column in zip(*cells, strict=True)]
        padded = (BETWEEN_COLUMNS.join(map(set_cell_size, row, widths)).rstrip() for row in cells)
        lines = [*filter(None, [heading]), *padded]
        console.print(Text("\n".join(lines)), soft_wrap=True)
        return
    title_text = None if heading is None else Text(heading)
    table = Table(
        title=title_text, title_justify="left", header_style="bold", box=None, pad_edge=False
    )
    for name in headings:
        table.add_column(name, overflow="fold")
    for row in rows:
        # Text, so that brackets are not read as markup
        table.add_row(*(Text(safe_text(str(cell))) for cell in row))
    console.print(table)


def shortened(text: object, length: int = 100) -> str:
    """Return the beginning of a text, on one line."""
    line = " ".join(str(text or "").split())
    return line if len(line) <= length else f"{line[: length - 1]}…"


FILE = click.Path(path_type=Path)
flag = partial(click.option, is_flag=True)


def _note_json(context: click.Context, _option: click.Parameter, is_wanted: bool) -> None:
    context.meta[JSON] = is_wanted


JSON = "json"
json_option = flag(
    "--json", callback=_note_json, expose_value=False, help="Print JSON, for programs."
)


def wants_json() -> bool:
    """Tell whether the command that runs was asked for JSON."""
    context = click.get_current_context(silent=True)
    return context is not None and context.meta.get(JSON, False)


def command(name: str, **settings: Any) -> Callable[[Callable[..., None]], click.Command]:
    """Declare a command, with its help."""
    return click.command(name, help=HELP[name], **settings)


def print_as_json(value: Any) -> bool:
    """Print a value as JSON, safe to show, where the command was asked for that, and tell whether
    it was.
    """
    if is_json := wants_json():
        text = orjson.dumps(value, option=orjson.OPT_INDENT_2, default=str).decode()
        click.echo(safe_json(text, option=orjson.OPT_INDENT_2))
    return is_json


def print_answer(value: Any, text: str) -> None:
    """Print a value, or the text that says the same where JSON was not asked for."""
    if not print_as_json(value):
        click.echo(text)
