"""The health of a server by its parts: control database, audit, jobs, disk, open files, embedding, catalogues.

Each check is bounded in time and kept for a while, so that asking for the health often costs nothing. Reasons may have
paths and addresses; who shows them takes these out for callers who do not administer the server.
"""

import shutil
import time
from collections.abc import Iterator, Mapping

from stackroom.assembly.app import App
from stackroom.assembly.collections.state import find_collection_problems, find_place
from stackroom.assembly.machine_limits import check_disk, check_files
from stackroom.assembly.measures import (
    ENDS_SOON,
    DiskTrend,
    Reading,
    find_job_problems,
    find_stalled_vectors,
    iter_catalogue_readings,
    iter_job_readings,
    iter_server_readings,
    list_ending_tokens,
)
from stackroom.background.task import Task, TaskContext, TaskState, TaskStatus
from stackroom.background.threads import BoundedCheck
from stackroom.control.control import Control
from stackroom.control.database.tables import utc_now
from stackroom.embed.adapters import WatchedEmbedder
from stackroom.errors import ExpectedError, StorageError
from stackroom.jobs.scheduler import TASK as JOBS_TASK
from stackroom.search.searcher import about_awaited_vectors
from stackroom.tools.catalogue import OpenCatalogue

CONTROL_DATABASE = "control database"
DISK = "disk"
EMBEDDING = "embedding"
OPEN_FILES = "open files"
AUDIT = "audit"
JOBS = "jobs"
CATALOGUE = "catalogue"
COLLECTIONS = "collections"
TOKENS = "tokens"
WATCH_S = 60.0
OK = "ok"
PROBE_TEXT = "health"
STILL_S = 120.0
"""A round of the scheduler that has not ended for so long stands still."""

FRESH_S: Mapping[str, float] = {CONTROL_DATABASE: 2.0, DISK: 5.0, EMBEDDING: 5.0, JOBS: 5.0}
"""How long the result of a check is kept."""


class ServerHealth:
    """Tells soon, whatever hangs, which parts of a server work, and why the others do not."""

    def __init__(self, app: App, control: Control | None, *, fresh_s: Mapping[str, float] = FRESH_S) -> None:
        self._app = app
        self._control = control
        self._trend = DiskTrend()
        self._job_problems: dict[str, str] = {}
        self._token_note = OK
        self._checks: dict[str, BoundedCheck] = {
            DISK: BoundedCheck(self._check_disk, name=DISK, fresh_s=fresh_s[DISK]),
            OPEN_FILES: BoundedCheck(check_files, name=OPEN_FILES),
            EMBEDDING: BoundedCheck(self._check_embedding, name="embedder", fresh_s=fresh_s[EMBEDDING]),
        }
        if control is not None:
            self._checks[CONTROL_DATABASE] = BoundedCheck(
                lambda: _check_control(control), name=CONTROL_DATABASE, fresh_s=fresh_s[CONTROL_DATABASE]
            )
            self._checks[JOBS] = BoundedCheck(
                lambda: self._check_jobs(control), name="history of jobs", fresh_s=fresh_s[JOBS]
            )

    def problems(self) -> dict[str, str]:
        """Return the parts that do not work as they should, each with the reason."""
        found = {part: check.find_problem() for part, check in self._checks.items()}
        found |= {
            JOBS: self._find_jobs_problem() or found.get(JOBS),
            **self._job_problems,
            **self._stalled(),
            **self._collection_problems(),
            **self._app.catalogue_problems(),
        }
        found[AUDIT] = self._control.audit.find_problem() if self._control else None
        return {part: problem for part, problem in found.items() if problem is not None}

    def states(self) -> dict[str, str]:
        """Return the state of every part: `ok`, what it is busy with, or what is wrong."""
        states = dict.fromkeys(self._checks, OK)
        if self._control is not None:
            states |= {AUDIT: OK, JOBS: OK, TOKENS: self._token_note}
        if find_place(self._app.settings) is not None:
            states[COLLECTIONS] = OK
        states |= {f"{CATALOGUE} {one.name}": self._state_of(one) for one in self._app.list_served()}
        return states | self.problems()

    def _state_of(self, catalogue: OpenCatalogue) -> str:
        """Return what a catalogue is busy with, and whether there is a newer release of it."""
        newer = self._app.release_status.find_newer(catalogue.name)
        notes = [*_list_busy(catalogue), *([str(newer)] if newer is not None else [])]
        return "; ".join(notes) or OK

    def readings(self) -> list[Reading]:
        """Return the measures of jobs, tokens, disk, tasks, models and catalogues, as far as they can be read."""
        return [
            *self._job_readings(),
            *iter_server_readings(self._app.settings.home, self.tasks(), self._app.list_used_embedders()),
            *(reading for one in self._app.list_served() for reading in iter_catalogue_readings(one)),
        ]

    def task(self) -> Task:
        """Return the task that looks at every part, so that faults are logged though nobody asks for the health."""

        def run(_context: TaskContext) -> str:
            problems = self.problems()
            if problems:
                raise StorageError("; ".join(f"{part}: {problem}" for part, problem in sorted(problems.items())))
            return "every part works"

        description = "Looks at every part that /health names."
        return Task(
            name="watch parts", description=description, run=run, first_s=WATCH_S, period_s=WATCH_S, retry_s=WATCH_S
        )

    def tasks(self) -> list[TaskStatus]:
        """Return the tasks in the background of the server."""
        return self._app.background.list_tasks()

    def find_unready(self) -> str | None:
        """Return why nobody can be served now; None where somebody can, if only callers who are known."""
        check = (
            None if self._control and self._control.identities.may_do_without else self._checks.get(CONTROL_DATABASE)
        )
        if check is not None and (problem := check.find_problem()) is not None:
            return f"{CONTROL_DATABASE}: {problem}"
        return None if self._app.can_answer() else "no catalogue can be read"

    def _find_jobs_problem(self) -> str | None:
        """Return why no job is begun."""
        task = next((one for one in self._app.background.list_tasks() if one.name == JOBS_TASK), None)
        if task is None:
            return None
        idle_s = 0.0 if task.last_at is None else (utc_now() - task.last_at).total_seconds()
        is_still = task.state is TaskState.RUNNING and idle_s > STILL_S
        return task.last_error or (f"the scheduler stands still for {idle_s:.0f} s" if is_still else None)

    def _check_disk(self) -> str | None:
        home = self._app.settings.home
        return check_disk(home) or self._trend.find_problem(shutil.disk_usage(home).free, time.monotonic())

    def _check_jobs(self, control: Control) -> None:
        """Read which jobs failed, and which tokens end soon."""
        self._job_problems = find_job_problems(control.database, utc_now())
        ends = [ends_at for ends_at, _token in list_ending_tokens(control.database, utc_now() + ENDS_SOON)]
        self._token_note = f"{len(ends)} end within {ENDS_SOON.days} days, the next on {ends[0]:%F}" if ends else OK

    def _stalled(self) -> dict[str, str]:
        """Return the catalogues whose vectors wait too long."""
        found = {f"{CATALOGUE} {one.name}": find_stalled_vectors(one) for one in self._app.list_served()}
        return {part: problem for part, problem in found.items() if problem is not None}

    def _job_readings(self) -> Iterator[Reading]:
        try:
            yield from iter_job_readings(self._control.database, utc_now()) if self._control else ()
        except StorageError:
            return  # the control database is a part of its own

    def _collection_problems(self) -> dict[str, str]:
        """Return the collections that are not synced, as conditions of their catalogues, and the place if it fails."""
        problems = find_collection_problems(self._app.settings)
        return {f"{CATALOGUE} {name}" if name else COLLECTIONS: problem for name, problem in problems}

    def _check_embedding(self) -> str | None:
        problems = [_check_embedder(embedder) for embedder in self._app.list_used_embedders()]
        return "; ".join(dict.fromkeys(problem for problem in problems if problem is not None)) or None


def _check_control(control: Control) -> None:
    """Read the database; a failure is raised."""
    control.database.version()


def _check_embedder(embedder: WatchedEmbedder) -> str | None:
    """Return why an embedder does not work: one whose last query failed is asked again, through its breaker."""
    if embedder.problem is None:
        return embedder.check()
    try:
        embedder.embed_query(PROBE_TEXT)
    except ExpectedError as error:
        return error.full_message
    return None


def _list_busy(catalogue: OpenCatalogue) -> list[str]:
    """Return what a catalogue is busy with, as far as that is known without waiting."""
    reader = catalogue.shelf.find_reader()
    busy = [] if reader is None else [reader.stale, about_awaited_vectors(reader)]
    return [one for one in busy if one]
