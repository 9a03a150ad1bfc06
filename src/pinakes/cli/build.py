"""`init`, `add`, `rejects`: making catalogues."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from pinakes.app import LEDGER_FILE, App
from pinakes.build import SAMPLES, add_catalogue, add_sample, builtin_recipe, open_rows
from pinakes.cli.json_output import json_option, print_json
from pinakes.cli.tables import print_table
from pinakes.embed.weights import pull_model
from pinakes.errors import ExpectedError
from pinakes.ingest.ledger import Ledger
from pinakes.ingest.pipeline import IngestReport
from pinakes.ingest.pipeline import Progress as Report
from pinakes.settings import load_settings

ETA = TimeRemainingColumn(compact=True)


@click.command("init")
@click.option("--no-model", is_flag=True, help="Leave the embedding model out; search goes by words alone.")
def init_command(no_model: bool) -> None:
    """Set up a library: the embedding model and the sample catalogue.

    Safe to run again: what is there already is left as it is.
    """
    app = App(load_settings())
    set_up(app, with_model=not no_model)
    click.echo(f"the library is ready in {app.settings.home}")


@click.command("add")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--as", "spec_name", required=True, help="The built-in catalogue whose layout the file has: anime.")
@click.option("--name", help="What to call the catalogue; by default as the built-in one.")
@click.option("--no-embed", is_flag=True, help="Build without vectors; search goes by words alone.")
@json_option
def add_command(file: Path, spec_name: str, name: str | None, no_embed: bool, as_json: bool) -> None:
    """Build a catalogue from FILE (JSON or JSON Lines, also .zst and .gz), or bring it up to date.

    Interrupted, it can be run again: what was done is recognised, and no text is embedded twice. Rows are added and
    updated; records that are no longer in FILE stay.
    """
    app = App(load_settings())
    source = open_rows(spec_name, str(file))
    recipe = builtin_recipe(spec_name)
    if not no_embed:
        require_model(app, quiet=as_json)
    with progress_bar(file.name, total=source.count_rows(), hidden=as_json) as report_progress:
        report = add_catalogue(
            app, source, recipe=recipe, name=name or spec_name, progress=report_progress, embed=not no_embed
        )
    if as_json:
        print_json(asdict(report))
    else:
        click.echo(summary(report))
        if report.rejects:
            click.echo(f"what was left out: pinakes rejects {name or spec_name}")


@click.command("rejects")
@click.argument("catalogue")
@json_option
def rejects_command(catalogue: str, as_json: bool) -> None:
    """List the rows that were left out of CATALOGUE when it was built, and why."""
    app = App(load_settings())
    rows = Ledger(app.library.get_installed(catalogue).folder / LEDGER_FILE).rejects()
    if as_json:
        print_json([{"source": source, "place": place, "reason": reason} for source, place, reason in rows])
    elif rows:
        print_table(("source", "place", "reason"), rows)
    else:
        click.echo("no row was left out")


def set_up(app: App, *, with_model: bool = True) -> None:
    """Get the model and install the sample catalogues, as far as they are not there."""
    if with_model:
        try:
            require_model(app, quiet=False)
        except ExpectedError as error:
            click.echo(f"without the embedding model, search goes by words alone: {error.message}", err=True)
            with_model = False
    for sample in SAMPLES:
        if any(one.name == sample.name for one in app.library.list_installed()):
            continue
        with progress_bar(f"sample catalogue '{sample.name}'", hidden=False) as report_progress:
            report = add_sample(app, sample.name, progress=report_progress, embed=with_model)
        click.echo(f"{sample.name}: {summary(report)}")


def require_model(app: App, *, quiet: bool) -> None:
    """Get the local model where it is wanted and missing."""
    settings = app.settings
    if settings.embedding.kind != "local" or settings.embedding.folder:
        if problem := app.embedder.check():
            click.echo(f"the embedder does not answer: {problem}", err=True)
        return
    if app.embedder.check():
        if not quiet:
            click.echo("getting the embedding model (80 MB, once)")
        pull_model(settings.models_folder, show_progress=not quiet)


def summary(report: IngestReport) -> str:
    """Return what became of the rows, in a sentence."""
    parts = [f"{report.rows} rows: {report.written} written", f"{report.unchanged} unchanged"]
    parts += [f"{report.duplicates} duplicates", f"{report.rejected} rejected"]
    parts += [f"{report.metadata} metadata"] if report.metadata else []
    parts += [f"{report.removed} removed"] if report.removed else []
    return f"{', '.join(parts)}; {report.embedded} texts embedded"


@contextmanager
def progress_bar(label: str, *, total: int | None = None, hidden: bool) -> Iterator[Report]:
    """Show how a build goes, on standard error."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), ETA)
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=hidden or not console.is_terminal, transient=True) as progress:
        task = progress.add_task(label, total=total)

        def report(done: IngestReport) -> None:
            progress.update(task, completed=done.rows, description=f"{label} ({done.embedded} embedded)")

        yield report
