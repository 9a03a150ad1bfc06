"""The health of a server by its parts, soon and cheaply; reasons may have paths, which others are
not to be shown.
"""

import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from stackroom.assembly.app import App
from stackroom.background.background import Task, TaskContext, TaskState, TaskStatus
from stackroom.background.machine_limits import check_disk, check_files
from stackroom.background.threads import BoundedCheck
from stackroom.control.accounts.accounts import Accounts
from stackroom.control.accounts.credentials import Credential, Credentials
from stackroom.control.control import Control
from stackroom.control.database.engine import ControlDatabase
from stackroom.control.database.tables import utc_now
from stackroom.embed.adapters import WatchedEmbedder
from stackroom.errors import ExpectedError, StorageError
from stackroom.ingest.ledger import count_rejects
from stackroom.jobs.backup import BACKUP_JOB
from stackroom.jobs.board import BACKUP_SCHEDULE, JobBoard
from stackroom.jobs.job import JobRun, JobSpec, Runs, RunState
from stackroom.jobs.scheduler import TASK as JOBS_TASK
from stackroom.library import LEDGER_FILE
from stackroom.search.searcher import about_awaited_vectors
from stackroom.shelf.store_place import STORE_FILE
from stackroom.sources.collections import find_collection_problems, find_place
from stackroom.tools.catalogue import OpenCatalogue

LEEWAY = timedelta(hours=1)
FORGOTTEN_AFTER = timedelta(days=32)
"""A failure that no later run followed counts no longer: the job is gone, as that of a catalogue
that was removed.
"""
# vectors wait too long when nothing was written to their catalogue for so long
WAITED_TOO_LONG_S = 900.0
ENDS_SOON = timedelta(days=14)
BACKUP = JobSpec(
    name=BACKUP_JOB, description="", schedule=BACKUP_SCHEDULE, body=lambda _context: None
)


class Reading(NamedTuple):
    """One value of a metric, whose name lacks `stackroom_`."""

    name: str
    value: float
    labels: Mapping[str, str] = {}


def find_job_problems(database: ControlDatabase, now: datetime) -> dict[str, str]:
    """Return the jobs whose last run failed, and a backup that is older than twice its schedule."""
    ended = Runs(database).list_ended()
    problems = {}
    for job, runs in ended.items():
        if failed := _failures(runs, now):
            times = f" {len(failed)} times" if len(failed) > 1 else ""
            problems[f"job {job}"] = (
                f"failed{times} ({_said(_last_success(runs))}): {failed[0].error}"
            )
    timing = JobBoard(database, [BACKUP]).timings([BACKUP])[BACKUP_JOB]
    since = _backup_since(database, ended)
    due_at = timing.schedule.next_after(since) if timing.enabled and since is not None else None
    # the second one since the last
    missed_at = None if due_at is None else timing.schedule.next_after(due_at)
    if missed_at is not None and now > missed_at + LEEWAY:
        last = _said(_last_success(ended.get(BACKUP_JOB, [])))
        old = (
            f"{last}, older than twice its schedule; is a server running? To run it: stackroom job"
            " run backup"
        )
        problems.setdefault(f"job {BACKUP_JOB}", old)
    return problems


def _said(last: datetime | None) -> str:
    return "no success yet" if last is None else f"last success {last:%Y-%m-%d %H:%M} UTC"


def _failures(runs: Sequence[JobRun], now: datetime) -> list[JobRun]:
    """Return the runs that failed since the last success, the newest first; `runs` are those of a
    job that ended.
    """
    failed = list(takewhile(lambda run: run.state is RunState.FAILED, runs))
    return failed if failed and now - failed[0].queued_at < FORGOTTEN_AFTER else []


def _last_success(runs: Sequence[JobRun]) -> datetime | None:
    return next((run.ended_at for run in runs if run.state is RunState.DONE), None)


def _backup_since(
    database: ControlDatabase, ended: Mapping[str, Sequence[JobRun]]
) -> datetime | None:
    """Return when the last backup was made; the time of the accounts where there is none."""
    users, _total = Accounts(database).list_users()
    return _last_success(ended.get(BACKUP_JOB, [])) or min(
        (user.created_at for user in users), default=None
    )


def list_ending_tokens(
    database: ControlDatabase, until: datetime | None = None
) -> list[tuple[datetime, Credential]]:
    """Return the valid tokens that end, or end before a time, each with its end, the next first."""
    tokens = [one for one in Credentials(database).list_all() if one.kind == "token"]
    ends = [
        (one.expires_at, one)
        for one in tokens
        if one.expires_at and (until is None or one.expires_at < until)
    ]
    return sorted(ends, key=lambda end: (end[0], end[1].id))


def find_stalled_vectors(catalogue: OpenCatalogue) -> str | None:
    """Return that records wait for their vectors and none are written; None where they come, or it
    is not open.
    """
    reader = catalogue.shelf.find_reader()
    if reader is None or not reader.awaiting_vectors or catalogue.folder is None:
        return None
    try:
        waited_s = time.time() - max(
            path.stat().st_mtime for path in catalogue.folder.glob(f"{STORE_FILE}*")
        )
    except (OSError, ValueError):  # its files have just gone, which is told elsewhere
        return None
    if waited_s < WAITED_TOO_LONG_S:
        return None
    how = f"bring it up to its sources: stackroom job trigger refresh:{catalogue.name}"
    return (
        f"{reader.awaiting_vectors} records wait for their vectors since {waited_s / 60:.0f}"
        f" minutes; {how}"
    )


def iter_job_readings(database: ControlDatabase, now: datetime) -> Iterator[Reading]:
    """Yield the last success and the failures of each job, the age of the backup, and the end of
    each token.
    """
    ended = Runs(database).list_ended()
    for job, runs in ended.items():
        yield Reading("job_failures", len(_failures(runs, now)), {"job": job})
        if (last := _last_success(runs)) is not None:
            yield Reading("job_last_success_timestamp_seconds", last.timestamp(), {"job": job})
    if (since := _backup_since(database, ended)) is not None:
        yield Reading("backup_age_seconds", (now - since).total_seconds())
    for ends_at, token in list_ending_tokens(database):
        yield Reading(
            "token_expiry_timestamp_seconds",
            ends_at.timestamp(),
            {"user": token.user, "token": token.name},
        )


def iter_server_readings(
    home: Path, tasks: Sequence[TaskStatus], embedders: Iterable[WatchedEmbedder]
) -> Iterator[Reading]:
    """Yield the room on the disk, the tasks in the background, and the queries of models and the
    time they took.
    """
    with suppress(OSError):  # the library's folder is gone, which is told elsewhere
        disk = shutil.disk_usage(home)
        yield from (Reading("disk_free_bytes", disk.free), Reading("disk_size_bytes", disk.total))
    for task in tasks:
        yield Reading("task_failures", task.failures, {"task": task.name})
        if (last := task.last_success_at) is not None:
            yield Reading(
                "task_last_success_timestamp_seconds", last.timestamp(), {"task": task.name}
            )
    for embedder in embedders:
        labels = {"model": embedder.model.name}
        yield Reading("model_queries_total", embedder.queries, labels)
        yield Reading("model_failures_total", embedder.failures, labels)
        yield Reading("model_seconds_total", embedder.seconds, labels)


def iter_catalogue_readings(catalogue: OpenCatalogue) -> Iterator[Reading]:
    """Yield how many records of a catalogue wait for vectors, and how many rows were left out of
    it.
    """
    labels = {"catalogue": catalogue.name}
    if (reader := catalogue.shelf.find_reader()) is not None:
        yield Reading("waiting_vectors", reader.awaiting_vectors, labels)
    if catalogue.folder is not None:
        yield Reading("rejected_rows", count_rejects(catalogue.folder / LEDGER_FILE), labels)


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
STILL_S = 120.0  # a round of the scheduler that has not ended for so long stands still

FRESH_S = 5.0  # how long the result of a check is kept


class ServerHealth:
    """Tells soon, whatever hangs, which parts of a server work, and why the others do not."""

    def __init__(self, app: App, control: Control | None, *, fresh_s: float = FRESH_S) -> None:
        self._app = app
        self._control = control
        self._job_problems: dict[str, str] = {}
        self._token_note = OK
        check, home = partial(BoundedCheck, fresh_s=fresh_s), app.settings.home
        self._checks = {
            DISK: check(partial(check_disk, home), name=DISK),
            OPEN_FILES: check(check_files, name=OPEN_FILES),
            EMBEDDING: check(self._check_embedding, name="embedder"),
        }
        if control is not None:
            database = partial(_check_control, control)
            self._checks[CONTROL_DATABASE] = check(database, name=CONTROL_DATABASE)
            history = partial(self._check_jobs, control)
            self._checks[JOBS] = check(history, name="history of jobs")

    def problems(self) -> dict[str, str]:
        """Return the parts that do not work as they should, each with the reason."""
        found = {part: check.find_problem() for part, check in self._checks.items()}
        found |= {JOBS: self._find_jobs_problem() or found.get(JOBS), **self._job_problems}
        found |= {
            f"{CATALOGUE} {one.name}": find_stalled_vectors(one) for one in self._app.list_served()
        }
        for name, problem in find_collection_problems(self._app.settings):
            found[f"{CATALOGUE} {name}" if name else COLLECTIONS] = problem
        found |= self._app.catalogue_problems()
        found[AUDIT] = self._control.audit.find_problem() if self._control else None
        return {part: problem for part, problem in found.items() if problem is not None}

    def states(self) -> dict[str, str]:
        """Return the state of every part: `ok`, what it is busy with, or what is wrong."""
        states = dict.fromkeys(self._checks, OK)
        if self._control is not None:
            states |= {AUDIT: OK, JOBS: OK, TOKENS: self._token_note}
        if find_place(self._app.settings) is not None:
            states[COLLECTIONS] = OK
        states |= {
            f"{CATALOGUE} {one.name}": self._state_of(one) for one in self._app.list_served()
        }
        return states | self.problems()

    def _state_of(self, catalogue: OpenCatalogue) -> str:
        """Return what a catalogue is busy with, as far as that is known without waiting, and a
        newer release of it.
        """
        reader = catalogue.shelf.find_reader()
        newer = self._app.release_status.find_newer(catalogue.name)
        notes = [] if reader is None else [reader.stale, about_awaited_vectors(reader)]
        return "; ".join([*filter(None, notes), *([str(newer)] if newer is not None else [])]) or OK

    def readings(self) -> list[Reading]:
        """Return the measures of jobs, tokens, disk, tasks, models and catalogues, as far as they
        can be read.
        """
        readings: list[Reading] = []
        with suppress(StorageError):  # the control database is a part of its own
            readings += (
                iter_job_readings(self._control.database, utc_now()) if self._control else ()
            )
        served = self._app.list_served()
        embedders = self._app.list_embedders(served)
        readings += iter_server_readings(self._app.settings.home, self.tasks(), embedders)
        return readings + [reading for one in served for reading in iter_catalogue_readings(one)]

    def task(self) -> Task:
        """Return the task that looks at every part, so that faults are logged though nobody asks
        for the health.
        """

        def run(_context: TaskContext) -> str:
            if problems := self.problems():
                raise StorageError(
                    "; ".join(f"{part}: {problem}" for part, problem in sorted(problems.items()))
                )
            return "every part works"

        about = "Looks at every part that /health names."
        return Task(
            name="watch parts",
            description=about,
            run=run,
            first_s=WATCH_S,
            period_s=WATCH_S,
            retry_s=WATCH_S,
        )

    def tasks(self) -> list[TaskStatus]:
        """Return the tasks in the background of the server."""
        return self._app.background.list_tasks()

    def find_unready(self) -> str | None:
        """Return why nobody can be served now; None where somebody can, if only callers who are
        known.
        """
        may_do_without = self._control is None or self._control.identities.may_do_without
        if (
            not may_do_without
            and (problem := self._checks[CONTROL_DATABASE].find_problem()) is not None
        ):
            return f"{CONTROL_DATABASE}: {problem}"
        return None if self._app.can_answer() else "no catalogue can be read"

    def _find_jobs_problem(self) -> str | None:
        """Return why no job is begun."""
        task = next(
            (one for one in self._app.background.list_tasks() if one.name == JOBS_TASK), None
        )
        if task is None:
            return None
        idle_s = 0.0 if task.last_at is None else (utc_now() - task.last_at).total_seconds()
        is_still = task.state is TaskState.RUNNING and idle_s > STILL_S
        return task.last_error or (
            f"the scheduler stands still for {idle_s:.0f} s" if is_still else None
        )

    def _check_jobs(self, control: Control) -> None:
        """Read which jobs failed, and which tokens end soon."""
        self._job_problems = find_job_problems(control.database, utc_now())
        ends = [
            ends_at
            for ends_at, _token in list_ending_tokens(control.database, utc_now() + ENDS_SOON)
        ]
        self._token_note = (
            f"{len(ends)} end within {ENDS_SOON.days} days, the next on {ends[0]:%F}"
            if ends
            else OK
        )

    def _check_embedding(self) -> str | None:
        problems = map(_check_embedder, self._app.list_embedders(self._app.list_served()))
        return (
            "; ".join(dict.fromkeys(problem for problem in problems if problem is not None)) or None
        )


def _check_control(control: Control) -> None:
    """Read the database; a failure is raised."""
    control.database.version()


def _check_embedder(embedder: WatchedEmbedder) -> str | None:
    """Return why an embedder does not work: one whose last query failed is asked again, through its
    breaker.
    """
    if embedder.problem is None:
        return embedder.check()
    try:
        embedder.embed_query(PROBE_TEXT)
    except ExpectedError as error:
        return error.full_message
    return None
