"""JSON output of commands."""

from typing import Any

import click
import orjson

from stackroom.text.safe import safe_json

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")


def print_json(value: Any) -> None:
    """Print a value as JSON, safe to show."""
    text = orjson.dumps(value, option=orjson.OPT_INDENT_2, default=str).decode()
    click.echo(safe_json(text, option=orjson.OPT_INDENT_2))
