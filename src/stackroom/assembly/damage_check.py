"""The task that looks for damage: after the start, and again until nothing is wrong.

The files of each open catalogue are compared with their checksums. Indexes that are damaged are rebuilt; what cannot be
is reported as a condition of the catalogue. It starts after the first answers, and takes a small share of one core.
A catalogue in which something is wrong, or that cannot be judged on a full disk, is looked at again until it is whole.
"""

import logging

from stackroom.assembly.app import App
from stackroom.assembly.disk_check import check_disk
from stackroom.assembly.open_files import check_files
from stackroom.background.task import Task, TaskContext
from stackroom.errors import ExpectedError
from stackroom.shelf.port import Checkpoint, Problem
from stackroom.tools.catalogue import OpenCatalogue
from stackroom.tools.health import check_catalogue

logger = logging.getLogger(__name__)

FIRST_S = 5.0
AGAIN_S = 30.0
SHARE = 0.1
"""The share of one core that it takes."""


class DamageCheck:
    """Checks every open catalogue until it is found whole."""

    def __init__(self, app: App, *, share: float = SHARE) -> None:
        self._app = app
        self._share = share
        self._whole: dict[str, OpenCatalogue] = {}
        """The catalogues that were found whole, as they were open then."""

    def task(self, *, first_s: float = FIRST_S, again_s: float = AGAIN_S) -> Task:
        """Return the task."""
        return Task(
            name="check catalogues",
            description="Compares the files of each catalogue with their checksums, and mends what can be derived.",
            run=self.run,
            first_s=first_s,
            period_s=again_s,
        )

    def run(self, context: TaskContext) -> str:
        """Check the catalogues that were not found whole yet, and say how many are not."""
        catalogues = self._app.list_open()
        for catalogue in catalogues:
            if self._whole.get(catalogue.name) is not catalogue and self._is_whole(catalogue, context):
                self._whole[catalogue.name] = catalogue
        doubtful = sorted(one.name for one in catalogues if self._whole.get(one.name) is not one)
        return f"not whole: {', '.join(doubtful)}" if doubtful else f"{len(catalogues)} catalogues are whole"

    def _is_whole(self, catalogue: OpenCatalogue, context: TaskContext) -> bool:
        """Mend one catalogue, note what is still wrong with it, and tell whether nothing is."""
        problems = self._find_problems(catalogue, lambda: context.rest(self._share))
        if problems is None or (problems and not self._can_judge()):
            return False
        self._app.note_problems(catalogue.name, problems)
        return not problems

    def _can_judge(self) -> bool:
        """Tell whether what cannot be read is damaged: not where files run out, or the disk is full."""
        return check_files() is None and check_disk(self._app.settings.home, least_free_bytes=0) is None

    def _find_problems(self, catalogue: OpenCatalogue, rest: Checkpoint) -> list[Problem] | None:
        """Mend one catalogue, and return what is still wrong with it; None where it cannot be checked now."""
        if check_files() is not None:
            return None
        try:
            for done in catalogue.shelf.mend(checkpoint=rest):
                logger.warning("catalogue '%s' was mended: %s", catalogue.name, done)
            return list(check_catalogue(catalogue, checkpoint=rest, thorough=False))
        except (ExpectedError, OSError) as error:
            logger.warning("catalogue '%s' cannot be checked for damage: %s", catalogue.name, error)
            return None
