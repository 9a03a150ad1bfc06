"""The catalogues that one gate serves: those that the command line says, whatever else jobs have
opened.

The library is followed while a server runs. A catalogue whose folder is gone leaves the lists, and
stays a condition of the server for a while: its disk may have gone. Where the whole library is
gone, every catalogue fails until it is back.
"""

import logging
import os
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from enum import StrEnum
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple, cast

from stackroom.assembly.workshop import Workshop
from stackroom.background.machine_limits import allow_many_files, require_files
from stackroom.background.threads import BoundedCheck
from stackroom.catalogue.spec import CatalogueSpec
from stackroom.embed.adapters import is_on_this_machine
from stackroom.errors import BusyError, ExpectedError, NotFoundError, StorageError
from stackroom.grading.tuning import TUNED_FILE, watch_tuned
from stackroom.library import CALIBRATION_FILE, OWN_WORDS, PLACE_FILE, Installed
from stackroom.maps.making import CatalogueMap
from stackroom.maps.map_file import MAP_FILE
from stackroom.model.scope import SEES_EVERYTHING
from stackroom.packages import PACKAGES, PackageRegistry, load_target
from stackroom.recommend.recommender import Recommender
from stackroom.search.catalogue_embedder import CatalogueEmbedder
from stackroom.search.evidence import watch_calibration
from stackroom.search.searcher import Reranker, Searcher
from stackroom.settings import Settings
from stackroom.shelf.conditions import CatalogueConditions
from stackroom.shelf.opening import open_shelf
from stackroom.shelf.port import Problem, Shelf
from stackroom.shelf.store_place import STORE_FILE
from stackroom.shelf.watched import WatchedShelf
from stackroom.tools.catalogue import OpenCatalogue
from stackroom.tools.own_storage import OwnStorage
from stackroom.tools.toolbox import Toolbox, ToolboxesByVisibility

logger = logging.getLogger(__name__)

OPEN_LOCAL = "stackroom.control.database.engine:open_local"
RERANKER = "stackroom.search.remote_reranker:RemoteReranker"


class ToolChoice(StrEnum):
    """Which tools are served: a catalogue's own, the generic ones, both, or what the catalogues
    call for.
    """

    AUTO = "auto"
    OWN = "own"
    GENERIC = "generic"
    ALL = "all"


class Served(NamedTuple):
    """A catalogue that is open, its shelf, and the package that it follows; None where it has a
    spec of its own.
    """

    opened: OpenCatalogue
    shelf: WatchedShelf
    package: str | None


def is_open(catalogue: OpenCatalogue) -> bool:
    """Tell whether a catalogue is open, so that reading it costs little."""
    return not isinstance(catalogue.shelf, WatchedShelf) or catalogue.shelf.is_open


@contextmanager
def as_little_open(catalogue: OpenCatalogue) -> Iterator[None]:
    """Close a catalogue after the block, unless it had been read: the next read opens it, and
    hundreds take memory.
    """
    is_read = catalogue.shelf.find_reader() is not None
    yield
    if not is_read:
        catalogue.shelf.close()


def is_readable(catalogue: OpenCatalogue) -> bool:
    """Tell whether a catalogue can be read now, without waiting long for whoever writes it."""
    try:
        catalogue.shelf.reader()
    except StorageError:
        return False
    return True


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


class OpenedCatalogues(Workshop):
    """A library whose catalogues are opened, with the embedders and reranker that they share."""

    def __init__(self, settings: Settings, *, packages: PackageRegistry = PACKAGES) -> None:
        super().__init__(settings, packages=packages)
        self.conditions = CatalogueConditions()
        """Which catalogues fail or are damaged; failing calls, opening and background checks report
        there.
        """
        self.own_records = OwnRecords(settings.home)
        self.unserved: dict[str, str] = {}
        """Catalogue → why it cannot be served."""
        self._open: dict[str, Served] = {}
        self._files: dict[str, Hashable] = {}
        """Catalogue → the file of its records, as it was opened."""

    @cached_property
    def reranker(self) -> Reranker | None:
        """The reranker, where one is configured."""
        if not (url := self.settings.rerank.url) or (
            self.settings.offline and not is_on_this_machine(url)
        ):
            return None
        return cast(Reranker, load_target(RERANKER)(self.settings.rerank))

    def open_catalogue(self, name: str) -> OpenCatalogue:
        """Return a catalogue of the library, opened once; raise where it cannot be opened."""
        if name not in self._open:
            prepared = self._prepare(self.library.get_installed(name))
            prepared.shelf.open()
            self._open[name] = prepared
        return self._open[name].opened

    def serve(self, installed: Installed) -> OpenCatalogue:
        """Return a catalogue to be served; one whose files cannot be read fails in its calls until
        they can.
        """
        if installed.name not in self._open:
            prepared = self._prepare(installed)
            try:
                prepared.shelf.open()
            except StorageError as error:
                self.conditions.note_failure(installed.name, error.message)
            self._open[installed.name] = prepared
        return self._open[installed.name].opened

    def find_open(self, name: str) -> Served | None:
        """Return a catalogue that is open."""
        return self._open.get(name)

    def list_open(self) -> list[OpenCatalogue]:
        """Return the catalogues that are open, for whatever purpose."""
        return [served.opened for served in self._open.values()]

    def close(self) -> None:
        """Close every catalogue, and the embedder and the reranker if they were used."""
        for catalogue in self.list_open():
            catalogue.shelf.close()
        self._open.clear()
        self.own_records.close()
        super().close()
        if (reranker := self.__dict__.get("reranker")) is not None:
            reranker.close()

    def reopen(self, installed: Installed) -> str | None:
        """Open a catalogue that is new or was replaced, and return why that fails; BusyError keeps
        the former one.
        """
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
        if (served := self._open.get(name)) is not None and served.shelf.is_open:
            served.shelf.let_go()
            missing = (
                self._find_missing_folder(name)
                or f"{name}/{STORE_FILE} is missing; put it back from a back-up"
            )
            self.conditions.note_failure(name, missing, is_gone=True)

    def forget(self, name: str) -> None:
        """Forget a catalogue that was removed."""
        self._open.pop(name, None)
        self.conditions.forget(name)

    def note_problems(self, name: str, problems: Sequence[Problem]) -> None:
        """Note what the last check of a catalogue found; it is whole where that is nothing."""
        if problems:
            self.conditions.report(name, "; ".join(map(str, problems)))
        else:
            self.conditions.clear(name)

    def is_other(self, installed: Installed) -> bool:
        """Tell whether a catalogue that is open follows another spec now, or its records are in
        another file.
        """
        if (known := self._open.get(installed.name)) is None:
            return True
        try:
            spec = self.spec_of(installed).spec
        except ExpectedError:
            return False  # it goes on as it is
        is_same = all(
            getattr(spec, name) == getattr(known.opened.spec, name)
            for name in ("digest", *OWN_WORDS)
        )
        return not is_same or self._files.get(installed.name) != self.find_store(installed.name)

    def find_store(self, name: str) -> Hashable:
        """Return the identity of the file with a catalogue's records, or that names their database;
        None without.
        """
        for file in (PLACE_FILE, STORE_FILE):
            with suppress(OSError):
                # of each catalogue, twice a second
                known = os.stat(f"{self.library.folder}/{name}/{file}")
                return file, known.st_dev, known.st_ino
        return None

    def _prepare(self, installed: Installed) -> Served:
        """Return a catalogue that is opened at its first read."""
        spec = self.spec_of(installed).spec
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
        if (missing := self._find_missing_folder(installed.name)) is not None:
            raise StorageError(missing)
        require_files(installed.name)
        self._files[installed.name] = self.find_store(installed.name)
        return open_shelf(installed.folder, spec)

    def _find_missing_folder(self, name: str) -> str | None:
        if not self.library.folder.is_dir():
            return "the library's folder is missing; put it back, or mount its disk"
        if not (self.library.folder / name).is_dir():
            return f"the folder of catalogue '{name}' is missing in the library; put it back"
        return None

    def _catalogue(self, installed: Installed, shelf: WatchedShelf) -> OpenCatalogue:
        embedder = CatalogueEmbedder(shelf, self.embedder_of)
        tuned = watch_tuned(installed.folder / TUNED_FILE, shelf.spec.search)
        return OpenCatalogue(
            name=installed.name,
            spec=shelf.spec,
            shelf=shelf,
            searcher=Searcher(
                spec=shelf.spec,
                embedder=embedder,
                reranker=self.reranker,
                calibration_of=watch_calibration(installed.folder / CALIBRATION_FILE),
                find_tuned=tuned.find,
            ),
            recommender=Recommender(spec=shelf.spec, embedder=embedder, catalogue=installed.name),
            folder=installed.folder,
            list_sources=lambda: (self.find_installed(installed.name) or installed).sources,
            list_unserved=lambda: self._list_unserved(installed.spec_name),
            open_storage=self.own_records.open,
            settings=self.settings,
            map=CatalogueMap(installed.folder / MAP_FILE),
        )

    def find_installed(self, name: str) -> Installed | None:
        """Return a catalogue whose marker is whole."""
        return next((one for one in self.library.list_installed() if one.name == name), None)

    def _list_unserved(self, package: str) -> list[str]:
        """Return the catalogues of a package that could not be opened."""
        installed = {
            one.name: one for one in self.library.list_installed() if one.own_declaration is None
        }
        return [
            name
            for name in self.unserved
            if name in installed and installed[name].spec_name == package
        ]


# a catalogue that could not be opened is tried again after so many looks at the library
LOOKS_BETWEEN_TRIES = 10
GONE_S = 600.0  # a catalogue whose folder is gone for so long is taken for removed
# the most catalogues that stay open from the start; more are opened by the first call that reads
# them
KEPT_OPEN = 50
PROBE_WAIT_S = 2.0
PROBED_S = 15.0  # how long a read of one record of each catalogue counts for its present state


class ServedLibrary:
    """The named catalogues, or all that are installed, kept up with the library, with the toolboxes
    over them.
    """

    def __init__(
        self,
        catalogues: OpenedCatalogues,
        names: Sequence[str],
        *,
        build: Callable[..., Toolbox],
        choice: ToolChoice,
        may_be_empty: bool = False,
    ) -> None:
        self._catalogues = catalogues
        self._build = build
        self._choice = choice
        self._may_be_empty = may_be_empty
        """Whether a library without any catalogue is served: some are to come."""
        allow_many_files()
        self._only = names
        """The catalogues to serve; none means all."""
        self._served = {one.name: one for one in self._list_servable(names)}
        self._absent: dict[str, float] = {}
        """Catalogue whose folder is gone → since when."""
        self._stamps = self._read_stamps()
        self._looks = 0
        self._probe = BoundedCheck(
            self._probe_all, name="library", fresh_s=PROBED_S, wait_s=PROBE_WAIT_S
        )
        self._probed = ""
        """The catalogue that is read by the probe that runs."""
        self._unread: set[str] = set()
        """The catalogues that could not be read when their tools were built."""
        self.toolboxes = ToolboxesByVisibility(
            self._known_names(), self._make, find_names=self._find_names
        )
        self.toolboxes.of(SEES_EVERYTHING)  # the most used one, built before the first call

    def list_served(self) -> list[OpenCatalogue]:
        """Return the catalogues that are served, also those that fail or whose folder is gone at
        present.
        """
        return [served.opened for served in self._find(self._names())]

    def problems(self) -> dict[str, str]:
        """Return the catalogues that are not as they should be, each with the reason; one record of
        each is read.
        """
        if self._catalogues.conditions.list_due():
            self._probe.forget()
        stuck = self._probe.find_problem()
        found = dict(self._catalogues.unserved)
        if stuck is not None and self._probed:
            found[self._probed] = f"{stuck} with one of its records"
        known = self._names()
        for condition in self._catalogues.conditions.list_conditions():
            if condition.catalogue in known:
                found.setdefault(condition.catalogue, condition.reason)
        return found

    def suspect(self) -> None:
        """Read a record of each catalogue when the next problems are asked for: storage failed in a
        call.
        """
        self._probe.forget()

    def can_answer(self) -> bool:
        """Tell whether at least one catalogue can be read."""
        return any(name not in self._catalogues.conditions.failing for name in self._served)

    def _list_servable(self, names: Sequence[str]) -> list[Installed]:
        """Return the named catalogues, or all, whose spec can be read; log the others and go on."""
        library, unserved = self._catalogues.library, self._catalogues.unserved
        unfinished = library.describe_unfinished()
        unserved.clear()
        unserved.update(
            {name: unfinished[name] for name in names if name in unfinished}
            if names
            else library.check()
        )
        able = []
        for one in list(self._iter_named(names)) if names else library.list_installed():
            try:
                self._catalogues.serve(one)
                able.append(one)
            except ExpectedError as error:
                unserved[one.name] = error.message
        for name, problem in unserved.items():
            logger.warning("catalogue '%s' is not served: %s", name, problem)
        if not able and not self._may_be_empty:
            if not unserved:
                raise NotFoundError("the library is empty; run: stackroom init")
            raise StorageError(f"no catalogue can be opened; {next(iter(unserved.values()))}")
        return able

    def _iter_named(self, names: Sequence[str]) -> Iterator[Installed]:
        """Yield the named catalogues; refuse one that is not installed, unless it is being built or
        may still come.
        """
        library = self._catalogues.library
        for name in (one for one in names if one not in self._catalogues.unserved):
            if self._may_be_empty and library.find_installed(name) is None:
                logger.warning(
                    "catalogue '%s' is not in the library yet; it is served as soon as it is"
                    " synced",
                    name,
                )
            else:
                yield library.get_installed(name)

    def _names(self) -> list[str]:
        return sorted({*self._served, *self._absent})

    def _known_names(self) -> list[str]:
        """Return the catalogues that a caller may be told of, also those that are not served."""
        return sorted({*self._names(), *self._catalogues.unserved})

    def _probe_all(self) -> None:
        """Read one record of each catalogue; what fails is noted as a condition of it."""
        for served in self._find(self._names()):
            self._probed = served.opened.name
            with suppress(ExpectedError):
                served.shelf.probe()
        self._probed = ""

    def _find_names(self) -> Sequence[str] | None:
        """Follow the library; return the names where they, or the tools over them, changed."""
        is_changed = self._look()
        able = {
            one.name for one in self.list_served() if one.name in self._unread and is_readable(one)
        }
        self._unread -= able
        return self._known_names() if able or is_changed else None

    def _look(self) -> bool:
        """Follow the library; tell whether other catalogues are served now, or one of them is
        another.
        """
        before, self._stamps = self._stamps, self._read_stamps()
        if not self._stamps:  # the library is gone, or empty
            for name in self._served:
                self._catalogues.let_go(name)
            return False
        touched = {name for name, stamp in self._stamps.items() if before.get(name) != stamp}
        self._looks += 1
        if self._looks % LOOKS_BETWEEN_TRIES == 0:
            touched |= self._catalogues.unserved.keys() & self._stamps.keys()
        followed = [self._follow(name) for name in sorted(touched)]
        lost = sorted(self._served.keys() - self._stamps.keys())
        for name in lost:
            del self._served[name]
            self._absent[name] = time.monotonic()
            self._catalogues.let_go(name)
            logger.warning("catalogue '%s' is not served: its folder is gone", name)
        removed = self._list_removed()
        for name in removed:
            self._absent.pop(name, None)
            self._catalogues.unserved.pop(name, None)
            self._catalogues.forget(name)
            logger.info("catalogue '%s' was removed", name)
        return any(followed) or bool(lost or removed)

    def _follow(self, name: str) -> bool:
        """Open a catalogue that is new or was touched; tell whether that makes a difference."""
        if (installed := self._catalogues.find_installed(name)) is None:
            return False
        if name in self._served and self._catalogues.find_store(name) is None:
            self._catalogues.let_go(name)
            return False
        if name in self._served and not self._catalogues.is_other(installed):
            return False
        try:
            problem = self._catalogues.reopen(installed)
        except BusyError:
            # look again
            self._stamps = {other: stamp for other, stamp in self._stamps.items() if other != name}
            return False
        if problem is None:
            self._catalogues.unserved.pop(name, None)
            self._absent.pop(name, None)
            self._served[name] = installed
            logger.info("catalogue '%s' is served from now on", name)
            return True
        if self._catalogues.unserved.get(name) != problem:
            logger.warning("catalogue '%s' is not served: %s", name, problem)
        self._catalogues.unserved[name] = problem
        return self._served.pop(name, None) is not None

    def _list_removed(self) -> list[str]:
        """Return the catalogues that are gone for so long that they count as removed."""
        now, lately, library = time.monotonic(), time.time() - GONE_S, self._catalogues.library
        gone = [
            name
            for name, since in self._absent.items()
            if library.was_removed(name, since=lately)
            or (name not in self._only and now - since >= GONE_S)
        ]
        return [
            *gone,
            *(name for name in self._catalogues.unserved if not (library.folder / name).is_dir()),
        ]

    def _read_stamps(self) -> Mapping[str, Hashable]:
        return {
            name: (stamp, self._catalogues.find_store(name))
            for name, stamp in self._catalogues.library.stamps().items()
            if not self._only or name in self._only
        }

    def _make(self, visible: Sequence[str]) -> Toolbox:
        listed = self._find([name for name in visible if name in self._served])
        absent = self._find([name for name in visible if name in self._absent])
        for one in (served.opened for served in listed):
            with as_little_open(one) if len(listed) > KEPT_OPEN else nullcontext():
                self._unread |= set() if is_readable(one) else {one.name}
        is_auto = self._choice is ToolChoice.AUTO and len(self._served) > 1
        build = partial(self._build, choice=ToolChoice.ALL if is_auto else self._choice)
        toolbox = build(listed, behind=build([*listed, *absent]) if absent else None)
        toolbox.unserved = tuple(name for name in visible if name in self._catalogues.unserved)
        return toolbox

    def _find(self, names: Sequence[str]) -> list[Served]:
        return [
            served for name in names if (served := self._catalogues.find_open(name)) is not None
        ]
