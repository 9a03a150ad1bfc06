"""The open catalogues of a library: each is opened once, and let go of or opened anew when its files change."""

import os
from collections.abc import Callable, Hashable
from contextlib import suppress
from datetime import UTC, datetime

from stackroom.assembly.machine_limits import require_files
from stackroom.assembly.toolboxes import Served
from stackroom.assembly.workshop import CatalogueEmbedder, Workshop
from stackroom.catalogue.spec import CatalogueSpec
from stackroom.errors import BusyError, ExpectedError, StorageError
from stackroom.grading.tuned_file import TUNED_FILE, watch_tuned
from stackroom.library import CALIBRATION_FILE, OWN_WORDS, PLACE_FILE, Installed
from stackroom.maps.following import CatalogueMap
from stackroom.maps.map_file import MAP_FILE
from stackroom.recommend.recommender import Recommender
from stackroom.search.evidence import watch_calibration
from stackroom.search.searcher import Reranker, Searcher
from stackroom.shelf.conditions import CatalogueConditions
from stackroom.shelf.embedded.shelf import EmbeddedShelf
from stackroom.shelf.port import Shelf
from stackroom.shelf.store_place import STORE_FILE
from stackroom.shelf.watched import WatchedShelf
from stackroom.tools.catalogue import OpenCatalogue
from stackroom.tools.own_storage import OpenStorage, refuse_storage


class OpenedCatalogues:
    """The catalogues of a library that are open, with the embedder and the reranker that they share."""

    def __init__(
        self,
        workshop: Workshop,
        conditions: CatalogueConditions,
        *,
        find_reranker: Callable[[], Reranker | None],
        open_storage: OpenStorage = refuse_storage,
    ) -> None:
        self.library = workshop.library
        self._workshop = workshop
        self.conditions = conditions
        self.unserved: dict[str, str] = {}
        """Catalogue → why it cannot be served."""
        self._find_reranker = find_reranker
        self._open_storage = open_storage
        self._open: dict[str, Served] = {}
        self._files: dict[str, Hashable] = {}
        """Catalogue → the file of its records, as it was opened."""

    def open(self, name: str) -> OpenCatalogue:
        """Return a catalogue of the library, opened once; raise where it cannot be opened."""
        if name not in self._open:
            prepared = self._prepare(self.library.get_installed(name))
            prepared.shelf.open()
            self._open[name] = prepared
        return self._open[name].opened

    def serve(self, installed: Installed) -> OpenCatalogue:
        """Return a catalogue to be served; one whose files cannot be read fails in its calls until they can."""
        if installed.name not in self._open:
            prepared = self._prepare(installed)
            try:
                prepared.shelf.open()
            except StorageError as error:
                self.conditions.note_failure(installed.name, error.message)
            self._open[installed.name] = prepared
        return self._open[installed.name].opened

    def find(self, name: str) -> Served | None:
        """Return a catalogue that is open."""
        return self._open.get(name)

    def list_open(self) -> list[OpenCatalogue]:
        """Return the catalogues that are open."""
        return [served.opened for served in self._open.values()]

    def close(self) -> None:
        """Close every catalogue."""
        for catalogue in self.list_open():
            catalogue.shelf.close()
        self._open.clear()

    def reopen(self, installed: Installed) -> str | None:
        """Open a catalogue that is new or was replaced, and return why that fails; BusyError keeps the former one."""
        try:
            prepared = self._prepare(installed)
        except ExpectedError as error:
            return error.message
        try:
            prepared.shelf.open().reader()
        except BusyError:
            if installed.name in self._open:
                raise
        except StorageError as error:
            self.conditions.note_failure(installed.name, error.message)
        else:
            self.conditions.forget(installed.name)
        self._open[installed.name] = prepared
        return None

    def let_go(self, name: str) -> None:
        """Let go of the files of a catalogue, which are gone: reads fail until they are back."""
        served = self._open.get(name)
        if served is not None and served.shelf.is_open:
            served.shelf.let_go()
            self._note_missing(name)

    def forget(self, name: str) -> None:
        """Forget a catalogue that was removed."""
        self._open.pop(name, None)
        self.conditions.forget(name)

    def is_other(self, installed: Installed) -> bool:
        """Tell whether a catalogue that is open follows another spec now, or its records are in another file."""
        known = self._open.get(installed.name)
        if known is None:
            return True
        try:
            spec = self._workshop.spec_of(installed).spec
        except ExpectedError:
            return False  # it goes on as it is
        is_same = all(getattr(spec, name) == getattr(known.opened.spec, name) for name in ("digest", *OWN_WORDS))
        return not is_same or self._files.get(installed.name) != self.find_store(installed.name)

    def find_store(self, name: str) -> Hashable:
        """Return the identity of the file with a catalogue's records, or that names their database; None without."""
        for file in (PLACE_FILE, STORE_FILE):
            with suppress(OSError):
                known = os.stat(f"{self.library.folder}/{name}/{file}")  # of each catalogue, twice a second
                return file, known.st_dev, known.st_ino
        return None

    def _prepare(self, installed: Installed) -> Served:
        """Return a catalogue that is opened at its first read."""
        spec = self._workshop.spec_of(installed).spec
        shelf = WatchedShelf(
            spec,
            lambda: self._open_shelf(installed, spec),
            name=installed.name,
            conditions=self.conditions,
            is_there=lambda: self._files.get(installed.name) == self.find_store(installed.name),
        )
        package = None if installed.own_declaration else installed.spec_name
        return Served(self._catalogue(installed, shelf), shelf, package)

    def _open_shelf(self, installed: Installed, spec: CatalogueSpec) -> Shelf:
        self._require_folder(installed.name)
        require_files(installed.name)
        self._files[installed.name] = self.find_store(installed.name)
        return EmbeddedShelf.open(installed.folder, spec)

    def _require_folder(self, name: str) -> None:
        if not self.library.folder.is_dir():
            raise StorageError("the library's folder is missing; put it back, or mount its disk")
        if not (self.library.folder / name).is_dir():
            raise StorageError(f"the folder of catalogue '{name}' is missing in the library; put it back")

    def _note_missing(self, name: str) -> None:
        reason = f"{name}/{STORE_FILE} is missing; put it back from a back-up"
        try:
            self._require_folder(name)
        except StorageError as error:
            reason = error.message
        self.conditions.note_failure(name, reason, is_gone=True)

    def _catalogue(self, installed: Installed, shelf: WatchedShelf) -> OpenCatalogue:
        embedder = CatalogueEmbedder(shelf, self._workshop.embedder_of)
        tuned = watch_tuned(installed.folder / TUNED_FILE, shelf.spec.search)
        return OpenCatalogue(
            name=installed.name,
            spec=shelf.spec,
            shelf=shelf,
            searcher=Searcher(
                spec=shelf.spec,
                embedder=embedder,
                reranker=self._find_reranker(),
                calibration_of=watch_calibration(installed.folder / CALIBRATION_FILE),
                find_tuned=tuned.find,
            ),
            recommender=Recommender(
                spec=shelf.spec, embedder=embedder, this_year=lambda: datetime.now(UTC).year, catalogue=installed.name
            ),
            folder=installed.folder,
            list_sources=lambda: self._list_sources(installed),
            list_unserved=lambda: self._list_unserved(installed.spec_name),
            open_storage=self._open_storage,
            settings=self._workshop.settings,
            map=CatalogueMap(installed.folder / MAP_FILE),
        )

    def _list_sources(self, installed: Installed) -> tuple[str, ...]:
        """Return the sources of a catalogue; those that it had when it was opened where its marker is gone."""
        known = next((one for one in self.library.list_installed() if one.name == installed.name), installed)
        return known.sources

    def _list_unserved(self, package: str) -> list[str]:
        """Return the catalogues of a package that could not be opened."""
        installed = {one.name: one for one in self.library.list_installed() if one.own_declaration is None}
        return [name for name in self.unserved if name in installed and installed[name].spec_name == package]
