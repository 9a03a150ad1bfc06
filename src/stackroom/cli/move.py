"""`move`: a catalogue's records into a PostgreSQL database, and back."""

import time
from dataclasses import asdict

import click

from stackroom.cli.output import HELP, json_option, print_answer
from stackroom.cli.progress import progress_line
from stackroom.cli.workshop import open_workshop
from stackroom.shelf.store_place import StorePlace, load_postgres

HERE = "here"
MOVING = "stackroom.assembly.move"


@click.command("move", help=HELP["move"])
@click.argument("name")
@click.option("--to", "target", required=True, help="postgresql://USER@HOST/DATABASE, or `here` for the library.")
@click.option("--schema", help="The schema of the catalogue in the database: stackroom_NAME unless given.")
@json_option
def move_command(name: str, target: str, schema: str | None, as_json: bool) -> None:
    """Move the records of NAME into a PostgreSQL database that many servers share, or back."""
    moving, workshop = load_postgres(MOVING), open_workshop()
    moving.drop_former(workshop, now=time.time())
    with progress_line(name, hidden=as_json) as line:
        if target == HERE:
            report = moving.move_to_folder(workshop, name, advance=line.add)
        else:
            place = StorePlace(url=target, schema=schema or f"stackroom_{name}")
            report = moving.move_to_database(workshop, name, place, advance=line.add)
    rows = ", ".join(f"{count} {table}" for table, count in report.rows.items()) or "everything was there already"
    answers = f"; {report.equal_answers} of {report.answers} answers are equal" if report.answers else ""
    text = f"{report.catalogue}: the records are in {report.place} now ({rows}{answers})"
    print_answer(asdict(report), text, as_json=as_json)
