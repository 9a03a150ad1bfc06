"""`pack`, `update`, `rollback` and `init NAME --from PLACE`: catalogues as files to ship, and from
releases.
"""

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path

import click

from stackroom.assembly.app import App
from stackroom.assembly.model_choice import ModelChoice
from stackroom.cli.opening import open_app
from stackroom.cli.output import (
    FILE,
    HELP,
    command,
    json_option,
    print_answer,
    print_as_json,
    wants_json,
)
from stackroom.cli.private_files import sharing
from stackroom.cli.progress import progress_line
from stackroom.cli.workshop import require_model
from stackroom.embed.models import LOCAL_MODELS
from stackroom.errors import ExpectedError, InputError
from stackroom.maps.making import keep_map
from stackroom.model.scope import WHOLE
from stackroom.packs.build import build_pack, check_pack, check_signature, label_installed
from stackroom.packs.manifest import Manifest, load_manifest
from stackroom.packs.patches import PATCH_ENDING
from stackroom.packs.publish import publish_pack
from stackroom.packs.signing import load_public_key
from stackroom.packs.update import (
    ReleaseProgress,
    ReleaseReport,
    install_release,
    list_released,
    roll_back,
    shown_size,
    update_catalogue,
)


@click.group("pack", help=HELP["pack"])
def pack_command() -> None:
    """Build, check and publish packs: catalogues as files to ship."""


@pack_command.command("build", help=HELP["pack build"])
@click.argument("catalogue")
@click.argument("folder", type=FILE)
@click.option(
    "--version",
    help="The version, such as 2026.46; by default the one of the pack there, counted up.",
)
@click.option(
    "--licence", help="The licence of the data, such as CC0-1.0; by default that of the pack there."
)
@json_option
def build_command(catalogue: str, folder: Path, version: str | None, licence: str | None) -> None:
    """Write the pack of CATALOGUE as it is now into FOLDER."""
    with sharing(folder):
        app = open_app()
        if folder.resolve().is_relative_to(app.library.folder.resolve()):
            raise InputError(f"{folder} is inside the library; give a folder elsewhere")
        installed = app.library.get_installed(catalogue)
        reader = app.open_catalogue(catalogue).shelf.reader()
        label = label_installed(
            installed, app.spec_of(installed), reader, version=version, licence=licence
        )
        with progress_line(catalogue) as line:
            count = partial(line.add, "records written", total=reader.count(WHOLE))
            manifest = build_pack(reader, label, folder, progress=count)
    if print_as_json(
        {"folder": str(folder), **asdict(manifest), "size_bytes": manifest.size_bytes}
    ):
        return
    click.echo(_summary(manifest))
    if (awaiting := manifest.records - manifest.embeddings) and manifest.model:
        click.echo(f"note: {awaiting:,} records have no vector, or no text to embed")
    click.echo(f"written to {folder}")


@pack_command.command("publish", help=HELP["pack publish"])
@click.argument("pack", type=FILE)
@click.argument("folder", type=FILE)
@json_option
def publish_release_command(pack: Path, folder: Path) -> None:
    """Add PACK as a release to FOLDER, which any web server can serve, and catalogues are installed
    from.
    """
    release = publish_pack(pack, folder)
    manifest, files = release.manifest, release.files
    count = sum(path.suffix == PATCH_ENDING for path in files)
    patches = f", {count} of them patches" if count else ""
    where = (
        f"is published in {folder}: {len(files)} files{patches}, {shown_size(release.size_bytes)}"
    )
    text = f"{manifest.catalogue} {manifest.version} "
    text += where if release.is_new else f"is the newest release of {folder} already"
    told = {
        "catalogue": manifest.catalogue,
        "version": manifest.version,
        "tag": release.tag,
        "content": manifest.content,
        "published": release.is_new,
        "files": [str(path) for path in files] if release.is_new else [],
        "size_bytes": release.size_bytes,
    }
    print_answer(told, text)


@pack_command.command("verify", help=HELP["pack verify"])
@click.argument("folder", type=FILE)
@click.option(
    "--key", metavar="KEY", help="The public key that must have signed it: RW…, or its file."
)
@json_option
def verify_command(folder: Path, key: str | None) -> None:
    """Check every file of the pack in FOLDER; the exit code is 1 where something is wrong."""
    public = load_public_key(key) if key else None
    problems = [*check_pack(folder), *(check_signature(folder, public) if public else ())]
    text = "\n".join(f"BAD  {problem}" for problem in problems)
    if not problems:
        signed = f", signed by {public.name}" if public else ""
        text = f"whole{signed}: {_summary(load_manifest(folder))}"
    print_answer({"folder": str(folder), "whole": not problems, "problems": problems}, text)
    if problems:
        sys.exit(1)


def _summary(manifest: Manifest) -> str:
    vectors = (
        f", {manifest.embeddings:,} vectors by {manifest.model}"
        if manifest.model
        else ", no vectors"
    )
    size = shown_size(manifest.size_bytes)
    return f"{manifest.catalogue} {manifest.version}: {manifest.records:,} records{vectors}; {size}"


SHOWN_CONFLICTS = 20


@command("update")
@click.argument("name", required=False)
@json_option
def update_command(name: str | None) -> None:
    """Update NAME, or every catalogue that was installed from a place, to its newest release."""
    app = open_app()
    names = [name] if name is not None else [installed.name for installed in list_released(app)]
    if not names:
        click.echo(
            "no catalogue was installed from a place; install one: stackroom init NAME --from"
            " PLACE",
            err=True,
        )
    reports, failures = [], []
    for one in names:
        try:
            with _progress(one) as progress:
                report = update_catalogue(app, one, progress=progress)
        except ExpectedError as error:  # the other catalogues are updated all the same
            failures.append(error)
            reports.append({"catalogue": one, "error": error.code, "message": error.message})
            click.echo(f"{one}: not updated", err=True)
            continue
        reports.append(asdict(report))
        if wants_json():
            continue
        if report.is_changed:
            click.echo(
                f"{one}: {report.former} → {report.version}: {report.written} records written, "
                f"{report.removed} removed, {shown_size(report.fetch_bytes)} fetched"
            )
        else:
            click.echo(f"{one}: {report.version} is the newest release")
        _print_conflicts(report)
    print_as_json(reports[0] if name is not None else reports)
    if failures:
        raise failures[0]


def _print_conflicts(report: ReleaseReport) -> None:
    for note in report.notes:
        click.echo(f"{report.catalogue}: {note}")
    if not report.conflicts:
        return
    count = len(report.conflicts)
    shown = ", ".join(report.conflicts[:SHOWN_CONFLICTS]) + (
        " …" if count > SHOWN_CONFLICTS else ""
    )
    click.echo(
        f"{count} records were edited here and changed by the release; yours were kept: {shown}"
    )


@command("rollback")
@click.argument("name")
@json_option
def rollback_command(name: str) -> None:
    """Go back to the release of NAME that was installed before the present one."""
    report = roll_back(open_app(), name)
    if print_as_json(asdict(report)):
        return
    click.echo(
        f"{name}: {report.former} → {report.version}: {report.written} records written,"
        f" {report.removed} removed"
    )
    _print_conflicts(report)


def install_from_place(
    app: App, name: str, place: str, *, key: str | None, with_model: bool
) -> None:
    """Install a catalogue from a release, and the model of its vectors where it is known."""
    with _progress(name) as progress:
        report = install_release(
            app, name, place, key=str(load_public_key(key)) if key else "", progress=progress
        )
    if report.is_changed:
        installed = app.library.get_installed(name)
        with closing(app.open_shelf(installed)) as shelf:
            problem = keep_map(installed.folder, shelf)
        report.notes += [problem] if problem else []
    if report.model is not None and with_model:
        _install_model(app, report.model)
    if print_as_json(asdict(report)):
        return
    if report.is_changed:
        click.echo(
            f"{name}: {report.version} is installed, {report.records:,} records; to search it: "
            f"stackroom search {name} 'WORDS'"
        )
        _print_conflicts(report)
    else:
        click.echo(
            f"{name}: {report.version} is installed already; to look for a newer one: stackroom"
            f" update {name}"
        )


def _install_model(app: App, name: str) -> None:
    """Install the model of a release's vectors where it is known and missing; without it, search
    uses words alone.
    """
    if name not in LOCAL_MODELS:
        if problem := app.embedder_named(name).check():
            click.echo(
                f"its vectors are by {name}, and search uses words alone: {problem}", err=True
            )
        return
    try:
        require_model(app, ModelChoice(name=name))
    except ExpectedError as error:
        click.echo(
            f"without the embedding model {name}, search uses words alone: {error.message}",
            err=True,
        )


@contextmanager
def _progress(name: str) -> Iterator[ReleaseProgress]:
    """Show how much of a release is fetched and written, and say its size before."""
    with progress_line(name) as line:
        yield ReleaseProgress(
            say=lambda text: None if line.hidden else click.echo(text),
            on_fetched=partial(line.show, "bytes fetched"),
            on_written=partial(line.show, "records written"),
        )
