"""Measures that get worse with time, and which of them are problems, for `/health`, `stackroom doctor` and `/metrics`.

Jobs and tokens are read from the control database, waiting vectors and rejected rows from the open catalogues, and the
room on the disk from the system. Nothing is changed.
"""

import shutil
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from stackroom.background.task import TaskStatus
from stackroom.control.accounts.accounts import Accounts
from stackroom.control.accounts.credentials import Credential, Credentials
from stackroom.control.database.engine import ControlDatabase
from stackroom.embed.adapters import WatchedEmbedder
from stackroom.ingest.ledger import count_rejects
from stackroom.jobs.backup import BACKUP_JOB
from stackroom.jobs.job import JobSpec
from stackroom.jobs.runs import JobRun, Runs, RunState
from stackroom.jobs.timetable import BACKUP_SCHEDULE, Timetable
from stackroom.library import LEDGER_FILE
from stackroom.shelf.store_place import STORE_FILE
from stackroom.tools.catalogue import OpenCatalogue

LEEWAY = timedelta(hours=1)
FORGOTTEN_AFTER = timedelta(days=32)
"""A failure that no later run followed counts no longer: the job is gone, as that of a catalogue that was removed."""
WAITED_TOO_LONG_S = 900.0
"""Vectors wait too long when nothing was written to their catalogue for so long."""
ENDS_SOON = timedelta(days=14)
DAY_S = 86_400.0
SAMPLE_S = 60.0
LEAST_SPAN_S, MOST_SPAN_S = 3_600.0, 21_600.0
"""How long the disk is watched before a rate is told, and over which time at most."""
BACKUP = JobSpec(name=BACKUP_JOB, description="", schedule=BACKUP_SCHEDULE, body=lambda _context: None)


class Reading(NamedTuple):
    """One value of a metric, whose name lacks `stackroom_`."""

    name: str
    value: float
    labels: Mapping[str, str] = {}


class DiskTrend:
    """The free room on a disk over the last hours."""

    def __init__(self) -> None:
        self._samples: deque[tuple[float, int]] = deque()

    def find_problem(self, free: int, at_s: float) -> str | None:
        """Take a sample; return that the disk fills within a day at the rate of the samples.

        The rate is the lesser one of the whole time and of its later half: a build that is over is no rate.
        """
        if not self._samples or at_s - self._samples[-1][0] >= SAMPLE_S:
            self._samples.append((at_s, free))
        while at_s - self._samples[0][0] > MOST_SPAN_S:
            self._samples.popleft()
        began_at = (self._samples[0], self._samples[len(self._samples) // 2])
        rate = min((before - free) / max(at_s - began_s, SAMPLE_S) for began_s, before in began_at)
        if at_s - self._samples[0][0] < LEAST_SPAN_S or free >= rate * DAY_S:
            return None
        return f"it fills within {free / rate / 3600:.0f} hours at the present rate; make room, or find what grows"


def find_job_problems(database: ControlDatabase, now: datetime) -> dict[str, str]:
    """Return the jobs whose last run failed, and a backup that is older than twice its schedule."""
    ended = Runs(database).list_ended()
    problems = {f"job {job}": _about(failed, runs) for job, runs in ended.items() if (failed := _failures(runs, now))}
    late_at, since = _late_at(database, ended), _last_success(ended.get(BACKUP_JOB, []))
    if late_at is not None and now > late_at:
        old = f"{_said(since)}, older than twice its schedule; is a server running? To run it: stackroom job run backup"
        problems.setdefault(f"job {BACKUP_JOB}", old)
    return problems


def _about(failed: Sequence[JobRun], runs: Sequence[JobRun]) -> str:
    times = f" {len(failed)} times" if len(failed) > 1 else ""
    return f"failed{times} ({_said(_last_success(runs))}): {failed[0].error}"


def _said(last: datetime | None) -> str:
    return "no success yet" if last is None else f"last success {last:%Y-%m-%d %H:%M} UTC"


def _failures(runs: Sequence[JobRun], now: datetime) -> list[JobRun]:
    """Return the runs that failed since the last success, the newest first; `runs` are those of a job that ended."""
    failed = list(takewhile(lambda run: run.state is RunState.FAILED, runs))
    return failed if failed and now - failed[0].queued_at < FORGOTTEN_AFTER else []


def _last_success(runs: Sequence[JobRun]) -> datetime | None:
    return next((run.ended_at for run in runs if run.state is RunState.DONE), None)


def _backup_since(database: ControlDatabase, ended: Mapping[str, Sequence[JobRun]]) -> datetime | None:
    """Return when the last backup was made; the time of the accounts where there is none."""
    users, _total = Accounts(database).list_users()
    return _last_success(ended.get(BACKUP_JOB, [])) or min((user.created_at for user in users), default=None)


def _late_at(database: ControlDatabase, ended: Mapping[str, Sequence[JobRun]]) -> datetime | None:
    """Return when the second scheduled backup since the last is missed; None where there is no schedule."""
    timing, since = Timetable(database).timings([BACKUP])[BACKUP_JOB], _backup_since(database, ended)
    due_at = timing.schedule.next_after(since) if timing.enabled and since is not None else None
    missed_at = None if due_at is None else timing.schedule.next_after(due_at)
    return None if missed_at is None else missed_at + LEEWAY


def list_ending_tokens(database: ControlDatabase, until: datetime | None = None) -> list[tuple[datetime, Credential]]:
    """Return the valid tokens that end, or end before a time, each with its end, the next first."""
    tokens = [one for one in Credentials(database).list_all() if one.kind == "token"]
    ends = [(one.expires_at, one) for one in tokens if one.expires_at and (until is None or one.expires_at < until)]
    return sorted(ends, key=lambda end: (end[0], end[1].id))


def find_stalled_vectors(catalogue: OpenCatalogue) -> str | None:
    """Return that records wait for their vectors and none are written; None where they come, or it is not open."""
    reader = catalogue.shelf.find_reader()
    if reader is None or not reader.awaiting_vectors or catalogue.folder is None:
        return None
    try:
        waited_s = time.time() - max(path.stat().st_mtime for path in catalogue.folder.glob(f"{STORE_FILE}*"))
    except (OSError, ValueError):  # its files have just gone, which is told elsewhere
        return None
    if waited_s < WAITED_TOO_LONG_S:
        return None
    how = f"bring it up to its sources: stackroom job trigger refresh:{catalogue.name}"
    return f"{reader.awaiting_vectors} records wait for their vectors since {waited_s / 60:.0f} minutes; {how}"


def iter_job_readings(database: ControlDatabase, now: datetime) -> Iterator[Reading]:
    """Yield the last success and the failures of each job, the age of the backup, and the end of each token."""
    ended = Runs(database).list_ended()
    for job, runs in ended.items():
        yield Reading("job_failures", len(_failures(runs, now)), {"job": job})
        if (last := _last_success(runs)) is not None:
            yield Reading("job_last_success_timestamp_seconds", last.timestamp(), {"job": job})
    if (since := _backup_since(database, ended)) is not None:
        yield Reading("backup_age_seconds", (now - since).total_seconds())
    for ends_at, token in list_ending_tokens(database):
        yield Reading("token_expiry_timestamp_seconds", ends_at.timestamp(), {"user": token.user, "token": token.name})


def iter_server_readings(
    home: Path, tasks: Sequence[TaskStatus], embedders: Iterable[WatchedEmbedder]
) -> Iterator[Reading]:
    """Yield the room on the disk, the tasks in the background, and the queries of models and the time they took."""
    with suppress(OSError):  # the library's folder is gone, which is told elsewhere
        disk = shutil.disk_usage(home)
        yield from (Reading("disk_free_bytes", disk.free), Reading("disk_size_bytes", disk.total))
    for task in tasks:
        yield Reading("task_failures", task.failures, {"task": task.name})
        if (last := task.last_success_at) is not None:
            yield Reading("task_last_success_timestamp_seconds", last.timestamp(), {"task": task.name})
    for embedder in embedders:
        labels = {"model": embedder.model.name}
        yield Reading("model_queries_total", embedder.queries, labels)
        yield Reading("model_failures_total", embedder.failures, labels)
        yield Reading("model_seconds_total", embedder.seconds, labels)


def iter_catalogue_readings(catalogue: OpenCatalogue) -> Iterator[Reading]:
    """Yield how many records of a catalogue wait for vectors, and how many rows were left out of it."""
    labels = {"catalogue": catalogue.name}
    if (reader := catalogue.shelf.find_reader()) is not None:
        yield Reading("waiting_vectors", reader.awaiting_vectors, labels)
    if catalogue.folder is not None:
        yield Reading("rejected_rows", count_rejects(catalogue.folder / LEDGER_FILE), labels)
