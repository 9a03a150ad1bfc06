"""The composition root of everything but transports: settings → library → open catalogues → gate."""

import importlib
import logging
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import cast

from pinakes.api.package import CataloguePackage
from pinakes.api.registry import PACKAGES, PackageRegistry
from pinakes.assembly.following import FollowedLibrary
from pinakes.assembly.lance_conversion import on_embedded_shelf
from pinakes.catalogue.loader import LoadedSpec, load_spec
from pinakes.catalogue.spec import CatalogueSpec
from pinakes.embed.adapters import MissingEmbedder, build_embedder, find_local, is_on_this_machine
from pinakes.embed.breaker import WatchedEmbedder
from pinakes.embed.port import Embedder
from pinakes.errors import BusyError, ExpectedError, ModelError, NotFoundError, StorageError
from pinakes.gate.cache import AnswerCache
from pinakes.gate.gate import Gate, Limiter, Observer
from pinakes.grading.tuned_file import TUNED_FILE, TunedWeightsFile
from pinakes.library import CALIBRATION_FILE, DECLARATION_FILE, PACK_FOLDER, Installed, Library
from pinakes.model.principal import Principal
from pinakes.model.scope import SEES_EVERYTHING
from pinakes.model.vectors import ModelId
from pinakes.recommend.recommender import Recommender
from pinakes.search.calibrate import CalibrationFile
from pinakes.search.catalogue_embedder import CatalogueEmbedder
from pinakes.search.searcher import Reranker, Searcher
from pinakes.settings import Settings
from pinakes.shelf.conditions import CatalogueConditions
from pinakes.shelf.embedded.shelf import STORE_FILE, EmbeddedShelf
from pinakes.shelf.port import BuildableShelf, Problem, Shelf
from pinakes.shelf.watched import WatchedShelf
from pinakes.tools.catalogue import OpenCatalogue
from pinakes.tools.edits.tool import edit_tools
from pinakes.tools.generic.prompts import generic_prompts
from pinakes.tools.generic.tools import generic_tools
from pinakes.tools.media import MediaSpec
from pinakes.tools.prompt import PromptSpec
from pinakes.tools.resources.changelog import edit_resources
from pinakes.tools.resources.records import generic_resources
from pinakes.tools.resources.resource import ResourceSpec
from pinakes.tools.spec import ToolSpec
from pinakes.tools.toolbox import NO_SERVER_TOOLS, ServerTools, Toolbox, ToolboxesByVisibility

logger = logging.getLogger(__name__)

RERANK_MODULE = "pinakes.search.remote_reranker"


class ToolChoice(StrEnum):
    """Which tools are served: a catalogue's own, the generic ones, both, or what the catalogues call for."""

    AUTO = "auto"
    OWN = "own"
    GENERIC = "generic"
    ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class _PackageParts:
    """Tools, resources, media and prompts of one package, over its open catalogues."""

    tools: Sequence[ToolSpec]
    resources: Sequence[ResourceSpec]
    media: Sequence[MediaSpec]
    prompts: Sequence[PromptSpec]
    replaces_generic_tools: bool


def _package_parts(package: CataloguePackage, catalogues: Sequence[OpenCatalogue]) -> _PackageParts:
    names = [catalogue.name for catalogue in catalogues]
    return _PackageParts(
        tools=[tool.over(names) for tool in package.tools(catalogues)],
        resources=package.resources(catalogues),
        media=package.media(catalogues),
        prompts=package.prompts(catalogues),
        replaces_generic_tools=package.replaces_generic_tools,
    )


class App:
    """A library, opened with its settings and the catalogue packages it may use."""

    def __init__(self, settings: Settings, *, packages: PackageRegistry = PACKAGES) -> None:
        self.settings = settings
        self.packages = packages
        self._local: dict[str, Embedder] = {}
        self._watching: dict[str, WatchedEmbedder] = {}
        self._open: dict[str, OpenCatalogue] = {}
        self._unserved: dict[str, str] = {}
        self._files: dict[str, Hashable] = {}
        """Catalogue → the file of its records, as it was opened."""
        self._unread: set[str] = set()
        """The catalogues that could not be read when their tools were built."""
        self._toolboxes: ToolboxesByVisibility | None = None
        self.conditions = CatalogueConditions()
        """Which catalogues fail or are damaged; failing calls, opening and background checks report there."""

    @cached_property
    def embedder(self) -> Embedder:
        """The embedder that the settings name."""
        settings = self.settings
        return build_embedder(settings.embedding, settings.models_folder, offline=settings.offline)

    @cached_property
    def query_embedder(self) -> WatchedEmbedder:
        """The embedder of queries that the settings name; counts its failures."""
        return WatchedEmbedder(self.embedder)

    def embedder_of(self, model: ModelId | None) -> WatchedEmbedder:
        """Return the embedder of a model, shared by all catalogues; the one that the settings name where none is."""
        default = self.query_embedder
        if model is None or model == default.model or not self._find_local(model.name):
            return default
        return self._watched(model.name)

    def embedder_named(self, name: str) -> Embedder:
        """Return the embedder of this name; one that fails with the reason where it is not installed."""
        if name == self.embedder.model.name:
            return self.embedder
        return self._find_local(name) or MissingEmbedder(name)

    def _find_local(self, name: str) -> Embedder | None:
        """Return a local model by its name, made once; None for one that is not known, or damaged."""
        if name not in self._local:
            try:
                found = find_local(self.settings.models_folder, name)
            except ModelError as error:
                logger.warning("%s", error.message)
                return None
            if found is None:
                return None
            self._local[name] = found
        return self._local[name]

    def _watched(self, name: str) -> WatchedEmbedder:
        return self._watching.setdefault(name, WatchedEmbedder(self._local[name]))

    def list_query_embedders(self) -> list[WatchedEmbedder]:
        """Return the embedders that the open catalogues use, or else the one that the settings name."""
        used = dict.fromkeys(map(_find_model, self.list_open()))
        embedders = {self.embedder_of(model).model: self.embedder_of(model) for model in used if model is not None}
        return list(embedders.values()) or [self.query_embedder]

    @cached_property
    def reranker(self) -> Reranker | None:
        """The reranker, where one is configured."""
        url = self.settings.rerank.url
        if not url or (self.settings.offline and not is_on_this_machine(url)):
            return None
        return cast(Reranker, importlib.import_module(RERANK_MODULE).RemoteReranker(self.settings.rerank))

    @cached_property
    def library(self) -> Library:
        """The installed catalogues."""
        return Library(self.settings.catalogues_folder)

    def open_catalogue(self, name: str) -> OpenCatalogue:
        """Return a catalogue of the library, opened once."""
        if name not in self._open:
            installed = self.library.get_installed(name)
            spec = self.spec_of(installed).spec
            on_embedded_shelf(self.library, installed, spec)
            self._files[name] = _file_of(installed.folder)
            shelf = EmbeddedShelf.open(installed.folder, spec)
            self._open[name] = self._opened(installed, WatchedShelf(shelf, name, self.conditions))
        return self._open[name]

    def spec_of(self, installed: Installed) -> LoadedSpec:
        """Return the spec that a catalogue follows: its own, or that of its package."""
        own = installed.own_declaration
        return load_spec(own) if own else self.package_of(installed).loaded

    def package_of(self, installed: Installed) -> CataloguePackage:
        """Return the package that a catalogue follows; refuse one that is not installed."""
        if installed.spec_name in self.packages.names:
            return self.packages.get(installed.spec_name)
        raise StorageError(
            f"'{installed.name}' needs the catalogue package '{installed.spec_name}', which is not installed; "
            f"install it with pip. If the spec was your own, {installed.folder / DECLARATION_FILE} is missing; copy it "
            f"from {installed.folder / PACK_FOLDER}, or give it again: pinakes add FILE --spec {DECLARATION_FILE} "
            f"--name {installed.name}"
        )

    def create_shelf(self, place: Installed, spec: CatalogueSpec, *, model: ModelId | None) -> BuildableShelf:
        """Open the shelf of a catalogue for writing, and create it if it is new."""
        return EmbeddedShelf.create(place.folder, spec, model=model)

    def close(self) -> None:
        """Close every catalogue, and the connections of the embedder and the reranker if they were used."""
        for catalogue in self._open.values():
            catalogue.shelf.close()
        self._open.clear()
        for part in ("embedder", "reranker"):
            if (used := self.__dict__.get(part)) is not None:
                used.close()

    def build_gate(
        self,
        names: Sequence[str] = (),
        *,
        tools: ToolChoice = ToolChoice.AUTO,
        limiter: Limiter | None = None,
        observers: Sequence[Observer] = (),
        server_tools: ServerTools = NO_SERVER_TOOLS,
    ) -> Gate:
        """Return the gate over these catalogues, or over every installed one.

        The limiter bounds calls, and observers are notified of each. Server tools administer the server: they are in
        every caller's toolbox, whatever catalogues the caller may see.
        """
        served = {one.name: one for one in self._openable(names)}
        followed = FollowedLibrary(
            library=self.library,
            served=served,
            unserved=self._unserved,
            only=names,
            reopen=self._reopen,
            is_other=self._is_other,
            forget=self._forget,
        )

        def make(visible: Sequence[str]) -> Toolbox:
            choice = ToolChoice.ALL if tools is ToolChoice.AUTO and len(served) > 1 else tools
            return self._toolbox([served[name] for name in visible if name in served], choice, server_tools)

        def find_names() -> Sequence[str] | None:
            return sorted(served) if followed.look() or self._can_read_more() else None

        toolboxes = ToolboxesByVisibility(list(served), make, find_names=find_names)
        self._toolboxes = toolboxes
        toolboxes.of(SEES_EVERYTHING)  # the most used one, built before the first call
        size = self.settings.server.cache_size
        return Gate(
            toolboxes,
            limiter=limiter,
            observers=observers,
            cache=AnswerCache(size) if size else None,
            failures=self._count_failures,
        )

    def _toolbox(self, wanted: Sequence[Installed], choice: ToolChoice, server_tools: ServerTools) -> Toolbox:
        """Return the tools and resources over these catalogues, and the server tools."""
        opened = [self.open_catalogue(one.name) for one in wanted]
        self._unread |= {one.name for one in opened if not _is_readable(one)}
        if not opened:
            return Toolbox(server_tools.tools, server_tools.resources)
        parts = [part for package, some in self._by_package(wanted) for part in self._find_parts(package, some)]
        own = [tool for part in parts for tool in part.tools]
        resources = [resource for part in parts for resource in part.resources]
        is_covered = len(opened) == 1 and any(part.replaces_generic_tools for part in parts)
        with_generic = choice in (ToolChoice.GENERIC, ToolChoice.ALL) or (choice is ToolChoice.AUTO and not is_covered)
        shown = [] if choice is ToolChoice.GENERIC else own
        tools = [*shown, *(generic_tools(opened) if with_generic else ()), *edit_tools(opened)]
        if len(opened) > 1:
            tools = [replace(tool, is_brief=True) for tool in tools]
        return Toolbox(
            [*tools, *server_tools.tools],
            [*resources, *generic_resources(opened), *edit_resources(opened), *server_tools.resources],
            catalogues=opened,
            media=[media for part in parts for media in part.media],
            prompts=[*(one for part in parts for one in part.prompts), *generic_prompts(opened)],
        )

    def _find_parts(self, package: CataloguePackage, catalogues: Sequence[OpenCatalogue]) -> list[_PackageParts]:
        """Return the parts of a package; none where its code fails: its catalogues then have the generic tools."""
        try:
            return [_package_parts(package, catalogues)]
        except StorageError as error:
            logger.warning("the tools of '%s' are without a catalogue that cannot be read: %s", package.name, error)
            readable = [one for one in catalogues if _is_readable(one)]
            return [_package_parts(package, readable)] if readable else []
        except Exception as error:  # foreign code: whatever it raises, the other packages must go on
            logger.exception("catalogue package '%s' failed; its own tools are not served", package.name)
            message = f"the tools of the package '{package.name}' failed: {type(error).__name__}: {error}"
            problem = Problem(part="package", message=message, advice="update or uninstall the package")
            for catalogue in catalogues:
                self.note_problems(catalogue.name, [problem])
            return []

    def list_tools(self, principal: Principal) -> list[ToolSpec]:
        """Return the tools over the catalogues that a caller sees, as the last gate serves them; none before one."""
        return list(self._toolboxes.of(principal.visibility).tools.values()) if self._toolboxes else []

    def list_open(self) -> list[OpenCatalogue]:
        """Return the catalogues that are open."""
        return list(self._open.values())

    def problems(self) -> dict[str, str]:
        """Return what is degraded and why, by part: the embedder, and each catalogue that has a problem.

        Catalogues are not checked here, which can take long: those are named that cannot be opened or read now, and
        those in which the last check found something.
        """
        failing = [one.problem for one in (self.query_embedder, *self._watching.values()) if one.problem is not None]
        found = {"embedding": "; ".join(failing)} if failing else {}
        problems = {**self._unserved}
        for catalogue in self.list_open():
            if (problem := catalogue.find_problem()) is not None:
                problems[catalogue.name] = problem
        for condition in self.conditions.list_conditions():
            problems.setdefault(condition.catalogue, condition.reason)
        return found | {f"catalogue {name}": problem for name, problem in problems.items()}

    def note_problems(self, name: str, problems: Sequence[Problem]) -> None:
        """Note what the last check of a catalogue found; it is whole where that is nothing."""
        if problems:
            self.conditions.report(name, "; ".join(map(str, problems)))
        else:
            self.conditions.clear(name)

    def _count_failures(self) -> int:
        """Count how often the embedder or the reranker failed during a call."""
        embedders = (self.query_embedder, *self._watching.values())
        return sum(one.failures for one in embedders) + (self.reranker.failures if self.reranker else 0)

    def _openable(self, names: Sequence[str]) -> list[Installed]:
        """Return the named catalogues, or all, that can be opened; log the others and go on."""
        installed = [self.library.get_installed(name) for name in names] or self.library.list_installed()
        problems: dict[str, str | None] = {} if names else {**self.library.check()}
        if not installed and not problems:
            raise NotFoundError("the library is empty; run: pinakes init")
        problems |= {one.name: self.find_problem(one.name) for one in installed}
        self._unserved = {name: problem for name, problem in problems.items() if problem is not None}
        for name, problem in self._unserved.items():
            logger.warning("catalogue '%s' is not served: %s", name, problem)
        able = [one for one in installed if problems[one.name] is None]
        if not able:
            raise StorageError(f"no catalogue can be opened; {next(iter(problems.values()))}")
        return able

    def find_problem(self, name: str) -> str | None:
        """Return why a catalogue cannot be opened; None where it can."""
        try:
            self.open_catalogue(name)
        except ExpectedError as error:
            return error.message
        return None

    def _reopen(self, installed: Installed) -> str | None:
        """Open a catalogue that is new or was replaced, and return why that fails; BusyError keeps the former one."""
        former = self._open.pop(installed.name, None)
        problem = self.find_problem(installed.name)
        if former is not None and problem is None and not _is_readable(self._open[installed.name]):
            self._open[installed.name] = former
            raise BusyError(f"catalogue '{installed.name}' is being built anew")
        return problem

    def _forget(self, name: str) -> None:
        self._open.pop(name, None)

    def _is_other(self, installed: Installed) -> bool:
        """Tell whether a catalogue that is open follows another spec now, or its records are in another file."""
        known = self._open.get(installed.name)
        if known is None:
            return True
        try:
            is_same_spec = self.spec_of(installed).spec.digest == known.spec.digest
        except ExpectedError:
            return False  # it goes on as it is
        return not is_same_spec or self._files.get(installed.name) != _file_of(installed.folder)

    def _can_read_more(self) -> bool:
        """Tell whether a catalogue can be read now that could not be when its tools were built."""
        able = {one.name for one in self.list_open() if one.name in self._unread and _is_readable(one)}
        self._unread -= able
        return bool(able)

    def _by_package(self, wanted: Sequence[Installed]) -> list[tuple[CataloguePackage, list[OpenCatalogue]]]:
        """Return the packages of these catalogues, each with the open catalogues that follow it."""
        by_name: dict[str, list[OpenCatalogue]] = {}
        for one in wanted:
            if one.own_declaration is None:
                by_name.setdefault(one.spec_name, []).append(self.open_catalogue(one.name))
        return [(self.packages.get(name), some) for name, some in by_name.items()]

    def _opened(self, installed: Installed, shelf: Shelf) -> OpenCatalogue:
        embedder = CatalogueEmbedder(shelf, self.embedder_of)
        calibration = CalibrationFile(installed.folder / CALIBRATION_FILE)
        calibration.find(None)  # says that it is damaged, where it is
        tuned = TunedWeightsFile(installed.folder / TUNED_FILE, shelf.spec.search)
        return OpenCatalogue(
            name=installed.name,
            spec=shelf.spec,
            shelf=shelf,
            searcher=Searcher(
                spec=shelf.spec,
                embedder=embedder,
                reranker=self.reranker,
                find_calibration=calibration.find,
                find_tuned=tuned.find,
            ),
            recommender=Recommender(spec=shelf.spec, embedder=embedder, this_year=_this_year, catalogue=installed.name),
            folder=installed.folder,
            list_sources=lambda: self.library.get_installed(installed.name).sources,
            list_unserved=lambda: self._list_unserved(installed.spec_name),
        )

    def _list_unserved(self, package: str) -> list[str]:
        """Return the catalogues of a package that could not be opened."""
        installed = {one.name: one for one in self.library.list_installed() if one.own_declaration is None}
        return [name for name in self._unserved if name in installed and installed[name].spec_name == package]


def _file_of(folder: Path) -> Hashable:
    """Return the identity of the file with a catalogue's records; None where there is none."""
    try:
        known = (folder / STORE_FILE).stat()
    except OSError:
        return None
    return known.st_dev, known.st_ino


def _is_readable(catalogue: OpenCatalogue) -> bool:
    """Tell whether a catalogue can be read now, without waiting long for whoever writes it."""
    try:
        catalogue.shelf.reader()
    except StorageError:
        return False
    return True


def _this_year() -> int:
    return datetime.now(UTC).year


def _find_model(catalogue: OpenCatalogue) -> ModelId | None:
    """Return the model of a catalogue's vectors; None where it has none, or cannot be read."""
    try:
        return catalogue.shelf.reader().model
    except StorageError:
        return None
