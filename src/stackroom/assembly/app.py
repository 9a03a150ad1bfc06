"""The composition root of everything but transports: settings → library → open catalogues →
gate.
"""

import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from stackroom.assembly.serving import OpenedCatalogues, ServedLibrary, ToolboxBuilder, ToolChoice
from stackroom.assembly.workshop import Workshop
from stackroom.background.background import Background
from stackroom.embed.adapters import WatchedEmbedder, is_on_this_machine
from stackroom.errors import ExpectedError, StorageError
from stackroom.gate.answer import AnswerCache
from stackroom.gate.auditing import Observer
from stackroom.gate.gate import Gate, Limiter
from stackroom.generic.tools import generic_tools
from stackroom.packages import PACKAGES, PackageRegistry, load_target
from stackroom.packs.status import ReleaseStatus
from stackroom.search.searcher import Reranker
from stackroom.settings import Settings
from stackroom.shelf.conditions import CatalogueConditions
from stackroom.shelf.port import Problem
from stackroom.sources.collections import find_place
from stackroom.text.safe import hider_of
from stackroom.tools.catalogue import OpenCatalogue
from stackroom.tools.operation import NO_OFFICE, Office
from stackroom.tools.own_storage import OwnStorage
from stackroom.tools.toolbox import NO_SERVER_TOOLS, ServerTools, Toolbox

OPEN_LOCAL = "stackroom.control.database.engine:open_local"
RERANKER = "stackroom.search.remote_reranker:RemoteReranker"


class OwnRecords:
    """The storage of one library, opened when something is first asked of it. Safe to use from
    several threads.
    """

    def __init__(self, home: Path) -> None:
        self._home = home
        self._storage: OwnStorage | None = None
        self._local: Any | None = None
        self._guard = threading.Lock()

    def keep_in(self, storage: OwnStorage) -> None:
        """Use the storage of a server with accounts."""
        self._storage = storage

    def open(self) -> OwnStorage:
        """Return the storage; that of the local user is created if it is missing."""
        with self._guard:
            if self._storage is None:
                try:
                    # imported here: most servers never need it
                    self._local = load_target(OPEN_LOCAL)(self._home)
                except StorageError as error:
                    reason = (
                        "nothing of the local user can be read or kept: the file in the library's"
                        " folder"
                    )
                    raise StorageError(
                        f"{reason} cannot be opened; is the library read-only?"
                    ) from error
                self._storage = OwnStorage(database=self._local)
            return self._storage

    def close(self) -> None:
        """Close the local user's database if it was opened."""
        with self._guard:
            if self._local is not None:
                self._local.close()
                self._local = self._storage = None


def gate_over(*catalogues: OpenCatalogue) -> Gate:
    """Return the gate to the generic tools over these catalogues, for a program of this machine."""
    return Gate(Toolbox(generic_tools(catalogues), catalogues=catalogues))


class App(Workshop):
    """A library whose catalogues can be opened, and served through a gate."""

    def __init__(self, settings: Settings, *, packages: PackageRegistry = PACKAGES) -> None:
        super().__init__(settings, packages=packages)
        self._serving: ServedLibrary | None = None
        self.conditions = CatalogueConditions()
        """Which catalogues fail or are damaged; failing calls, opening and background checks report
        there.
        """
        self.background = Background()
        """The tasks beside the calls; started by whoever serves."""
        self.own_records = OwnRecords(settings.home)

    def list_query_embedders(self) -> list[WatchedEmbedder]:
        """Return the embedders that the open catalogues use, or else the one that the settings
        name.
        """
        return self._embedders_of(self.list_open()) or [self.embedder]

    @cached_property
    def hide_places(self) -> Callable[[str], str]:
        """Takes the paths of this library and machine out of a message."""
        home = self.settings.home
        return hider_of(
            [home, home.resolve(), self.settings.catalogues_folder, self.settings.models_folder]
        )

    @cached_property
    def reranker(self) -> Reranker | None:
        """The reranker, where one is configured."""
        if not (url := self.settings.rerank.url) or (
            self.settings.offline and not is_on_this_machine(url)
        ):
            return None
        return cast(Reranker, load_target(RERANKER)(self.settings.rerank))

    @cached_property
    def release_status(self) -> ReleaseStatus:
        """The last checks of the places that catalogues were installed from."""
        return ReleaseStatus(self.library)

    @cached_property
    def _catalogues(self) -> OpenedCatalogues:
        return OpenedCatalogues(
            self,
            self.conditions,
            find_reranker=lambda: self.reranker,
            open_storage=self.own_records.open,
        )

    def open_catalogue(self, name: str) -> OpenCatalogue:
        """Return a catalogue of the library, opened once."""
        return self._catalogues.open(name)

    def reopen_catalogue(self, name: str) -> None:
        """Open a catalogue anew after it was built or updated here."""
        if (problem := self._catalogues.reopen(self.library.get_installed(name))) is not None:
            raise StorageError(problem)

    def close(self) -> None:
        """End the background; close every catalogue, and the embedder and the reranker if they were
        used.
        """
        self.background.stop()
        self._catalogues.close()
        self.own_records.close()
        super().close()
        if (reranker := self.__dict__.get("reranker")) is not None:
            reranker.close()

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
            self._catalogues,
            ToolboxBuilder(self.packages, server_tools, self.note_problems),
            names,
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

    def list_open(self) -> list[OpenCatalogue]:
        """Return the catalogues that are open, for whatever purpose."""
        return self._catalogues.list_open()

    def list_served(self) -> list[OpenCatalogue]:
        """Return the catalogues that the last gate serves; none before one."""
        return self._serving.list_served() if self._serving else []

    def can_answer(self) -> bool:
        """Tell whether at least one of the catalogues that are served can be read."""
        return self._serving is not None and self._serving.can_answer()

    def list_used_embedders(self) -> list[WatchedEmbedder]:
        """Return the embedders of the vectors that are served, as far as these are known without
        waiting.
        """
        return self._embedders_of(self.list_served())

    def _embedders_of(self, catalogues: Sequence[OpenCatalogue]) -> list[WatchedEmbedder]:
        readers = [reader for one in catalogues if (reader := one.shelf.find_reader()) is not None]
        models = dict.fromkeys(reader.model for reader in readers if reader.model is not None)
        return list({one.model: one for one in map(self.embedder_of, models)}.values())

    def catalogue_problems(self) -> dict[str, str]:
        """Return the catalogues that are served and not as they should be, each with the reason as
        it is known.
        """
        problems = self._serving.problems() if self._serving else {}
        return {f"catalogue {name}": problem for name, problem in problems.items()}

    def note_problems(self, name: str, problems: Sequence[Problem]) -> None:
        """Note what the last check of a catalogue found; it is whole where that is nothing."""
        if problems:
            self.conditions.report(name, "; ".join(map(str, problems)))
        else:
            self.conditions.clear(name)

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
