"""Looking for damage in the background, after a server has started.

The files of each open catalogue are compared with their checksums. Indexes that are damaged are rebuilt; what cannot be
is reported as a condition of the catalogue. It starts after the first answers, and takes a small share of one core.
"""

import logging
import threading
import time

from pinakes.assembly.app import App
from pinakes.assembly.open_files import check_files
from pinakes.errors import ExpectedError
from pinakes.tools.catalogue import OpenCatalogue
from pinakes.tools.health import check_catalogue

logger = logging.getLogger(__name__)

FIRST_LOOK_S = 5.0
"""How long after the start it begins."""
SHARE = 0.1
"""The share of one core that it takes."""
LONGEST_REST_S = 1.0


class _StoppedError(Exception):
    """The server ends."""


class DamageWatch:
    """A thread that checks every open catalogue once."""

    def __init__(self, app: App, *, first_look_s: float = FIRST_LOOK_S, share: float = SHARE) -> None:
        self._app = app
        self._first_look_s = first_look_s
        self._share = share
        self._stopped = threading.Event()
        self._worked_since = 0.0
        self._thread = threading.Thread(target=self._run, name="damage-watch", daemon=True)

    def start(self) -> None:
        """Begin, after a pause."""
        self._thread.start()

    def stop(self) -> None:
        """End at the next checkpoint."""
        self._stopped.set()

    def wait(self) -> None:
        """Wait until every catalogue was checked."""
        self._thread.join()

    def _run(self) -> None:
        if self._stopped.wait(self._first_look_s):
            return
        self._worked_since = time.thread_time()
        try:
            for catalogue in self._app.list_open():
                self._check(catalogue)
        except _StoppedError:
            return

    def _check(self, catalogue: OpenCatalogue) -> None:
        """Mend one catalogue, and note what is still wrong with it."""
        if check_files() is not None:
            return  # what cannot be opened for want of a file is not damaged
        try:
            for done in catalogue.shelf.mend(checkpoint=self._rest):
                logger.warning("catalogue '%s' was mended: %s", catalogue.name, done)
            problems = list(check_catalogue(catalogue, checkpoint=self._rest, thorough=False))
        except (ExpectedError, OSError) as error:
            logger.warning("catalogue '%s' cannot be checked for damage: %s", catalogue.name, error)
            return
        if problems:
            self._app.note_problems(catalogue.name, problems)

    def _rest(self) -> None:
        """Wait in proportion to the work done since the last rest."""
        worked_s = time.thread_time() - self._worked_since
        if self._stopped.wait(min(worked_s * (1 / self._share - 1), LONGEST_REST_S)):
            raise _StoppedError
        self._worked_since = time.thread_time()
