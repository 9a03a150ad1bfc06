"""The composition root: settings → library → open catalogues → gate. Everything but transports is put together here."""

import importlib
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cached_property
from types import ModuleType
from typing import cast

from pinakes.catalogue.loader import BUILTIN_PACKAGE, get_builtin
from pinakes.embed.adapters import build_embedder
from pinakes.embed.port import Embedder
from pinakes.errors import NotFoundError
from pinakes.gate.gate import Gate
from pinakes.library import Library
from pinakes.recommend.recommender import Recommender
from pinakes.search.rerank import Reranker
from pinakes.search.searcher import Searcher
from pinakes.settings import Settings
from pinakes.shelf.embedded.shelf import EmbeddedShelf
from pinakes.tools.catalogue import OpenCatalogue
from pinakes.tools.spec import ToolSpec

RERANK_MODULE = "pinakes.search.remote_reranker"


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
        wanted = [self.library.get_installed(name) for name in names] or self.library.list_installed()
        if not wanted:
            raise NotFoundError("the library is empty; run: pinakes init")
        by_spec: dict[str, list[OpenCatalogue]] = {}
        for one in wanted:
            by_spec.setdefault(one.spec_name, []).append(self.open_catalogue(one.name))
        return Gate([tool for spec_name, opened in by_spec.items() for tool in _tools(spec_name, opened)])

    def sharing_tools(self, names: Sequence[str]) -> dict[str, list[str]]:
        """Return the catalogues that follow the same spec, so that its tools can serve only the first of them."""
        by_spec: dict[str, list[str]] = {}
        for one in self.library.list_installed():
            if not names or one.name in names:
                by_spec.setdefault(one.spec_name, []).append(one.name)
        return {spec_name: shared for spec_name, shared in by_spec.items() if len(shared) > 1}

    def _opened(self, name: str, shelf: EmbeddedShelf) -> OpenCatalogue:
        return OpenCatalogue(
            name=name,
            spec=shelf.spec,
            shelf=shelf,
            searcher=Searcher(shelf=shelf, embedder=self.embedder, reranker=self.reranker),
            recommender=Recommender(shelf=shelf, embedder=self.embedder, this_year=_this_year),
        )


def catalogue_part(spec_name: str, part: str) -> ModuleType:
    """Load a module of a built-in catalogue's package."""
    try:
        return importlib.import_module(f"{BUILTIN_PACKAGE}.{spec_name}.{part}")
    except ModuleNotFoundError as error:
        raise NotFoundError(
            f"the built-in catalogue '{spec_name}' is declared, but cannot be built or served yet (it has no {part})"
        ) from error


def _tools(spec_name: str, catalogues: Sequence[OpenCatalogue]) -> list[ToolSpec]:
    tools: list[ToolSpec] = catalogue_part(spec_name, "tools").tools(catalogues)
    return tools


def _this_year() -> int:
    return datetime.now(UTC).year
