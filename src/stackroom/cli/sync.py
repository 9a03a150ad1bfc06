"""`publish` and `sync`: catalogues as tables of a LanceDB database, and copies of such tables."""

import importlib
from contextlib import nullcontext
from dataclasses import asdict
from functools import partial
from pathlib import Path

import click

from stackroom.cli.opening import open_app
from stackroom.cli.output import command, json_option, print_answer, print_as_json, print_table
from stackroom.cli.private_files import sharing
from stackroom.cli.progress import build_progress, progress_line
from stackroom.errors import InputError
from stackroom.ingest.pipeline import Progress
from stackroom.model.scope import WHOLE
from stackroom.settings import is_remote, load_settings
from stackroom.sources.collections import PlaceState, find_place, resolve_place

SYNCING = "stackroom.assembly.sync"  # loads LanceDB, which takes seconds
COLUMNS = ("collection", "state", "version", "rows", "synced at", "remark")


@command("sync")
@click.argument("database", required=False)
@click.option(
    "--only", multiple=True, metavar="NAME", help="Sync this collection alone; can be repeated."
)
@json_option
@click.pass_context
def sync_command(ctx: click.Context, database: str | None, only: tuple[str, ...]) -> None:
    """Bring the library up to the collections of DATABASE: a LanceDB database in a folder or a
    bucket.
    """
    app = open_app()
    place = find_place(app.settings) if database is None else database
    if place is None:
        raise InputError(
            "no database is set, and there is no folder ./vector_dbs here; name one, as in"
            " stackroom sync s3://bucket/lancedb, or set base_db_path or GCS_BUCKET_NAME"
        )
    if database is not None and database.strip():
        place = resolve_place(database)

    def progress(name: str) -> Progress:
        return ctx.with_resource(build_progress(name))

    state: PlaceState = importlib.import_module(SYNCING).sync_place(
        app, place, names=only, progress=progress
    )
    if print_as_json(asdict(state)):
        pass
    elif not state.collections:
        click.echo(
            f"{state.place} has no collections; to write one, run: stackroom publish NAME"
            f" {state.place}"
        )
    else:
        rows = [
            (one.name, one.outcome.value, one.version, one.rows, one.synced_at, one.reason)
            for one in state.collections
        ]
        print_table(COLUMNS, rows)
    if state.problems():
        ctx.exit(1)


@command("publish")
@click.argument("catalogue")
@click.argument("database", required=False)
@json_option
def publish_command(catalogue: str, database: str | None) -> None:
    """Write CATALOGUE with its vectors to a table of DATABASE, a LanceDB database."""
    settings = load_settings()
    database = settings.collections.place if database is None else database
    with nullcontext() if is_remote(database) else sharing(Path(database).expanduser()):
        app = open_app(settings)
        total = app.open_catalogue(catalogue).shelf.reader().count(WHOLE)
        with progress_line(catalogue) as line:
            count = partial(line.add, "records written", total=total)
            published = importlib.import_module(SYNCING).publish_catalogue(
                app, catalogue, database, progress=count
            )
    text = f"{database}: table {published['table']} is up to date ({published['rows']} records)"
    if published["written"]:
        text = f"{published['rows']} records written to {database}, table {published['table']}"
    print_answer({"catalogue": catalogue, "database": database, **published}, text)
