"""The catalogues that one gate serves: those that the command line says, whatever else jobs have opened."""

import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from stackroom.assembly.following import FollowedLibrary
from stackroom.assembly.open_files import allow_many_files
from stackroom.assembly.opened import OpenedCatalogues
from stackroom.assembly.toolboxes import Served, ToolboxBuilder, ToolChoice, is_readable
from stackroom.background.bounded_check import BoundedCheck
from stackroom.errors import ExpectedError, NotFoundError, StorageError
from stackroom.library import Installed
from stackroom.model.scope import SEES_EVERYTHING
from stackroom.tools.catalogue import OpenCatalogue
from stackroom.tools.toolbox import Toolbox, ToolboxesByVisibility

logger = logging.getLogger(__name__)

PROBE_WAIT_S = 2.0
PROBED_S = 15.0
"""How long a read of one record of each catalogue counts for its present state."""


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
        self._followed = FollowedLibrary(
            library=catalogues.library,
            served=self._served,
            unserved=catalogues.unserved,
            only=names,
            reopen=catalogues.reopen,
            is_other=catalogues.is_other,
            find_store=catalogues.find_store,
            let_go=catalogues.let_go,
            forget=catalogues.forget,
        )
        self._probe = BoundedCheck(self._probe_all, name="library", fresh_s=PROBED_S, wait_s=PROBE_WAIT_S)
        self._probed = ""
        """The catalogue that is read by the probe that runs."""
        self._unread: set[str] = set()
        """The catalogues that could not be read when their tools were built."""
        self.toolboxes = ToolboxesByVisibility(self._names(), self._make, find_names=self._find_names)
        self.toolboxes.of(SEES_EVERYTHING)  # the most used one, built before the first call

    def list_served(self) -> list[OpenCatalogue]:
        """Return the catalogues that are served, also those that fail or whose folder is gone at present."""
        return [one for name in self._names() if (one := self._catalogues.find(name)) is not None]

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
        installed = self._list_named(names) if names else library.list_installed()
        unserved.clear()
        unserved.update({} if names else library.check())
        if not installed and not unserved:
            if self._may_be_empty:
                return []
            raise NotFoundError("the library is empty; run: stackroom init")
        able = [one for one in installed if self._is_servable(one)]
        for name, problem in unserved.items():
            logger.warning("catalogue '%s' is not served: %s", name, problem)
        if not able:
            raise StorageError(f"no catalogue can be opened; {next(iter(unserved.values()))}")
        return able

    def _list_named(self, names: Sequence[str]) -> list[Installed]:
        """Return the named catalogues; refuse one that is not installed, unless it may still come."""
        library = self._catalogues.library
        awaited = [name for name in names if self._may_be_empty and library.find_installed(name) is None]
        for name in awaited:
            logger.warning("catalogue '%s' is not in the library yet; it is served as soon as it is synced", name)
        return [library.get_installed(name) for name in names if name not in awaited]

    def _is_servable(self, installed: Installed) -> bool:
        try:
            self._catalogues.serve(installed)
        except ExpectedError as error:
            self._catalogues.unserved[installed.name] = error.message
            return False
        return True

    def _names(self) -> list[str]:
        return sorted({*self._served, *self._followed.absent})

    def _probe_all(self) -> None:
        """Read one record of each catalogue; what fails is noted as a condition of it."""
        for name in self._names():
            self._probed = name
            shelf = self._catalogues.find_shelf(name)
            if shelf is not None:
                with suppress(ExpectedError):
                    shelf.probe()
        self._probed = ""

    def _find_names(self) -> Sequence[str] | None:
        """Follow the library; return the names where they, or the tools over them, changed."""
        is_changed = self._followed.look()
        return self._names() if self._can_read_more() or is_changed else None

    def _can_read_more(self) -> bool:
        """Tell whether a catalogue can be read now that could not be when its tools were built."""
        able = {one.name for one in self.list_served() if one.name in self._unread and is_readable(one)}
        self._unread -= able
        return bool(able)

    def _make(self, visible: Sequence[str]) -> Toolbox:
        listed = self._find([name for name in visible if name in self._served])
        absent = self._find([name for name in visible if name in self._followed.absent])
        self._unread |= {one.opened.name for one in listed if not is_readable(one.opened)}
        choice = self._builder.choice
        if choice is ToolChoice.AUTO and len(self._served) > 1:
            choice = ToolChoice.ALL
        return replace(self._builder, choice=choice).build(listed, absent)

    def _find(self, names: Sequence[str]) -> list[Served]:
        opened = {name: self._catalogues.find(name) for name in names}
        return [Served(one, self._catalogues.package_name_of(name)) for name, one in opened.items() if one is not None]
