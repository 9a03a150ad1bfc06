"""`doctor`: what is wrong with the library, and what to do about it."""

from collections.abc import Iterator

import click

from pinakes.app import App
from pinakes.build import PACK_FOLDER
from pinakes.cli.json_output import json_option, print_json
from pinakes.errors import ExpectedError
from pinakes.model.scope import WHOLE
from pinakes.packs.builder import check_pack, load_manifest
from pinakes.settings import load_settings
from pinakes.shelf.embedded.shelf import EmbeddedShelf

Finding = tuple[str, str, bool]
"""What was looked at, what was found, and whether it is well."""


@click.command("doctor")
@json_option
@click.pass_context
def doctor_command(ctx: click.Context, as_json: bool) -> None:
    """Check the library: the model, every catalogue's file, index and pack. Exit code 1 when something is wrong."""
    findings = list(_examine(App(load_settings())))
    if as_json:
        print_json([{"what": what, "found": found, "ok": well} for what, found, well in findings])
    else:
        for what, found, well in findings:
            click.echo(f"{'ok ' if well else 'BAD'} {what}: {found}")
    if not all(well for _, _, well in findings):
        ctx.exit(1)


def _examine(app: App) -> Iterator[Finding]:
    yield "library", str(app.settings.home), app.settings.home.is_dir()
    problem = app.embedder.check()
    yield "embedder", problem or str(app.embedder.model), problem is None
    installed = app.library.list_installed()
    if not installed:
        yield "catalogues", "none; run: pinakes init", False
    for one in installed:
        try:
            yield from _examine_catalogue(app, one.name)
        except ExpectedError as error:
            yield one.name, error.message, False


def _examine_catalogue(app: App, name: str) -> Iterator[Finding]:
    installed = app.library.get_installed(name)
    shelf = app.open_catalogue(name).shelf
    if isinstance(shelf, EmbeddedShelf):
        problems = shelf.store.check()
        yield f"{name}: records", "; ".join(problems) or f"{shelf.store.count()} in {shelf.store.path}", not problems
        indexed = shelf.reader().count(WHOLE)
        yield f"{name}: index", f"{indexed} records indexed", indexed == shelf.store.count()
    else:
        yield f"{name}: records", f"{shelf.reader().count(WHOLE)} on the {installed.shelf} shelf", True
    model = shelf.reader().model
    if model is not None and model != app.embedder.model:
        yield f"{name}: vectors", f"made by {model}, but the embedder is {app.embedder.model}: words alone", False
    pack = installed.folder / PACK_FOLDER
    again = f"run: pinakes add FILE --as {installed.spec_name} --name {name}"
    damage = check_pack(pack) if pack.is_dir() else [f"no pack; {again}"]
    if not damage and load_manifest(pack)["change_no"] != shelf.reader().change_no:
        damage = [f"older than the catalogue; {again}"]
    yield f"{name}: pack", "; ".join(damage) or f"whole, in {pack}", not damage
