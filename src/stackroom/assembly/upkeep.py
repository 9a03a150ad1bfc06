"""The tasks beside every server: they mend damage, ask for newer releases, and lay out maps of
quiet catalogues.
"""

import logging
import os
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from functools import cache, partial
from pathlib import Path
from typing import Any

from stackroom.assembly.app import App
from stackroom.assembly.serving import as_little_open, is_open
from stackroom.background.background import Task, TaskContext, TaskStopped, status_task
from stackroom.background.machine_limits import check_disk, check_files
from stackroom.background.processes import LibraryCommand
from stackroom.control.audit import AuditLog
from stackroom.control.database.engine import ControlDatabase
from stackroom.control.database.tables import utc_now
from stackroom.errors import ExpectedError, UnavailableError
from stackroom.maps.making import MapReport, is_due
from stackroom.packages import load_target
from stackroom.shelf.port import Checkpoint
from stackroom.shelf.store_place import STORE_FILE
from stackroom.sources.collections import sync_tasks
from stackroom.tools.catalogue import OpenCatalogue
from stackroom.tools.health import check_catalogue

logger = logging.getLogger(__name__)

FIRST_S = 5.0
AGAIN_S = 30.0
SHARE = 0.003  # the share of one core that it takes
# slow to import; loaded when the task runs
RELEASE_CHECKER = "stackroom.packs.places:ReleaseChecker"
FIRST_CHECK_S = 10.0
# the pause before it sees again whether a check is due; catalogues may have come meanwhile
PAUSE_S = 600.0
FIRST_MAP_S = 10.0
MAP_LOOK_S = 5.0
QUIET_LOOKS = 2  # a catalogue is quiet when so many looks found the same state
LOOKS_FOR_VECTORS = 12  # and when so many did, where records await their vectors
LONGEST_MAP_S = 3_600.0
GRACE = timedelta(minutes=10)
"""How old the note of a call has to be: a younger one may be of a call that another server is still
running.
"""
State = list[tuple[int, int]]
RunMap = Callable[[str, Checkpoint], str]


class DamageTask:
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
            description=(
                "Compares the files of each catalogue with their checksums, and mends what can be"
                " derived."
            ),
            run=self.run,
            first_s=first_s,
            period_s=again_s,
        )

    def run(self, context: TaskContext) -> str:
        """Check the catalogues that were not found whole yet, and say how many are not."""
        catalogues = self._app.list_open()
        for catalogue in (one for one in catalogues if self._whole.get(one.name) is not one):
            with as_little_open(catalogue):
                if self._is_whole(catalogue, context):
                    self._whole[catalogue.name] = catalogue
            context.rest(self._share)
        doubtful = sorted(one.name for one in catalogues if self._whole.get(one.name) is not one)
        return (
            f"not whole: {', '.join(doubtful)}"
            if doubtful
            else f"{len(catalogues)} catalogues are whole"
        )

    def _is_whole(self, catalogue: OpenCatalogue, context: TaskContext) -> bool:
        """Mend one catalogue, note what is still wrong with it, and tell whether nothing is."""
        rest = partial(context.rest, self._share)
        if check_files() is not None:
            return False
        try:
            for done in catalogue.shelf.mend(checkpoint=rest):
                logger.warning("catalogue '%s' was mended: %s", catalogue.name, done)
            problems = list(check_catalogue(catalogue, checkpoint=rest, thorough=False))
        except (ExpectedError, OSError) as error:
            logger.warning("catalogue '%s' cannot be checked for damage: %s", catalogue.name, error)
            return False
        if problems and (check_files() or check_disk(self._app.settings.home, least_free_bytes=0)):
            return False  # what cannot be read for want of files or room may be whole
        self._app.note_problems(catalogue.name, problems)
        return not problems


def release_task(app: App) -> Task:
    """Return the task of a server, unless the settings forbid it: then it has nothing to do."""

    @cache
    def checker() -> Any:
        return load_target(RELEASE_CHECKER)(app.library, app.settings, app.release_status)

    def run(context: TaskContext) -> None:
        may_ask = app.settings.updates.check and not app.settings.offline
        for catalogue in app.list_served() if may_ask else ():
            context.check_stopped()
            checker().check_once(catalogue.name)

    return Task(
        name="releases",
        description=(
            "Ask the places of catalogues that were installed from releases for newer ones."
        ),
        run=run,
        first_s=FIRST_CHECK_S,
        period_s=PAUSE_S,
    )


def add_upkeep(app: App, database: ControlDatabase | None) -> None:
    """Add the tasks over the library, and that over the audit where there is a control database."""
    status = status_task(app.background, app.settings.home)
    app.background.add(status, DamageTask(app).task(), release_task(app), *sync_tasks(app.settings))
    if database is not None:
        app.background.add(_audit_task(database))


def _audit_task(database: ControlDatabase) -> Task:
    def run(_context: TaskContext) -> str:
        with closing(AuditLog(database)) as audit:
            return f"{audit.add_interrupted(before=utc_now() - GRACE)} rows added"

    return Task(
        name="complete the audit",
        description=(
            "Adds the audit rows of calls whose process was killed while they changed something."
        ),
        run=run,
        period_s=GRACE.total_seconds(),
    )


class MapTask:
    """Has the maps made that are missing or due."""

    def __init__(self, app: App, *, run_map: RunMap | None = None) -> None:
        self._app = app
        self._run_map = run_map or partial(run_map_process, app.settings.home)
        self._quiet: dict[str, tuple[State, int]] = {}
        """Catalogue → its state, and how many looks have found it."""

    def task(self) -> Task:
        """Return the task."""
        return Task(
            name="lay out maps",
            description=(
                "Makes the maps of catalogues that are missing, or of which many records are new."
            ),
            run=self.run,
            first_s=FIRST_MAP_S,
            period_s=MAP_LOOK_S,
        )

    def run(self, context: TaskContext) -> str:
        """Have the maps of the served catalogues made that are due, and say which."""
        made = [
            catalogue.name
            for catalogue in self._app.list_served()
            if self._look_at(catalogue, context)
        ]
        return f"made: {', '.join(made)}" if made else "none is due"

    def _look_at(self, catalogue: OpenCatalogue, context: TaskContext) -> bool:
        """Make the map of one catalogue, if it is due, and tell whether it was made."""
        context.check_stopped()
        try:
            is_quiet = is_open(catalogue) and self._is_quiet(catalogue)
            if is_quiet and catalogue.folder and is_due(catalogue.folder, catalogue.shelf.reader()):
                report = self._run_map(catalogue.name, context.check_stopped)
                logger.info("the map of catalogue '%s': %s", catalogue.name, report)
                return True
        except TaskStopped:
            raise
        except (ExpectedError, OSError) as error:
            logger.warning("the map of catalogue '%s' was not made: %s", catalogue.name, error)
        except Exception:  # the others are looked at nevertheless
            logger.exception("the map of catalogue '%s' was not made", catalogue.name)
        return False

    def _is_quiet(self, catalogue: OpenCatalogue) -> bool:
        """Tell whether this look is the one that finds a catalogue quiet."""
        files = [f"{catalogue.folder}/{STORE_FILE}{end}" for end in ("", "-wal")]
        state = [
            (one.st_mtime_ns, one.st_size) for one in map(os.stat, filter(os.path.exists, files))
        ]
        # its records are in no file
        if not state and (reader := catalogue.shelf.find_reader()) is not None:
            state = [(reader.change_no, reader.vector_no)]
        known, looks = self._quiet.get(catalogue.name, (None, 0))
        looks = looks + 1 if known == state else 1
        self._quiet[catalogue.name] = (state, looks)
        if looks not in (QUIET_LOOKS, LOOKS_FOR_VECTORS):
            return False
        return looks == (
            LOOKS_FOR_VECTORS if catalogue.shelf.reader().awaiting_vectors else QUIET_LOOKS
        )


def run_map_process(home: Path, name: str, checkpoint: Checkpoint) -> str:
    """Run `stackroom map` with low priority, and return its report; an error of the checkpoint ends
    it.
    """
    process = LibraryCommand(f"the process that lays out the map of '{name}'", home, "map", name)
    try:
        made = process.read_report(longest_s=LONGEST_MAP_S, checkpoint=checkpoint)[name]
    except UnavailableError as error:
        raise UnavailableError(
            f"{error.message}; to see more, run: stackroom map {name}"
        ) from error
    return str(MapReport(records=made["records"], is_made=made["made"], changed=made["changed"]))
