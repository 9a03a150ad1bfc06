"""Building catalogues: a source in, a catalogue in the library and its pack out."""

import importlib.resources
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pinakes.app import LEDGER_FILE, App, find_catalogue_part
from pinakes.catalogue.loader import LoadedSpec, get_builtin
from pinakes.errors import ExpectedError
from pinakes.ingest.ledger import Ledger
from pinakes.ingest.mapping import RowMapping, build_mapping
from pinakes.ingest.pipeline import IngestReport, Progress, Target, ingest
from pinakes.packs.builder import build_pack
from pinakes.sources.opener import open_source
from pinakes.sources.port import RowSource

PACK_FOLDER = "pack"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Sample data that ships with a built-in catalogue, and the name of the catalogue that is made of it."""

    name: str
    spec_name: str
    path: str


SAMPLES = (
    Sample(name="anime", spec_name="anime", path="sample.jsonl"),
    Sample(name="papers", spec_name="papers", path="sample.jsonl"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What a catalogue is built by: its spec, how its rows become records, and whether the spec is the user's own."""

    loaded: LoadedSpec
    mapping: RowMapping
    is_own: bool = False

    @property
    def spec_name(self) -> str:
        """The name of the spec."""
        return self.loaded.spec.name


def builtin_recipe(spec_name: str) -> Recipe:
    """Return the recipe of a built-in catalogue; one without rows of its own is mapped as its spec says."""
    builtin = get_builtin(spec_name)
    rows = find_catalogue_part(spec_name, "rows")
    mapping = build_mapping(builtin.spec) if rows is None else rows.MAPPING
    return Recipe(loaded=builtin, mapping=mapping)


def own_recipe(loaded: LoadedSpec) -> Recipe:
    """Return the recipe of a user's own spec."""
    return Recipe(loaded=loaded, mapping=build_mapping(loaded.spec), is_own=True)


def add_catalogue(
    app: App,
    source: RowSource,
    *,
    recipe: Recipe,
    name: str,
    progress: Progress,
    embed: bool = True,
    shelf_kind: str | None = None,
) -> IngestReport:
    """Build a catalogue from a source, or bring an installed one up to it, and leave its pack."""
    loaded = recipe.loaded
    place = app.library.reserve(
        name,
        recipe.spec_name,
        shelf=shelf_kind or app.settings.shelf_of(name),
        declaration=loaded.declaration if recipe.is_own else None,
    )
    embedder = app.embedder if embed and loaded.spec.embed else None
    shelf = app.create_shelf(place, loaded.spec, model=embedder.model if embedder else None)
    try:
        with shelf.exclusive(), _open_ledger(place.folder / LEDGER_FILE) as ledger:
            target = Target(
                spec=loaded.spec, mapping=recipe.mapping, writer=shelf.writer(), ledger=ledger, embedder=embedder
            )
            report = ingest(source, target, progress=progress)
            build_pack(shelf.reader(), loaded.declaration, place.folder / PACK_FOLDER, name=name)
            app.library.complete(place, source=source.name)
    except ExpectedError:
        if shelf.is_empty():
            app.library.abandon(place)
        raise
    finally:
        shelf.close()
    return report


def open_rows(spec_name: str, location: str) -> RowSource:
    """Return the source at a location; a built-in catalogue may read some locations in a way of its own."""
    rows = find_catalogue_part(spec_name, "rows")
    own = rows.open_rows(location) if rows is not None and hasattr(rows, "open_rows") else None
    return own or open_source(location)


def add_sample(app: App, name: str, *, progress: Progress, embed: bool = True) -> IngestReport:
    """Install a catalogue of sample data."""
    sample = next(sample for sample in SAMPLES if sample.name == name)
    with importlib.resources.as_file(get_builtin(sample.spec_name).folder.joinpath(sample.path)) as path:
        return add_catalogue(
            app,
            open_rows(sample.spec_name, str(path)),
            recipe=builtin_recipe(sample.spec_name),
            name=sample.name,
            progress=progress,
            embed=embed,
        )


@contextmanager
def _open_ledger(path: Path) -> Iterator[Ledger]:
    ledger = Ledger(path)
    try:
        yield ledger
    finally:
        ledger.close()
