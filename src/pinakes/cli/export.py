"""`export`: a catalogue in a form that other programs read."""

from pathlib import Path

import click

from pinakes.assembly.app import App
from pinakes.cli.json_output import json_option, print_json
from pinakes.packs.paper_table import export_paper_table
from pinakes.settings import load_settings


@click.command("export")
@click.argument("catalogue")
@click.option("--to", "target", required=True, type=click.Path(path_type=Path), help="The SQLite file to write.")
@click.option("--force", is_flag=True, help="Write over files that are there.")
@json_option
def export_command(catalogue: str, target: Path, force: bool, as_json: bool) -> None:
    """Write CATALOGUE, one of papers, to an SQLite table with its vectors.

    The table is `papers`; the file of the same name that ends in .json says by which model the vectors are.
    """
    app = App(load_settings())
    try:
        opened = app.open_catalogue(catalogue)
        count = export_paper_table(opened.shelf.reader(), opened.spec, target, replace=force)
    finally:
        app.close()
    if as_json:
        print_json({"file": str(target), "config": str(target.with_suffix(".json")), "papers": count})
    else:
        click.echo(f"{count} papers written to {target}; the model is in {target.with_suffix('.json')}")
