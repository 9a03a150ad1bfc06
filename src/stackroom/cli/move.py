"""`move`: a catalogue's records into a PostgreSQL database, and back."""

import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import click

from stackroom.cli.output import command, json_option, print_answer
from stackroom.cli.progress import progress_line
from stackroom.cli.workshop import open_workshop
from stackroom.errors import InputError
from stackroom.shelf.opening import load_postgres
from stackroom.shelf.store_place import IN_DATABASE, StorePlace

HERE = "here"
MOVING = "stackroom.shelf.postgres.move"
SCHEMA = click.option(
    "--schema", help="The schema of the catalogue in the database: stackroom_NAME unless given."
)
SEARCH_THERE = click.option(
    "--search-there",
    is_flag=True,
    help="Search in the database too (pgvector): no server keeps a copy or an index.",
)


def place_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say where in a database a catalogue is, beside `--to`."""
    return SCHEMA(SEARCH_THERE(command))


def place_at(
    target: str | None, name: str, schema: str | None, *, search_there: bool
) -> StorePlace | None:
    """Return the place in a database that the options name; None for the folder of the library."""
    if target not in (None, HERE):
        return StorePlace(
            url=target,
            schema=schema or f"stackroom_{name}",
            search=IN_DATABASE if search_there else "",
        )
    if schema or search_there:
        raise InputError(
            "--schema and --search-there are for a catalogue in a database: give its address by"
            " --to"
        )
    return None


@command("move")
@click.argument("name")
@click.option(
    "--to",
    "target",
    required=True,
    help="postgresql://USER@HOST/DATABASE, or `here` for the library.",
)
@place_options
@json_option
def move_command(name: str, target: str, schema: str | None, search_there: bool) -> None:
    """Move the records of NAME into a PostgreSQL database that many servers share, or back."""
    place = place_at(target, name, schema, search_there=search_there)
    moving, workshop = load_postgres(MOVING), open_workshop()
    moving.drop_former(workshop, now=time.time())
    with progress_line(name) as line:
        if place is None:
            report = moving.move_to_folder(workshop, name, advance=line.add)
        else:
            report = moving.move_to_database(workshop, name, place, advance=line.add)
    rows = (
        ", ".join(f"{count} {table}" for table, count in report.rows.items())
        or "everything was there already"
    )
    text = f"{report.catalogue}: the records are in {report.place} now ({rows})"
    print_answer(asdict(report), text)
