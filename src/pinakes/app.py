"""The composition root: settings → library → open catalogues → gate. Everything but transports is put together here."""

import importlib
import importlib.resources
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import cast

import orjson

from pinakes.catalogue.loader import BUILTIN_PACKAGE, get_builtin
from pinakes.embed.adapters import build_embedder
from pinakes.embed.port import Embedder
from pinakes.errors import InputError, NotFoundError, did_you_mean
from pinakes.gate.gate import Gate
from pinakes.ingest.mapping import RowMapping
from pinakes.ingest.pipeline import IngestReport, Progress, ingest
from pinakes.packs.builder import build_pack
from pinakes.recommend.recommender import Recommender
from pinakes.search.rerank import Reranker
from pinakes.search.searcher import Searcher
from pinakes.settings import Settings
from pinakes.shelf.embedded.shelf import EmbeddedShelf
from pinakes.sources.json_rows import JsonRows
from pinakes.sources.port import RowSource
from pinakes.tools.catalogue import OpenCatalogue
from pinakes.tools.spec import ToolSpec

INSTALLED_FILE = "installed.json"
PACK_FOLDER = "pack"
SAMPLE_FILE = "sample.jsonl"
SAMPLE_CATALOGUES = ("anime",)
RERANK_MODULE = "pinakes.search.rerank"


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """A catalogue in the library: its name, the built-in spec it uses, and its folder."""

    name: str
    spec_name: str
    folder: Path


class App:
    """A library, opened with its settings."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._open: dict[str, OpenCatalogue] = {}

    @cached_property
    def embedder(self) -> Embedder:
        """The embedder that the settings name."""
        return build_embedder(self.settings.embedding, self.settings.models_folder)

    @cached_property
    def reranker(self) -> Reranker | None:
        """The reranker, where one is configured."""
        if not self.settings.rerank.url:
            return None
        return cast(Reranker, importlib.import_module(RERANK_MODULE).RemoteReranker(self.settings.rerank))

    def list_installed(self) -> list[Installed]:
        """Return the catalogues in the library, by name."""
        folder = self.settings.catalogues_folder
        found = sorted(folder.glob(f"*/{INSTALLED_FILE}")) if folder.is_dir() else []
        return [_installed(path) for path in found]

    def get_installed(self, name: str) -> Installed:
        """Return a catalogue of the library, or refuse with the names there are."""
        installed = {one.name: one for one in self.list_installed()}
        if name not in installed:
            names = ", ".join(installed) or "none; run: pinakes init"
            raise NotFoundError(f"no catalogue '{name}'{did_you_mean(name, list(installed))}; installed: {names}")
        return installed[name]

    def open_catalogue(self, name: str) -> OpenCatalogue:
        """Return a catalogue of the library, opened once."""
        if name not in self._open:
            installed = self.get_installed(name)
            shelf = EmbeddedShelf.open(installed.folder, get_builtin(installed.spec_name).spec)
            self._open[name] = self._opened(name, shelf)
        return self._open[name]

    def close(self) -> None:
        """Let go of every catalogue."""
        for catalogue in self._open.values():
            catalogue.shelf.close()
        self._open.clear()

    def build_gate(self, names: Sequence[str] = ()) -> Gate:
        """Return the gate over these catalogues, or over every installed one."""
        wanted = [self.get_installed(name) for name in names] or self.list_installed()
        if not wanted:
            raise NotFoundError("the library is empty; run: pinakes init")
        by_spec: dict[str, list[OpenCatalogue]] = {}
        for one in wanted:
            by_spec.setdefault(one.spec_name, []).append(self.open_catalogue(one.name))
        return Gate([tool for spec_name, opened in by_spec.items() for tool in _tools(spec_name, opened)])

    def add(
        self, source: RowSource, *, spec_name: str, name: str, progress: Progress, embed: bool = True
    ) -> IngestReport:
        """Build a catalogue from a source, or bring an installed one up to it, and leave its pack."""
        builtin = get_builtin(spec_name)
        mapping = _row_mapping(spec_name)
        folder = self._reserve(name, spec_name)
        embedder = self.embedder if embed and builtin.spec.embed else None
        shelf = EmbeddedShelf.create(folder, builtin.spec, model=embedder.model if embedder else None)
        try:
            report = ingest(
                source, spec=builtin.spec, mapping=mapping, writer=shelf, embedder=embedder, progress=progress
            )
            build_pack(shelf.reader(), builtin.declaration, folder / PACK_FOLDER, name=name)
        finally:
            shelf.close()
        return report

    def add_sample(self, name: str, *, progress: Progress, embed: bool = True) -> IngestReport:
        """Install the sample data of a built-in catalogue."""
        with importlib.resources.as_file(get_builtin(name).folder.joinpath(SAMPLE_FILE)) as path:
            return self.add(JsonRows(path), spec_name=name, name=name, progress=progress, embed=embed)

    def _reserve(self, name: str, spec_name: str) -> Path:
        """Make the catalogue's folder, or refuse a name that another kind of catalogue has."""
        folder = self.settings.catalogues_folder / name
        marker = folder / INSTALLED_FILE
        if marker.is_file():
            there = _installed(marker)
            if there.spec_name != spec_name:
                raise InputError(f"'{name}' is a catalogue of '{there.spec_name}', not of '{spec_name}'")
            return folder
        folder.mkdir(parents=True, exist_ok=True)
        marker.write_bytes(orjson.dumps({"spec": spec_name}))
        return folder

    def _opened(self, name: str, shelf: EmbeddedShelf) -> OpenCatalogue:
        return OpenCatalogue(
            name=name,
            spec=shelf.spec,
            shelf=shelf,
            searcher=Searcher(shelf=shelf, embedder=self.embedder, reranker=self.reranker),
            recommender=Recommender(shelf=shelf, embedder=self.embedder, this_year=_this_year),
        )


def _installed(marker: Path) -> Installed:
    values = orjson.loads(marker.read_bytes())
    return Installed(name=marker.parent.name, spec_name=values["spec"], folder=marker.parent)


def _part(spec_name: str, part: str) -> ModuleType:
    """Load a module of a built-in catalogue's package."""
    try:
        return importlib.import_module(f"{BUILTIN_PACKAGE}.{spec_name}.{part}")
    except ModuleNotFoundError as error:
        raise NotFoundError(f"the built-in catalogue '{spec_name}' has no {part} yet") from error


def _row_mapping(spec_name: str) -> RowMapping:
    rows = _part(spec_name, "rows")
    return RowMapping(record_of=rows.record_of, identities_of=rows.identities_of, is_metadata=rows.is_metadata)


def _tools(spec_name: str, catalogues: Sequence[OpenCatalogue]) -> list[ToolSpec]:
    tools: list[ToolSpec] = _part(spec_name, "tools").tools(catalogues)
    return tools


def _this_year() -> int:
    return datetime.now(UTC).year
