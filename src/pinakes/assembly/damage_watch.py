"""Looking for damage in the background, after a server has started.

The files of each open catalogue are compared with their checksums. Indexes that are damaged are rebuilt; what cannot be
is reported as a condition of the catalogue. It starts after the first answers, and takes a small share of one core.
A catalogue in which something is wrong, or that cannot be judged on a full disk, is looked at again until it is whole.
"""

import logging
import threading
import time

from pinakes.assembly.app import App
from pinakes.assembly.disk_check import check_disk
from pinakes.assembly.open_files import check_files
from pinakes.errors import ExpectedError
from pinakes.shelf.port import Problem
from pinakes.tools.catalogue import OpenCatalogue
from pinakes.tools.health import check_catalogue

logger = logging.getLogger(__name__)

FIRST_LOOK_S = 5.0
"""How long after the start it begins."""
AGAIN_S = 30.0
"""The pause before catalogues that were not found whole are looked at again."""
SHARE = 0.1
"""The share of one core that it takes."""
LONGEST_REST_S = 1.0


class _StoppedError(Exception):
    """The server ends."""


class DamageWatch:
    """A thread that checks every open catalogue until it is found whole."""

    def __init__(
        self, app: App, *, first_look_s: float = FIRST_LOOK_S, again_s: float = AGAIN_S, share: float = SHARE
    ) -> None:
        self._app = app
        self._first_look_s = first_look_s
        self._again_s = again_s
        self._has_looked = threading.Event()
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
        """Wait until every catalogue was checked once."""
        self._has_looked.wait()

    def _run(self) -> None:
        try:
            self._look_until_whole()
        except _StoppedError:
            return
        finally:
            self._has_looked.set()

    def _look_until_whole(self) -> None:
        pause_s, doubtful = self._first_look_s, None
        while doubtful is None or doubtful:
            if self._stopped.wait(pause_s):
                return
            self._worked_since = time.thread_time()
            looked_at = self._app.list_open() if doubtful is None else doubtful
            doubtful = [catalogue for catalogue in looked_at if not self._is_whole(catalogue)]
            self._has_looked.set()
            pause_s = self._again_s

    def _is_whole(self, catalogue: OpenCatalogue) -> bool:
        """Mend one catalogue, note what is still wrong with it, and tell whether nothing is."""
        problems = self._find_problems(catalogue)
        if problems is None or (problems and not self._can_judge()):
            return False
        self._app.note_problems(catalogue.name, problems)
        return not problems

    def _can_judge(self) -> bool:
        """Tell whether what cannot be read is damaged: not where files run out, or the disk is full."""
        return check_files() is None and check_disk(self._app.settings.home, least_free_bytes=0) is None

    def _find_problems(self, catalogue: OpenCatalogue) -> list[Problem] | None:
        """Mend one catalogue, and return what is still wrong with it; None where it cannot be checked now."""
        if check_files() is not None:
            return None
        try:
            for done in catalogue.shelf.mend(checkpoint=self._rest):
                logger.warning("catalogue '%s' was mended: %s", catalogue.name, done)
            return list(check_catalogue(catalogue, checkpoint=self._rest, thorough=False))
        except (ExpectedError, OSError) as error:
            logger.warning("catalogue '%s' cannot be checked for damage: %s", catalogue.name, error)
            return None

    def _rest(self) -> None:
        """Wait in proportion to the work done since the last rest."""
        worked_s = time.thread_time() - self._worked_since
        if self._stopped.wait(min(worked_s * (1 / self._share - 1), LONGEST_REST_S)):
            raise _StoppedError
        self._worked_since = time.thread_time()
