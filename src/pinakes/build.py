"""Building catalogues: a source in, a catalogue in the library and its pack out."""

import importlib.resources

from pinakes.app import App, catalogue_part
from pinakes.catalogue.loader import get_builtin
from pinakes.errors import ExpectedError
from pinakes.ingest.mapping import RowMapping
from pinakes.ingest.pipeline import IngestReport, Progress, ingest
from pinakes.packs.builder import build_pack
from pinakes.shelf.embedded.shelf import EmbeddedShelf
from pinakes.sources.json_rows import JsonRows
from pinakes.sources.port import RowSource

PACK_FOLDER = "pack"
SAMPLE_FILE = "sample.jsonl"
SAMPLE_CATALOGUES = ("anime",)


def add_catalogue(
    app: App, source: RowSource, *, spec_name: str, name: str, progress: Progress, embed: bool = True
) -> IngestReport:
    """Build a catalogue from a source, or bring an installed one up to it, and leave its pack."""
    builtin = get_builtin(spec_name)
    mapping = _row_mapping(spec_name)
    place = app.library.reserve(name, spec_name)
    embedder = app.embedder if embed and builtin.spec.embed else None
    shelf = EmbeddedShelf.create(place.folder, builtin.spec, model=embedder.model if embedder else None)
    try:
        with shelf.exclusive():
            report = ingest(
                source, spec=builtin.spec, mapping=mapping, writer=shelf, embedder=embedder, progress=progress
            )
            build_pack(shelf.reader(), builtin.declaration, place.folder / PACK_FOLDER, name=name)
            app.library.complete(place)
    except ExpectedError:
        if not shelf.store.count():
            app.library.abandon(place)
        raise
    finally:
        shelf.close()
    return report


def add_sample(app: App, name: str, *, progress: Progress, embed: bool = True) -> IngestReport:
    """Install the sample data of a built-in catalogue."""
    with importlib.resources.as_file(get_builtin(name).folder.joinpath(SAMPLE_FILE)) as path:
        return add_catalogue(app, JsonRows(path), spec_name=name, name=name, progress=progress, embed=embed)


def _row_mapping(spec_name: str) -> RowMapping:
    rows = catalogue_part(spec_name, "rows")
    return RowMapping(record_of=rows.record_of, identities_of=rows.identities_of, is_metadata=rows.is_metadata)
