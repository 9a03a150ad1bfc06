"""What commands print: tables for people, JSON for programs."""

from collections.abc import Iterable, Sequence
from typing import Any

import click
import orjson
from rich.console import Console
from rich.table import Table

from pinakes.catalogue.codec import encode_record
from pinakes.model.record import Record

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    click.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2, default=str).decode())


def print_table(headings: Sequence[str], rows: Iterable[Sequence[object]], *, title: str | None = None) -> None:
    """Print a table as wide as the terminal."""
    table = Table(title=title, title_justify="left", header_style="bold", box=None, pad_edge=False)
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*(str(cell) for cell in row))
    Console(soft_wrap=False).print(table)


def record_json(record: Record) -> dict[str, Any]:
    """Return a record as plain values."""
    document: dict[str, Any] = orjson.loads(encode_record(record))
    return {"id": record.id, "kind": record.kind, **document["fields"]}


def shortened(text: object, length: int = 100) -> str:
    """Return the beginning of a text, on one line."""
    line = " ".join(str(text or "").split())
    return line if len(line) <= length else f"{line[: length - 1]}…"
