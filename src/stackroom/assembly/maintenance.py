"""The maintenance of a library's catalogues: reading their sources again, rebuilding, checking and measuring them."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

from stackroom.assembly.app import App
from stackroom.assembly.build import Recipe, add_catalogue, own_recipe, package_recipe
from stackroom.assembly.locations import open_rows
from stackroom.assembly.model_choice import keep_calibration
from stackroom.assembly.update_guard import accept_rebuilt
from stackroom.errors import ModelError
from stackroom.ingest.ledger import Ledger
from stackroom.ingest.pipeline import UNREQUESTED, IngestReport, IngestRequest
from stackroom.library import LEDGER_FILE, Installed
from stackroom.shelf.port import Checkpoint, Problem
from stackroom.sources.location import LIMIT_MARK, TABLE_PREFIX, SourceLocation
from stackroom.sources.port import RowSource
from stackroom.tools.health import check_catalogue

RowsRead = Callable[[int], None]
"""Called with the number of rows read so far; may raise to stop reading."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A source of a catalogue."""

    catalogue: str
    location: str
    is_folder: bool

    def __str__(self) -> str:
        return f"{self.catalogue} from {self.location}"


def list_sources(app: App) -> list[Source]:
    """Return the sources that catalogues can be read from again: no synced tables, no samples that were removed."""
    return [
        Source(catalogue=installed.name, location=location, is_folder=_is_folder(app, location))
        for installed in app.library.list_installed()
        for location in installed.sources
        if not location.startswith(TABLE_PREFIX) and not _is_former_sample(app, installed, location)
    ]


def refresh_from_source(
    app: App, source: Source, rows_read: RowsRead, *, request: IngestRequest = UNREQUESTED
) -> IngestReport:
    """Bring a catalogue up to one of its sources, as a request of the ingest asks."""
    installed = app.library.get_installed(source.catalogue)
    model = app.open_catalogue(installed.name).shelf.reader().model
    if model is not None and model != app.embedder_of(model).model:
        raise ModelError(
            f"its vectors are by {model}, but the embedder is {app.embedder.model}; set that, or add the source again"
        )
    return add_catalogue(
        app,
        _open(app, installed, source.location),
        recipe=_recipe(app, installed),
        name=installed.name,
        progress=lambda report: rows_read(report.rows),
        embed=model is not None,
        request=request,
    )


def rebuild_index(app: App, name: str) -> str:
    """Build the indexes of a catalogue anew; keep the former ones of a graded catalogue if it answers worse."""
    records = app.open_catalogue(name).shelf.rebuild(accept=accept_rebuilt(app, name))
    return f"{records} records indexed"


def check_installed(app: App, name: str, checkpoint: Checkpoint) -> list[Problem]:
    """Return what is wrong with a catalogue, which the app then reports as degraded until the next check."""
    problems = list(check_catalogue(app.open_catalogue(name), checkpoint=checkpoint))
    app.note_problems(name, problems)
    return problems


def recalibrate(app: App, name: str) -> str:
    """Measure what a cosine means in a catalogue, and keep it."""
    catalogue = app.open_catalogue(name)
    reader = catalogue.shelf.reader()
    if reader.model is None:
        return "it has no vectors"
    embedder = catalogue.searcher.embedder
    if embedder is None or reader.model != embedder.model:
        raise ModelError(f"its vectors are by {reader.model}, but the embedder is {app.embedder.model}; build it again")
    calibration = keep_calibration(reader, embedder, app.library.get_installed(name))
    if calibration is None:
        return "there is nothing to measure"
    return f"unrelated queries have a cosine of {calibration.middle:.3f} ± {calibration.spread:.3f}"


def _open(app: App, installed: Installed, name: str) -> RowSource:
    """Return the source that a catalogue was built from, by its name; a provider is asked for as many as are known."""
    package = None if installed.own_declaration else app.package_of(installed)
    if _is_provider(app, name):
        with closing(Ledger(installed.folder / LEDGER_FILE)) as ledger:
            known = len(ledger.origins(name))
        return open_rows(package, f"{name}{LIMIT_MARK}{known}" if known else name, workshop=app)
    place = SourceLocation.parse(name)
    return open_rows(package, place.location, options=place.options, workshop=app)


def _is_provider(app: App, name: str) -> bool:
    prefix, colon, _query = name.partition(":")
    return bool(colon) and app.packages.find_provider(prefix) is not None


def _is_folder(app: App, name: str) -> bool:
    return not _is_provider(app, name) and SourceLocation.parse(name).is_folder


def _is_former_sample(app: App, installed: Installed, name: str) -> bool:
    if installed.own_declaration or installed.spec_name not in app.packages.names:
        return False
    return app.package_of(installed).is_former_sample(name)


def _recipe(app: App, installed: Installed) -> Recipe:
    if installed.own_declaration is None:
        return package_recipe(app.package_of(installed))
    return own_recipe(app.spec_of(installed))
