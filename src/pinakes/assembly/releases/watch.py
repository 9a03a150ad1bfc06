"""Looking for newer releases in the background, after a server has started.

Only the places of catalogues that were installed from one are asked, once a day or so over all servers of the library,
and nothing waits for them. What is found is logged, and told by `/health`, `pinakes doctor` and `pinakes list`.
"""

import importlib
import logging
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from pinakes.assembly.app import App
from pinakes.assembly.releases.looks import ReleaseLook
from pinakes.library import PACK_FOLDER, Installed

logger = logging.getLogger(__name__)

LOOKUP_MODULE = "pinakes.assembly.releases.lookup"
"""Slow to import; loaded when a place is asked."""
SOURCE_FILE = "source.json"
FIRST_LOOK_S = 10.0
"""How long after the start it begins."""
REST_S = 600.0
"""The pause before it sees again whether a look is due; catalogues may have come meanwhile."""
AFTER_PROBLEM = timedelta(hours=1)
"""The longest pause after a place did not answer."""


def utc_now() -> datetime:
    """Return the present time."""
    return datetime.now(UTC)


class ReleaseWatch:
    """A thread that asks the places of the served catalogues for newer releases."""

    def __init__(
        self,
        app: App,
        *,
        first_look_s: float = FIRST_LOOK_S,
        rest_s: float = REST_S,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._app = app
        self._first_look_s = first_look_s
        self._rest_s = rest_s
        self._now = now
        self._told: set[tuple[str, str]] = set()
        self._stopped = threading.Event()
        self._has_looked = threading.Event()
        self._thread = threading.Thread(target=self._run, name="release-watch", daemon=True)

    def start(self) -> None:
        """Begin after a pause, unless the settings forbid it."""
        if self._app.settings.updates.check and not self._app.settings.offline:
            self._thread.start()
        else:
            self._has_looked.set()

    def stop(self) -> None:
        """End after the look that is under way."""
        self._stopped.set()

    def wait(self, timeout_s: float) -> bool:
        """Wait until every place was looked at once, or nothing was to be; tell whether that is so."""
        return self._has_looked.wait(timeout_s)

    def _run(self) -> None:
        pause_s = self._first_look_s
        while not self._stopped.wait(pause_s):
            for name in [one.name for one in self._app.list_served()]:
                self._look(name)
            self._has_looked.set()
            pause_s = self._rest_s

    def _look(self, name: str) -> None:
        """Ask the place of one catalogue, if a look is due, and tell what is newer."""
        installed = Installed(name=name, spec_name="", folder=self._app.library.folder / name)
        if not (installed.folder / PACK_FOLDER / SOURCE_FILE).is_file():
            return
        if self._is_due(self._app.looks.find(name)):
            self._ask(installed)
        newer = self._app.looks.find_newer(name)
        if newer is not None and (name, newer.version) not in self._told:
            self._told.add((name, newer.version))
            logger.warning("catalogue '%s' is outdated: %s", name, newer)

    def _is_due(self, last: ReleaseLook | None) -> bool:
        if last is None:
            return True
        pause = timedelta(hours=self._app.settings.updates.every_h)
        return not timedelta(0) <= self._now() - last.asked_at < (min(pause, AFTER_PROBLEM) if last.problem else pause)

    def _ask(self, installed: Installed) -> None:
        look = importlib.import_module(LOOKUP_MODULE).look_up(installed, self._app.settings, now=self._now())
        if look is None:
            return
        if look.problem:
            logger.info("the place of catalogue '%s' could not be asked: %s", installed.name, look.problem)
            look = self._app.looks.with_known(installed.name, look)
        self._app.looks.save(installed.name, look)
