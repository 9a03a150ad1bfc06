"""`map`: where the records of a catalogue lie on its map."""

import time
from contextlib import nullcontext

import click
from rich.console import Console

from stackroom.assembly.app import App
from stackroom.assembly.map_making import MapReport, refresh_map
from stackroom.cli.json_output import json_option, print_json
from stackroom.cli.opening import open_app


@click.command("map")
@click.argument("catalogues", nargs=-1, metavar="[CATALOGUE]...")
@click.option("--anew", is_flag=True, help="Lay out all records, also where few have changed.")
@json_option
def map_command(catalogues: tuple[str, ...], anew: bool, as_json: bool) -> None:
    """Lay out the records of CATALOGUE on a map, where similar ones are near each other; by default, of each catalogue.

    It needs vectors, and takes a few seconds for 20,000 records. A build makes the map itself, and a server one that is
    missing; records that come later are placed beside their neighbours, until more than one in twenty is new.

    Example: stackroom map films --anew
    """
    app = open_app()
    made = {}
    for name in catalogues or [one.name for one in app.library.list_installed()]:
        started = time.perf_counter()
        report = _made(app, name, is_forced=anew, hidden=as_json)
        seconds = time.perf_counter() - started
        made[name] = {"records": report.records, "made": report.is_made, "changed": report.changed, "seconds": seconds}
        if not as_json:
            click.echo(f"{name}: {report}" + (f" in {seconds:.1f} s" if report.is_made else ""))
    if as_json:
        print_json(made)
    elif not made:
        click.echo("there are no catalogues")


def _made(app: App, name: str, *, is_forced: bool, hidden: bool) -> MapReport:
    """Make one map, with a sign of life on standard error."""
    installed, shelf = app.library.get_installed(name), app.open_catalogue(name).shelf
    console = Console(stderr=True, quiet=hidden)
    with console.status(f"laying out {name}") if console.is_terminal else nullcontext():
        return refresh_map(installed.folder, shelf, is_forced=is_forced)
