"""Making maps beside a server: after its start, and when many records of a catalogue are new.

A layout takes seconds of one core, so it is made by a process of its own with low priority. A catalogue is left alone
until it has been quiet for a while, so that no map is made in the middle of a build or while texts are embedded.
"""

import logging
import threading
from collections.abc import Callable
from functools import partial

from pinakes.assembly.app import App
from pinakes.assembly.map_making import is_due
from pinakes.assembly.map_process import run_map_process
from pinakes.errors import ExpectedError
from pinakes.shelf.port import Checkpoint
from pinakes.tools.catalogue import OpenCatalogue

logger = logging.getLogger(__name__)

FIRST_LOOK_S = 10.0
"""How long after the start it begins."""
LOOK_S = 5.0
QUIET_LOOKS = 2
"""A catalogue is quiet when so many looks found the same state."""
LOOKS_FOR_VECTORS = 12
"""And when so many did, where records await their vectors."""
END_S = 5.0

State = tuple[int, int]
RunMap = Callable[[str, Checkpoint], str]
"""Makes the map of a catalogue, and returns a report."""


class _StoppedError(Exception):
    """The server ends."""


class MapWatch:
    """A thread that has the maps made that are missing or due."""

    def __init__(
        self, app: App, *, first_look_s: float = FIRST_LOOK_S, look_s: float = LOOK_S, run_map: RunMap | None = None
    ) -> None:
        self._app = app
        self._first_look_s = first_look_s
        self._look_s = look_s
        self._run_map = run_map or partial(run_map_process, app.settings.home)
        self._quiet: dict[str, tuple[State, int]] = {}
        """Catalogue → its state, and how many looks have found it."""
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="map-watch", daemon=True)

    def start(self) -> None:
        """Begin, after a pause."""
        self._thread.start()

    def stop(self) -> None:
        """End at once, with a process that is running."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(END_S)

    def look(self) -> None:
        """Have the maps of the served catalogues made that are due."""
        for catalogue in self._app.list_served():
            if self._stopped.is_set():
                return
            try:
                self._look_at(catalogue)
            except (ExpectedError, OSError) as error:
                logger.info("the map of catalogue '%s' is not looked at: %s", catalogue.name, error)
            except Exception:  # the others are looked at nevertheless
                logger.exception("the map of catalogue '%s' is not looked at", catalogue.name)

    def _run(self) -> None:
        pause_s = self._first_look_s
        while not self._stopped.wait(pause_s):
            try:
                self.look()
            except Exception:  # the next look may find it mended
                logger.exception("the maps are not looked at")
            pause_s = self._look_s

    def _look_at(self, catalogue: OpenCatalogue) -> None:
        reader = catalogue.shelf.reader()
        state = (reader.change_no, reader.vector_no)
        known, looks = self._quiet.get(catalogue.name, (None, 0))
        looks = looks + 1 if known == state else 1
        self._quiet[catalogue.name] = (state, looks)
        wanted = LOOKS_FOR_VECTORS if reader.awaiting_vectors else QUIET_LOOKS
        if looks == wanted and catalogue.folder is not None and is_due(catalogue.folder, reader):
            self._make(catalogue.name)

    def _make(self, name: str) -> None:
        try:
            logger.info("the map of catalogue '%s': %s", name, self._run_map(name, self._check_stopped))
        except _StoppedError:
            return
        except ExpectedError as error:
            logger.warning("the map of catalogue '%s' was not made: %s", name, error.message)

    def _check_stopped(self) -> None:
        if self._stopped.is_set():
            raise _StoppedError
