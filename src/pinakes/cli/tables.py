"""Tables that commands print."""

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from pinakes.cli.safe_streams import terminal_stream
from pinakes.text.safe import safe_line, safe_text


def print_table(headings: Sequence[str], rows: Iterable[Sequence[object]], *, title: str | None = None) -> None:
    """Print a table as wide as the terminal."""
    heading = None if title is None else Text(safe_line(title))
    table = Table(title=heading, title_justify="left", header_style="bold", box=None, pad_edge=False)
    for name in headings:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*(Text(safe_text(str(cell))) for cell in row))  # Text, so that brackets are not read as markup
    Console(file=terminal_stream(), soft_wrap=False).print(table)


def shortened(text: object, length: int = 100) -> str:
    """Return the beginning of a text, on one line."""
    line = " ".join(str(text or "").split())
    return line if len(line) <= length else f"{line[: length - 1]}…"
