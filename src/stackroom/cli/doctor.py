"""`doctor`: check the library, and say what to do about each problem."""

from collections.abc import Iterator
from contextlib import closing
from typing import NamedTuple

import click

from stackroom import LAYOUTS, __version__
from stackroom.assembly.app import App
from stackroom.assembly.server_health import (
    ENDS_SOON,
    find_job_problems,
    find_stalled_vectors,
    list_ending_tokens,
)
from stackroom.background.background import list_server_tasks
from stackroom.background.machine_limits import check_disk
from stackroom.cli.opening import open_app
from stackroom.cli.output import command, json_option, print_answer
from stackroom.control.database.engine import ControlDatabase, check_database
from stackroom.control.database.tables import utc_now
from stackroom.embed.weights import check_model_files
from stackroom.errors import ExpectedError
from stackroom.sources.collections import (
    SyncOutcome,
    find_collection_problems,
    find_place,
    load_state,
)
from stackroom.tools.health import examine


class Finding(NamedTuple):
    """One finding: the subject, its state, and whether that is in order."""

    what: str
    found: str
    ok: bool


@command("doctor")
@json_option
@click.pass_context
def doctor_command(ctx: click.Context) -> None:
    """Check the library: the model, every catalogue's file, index and pack. Exit code 1 when
    something is wrong.
    """
    findings = list(_examine(open_app()))
    text = "\n".join(
        f"{'ok ' if finding.ok else 'BAD'} {finding.what}: {finding.found}" for finding in findings
    )
    print_answer([finding._asdict() for finding in findings], text)
    if not all(finding.ok for finding in findings):
        ctx.exit(1)


def _examine(app: App) -> Iterator[Finding]:
    home = app.settings.home
    layouts = ", ".join(f"{what} {number}" for what, number in LAYOUTS.items())
    yield Finding("version", f"{__version__}; layouts: {layouts}", ok=True)
    yield Finding("library", str(home), ok=home.is_dir())
    problem = app.embedder.check()
    yield Finding("embedder", problem or str(app.embedder.model), ok=problem is None)
    yield from _examine_machine(app)
    installed = app.library.list_installed()
    problems = app.library.describe_unfinished() | app.library.check()
    if not installed and not problems:
        yield Finding("catalogues", "none; run: stackroom init", ok=False)
    for one in installed:
        try:
            yield from _examine_catalogue(app, one.name)
        except ExpectedError as error:
            yield Finding(one.name, error.message, ok=False)
    for damage in check_model_files(app.settings.models_folder):
        yield Finding("model files", damage, ok=False)
    for embedder in app.list_embedders(app.list_open()):
        if embedder.model != app.embedder.model:
            problem = embedder.check()
            yield Finding(f"model {embedder.model.name}", problem or "works", ok=problem is None)
    yield from _examine_collections(app)
    for server in list_server_tasks(home):
        for task in server.tasks:
            yield Finding(f"task {task.name}", f"{task} ({server.place})", ok=not task.last_error)
    for name, found in problems.items():
        yield Finding(name, found, ok=False)


def _examine_machine(app: App) -> Iterator[Finding]:
    """Yield the disk, and the control database where there is one: the parts that `/health` names
    too.
    """
    if (problem := check_disk(app.settings.home)) is not None:
        yield Finding("disk", problem, ok=False)
    if not app.settings.has_control:
        return
    try:
        with closing(ControlDatabase.open(app.settings.control_url)) as database:
            database.version()
            problem = next(iter(check_database(database)), None)
            yield Finding(
                "control database", problem or f"works ({database.name})", ok=problem is None
            )
            now = utc_now()
            for part, trouble in find_job_problems(database, now).items():
                yield Finding(part, trouble, ok=False)
            for ends_at, token in list_ending_tokens(database, now + ENDS_SOON):
                name = f"token {token.name} of {token.user}"
                yield Finding(name, f"ends on {ends_at:%Y-%m-%d}", ok=True)
    except ExpectedError as error:
        yield Finding("control database", error.full_message, ok=False)


def _examine_collections(app: App) -> Iterator[Finding]:
    """Yield what the last look at the collections of a place found, where one is set."""
    place = find_place(app.settings)
    if place is None:
        return
    state = load_state(app.settings.home, place)
    problems = list(find_collection_problems(app.settings))
    synced = sum(collection.outcome is SyncOutcome.SYNCED for collection in state.collections)
    seen = (
        f"{synced} synced when last looked at ({state.looked_at})"
        if state.looked_at
        else "not looked at yet"
    )
    yield Finding("collections", f"{place}: {seen}; to look now, run: stackroom sync", ok=True)
    for name, problem in problems:
        yield Finding(f"collection {name}" if name else "collections", problem, ok=False)


def _examine_catalogue(app: App, name: str) -> Iterator[Finding]:
    catalogue = app.open_catalogue(name)
    for done in catalogue.shelf.mend():
        yield Finding(f"{name}: mended", done, ok=True)
    for part, is_ok, detail in examine(catalogue):
        yield Finding(f"{name}: {part}", detail, ok=is_ok is True)
    if (problem := find_stalled_vectors(catalogue)) is not None:
        yield Finding(f"{name}: vectors", problem, ok=False)
    status = app.release_status
    if (check := status.find_check(name)) is not None:  # as the last check of its place found
        found = str(status.find_newer(name) or "")
        if not found and check.problem:
            found = f"its place could not be asked: {check.problem}"
        newest = f"{status.installed_version(name)}, the newest on {check.asked_at:%Y-%m-%d}"
        yield Finding(f"{name}: release", found or newest, ok=True)
