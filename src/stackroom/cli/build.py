"""`init`, `rejects`, `map`, and `stackroom` without a command: set up a library, and see what is in
it.
"""

import sys
import time
from contextlib import closing

import click

from stackroom import __version__
from stackroom.assembly.app import App
from stackroom.assembly.build import add_sample
from stackroom.assembly.model_choice import describe_waiting, embed_waiting, want_model
from stackroom.cli.opening import describe_problems, open_app
from stackroom.cli.output import (
    HELP,
    command,
    flag,
    json_option,
    print_as_json,
    print_table,
    wants_json,
)
from stackroom.cli.progress import build_progress, progress_line, summary
from stackroom.cli.releases import install_from_place
from stackroom.cli.workshop import require_model
from stackroom.errors import ExpectedError, StorageError
from stackroom.ingest.edits.relations import find_dangling
from stackroom.ingest.ledger import Ledger, check_ledger, find_places
from stackroom.library import LEDGER_FILE
from stackroom.maps.making import refresh_map
from stackroom.model.scope import WHOLE


@command("init")
@click.argument("name", required=False)
@click.option("--from", "place", metavar="PLACE", help=HELP["init --from"])
@click.option("--key", help=HELP["init --key"])
@flag("--no-model", help="Leave out the embedding model; search uses words alone.")
@json_option
def init_command(name: str | None, place: str | None, key: str | None, no_model: bool) -> None:
    """Set up a library: the embedding model and the sample catalogues."""
    app = open_app()
    if place is not None and name is not None:
        install_from_place(app, name, place, key=key, with_model=not no_model)
        return
    if name is not None or place is not None or key is not None:
        raise click.UsageError(
            "to install a catalogue from a release, give both: stackroom init NAME --from PLACE"
        )
    set_up(app, with_model=not no_model)
    click.echo(f"the library is ready in {app.settings.home}")


@command("rejects")
@click.argument("catalogue")
@json_option
def rejects_command(catalogue: str) -> None:
    """List the rows and cells that were left out of CATALOGUE when it was built, and why."""
    app = open_app()
    installed = app.library.get_installed(catalogue)
    path = installed.folder / LEDGER_FILE
    if installed.sources and not path.is_file():
        raise StorageError("; ".join(str(problem) for problem in check_ledger(path)))
    with closing(Ledger(path)) as ledger:
        rows = list(ledger.rejects())
        cells, changes = ledger.cells(), ledger.changes()
    if (spec := app.spec_of(installed).spec).relations:
        dangling = find_dangling(app.open_catalogue(catalogue).shelf.reader(), spec)
        origins = find_places(path, [one.record_id for one in dangling])
        by_hand = ("edited by hand", "")
        told = [
            (*origins.get(one.record_id, by_hand), f"'{one.record_id}' is kept; {one.reason}")
            for one in dangling
        ]
        rows += sorted(told)
    listed = (
        ("", ("source", "place", "reason"), rows),
        ("cells left out of their records:", ("source", "place", "field", "reason"), cells),
        ("read as other than it is written:", ("source", "column", "cells"), changes),
    )
    if print_as_json(
        [
            dict(zip(columns, entry, strict=True))
            for _, columns, entries in listed
            for entry in entries
        ]
    ):
        return
    for heading, columns, entries in listed:
        if entries and heading:
            click.echo(heading)
        if entries:
            print_table(columns, entries)
    if not rows and not cells:
        click.echo("no row was left out")


def set_up(app: App, *, with_model: bool = True) -> None:
    """Build the sample catalogues that are missing, so that words find their records; then embed
    them.
    """
    problems = app.library.check()
    for _package, sample in app.packages.iter_samples():
        if sample.name in problems:
            click.echo(
                f"stackroom: '{sample.name}' is left as it is: {problems[sample.name]}", err=True
            )
        elif not app.library.find_installed(sample.name):
            with build_progress(f"sample catalogue '{sample.name}'") as report_progress:
                report = add_sample(app, sample.name, progress=report_progress, embed=False)
            click.echo(f"{sample.name}: {summary(report)}")
    if not with_model:
        return
    # catalogues that still have the records of their sample, some of them without a vector
    waiting = []
    for package, sample in app.packages.iter_samples():
        installed = None if sample.name in problems else app.library.find_installed(sample.name)
        if (
            installed
            and any(map(package.is_sample, installed.sources))
            and describe_waiting(app, sample.name)[0]
        ):
            waiting.append((package, sample.name))
    try:
        if not waiting:
            require_model(app)
        for package, name in waiting:
            require_model(app, want_model(app, package.spec, app.library.find_installed(name)))
            with build_progress(f"sample catalogue '{name}'") as report_progress:
                report = embed_waiting(app, name, progress=report_progress)
            click.echo(f"{name}: {report.embedded} texts embedded")
    except ExpectedError as error:
        click.echo(
            f"without the embedding model, search uses words alone: {error.message}", err=True
        )


@command("map")
@click.argument("catalogues", nargs=-1, metavar="[CATALOGUE]...")
@flag("--anew", help="Lay out all records, also where few have changed.")
@json_option
def map_command(catalogues: tuple[str, ...], anew: bool) -> None:
    """Lay out the records of catalogues on maps, where similar ones are near each other."""
    app = open_app()
    made = {}
    for name in catalogues or [one.name for one in app.library.list_installed()]:
        started = time.perf_counter()
        installed, shelf = app.library.get_installed(name), app.open_catalogue(name).shelf
        with progress_line(name) as line:
            line.hint("laying out its records")
            report = refresh_map(installed.folder, shelf, is_forced=anew)
        seconds = time.perf_counter() - started
        made[name] = {
            "records": report.records,
            "made": report.is_made,
            "changed": report.changed,
            "seconds": seconds,
        }
        if not wants_json():
            click.echo(f"{name}: {report}" + (f" in {seconds:.1f} s" if report.is_made else ""))
    if not print_as_json(made) and not made:
        click.echo("there are no catalogues")


SHOWN = 8  # how many catalogues are named; more are only counted
NextCommand = tuple[str, str]
MAKE_LIBRARY: NextCommand = (
    "stackroom init",
    "build the sample catalogues and get the embedding models (110 MB)",
)
ADD: NextCommand = ("stackroom add FILE", "build a catalogue from a table or a folder of documents")
CONNECT: NextCommand = (
    "stackroom install CLIENT",
    "let an assistant ask it: claude-desktop, claude-code, cursor …",
)
DOCTOR: NextCommand = ("stackroom doctor", "check the library, and say what to do")
SEARCH: NextCommand = ("stackroom search 'WORDS'", "search everything in it")


def greet() -> None:
    """Greet, say what is in the library or offer to make one, and show three commands to go on
    with.
    """
    app = open_app()
    click.echo(f"Stackroom {__version__}: catalogues for AI assistants, on your machine.")
    names = [installed.name for installed in app.library.list_installed()]
    problems = describe_problems(app.library)
    if not names and not problems:
        click.echo(
            f"There is no library yet; it will be in {app.settings.home} (STACKROOM_HOME names"
            " another folder)."
        )
        question = "Make it now, with the sample catalogues (110 MB of models, some minutes)?"
        if sys.stdin is None or not sys.stdin.isatty() or not click.confirm(question, default=True):
            _show_next(MAKE_LIBRARY, ADD, CONNECT)
            return
        set_up(app)
        names = [installed.name for installed in app.library.list_installed()]
    counts = []
    for name in names[:SHOWN]:
        if app.find_problem(name):
            counts.append(f"{name} (cannot be opened; run: stackroom doctor)")
        else:
            counts.append(
                f"{name} ({app.open_catalogue(name).shelf.reader().count(WHOLE):,} records)"
            )
    several = f"{len(names)} catalogues" if len(names) > 1 else "1 catalogue"
    described = f"{several}: {', '.join(counts)}{', …' if len(names) > SHOWN else ''}"
    click.echo(
        f"The library in {app.settings.home} has"
        f" {described if names else 'no catalogue that can be searched'}."
    )
    for name, problem in problems.items():
        click.echo(f"'{name}' {problem}")
    _show_next(SEARCH if names else DOCTOR, ADD, CONNECT)


def _show_next(*commands: NextCommand) -> None:
    click.echo("\nNext:")
    width = max(len(typed) for typed, _ in commands)
    for typed, meaning in commands:
        click.echo(f"  {typed:{width}}  {meaning}")
    click.echo("All commands: stackroom --help")
