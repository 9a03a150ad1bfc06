"""`export`: write the records of a catalogue, or its figures by group, to a file."""

import os
from collections.abc import Iterable
from pathlib import Path

import click

from stackroom.cli.ask import FREE_OPTIONS, search_params
from stackroom.cli.filters import split_arguments, split_names, takes_filters
from stackroom.cli.opening import open_app
from stackroom.errors import InputError
from stackroom.generic.browse import BrowseParams
from stackroom.generic.export import ExportFormat, write
from stackroom.generic.tools import GenericTools
from stackroom.model.principal import LOCAL_USER
from stackroom.tools.listing import EVERY


@click.command("export", context_settings=FREE_OPTIONS)
@click.argument("arguments", metavar="CATALOGUE [QUERY]", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--to",
    "target",
    required=True,
    metavar="FILE",
    help="A file ending in .csv, .json, .jsonl, .parquet, .xlsx or .bib.",
)
@click.option("--by", multiple=True, help="Write counts by a field instead: country, year/decade; at most two.")
@click.option("--of", help="A number: write its figures instead, by group or record by record.")
@click.option("--sort", default="", metavar="FIELD", help="Sort by a field; -FIELD: the greatest first.")
@click.option("--adult", is_flag=True, help="Write adult records too.")
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
@takes_filters
def export_command(
    arguments: tuple[str, ...], target: str, by: tuple[str, ...], of: str | None, sort: str, adult: bool, force: bool
) -> None:
    """Write every record of CATALOGUE to a file, or those that a QUERY finds, in the order of `search`.

    With --by or --of it writes what `browse` shows, all of it; a QUERY is then words that every record has.

    Filters are options named after fields, as for `search`: --year 2015..2020, --tags space,drama, --not-tags horror.
    In CSV and XLSX the texts of a list are separated by |.
    """
    stated, options = split_arguments(arguments)
    if not 1 <= len(stated) <= 2:
        raise click.UsageError("Give a catalogue, and at most one query, in quotes.")
    try:
        chosen = ExportFormat(Path(target).suffix.removeprefix(".").lower())
    except ValueError as error:
        known = ", ".join(f".{known}" for known in ExportFormat)
        raise InputError(f"'--to': the name must end in one of {known}") from error
    catalogue = open_app().open_catalogue(stated[0])
    query = stated[1] if len(stated) == 2 else EVERY
    params = search_params(query, options, [catalogue.spec], with_adult=adult)
    tools = GenericTools([catalogue])
    if by or of:
        stated_fields = params.model_dump(include={"query", "filters", "exclude"})
        figures = BrowseParams(**stated_fields, by=split_names(by) or None, of=of, sort=sort or None)
        table = tools.export_figures(LOCAL_USER, figures)
    else:
        table = tools.export(LOCAL_USER, params.model_copy(update={"sort": sort}))
    _write_file(Path(target), write(table, chosen), force=force)
    click.echo(f"{target}: {Path(target).stat().st_size:,} bytes")


def _write_file(path: Path, pieces: Iterable[bytes], *, force: bool) -> None:
    """Write a file whole, or not at all."""
    if path.exists() and not force:
        raise InputError(f"{path} exists; --force replaces it")
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with beside.open("wb") as file:
            file.writelines(pieces)
        beside.replace(path)  # the commit point
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from error
    finally:
        beside.unlink(missing_ok=True)
