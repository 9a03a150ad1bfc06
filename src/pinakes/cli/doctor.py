"""`doctor`: what is wrong with the library, and what to do about it."""

from collections.abc import Iterator

import click

from pinakes.assembly.app import LEDGER_FILE, PACK_FOLDER, App
from pinakes.assembly.build import check_own_pack
from pinakes.cli.findings import Finding, report_findings
from pinakes.cli.json_output import json_option
from pinakes.errors import ExpectedError
from pinakes.ingest.ledger import check_ledger
from pinakes.library import UNFINISHED, Installed
from pinakes.model.scope import WHOLE
from pinakes.settings import load_settings
from pinakes.shelf.embedded.shelf import EmbeddedShelf
from pinakes.shelf.port import ShelfReader


@click.command("doctor")
@json_option
@click.pass_context
def doctor_command(ctx: click.Context, as_json: bool) -> None:
    """Check the library: the model, every catalogue's file, index and pack. Exit code 1 when something is wrong."""
    report_findings(ctx, list(_examine(App(load_settings()))), as_json=as_json)


def _examine(app: App) -> Iterator[Finding]:
    yield Finding(what="library", found=str(app.settings.home), ok=app.settings.home.is_dir())
    problem = app.embedder.check()
    yield Finding(what="embedder", found=problem or str(app.embedder.model), ok=problem is None)
    installed = app.library.list_installed()
    problems = {**dict.fromkeys(app.library.list_unfinished(), UNFINISHED), **app.library.check()}
    if not installed and not problems:
        yield Finding(what="catalogues", found="none; run: pinakes init", ok=False)
    for one in installed:
        try:
            yield from _examine_catalogue(app, one)
        except ExpectedError as error:
            yield Finding(what=one.name, found=error.message, ok=False)
    for name, found in problems.items():
        yield Finding(what=name, found=found, ok=False)


def _examine_catalogue(app: App, installed: Installed) -> Iterator[Finding]:
    name = installed.name
    shelf = app.open_catalogue(name).shelf
    if isinstance(shelf, EmbeddedShelf):
        problems = shelf.store.check()
        found = "; ".join(problems) or f"{shelf.store.count()} in {shelf.store.path}"
        yield Finding(what=f"{name}: records", found=found, ok=not problems)
        indexed = shelf.reader().count(WHOLE)
        yield Finding(what=f"{name}: index", found=f"{indexed} records indexed", ok=indexed == shelf.store.count())
    else:
        found = f"{shelf.reader().count(WHOLE)} on the {installed.shelf} shelf"
        yield Finding(what=f"{name}: records", found=found, ok=True)
    reader = shelf.reader()
    if reader.model is not None and reader.model != app.embedder.model:
        found = f"made by {reader.model}, but the embedder is {app.embedder.model}: words alone"
        yield Finding(what=f"{name}: vectors", found=found, ok=False)
    yield _examine_ledger(installed)
    yield _examine_pack(installed, reader)


def _examine_ledger(installed: Installed) -> Finding:
    path = installed.folder / LEDGER_FILE
    problems = check_ledger(path) if installed.sources or path.exists() else []
    return Finding(what=f"{installed.name}: ledger", found="; ".join(problems) or "whole", ok=not problems)


def _examine_pack(installed: Installed, reader: ShelfReader) -> Finding:
    damage = check_own_pack(installed, reader)
    layout = "" if installed.own_declaration else f" --as {installed.spec_name}"
    again = f"run: pinakes add FILE{layout} --name {installed.name}"
    found = "; ".join([*damage, again]) if damage else f"whole, in {installed.folder / PACK_FOLDER}"
    return Finding(what=f"{installed.name}: pack", found=found, ok=not damage)
