"""What commands print for programs."""

from typing import Any

import click
import orjson

from pinakes.catalogue.codec import encode_record
from pinakes.model.record import Record

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    click.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2, default=str).decode())


def record_json(record: Record) -> dict[str, Any]:
    """Return a record as plain values."""
    document: dict[str, Any] = orjson.loads(encode_record(record))
    return {"id": record.id, "kind": record.kind, **document["fields"]}
