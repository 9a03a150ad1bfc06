"""`paper-table`: write a catalogue of papers to an SQLite table."""

from pathlib import Path

import click
import orjson

from stackroom.api.commands import OpenLibrary
from stackroom_catalogues.papers.table import export_paper_table


@click.command("paper-table")
@click.argument("catalogue")
@click.option("--to", "target", required=True, type=click.Path(path_type=Path), help="The SQLite file to write.")
@click.option("--force", is_flag=True, help="Write over files that are there.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
@click.pass_obj
def paper_table_command(open_library: OpenLibrary, catalogue: str, target: Path, force: bool, as_json: bool) -> None:
    """Write CATALOGUE, one of papers, to an SQLite table with its vectors.

    The table is `papers`; the file of the same name that ends in .json says by which model the vectors are.
    """
    app = open_library()
    try:
        opened = app.open_catalogue(catalogue)
        count = export_paper_table(opened.shelf.reader(), opened.spec, target, replace=force)
    finally:
        app.close()
    if as_json:
        written = {"file": str(target), "config": str(target.with_suffix(".json")), "papers": count}
        click.echo(orjson.dumps(written, option=orjson.OPT_INDENT_2))
    else:
        click.echo(f"{count} papers written to {target}; the model is in {target.with_suffix('.json')}")
