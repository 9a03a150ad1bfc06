"""The catalogues that one gate serves: those that the command line says, whatever else jobs have
opened.

The library is followed while a server runs. A catalogue whose folder is gone leaves the lists, and
stays a condition of the server for a while: its disk may have gone. Where the whole library is
gone, every catalogue fails until it is back.
"""

import logging
import os
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from enum import StrEnum
from functools import partial
from typing import NamedTuple

from stackroom.assembly.workshop import Workshop
from stackroom.background.machine_limits import allow_many_files, require_files
from stackroom.background.threads import BoundedCheck
from stackroom.catalogue.spec import CatalogueSpec
from stackroom.errors import BusyError, ExpectedError, NotFoundError, StorageError
from stackroom.generic.tools import generic_tools
from stackroom.grading.tuning import TUNED_FILE, watch_tuned
from stackroom.library import CALIBRATION_FILE, OWN_WORDS, PLACE_FILE, Installed
from stackroom.maps.making import CatalogueMap
from stackroom.maps.map_file import MAP_FILE
from stackroom.model.scope import SEES_EVERYTHING
from stackroom.packages import CataloguePackage, PackageRegistry
from stackroom.recommend.recommender import Recommender
from stackroom.search.catalogue_embedder import CatalogueEmbedder
from stackroom.search.evidence import watch_calibration
from stackroom.search.searcher import Reranker, Searcher
from stackroom.shelf.conditions import CatalogueConditions
from stackroom.shelf.opening import open_shelf
from stackroom.shelf.port import Problem, Shelf
from stackroom.shelf.store_place import STORE_FILE
from stackroom.shelf.watched import WatchedShelf
from stackroom.tools.catalogue import OpenCatalogue
from stackroom.tools.edits import edit_resources, edit_tools
from stackroom.tools.faces.mcp import DeclaredTool, serve
from stackroom.tools.media import MediaSpec, media_of, picture_media
from stackroom.tools.own_storage import OpenStorage, OwnKinds
from stackroom.tools.resources import ResourceSpec, generic_resources
from stackroom.tools.toolbox import ServerTools, Toolbox, ToolboxesByVisibility

logger = logging.getLogger(__name__)


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


class _PackageParts(NamedTuple):
    """Tools, resources, media and the kinds of users of one package, over its open catalogues."""

    package: CataloguePackage
    tools: Sequence[DeclaredTool]
    resources: Sequence[ResourceSpec]
    media: Sequence[MediaSpec]
    own_kinds: Sequence[OwnKinds]


class ToolboxBuilder(NamedTuple):
    """Builds the toolboxes of one server."""

    packages: PackageRegistry
    server_tools: ServerTools
    note_problems: Callable[[str, Sequence[Problem]], None]

    def build(
        self, served: Sequence[Served], *, choice: ToolChoice, behind: Toolbox | None = None
    ) -> Toolbox:
        """Return the tools over these catalogues, and the server's; a call about one that only the
        toolbox behind has fails with its name.
        """
        server_tools, opened = self.server_tools, [one.opened for one in served]
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


def _package_parts(package: CataloguePackage, catalogues: Sequence[OpenCatalogue]) -> _PackageParts:
    tools = serve(package.tools(catalogues), catalogues, of_package=True)
    resources, name_file = package.resources(catalogues), package.media
    media = [media_of(one, name_file) for one in catalogues] if name_file else []
    return _PackageParts(package, tools, resources, media, package.own_kinds(catalogues))


class OpenedCatalogues:
    """The catalogues of a library that are open, with the embedder and the reranker that they
    share.
    """

    def __init__(
        self,
        workshop: Workshop,
        conditions: CatalogueConditions,
        *,
        find_reranker: Callable[[], Reranker | None],
        open_storage: OpenStorage,
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

    def is_other(self, installed: Installed) -> bool:
        """Tell whether a catalogue that is open follows another spec now, or its records are in
        another file.
        """
        if (known := self._open.get(installed.name)) is None:
            return True
        try:
            spec = self._workshop.spec_of(installed).spec
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
            recommender=Recommender(spec=shelf.spec, embedder=embedder, catalogue=installed.name),
            folder=installed.folder,
            list_sources=lambda: (self.find_installed(installed.name) or installed).sources,
            list_unserved=lambda: self._list_unserved(installed.spec_name),
            open_storage=self._open_storage,
            settings=self._workshop.settings,
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
        builder: ToolboxBuilder,
        names: Sequence[str],
        *,
        choice: ToolChoice,
        may_be_empty: bool = False,
    ) -> None:
        self._catalogues = catalogues
        self._choice = choice
        self._may_be_empty = may_be_empty
        """Whether a library without any catalogue is served: some are to come."""
        self._builder = builder
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
        build = partial(self._builder.build, choice=ToolChoice.ALL if is_auto else self._choice)
        toolbox = build(listed, behind=build([*listed, *absent]) if absent else None)
        toolbox.unserved = tuple(name for name in visible if name in self._catalogues.unserved)
        return toolbox

    def _find(self, names: Sequence[str]) -> list[Served]:
        return [served for name in names if (served := self._catalogues.find(name)) is not None]
