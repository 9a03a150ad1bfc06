"""The composition root of everything but transports: settings → library → open catalogues →
gate.
"""

import logging
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import NamedTuple

from stackroom.assembly.serving import (
    OpenedCatalogues,
    Served,
    ServedLibrary,
    ToolChoice,
    is_readable,
)
from stackroom.background.background import Background
from stackroom.embed.adapters import WatchedEmbedder
from stackroom.errors import ExpectedError, StorageError
from stackroom.gate.answer import AnswerCache
from stackroom.gate.auditing import Observer
from stackroom.gate.gate import Gate, Limiter
from stackroom.generic.tools import generic_tools
from stackroom.packages import PACKAGES, CataloguePackage, PackageRegistry
from stackroom.packs.status import ReleaseStatus
from stackroom.settings import Settings
from stackroom.shelf.port import Problem
from stackroom.sources.collections import find_place
from stackroom.text.safe import hider_of
from stackroom.tools.catalogue import OpenCatalogue
from stackroom.tools.edits import edit_resources, edit_tools
from stackroom.tools.faces.mcp import DeclaredTool, serve
from stackroom.tools.media import MediaSpec, media_of, picture_media
from stackroom.tools.operation import NO_OFFICE, Office
from stackroom.tools.own_storage import OwnKinds
from stackroom.tools.resources import ResourceSpec, generic_resources
from stackroom.tools.toolbox import NO_SERVER_TOOLS, ServerTools, Toolbox

logger = logging.getLogger(__name__)


def gate_over(*catalogues: OpenCatalogue) -> Gate:
    """Return the gate to the generic tools over these catalogues, for a program of this machine."""
    return Gate(Toolbox(generic_tools(catalogues), catalogues=catalogues))


class _PackageParts(NamedTuple):
    """Tools, resources, media and the kinds of users of one package, over its open catalogues."""

    package: CataloguePackage
    tools: Sequence[DeclaredTool]
    resources: Sequence[ResourceSpec]
    media: Sequence[MediaSpec]
    own_kinds: Sequence[OwnKinds]


def _package_parts(package: CataloguePackage, catalogues: Sequence[OpenCatalogue]) -> _PackageParts:
    tools = serve(package.tools(catalogues), catalogues, of_package=True)
    resources, name_file = package.resources(catalogues), package.media
    media = [media_of(one, name_file) for one in catalogues] if name_file else []
    return _PackageParts(package, tools, resources, media, package.own_kinds(catalogues))


class App(OpenedCatalogues):
    """A library whose catalogues can be opened, and served through a gate."""

    def __init__(self, settings: Settings, *, packages: PackageRegistry = PACKAGES) -> None:
        super().__init__(settings, packages=packages)
        self._serving: ServedLibrary | None = None
        self.background = Background()
        """The tasks beside the calls; started by whoever serves."""

    @cached_property
    def hide_places(self) -> Callable[[str], str]:
        """Takes the paths of this library and machine out of a message."""
        home = self.settings.home
        return hider_of(
            [home, home.resolve(), self.settings.catalogues_folder, self.settings.models_folder]
        )

    @cached_property
    def release_status(self) -> ReleaseStatus:
        """The last checks of the places that catalogues were installed from."""
        return ReleaseStatus(self.library)

    def reopen_catalogue(self, name: str) -> None:
        """Open a catalogue anew after it was built or updated here."""
        if (problem := self.reopen(self.library.get_installed(name))) is not None:
            raise StorageError(problem)

    def close(self) -> None:
        """End the background, and close everything that was opened."""
        self.background.stop()
        super().close()

    def build_gate(
        self,
        names: Sequence[str] = (),
        *,
        tools: ToolChoice = ToolChoice.AUTO,
        limiter: Limiter | None = None,
        observers: Sequence[Observer] = (),
        server_tools: ServerTools = NO_SERVER_TOOLS,
        office: Office = NO_OFFICE,
    ) -> Gate:
        """Return the gate over these catalogues, or every installed one; server tools are in each
        caller's toolbox.
        """
        serving = self._serving = ServedLibrary(
            self,
            names,
            build=partial(self._build_toolbox, server_tools=server_tools),
            choice=tools,
            may_be_empty=find_place(self.settings) is not None,
        )
        size = self.settings.server.cache_size
        return Gate(
            serving.toolboxes,
            limiter=limiter,
            observers=observers,
            cache=AnswerCache(size) if size else None,
            office=office,
            failures=self._count_failures,
            on_storage_error=serving.suspect,
            hide_places=self.hide_places,
        )

    def _build_toolbox(
        self,
        served: Sequence[Served],
        *,
        choice: ToolChoice,
        server_tools: ServerTools,
        behind: Toolbox | None = None,
    ) -> Toolbox:
        """Return the tools over these catalogues, and the server's; a call about one that only the
        toolbox behind has fails with its name.
        """
        opened = [one.opened for one in served]
        if not opened:
            return Toolbox(server_tools.tools, server_tools.resources, behind=behind)
        by_package: dict[str, list[OpenCatalogue]] = {}
        for one in served:
            # a catalogue that was just removed may seem to have no spec
            if one.package in self.packages.names:
                by_package.setdefault(one.package, []).append(one.opened)
        parts = [
            part
            for name, some in by_package.items()
            for part in self._find_parts(self.packages.get(name), some)
        ]
        own = [tool for part in parts for tool in part.tools]
        resources = [resource for part in parts for resource in part.resources]
        is_covered = len(opened) == 1 and any(part.package.replaces_generic_tools for part in parts)
        with_generic = choice in (ToolChoice.GENERIC, ToolChoice.ALL) or (
            choice is ToolChoice.AUTO and not is_covered
        )
        shown = [] if choice is ToolChoice.GENERIC else own
        media = [*picture_media(opened), *(media for part in parts for media in part.media)]
        generic = generic_tools(opened, is_listed=with_generic)
        tools = [
            *shown,
            *generic,
            *edit_tools(opened, [kinds for part in parts for kinds in part.own_kinds]),
        ]
        is_brief = len(opened) > 1
        return Toolbox(
            [*serve(tools, opened, is_brief=is_brief), *server_tools.tools],
            [
                *resources,
                *generic_resources(opened),
                *edit_resources(opened),
                *server_tools.resources,
            ],
            catalogues=opened,
            media=media,
            behind=behind,
        )

    def _find_parts(
        self, package: CataloguePackage, catalogues: Sequence[OpenCatalogue]
    ) -> list[_PackageParts]:
        """Return the parts of a package; none where its code fails: its catalogues then have the
        generic tools.
        """
        try:
            return [_package_parts(package, catalogues)]
        except StorageError as error:
            logger.warning(
                "the tools of '%s' are without a catalogue that cannot be read: %s",
                package.name,
                error,
            )
            readable = [one for one in catalogues if is_readable(one)]
            return [_package_parts(package, readable)] if readable else []
        # foreign code: whatever it raises, the other packages must go on
        except Exception as error:
            logger.exception(
                "catalogue package '%s' failed; its own tools are not served", package.name
            )
            message = (
                f"the tools of the package '{package.name}' failed: {type(error).__name__}: {error}"
            )
            problem = Problem(
                part="package", message=message, advice="update or uninstall the package"
            )
            for catalogue in catalogues:
                self.note_problems(catalogue.name, [problem])
            return []

    def list_served(self) -> list[OpenCatalogue]:
        """Return the catalogues that the last gate serves; none before one."""
        return self._serving.list_served() if self._serving else []

    def can_answer(self) -> bool:
        """Tell whether at least one of the catalogues that are served can be read."""
        return self._serving is not None and self._serving.can_answer()

    def list_embedders(self, catalogues: Sequence[OpenCatalogue]) -> list[WatchedEmbedder]:
        """Return the embedders of the vectors of some catalogues, as far as these are known without
        waiting.
        """
        readers = [reader for one in catalogues if (reader := one.shelf.find_reader()) is not None]
        models = dict.fromkeys(reader.model for reader in readers if reader.model is not None)
        return list({one.model: one for one in map(self.embedder_of, models)}.values())

    def catalogue_problems(self) -> dict[str, str]:
        """Return the catalogues that are served and not as they should be, each with the reason as
        it is known.
        """
        problems = self._serving.problems() if self._serving else {}
        return {f"catalogue {name}": problem for name, problem in problems.items()}

    def _count_failures(self) -> int:
        """Count how often the embedder or the reranker failed during a call."""
        failures = self.reranker.failures if self.reranker else 0
        for embedder in (self.embedder, *self._local.values()):
            failures += embedder.failures if embedder else 0
        return failures

    def find_problem(self, name: str) -> str | None:
        """Return why a catalogue cannot be opened; None where it can."""
        try:
            self.open_catalogue(name)
        except ExpectedError as error:
            return error.message
        return None
