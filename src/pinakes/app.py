"""The composition root: settings → library → open catalogues → gate. Everything but transports is put together here."""

import importlib
import importlib.util
from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Protocol, cast

from pinakes.catalogue.loader import BUILTIN_PACKAGE, LoadedSpec, get_builtin, load_spec
from pinakes.catalogue.spec import CatalogueSpec
from pinakes.embed.adapters import build_embedder
from pinakes.embed.port import Embedder
from pinakes.errors import NotFoundError
from pinakes.gate.gate import Gate
from pinakes.library import Installed, Library
from pinakes.model.vectors import ModelId
from pinakes.recommend.recommender import Recommender
from pinakes.search.rerank import Reranker
from pinakes.search.searcher import Searcher
from pinakes.settings import Settings
from pinakes.shelf.port import BuildableShelf, Shelf
from pinakes.tools.catalogue import OpenCatalogue
from pinakes.tools.generic import generic_resources, generic_tools
from pinakes.tools.spec import ToolSpec

RERANK_MODULE = "pinakes.search.remote_reranker"
LEDGER_FILE = "ledger.sqlite"


class ToolChoice(StrEnum):
    """Which tools are served: a catalogue's own, the generic ones, both, or what the catalogues call for."""

    AUTO = "auto"
    SEED = "seed"
    GENERIC = "generic"
    ALL = "all"


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

    @cached_property
    def library(self) -> Library:
        """The catalogues that are installed."""
        return Library(self.settings.catalogues_folder)

    def open_catalogue(self, name: str) -> OpenCatalogue:
        """Return a catalogue of the library, opened once."""
        if name not in self._open:
            installed = self.library.get_installed(name)
            spec = self.spec_of(installed).spec
            shelf = _shelf_type(installed.shelf).open(installed.folder, spec)
            self._open[name] = self._opened(installed, shelf)
        return self._open[name]

    def spec_of(self, installed: Installed) -> LoadedSpec:
        """Return the spec that a catalogue follows: its own, or a built-in one."""
        own = installed.own_declaration
        return load_spec(own) if own else get_builtin(installed.spec_name)

    def create_shelf(self, place: Installed, spec: CatalogueSpec, *, model: ModelId | None) -> BuildableShelf:
        """Open the shelf of a catalogue for writing; made if it is new."""
        return _shelf_type(place.shelf).create(place.folder, spec, model=model)

    def close(self) -> None:
        """Let go of every catalogue."""
        for catalogue in self._open.values():
            catalogue.shelf.close()
        self._open.clear()

    def build_gate(self, names: Sequence[str] = (), *, tools: ToolChoice = ToolChoice.AUTO) -> Gate:
        """Return the gate over these catalogues, or over every installed one."""
        wanted = [self.library.get_installed(name) for name in names] or self.library.list_installed()
        if not wanted:
            raise NotFoundError("the library is empty; run: pinakes init")
        opened = [self.open_catalogue(one.name) for one in wanted]
        by_spec: dict[str, list[OpenCatalogue]] = {}
        for one, catalogue in zip(wanted, opened, strict=True):
            if one.own_declaration is None:
                by_spec.setdefault(one.spec_name, []).append(catalogue)
        own_tools: list[ToolSpec] = []
        resources = generic_resources(opened)
        for spec_name, catalogues in by_spec.items():
            part = find_catalogue_part(spec_name, "tools")
            if part is not None:
                own_tools += part.tools(catalogues)
                resources += part.resources(catalogues) if hasattr(part, "resources") else []
        has_own_tools = {catalogue.name for some in by_spec.values() for catalogue in some} if own_tools else set()
        needs_generic = len(opened) > 1 or any(catalogue.name not in has_own_tools for catalogue in opened)
        shown = [] if tools is ToolChoice.GENERIC else own_tools
        if tools in (ToolChoice.GENERIC, ToolChoice.ALL) or (tools is ToolChoice.AUTO and needs_generic):
            shown = [*shown, *generic_tools(opened)]
        return Gate(shown, resources)

    def sharing_tools(self, names: Sequence[str]) -> dict[str, list[str]]:
        """Return the catalogues that follow the same spec, so that its tools can serve only the first of them."""
        by_spec: dict[str, list[str]] = {}
        for one in self.library.list_installed():
            if not names or one.name in names:
                by_spec.setdefault(one.spec_name, []).append(one.name)
        return {spec_name: shared for spec_name, shared in by_spec.items() if len(shared) > 1}

    def _opened(self, installed: Installed, shelf: Shelf) -> OpenCatalogue:
        return OpenCatalogue(
            name=installed.name,
            spec=shelf.spec,
            shelf=shelf,
            searcher=Searcher(shelf=shelf, embedder=self.embedder, reranker=self.reranker),
            recommender=Recommender(shelf=shelf, embedder=self.embedder, this_year=_this_year),
            folder=installed.folder,
        )


class _ShelfType(Protocol):
    def create(self, folder: Path, spec: CatalogueSpec, *, model: ModelId | None) -> BuildableShelf: ...

    def open(self, folder: Path, spec: CatalogueSpec) -> Shelf: ...


SHELVES = {
    "embedded": ("pinakes.shelf.embedded.shelf", "EmbeddedShelf"),
    "lance": ("pinakes.shelf.lance.shelf", "LanceShelf"),
}
"""Kind of shelf → its module and class; a module is loaded when it is needed, since LanceDB takes seconds."""


def _shelf_type(kind: str) -> _ShelfType:
    module, name = SHELVES[kind]
    return cast(_ShelfType, getattr(importlib.import_module(module), name))


def find_catalogue_part(spec_name: str, part: str) -> ModuleType | None:
    """Load a module of a built-in catalogue's package, where it has it."""
    get_builtin(spec_name)  # refuses a name that is not built in
    module = f"{BUILTIN_PACKAGE}.{spec_name}.{part}"
    return importlib.import_module(module) if importlib.util.find_spec(module) else None


def _this_year() -> int:
    return datetime.now(UTC).year
