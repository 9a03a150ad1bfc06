"""Vectors for the records of an installed catalogue that have none yet; its sources are not read."""

from contextlib import closing, nullcontext

from stackroom.assembly.app import App
from stackroom.assembly.map_making import keep_map
from stackroom.assembly.model_choice import get_embedder, want_model
from stackroom.catalogue.compiler import LoadedSpec
from stackroom.embed.port import Embedder
from stackroom.errors import ModelError
from stackroom.ingest.pipeline import IngestReport, Progress, embed_records
from stackroom.library import CALIBRATION_FILE, Installed
from stackroom.search.calibrate import calibrate, save_calibration
from stackroom.search.catalogue_embedder import CatalogueEmbedder


def count_waiting(app: App, name: str) -> int:
    """Return how many records of an installed catalogue have a text to embed and no vector."""
    catalogue = app.open_catalogue(name)
    return catalogue.shelf.writer().count_unembedded() if catalogue.spec.embed else 0


def embed_waiting(app: App, name: str, *, progress: Progress) -> IngestReport:
    """Embed the records of an installed catalogue that have no vector, while it is read, and calibrate it."""
    installed = app.library.get_installed(name)
    loaded = app.spec_of(installed)
    is_own = installed.own_declaration is not None
    embedder = get_embedder(app, want_model(app, loaded.spec, installed, is_own=is_own))
    if (problem := embedder.check()) is not None:
        raise ModelError(problem)
    return _embed(app, installed, loaded, embedder, progress)


def _embed(app: App, installed: Installed, loaded: LoadedSpec, embedder: Embedder, progress: Progress) -> IngestReport:
    report = IngestReport()
    with closing(app.create_shelf(installed, loaded.spec, model=embedder.model)) as shelf:
        embed_records(shelf.writer(), loaded.spec, embedder, report, progress=progress)
        calibration = calibrate(shelf.reader(), CatalogueEmbedder(shelf, lambda _model: embedder))
        if calibration is not None:
            save_calibration(calibration, installed.folder / CALIBRATION_FILE)
        if (problem := keep_map(installed, lambda: nullcontext(shelf))) is not None:
            report.notes.append(problem)
    return report
