"""`publish`: a catalogue as a LanceDB table that other programs read, and other libraries sync from."""

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click

from stackroom.assembly.app import App
from stackroom.assembly.published import publish_catalogue
from stackroom.cli.json_output import json_option, print_json
from stackroom.cli.opening import open_app
from stackroom.cli.private_files import sharing
from stackroom.cli.safe_streams import terminal_stream
from stackroom.collection_settings import is_remote
from stackroom.model.scope import WHOLE
from stackroom.settings import load_settings


@click.command("publish")
@click.argument("catalogue")
@click.argument("database", required=False)
@json_option
def publish_command(catalogue: str, database: str | None, as_json: bool) -> None:
    """Write CATALOGUE with its vectors to a table of DATABASE, a LanceDB database.

    DATABASE is a folder, or an address in a bucket (s3://, gs://, az://); without it, the one of the settings
    (base_db_path, GCS_BUCKET_NAME), or ./vector_dbs. The table is CATALOGUE_documents; it is replaced in one step, and
    left alone where it is up to date. All records are written, restricted ones too.

    Other libraries take it in with: stackroom sync DATABASE

    Example: stackroom publish recipes s3://bucket/lancedb
    """
    settings = load_settings()
    database = settings.collections.place if database is None else database
    with nullcontext() if is_remote(database) else sharing(Path(database).expanduser()):
        published = _publish(open_app(settings), catalogue, database, is_quiet=as_json)
    if as_json:
        print_json({"catalogue": catalogue, "database": database, **published})
    elif published["written"]:
        click.echo(f"{published['rows']} records written to {database}, table {published['table']}")
    else:
        click.echo(f"{database}: table {published['table']} is up to date ({published['rows']} records)")


def _publish(app: App, catalogue: str, database: str, *, is_quiet: bool) -> dict[str, Any]:
    """Publish with a bar on a terminal."""
    total = app.open_catalogue(catalogue).shelf.reader().count(WHOLE)
    is_hidden = is_quiet or not sys.stderr.isatty()
    bar_stream = terminal_stream(is_error=True)
    with click.progressbar(range(total), label=catalogue, hidden=is_hidden, file=bar_stream) as bar:
        return publish_catalogue(app, catalogue, database, progress=bar.update)
