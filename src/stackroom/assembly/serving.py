"""The catalogues that one gate serves: those that the command line says, whatever else jobs have opened.

The library is followed while a server runs: catalogues that are added, replaced or removed, and files that vanish. A
catalogue whose folder is gone leaves the lists. It stays a condition of the server for a while, since nobody can tell a
folder that was removed from a disk that went away; one that the command line names stays one for good. Where the whole
library is gone, the lists stay as they are, and every catalogue fails until it is back.
"""

import logging
import time
from collections.abc import Hashable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace

from stackroom.assembly.machine_limits import allow_many_files
from stackroom.assembly.opened import OpenedCatalogues
from stackroom.assembly.toolboxes import Served, ToolboxBuilder, ToolChoice, as_little_open, is_readable
from stackroom.background.threads import BoundedCheck
from stackroom.errors import BusyError, ExpectedError, NotFoundError, StorageError
from stackroom.library import Installed
from stackroom.model.scope import SEES_EVERYTHING
from stackroom.tools.catalogue import OpenCatalogue
from stackroom.tools.toolbox import Toolbox, ToolboxesByVisibility

LOOKS_BETWEEN_TRIES = 10
"""A catalogue that could not be opened is tried again after so many looks at the library."""
GONE_S = 600.0
"""A catalogue whose folder is gone for so long is taken for removed."""
logger = logging.getLogger(__name__)
KEPT_OPEN = 50
"""The most catalogues that stay open from the start; more are opened by the first call that reads them."""
PROBE_WAIT_S = 2.0
PROBED_S = 15.0
"""How long a read of one record of each catalogue counts for its present state."""


class FollowedLibrary:
    """The catalogues that are served, the named ones or all that are installed, as the library changes."""

    def __init__(self, catalogues: OpenedCatalogues, served: dict[str, Installed], only: Sequence[str]) -> None:
        self._catalogues = catalogues
        self._library = catalogues.library
        self._served = served
        self._only = only
        """The catalogues to serve; none means all."""
        self.absent: dict[str, float] = {}
        """Catalogue whose folder is gone → since when."""
        self._stamps = self._read_stamps()
        self._looks = 0

    def look(self) -> bool:
        """Follow the library; tell whether other catalogues are served now, or one of them is another."""
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
        lost = [self._lose(name) for name in sorted(self._served.keys() - self._stamps.keys())]
        given_up = [self._give_up(name) for name in self._list_removed()]
        return any([*followed, *lost, *given_up])

    def _follow(self, name: str) -> bool:
        """Open a catalogue that is new or was touched; tell whether that makes a difference."""
        installed = next((one for one in self._library.list_installed() if one.name == name), None)
        if installed is None:
            return False
        if name in self._served and self._catalogues.find_store(name) is None:
            self._catalogues.let_go(name)
            return False
        if name in self._served and not self._catalogues.is_other(installed):
            return False
        try:
            problem = self._catalogues.reopen(installed)
        except BusyError:
            self._stamps = {other: stamp for other, stamp in self._stamps.items() if other != name}  # look again
            return False
        if problem is None:
            self._catalogues.unserved.pop(name, None)
            self.absent.pop(name, None)
            self._served[name] = installed
            logger.info("catalogue '%s' is served from now on", name)
            return True
        if self._catalogues.unserved.get(name) != problem:
            logger.warning("catalogue '%s' is not served: %s", name, problem)
        self._catalogues.unserved[name] = problem
        return self._served.pop(name, None) is not None

    def _lose(self, name: str) -> bool:
        """Take a catalogue whose folder is gone out of the lists."""
        del self._served[name]
        self.absent[name] = time.monotonic()
        self._catalogues.let_go(name)
        logger.warning("catalogue '%s' is not served: its folder is gone", name)
        return True

    def _list_removed(self) -> list[str]:
        """Return the catalogues that are gone for so long that they count as removed."""
        now, lately = time.monotonic(), time.time() - GONE_S
        gone = [
            name
            for name, since in self.absent.items()
            if self._library.was_removed(name, since=lately) or (name not in self._only and now - since >= GONE_S)
        ]
        return [*gone, *(name for name in self._catalogues.unserved if not (self._library.folder / name).is_dir())]

    def _give_up(self, name: str) -> bool:
        self.absent.pop(name, None)
        self._catalogues.unserved.pop(name, None)
        self._catalogues.forget(name)
        logger.info("catalogue '%s' was removed", name)
        return True

    def _read_stamps(self) -> Mapping[str, Hashable]:
        stamps = self._library.stamps()
        return {
            name: (stamp, self._catalogues.find_store(name))
            for name, stamp in stamps.items()
            if not self._only or name in self._only
        }


class ServedLibrary:
    """The named catalogues, or all that are installed, kept up with the library, with the toolboxes over them."""

    def __init__(
        self,
        catalogues: OpenedCatalogues,
        builder: ToolboxBuilder,
        names: Sequence[str],
        *,
        may_be_empty: bool = False,
    ) -> None:
        self._catalogues = catalogues
        self._may_be_empty = may_be_empty
        """Whether a library without any catalogue is served: some are to come."""
        self._builder = builder
        allow_many_files()
        self._served = {one.name: one for one in self._list_servable(names)}
        self._followed = FollowedLibrary(catalogues, self._served, names)
        self._probe = BoundedCheck(self._probe_all, name="library", fresh_s=PROBED_S, wait_s=PROBE_WAIT_S)
        self._probed = ""
        """The catalogue that is read by the probe that runs."""
        self._unread: set[str] = set()
        """The catalogues that could not be read when their tools were built."""
        self.toolboxes = ToolboxesByVisibility(self._known_names(), self._make, find_names=self._find_names)
        self.toolboxes.of(SEES_EVERYTHING)  # the most used one, built before the first call

    def list_served(self) -> list[OpenCatalogue]:
        """Return the catalogues that are served, also those that fail or whose folder is gone at present."""
        return [served.opened for served in self._find(self._names())]

    def problems(self) -> dict[str, str]:
        """Return the catalogues that are not as they should be, each with the reason; one record of each is read."""
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
        """Read a record of each catalogue when the next problems are asked for: storage failed in a call."""
        self._probe.forget()

    def can_answer(self) -> bool:
        """Tell whether at least one catalogue can be read."""
        return any(not self._catalogues.conditions.is_failing(name) for name in self._served)

    def _list_servable(self, names: Sequence[str]) -> list[Installed]:
        """Return the named catalogues, or all, whose spec can be read; log the others and go on."""
        library, unserved = self._catalogues.library, self._catalogues.unserved
        unfinished = library.describe_unfinished()
        unserved.clear()
        unserved.update({name: unfinished[name] for name in names if name in unfinished} if names else library.check())
        installed = self._list_named(names) if names else library.list_installed()
        able = [one for one in installed if self._is_servable(one)]
        for name, problem in unserved.items():
            logger.warning("catalogue '%s' is not served: %s", name, problem)
        if not able and not self._may_be_empty:
            if not unserved:
                raise NotFoundError("the library is empty; run: stackroom init")
            raise StorageError(f"no catalogue can be opened; {next(iter(unserved.values()))}")
        return able

    def _list_named(self, names: Sequence[str]) -> list[Installed]:
        """Return the named catalogues; refuse one that is not installed, unless it is being built or may still come."""
        library = self._catalogues.library
        others = [name for name in names if name not in self._catalogues.unserved]
        awaited = [name for name in others if self._may_be_empty and library.find_installed(name) is None]
        for name in awaited:
            logger.warning("catalogue '%s' is not in the library yet; it is served as soon as it is synced", name)
        return [library.get_installed(name) for name in others if name not in awaited]

    def _is_servable(self, installed: Installed) -> bool:
        try:
            self._catalogues.serve(installed)
        except ExpectedError as error:
            self._catalogues.unserved[installed.name] = error.message
            return False
        return True

    def _names(self) -> list[str]:
        return sorted({*self._served, *self._followed.absent})

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
        is_changed = self._followed.look()
        return self._known_names() if self._can_read_more() or is_changed else None

    def _can_read_more(self) -> bool:
        """Tell whether a catalogue can be read now that could not be when its tools were built."""
        able = {one.name for one in self.list_served() if one.name in self._unread and is_readable(one)}
        self._unread -= able
        return bool(able)

    def _make(self, visible: Sequence[str]) -> Toolbox:
        listed = self._find([name for name in visible if name in self._served])
        absent = self._find([name for name in visible if name in self._followed.absent])
        for one in (served.opened for served in listed):
            with as_little_open(one) if len(listed) > KEPT_OPEN else nullcontext():
                self._unread |= set() if is_readable(one) else {one.name}
        choice = self._builder.choice
        if choice is ToolChoice.AUTO and len(self._served) > 1:
            choice = ToolChoice.ALL
        return replace(self._builder, choice=choice).build(
            listed, absent, unserved=[name for name in visible if name in self._catalogues.unserved]
        )

    def _find(self, names: Sequence[str]) -> list[Served]:
        return [served for name in names if (served := self._catalogues.find(name)) is not None]
