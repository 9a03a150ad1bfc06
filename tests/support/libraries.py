"""Libraries and catalogues for tests, in memory and on disk."""

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import filelock

from stackroom.assembly.app import App
from stackroom.assembly.build import (
    add_catalogue,
    add_sample,
    open_rows,
    own_recipe,
    package_recipe,
)
from stackroom.catalogue.codec import digest_of
from stackroom.catalogue.compiler import LoadedSpec, compile_text
from stackroom.catalogue.spec import CatalogueSpec, embedding_text
from stackroom.gate.answer import Answer
from stackroom.gate.gate import Gate
from stackroom.ingest.pipeline import IngestReport
from stackroom.model.principal import LOCAL_USER
from stackroom.model.record import Record, RecordId, Tag
from stackroom.packages import PACKAGES
from stackroom.settings import Settings
from stackroom.shelf.port import Embedding, Put
from stackroom.sources.port import RowSource
from support.embedders import WordEmbedder, word_vector
from support.memory_shelf import MemoryShelf

REPO = Path(__file__).resolve().parent.parent.parent
MODEL_CACHE = REPO / ".cache" / "models"
SHARED_DATA = Path(os.environ.get("STACKROOM_TEST_DATA", REPO.parent / "shared" / "data"))


def kept_library(name: str, build: Callable[[Path], None]) -> Path:
    """Return a library that is built once for this state of the sources, and kept in the
    repository's cache.

    Embedding takes longer than most test files: processes, and the two parts of a run, share what
    was built.
    """
    kept = MODEL_CACHE.parent / "samples" / f"{name}-{_digest_of_sources()}"
    kept.parent.mkdir(parents=True, exist_ok=True)
    with filelock.FileLock(kept.parent / f"{name}.lock", timeout=600):
        if not kept.is_dir():
            for former in kept.parent.glob(f"{name}-*"):
                shutil.rmtree(former, ignore_errors=True)
            building = kept.with_suffix(".new")
            build(building)
            building.rename(kept)
    return kept


def copy_samples(home: Path, *names: str) -> Path:
    """Give a library samples without vectors, or all of them: copies of what `add_sample` has built
    once.
    """
    built = kept_library("whole", _build_samples) / "catalogues"
    for name in names or [folder.name for folder in built.iterdir()]:
        shutil.copytree(built / name, home / "catalogues" / name)
    return home


def _build_samples(home: Path) -> None:
    app = App(Settings(home=home))
    for _package, sample in app.packages.iter_samples():
        report = add_sample(app, sample.name, progress=lambda _report: None, embed=False)
        assert (report.rejected, report.duplicates) == (0, 0)
    app.close()


@cache
def _digest_of_sources() -> str:
    found = hashlib.sha256()
    for path in sorted((REPO / "src").rglob("*")):
        if path.is_file() and path.suffix != ".pyc" and "site" not in path.parts:
            found.update(str(path.relative_to(REPO)).encode() + path.read_bytes())
    return found.hexdigest()[:16]


@dataclass(kw_only=True)
class Shelved:
    """A catalogue in memory with the word embedder, and ways to fill it."""

    spec: CatalogueSpec
    embedder: WordEmbedder = field(default_factory=WordEmbedder)
    shelf: MemoryShelf = field(init=False)

    def __post_init__(self) -> None:
        self.shelf = MemoryShelf(self.spec, model=self.embedder.model)

    def put(self, *records: Record, embed: bool = True) -> None:
        """Put the records, with the vectors of their texts."""
        assert self.spec.embed is not None
        for record in records:
            text = embedding_text(self.spec.embed, record)
            vector = word_vector(text, self.embedder.model.dimension)
            embedding = Embedding(digest=digest_of(text), vector=vector) if embed else None
            self.shelf.apply([Put(record=record, embedding=embedding)])


def add_package(
    app: App, package: str, source: RowSource | str | Path, *, name: str = "", embed: bool = False
) -> IngestReport:
    """Bring a catalogue of a package up to a source or a location; it has the package's name unless
    one is given.
    """
    rows = (
        open_rows(PACKAGES.get(package), str(source)) if isinstance(source, str | Path) else source
    )
    recipe = package_recipe(PACKAGES.get(package))
    return add_catalogue(
        app, rows, recipe=recipe, name=name or package, progress=lambda _report: None, embed=embed
    )


def add_rows(
    app: App, path: Path, declaration: str, name: str = "films", *, embed: bool = False
) -> IngestReport:
    """Build a catalogue of a file's rows by a spec of its own, or bring it up to them."""
    loaded = LoadedSpec(spec=compile_text(declaration, origin=name), declaration=declaration)
    source, recipe = open_rows(None, str(path)), own_recipe(loaded)
    return add_catalogue(
        app, source, recipe=recipe, name=name, progress=lambda _report: None, embed=embed
    )


def make_anime(name: str, **fields: Any) -> Record:
    """Return a record of the anime catalogue: `name` is its id and, unless given, its title; tags
    are plain words.
    """
    tags = tuple(
        tag if isinstance(tag, Tag) else Tag("theme", tag) for tag in fields.pop("tags", ())
    )
    values = {"title": name, "type": "TV", "status": "FINISHED", "tags": tags, **fields}
    return Record(
        id=RecordId(name),
        fields={key: value for key, value in values.items() if value not in (None, ())},
    )


@dataclass(frozen=True, kw_only=True)
class Library:
    """A library on disk, opened in this process."""

    home: Path
    app: App
    gate: Gate

    def call(self, tool: str, **arguments: Any) -> Answer:
        """Call a tool as the local user."""
        return self.gate.call(LOCAL_USER, tool, arguments)

    def structured(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool that must answer, and return its structured content."""
        answer = self.call(tool, **arguments)
        assert answer.structured is not None, answer.text
        return answer.structured


@contextmanager
def opened(settings: Settings, *names: str) -> Iterator[Library]:
    """Open these catalogues of a library; all, where none is named."""
    app = App(settings)
    try:
        yield Library(home=settings.home, app=app, gate=app.build_gate(names))
    finally:
        app.close()
