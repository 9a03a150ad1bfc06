"""Building a catalogue of a package in a library of a test."""

from pathlib import Path

from stackroom.assembly.app import App
from stackroom.assembly.build import add_catalogue, package_recipe
from stackroom.assembly.locations import open_rows
from stackroom.ingest.pipeline import IngestReport
from stackroom.packages import PACKAGES
from stackroom.sources.port import RowSource


def add_package(
    app: App, package: str, source: RowSource | str | Path, *, name: str = "", embed: bool = False
) -> IngestReport:
    """Bring a catalogue of a package up to a source or a location; it has the package's name unless one is given."""
    rows = open_rows(PACKAGES.get(package), str(source)) if isinstance(source, str | Path) else source
    recipe = package_recipe(PACKAGES.get(package))
    return add_catalogue(app, rows, recipe=recipe, name=name or package, progress=lambda _report: None, embed=embed)
