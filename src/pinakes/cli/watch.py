"""`watch`: update a catalogue whenever its folder or file changes."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click

from pinakes.api.package import CataloguePackage
from pinakes.assembly.app import App
from pinakes.assembly.build import (
    Recipe,
    add_catalogue,
    find_own_recipe,
    open_rows,
    package_recipe,
    remembered_options,
)
from pinakes.cli.add import get_folder_reader, is_document_folder, name_of
from pinakes.cli.build import require_model
from pinakes.cli.opening import open_app
from pinakes.cli.progress import summary
from pinakes.errors import ExpectedError, InputError
from pinakes.ingest.pipeline import IngestReport
from pinakes.sources.folder_rows import iter_files
from pinakes.sources.opener import holds_tables, is_table_file
from pinakes.sources.options import NO_OPTIONS

Snapshot = dict[Path, tuple[int, int]]
"""File → modification time and size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """Adds the source again after each change. Clock, files and output come from outside."""

    look: Callable[[], Snapshot]
    add: Callable[[], IngestReport]
    wait: Callable[[], None]
    say: Callable[[str], None]

    def run(self, *, known: Snapshot) -> None:
        """Run until interrupted; report a failure once, and retry."""
        trouble = ""
        while True:
            self.wait()
            try:
                seen = self.look()
                if seen != known:
                    self._report(self.add())
                known, trouble = seen, ""
            except ExpectedError as error:
                if error.message != trouble:
                    self.say(f"{error.message}; trying again")
                trouble = error.message

    def _report(self, report: IngestReport) -> None:
        if report.written or report.removed or report.rejected:
            left_out = f", {report.rejected} left out" if report.rejected else ""
            self.say(f"{report.written} written, {report.removed} removed{left_out}")


@click.command("watch")
@click.argument("path", metavar="FOLDER_OR_FILE", type=click.Path(path_type=Path))
@click.option("--as", "spec_name", help="The catalogue package of its layout; by default the one that reads folders.")
@click.option("--name", help="The catalogue's name; by default the package's.")
@click.option(
    "--interval", default=2.0, show_default=True, type=click.FloatRange(min=0.1), help="Seconds between checks."
)
@click.option("--once", is_flag=True, help="Update the catalogue once, and end.")
@click.option("--no-embed", is_flag=True, help="Build without vectors; search uses words alone.")
def watch_command(
    path: Path, spec_name: str | None, name: str | None, interval: float, once: bool, no_embed: bool
) -> None:
    """Build a catalogue from FOLDER_OR_FILE, and update it whenever that changes.

    A table is watched after it was built with pinakes add.

    Running servers see every change at the next call. Ctrl-C ends it.
    """
    app = open_app()
    look = partial(take_snapshot, path)
    known = look()  # before the files are read, so that what changes meanwhile is noticed
    if not no_embed:
        require_model(app, quiet=False)
    recipe, package, name = _choose(app, path, spec_name, name)
    add = partial(_add, app, path, recipe=recipe, package=package, name=name, embed=not no_embed)
    try:
        click.echo(summary(add()))
        if not once:
            click.echo(f"watching {path}; Ctrl-C ends it")
            Watch(look=look, add=add, wait=partial(time.sleep, interval), say=click.echo).run(known=known)
    except KeyboardInterrupt:
        click.echo("stopped; every change written so far is kept")


def take_snapshot(path: Path) -> Snapshot:
    """Return the files below a path; refuse a path that does not exist."""
    if not path.exists():
        raise InputError(f"{path}: no such file or folder")
    seen: Snapshot = {}
    for file in iter_files(path):
        try:
            known = file.stat()
        except OSError:
            continue  # removed since it was listed, or a link to nothing
        seen[file] = (known.st_mtime_ns, known.st_size)
    return seen


def _choose(
    app: App, path: Path, spec_name: str | None, name: str | None
) -> tuple[Recipe, CataloguePackage | None, str]:
    """Return the recipe, package and name of the catalogue: a table follows the spec that it was built with."""
    is_table = is_table_file(path) or holds_tables(path)
    if spec_name is None and is_table and not is_document_folder(app, str(path), name):
        own_name = name or name_of(str(path))
        recipe = find_own_recipe(app, own_name)
        if recipe is None:
            raise InputError(f"no catalogue '{own_name}' to keep up with {path}; build it first: pinakes add {path}")
        return recipe, None, own_name
    package = app.packages.get(spec_name) if spec_name else get_folder_reader(app)
    return package_recipe(package), package, name or package.name


def _add(
    app: App, path: Path, *, recipe: Recipe, package: CataloguePackage | None, name: str, embed: bool
) -> IngestReport:
    options = remembered_options(app, name, str(path), NO_OPTIONS)
    return add_catalogue(
        app,
        open_rows(package, str(path), options=options),
        recipe=recipe,
        name=name,
        progress=lambda _report: None,
        embed=embed,
        replaces_samples=True,
        force=True,  # small edits, each seen by the one who makes it
    )
