"""`update`, `rollback`, and `init NAME --from PLACE`: catalogues that are installed from releases."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict
from functools import partial

import click

from stackroom.assembly.app import App
from stackroom.assembly.map_making import keep_map
from stackroom.cli.opening import open_app
from stackroom.cli.output import json_option, print_json
from stackroom.cli.progress import progress_line
from stackroom.errors import ExpectedError
from stackroom.packs.held import ReleaseProgress, ReleaseReport, shown_size
from stackroom.packs.signing import load_public_key
from stackroom.packs.update import install_release, list_released, roll_back, update_catalogue

SHOWN_CONFLICTS = 20


@click.command("update")
@click.argument("name", required=False)
@json_option
def update_command(name: str | None, as_json: bool) -> None:
    """Update NAME, or every catalogue that was installed from a place, to its newest release.

    Only what changed is fetched. Records that you edited stay as they are; where the release changes the same record,
    yours is kept and named. Servers that run go on with the former release until the new one is whole.

    Example: stackroom update films
    """
    app = open_app()
    names = [name] if name is not None else [installed.name for installed in list_released(app)]
    if not names:
        click.echo("no catalogue was installed from a place; install one: stackroom init NAME --from PLACE", err=True)
    reports, failures = [], []
    for one in names:
        try:
            with _progress(one, is_quiet=as_json) as progress:
                report = update_catalogue(app, one, progress=progress)
        except ExpectedError as error:  # the other catalogues are updated all the same
            failures.append(error)
            reports.append({"catalogue": one, "error": error.code, "message": error.message})
            click.echo(f"{one}: not updated", err=True)
            continue
        reports.append(asdict(report))
        if as_json:
            continue
        if report.is_changed:
            click.echo(
                f"{one}: {report.former} → {report.version}: {report.written} records written, "
                f"{report.removed} removed, {shown_size(report.fetch_bytes)} fetched"
            )
        else:
            click.echo(f"{one}: {report.version} is the newest release")
        _print_conflicts(report)
    if as_json:
        print_json(reports[0] if name is not None else reports)
    if failures:
        raise failures[0]


def _print_conflicts(report: ReleaseReport) -> None:
    for note in report.notes:
        click.echo(f"{report.catalogue}: {note}")
    if not report.conflicts:
        return
    count = len(report.conflicts)
    shown = ", ".join(report.conflicts[:SHOWN_CONFLICTS]) + (" …" if count > SHOWN_CONFLICTS else "")
    click.echo(f"{count} records were edited here and changed by the release; yours were kept: {shown}")


@click.command("rollback")
@click.argument("name")
@json_option
def rollback_command(name: str, as_json: bool) -> None:
    """Go back to the release of NAME that was installed before the present one.

    It is kept for this, so that nothing is fetched. Records that you edited stay as they are.

    Example: stackroom rollback films
    """
    report = roll_back(open_app(), name)
    if as_json:
        print_json(asdict(report))
        return
    click.echo(
        f"{name}: {report.former} → {report.version}: {report.written} records written, {report.removed} removed"
    )
    _print_conflicts(report)


def install_from_place(
    app: App, name: str, place: str, *, key: str | None, get_model: Callable[[str], None] | None, as_json: bool
) -> None:
    """Install a catalogue from a release, and the model of its vectors where it is known."""
    with _progress(name, is_quiet=as_json) as progress:
        report = install_release(app, name, place, key=str(load_public_key(key)) if key else "", progress=progress)
    if report.is_changed:
        installed = app.library.get_installed(name)
        with closing(app.open_shelf(installed)) as shelf:
            problem = keep_map(installed.folder, shelf)
        report.notes += [problem] if problem else []
    if report.model is not None and get_model is not None:
        get_model(report.model)
    if as_json:
        print_json(asdict(report))
    elif report.is_changed:
        click.echo(
            f"{name}: {report.version} is installed, {report.records:,} records; to search it: "
            f"stackroom search {name} 'WORDS'"
        )
        _print_conflicts(report)
    else:
        click.echo(f"{name}: {report.version} is installed already; to look for a newer one: stackroom update {name}")


@contextmanager
def _progress(name: str, *, is_quiet: bool) -> Iterator[ReleaseProgress]:
    """Show how much of a release is fetched and written, and say its size before."""
    with progress_line(name, hidden=is_quiet) as line:
        yield ReleaseProgress(
            say=lambda text: None if is_quiet else click.echo(text),
            on_fetched=partial(line.show, "bytes fetched"),
            on_written=partial(line.show, "records written"),
        )
