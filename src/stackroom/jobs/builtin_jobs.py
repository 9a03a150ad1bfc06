"""The built-in jobs, in terms of maintenance operations; `list_builtin_jobs` is their table.

A job goes over catalogues or sources one by one, reports on each, continues after a failure, and fails at the end if
any failed. It can be stopped between any two.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from stackroom.control.audit.reading import AuditReport
from stackroom.errors import ExpectedError, StorageError
from stackroom.jobs.backup import BACKUP_JOB, BackupPlan, make_backup
from stackroom.jobs.job import JobContext, JobSpec
from stackroom.jobs.timetable import MANUAL
from stackroom.shelf.port import Checkpoint, Problem

REFRESH_PREFIX = "refresh:"
"""What stands before a catalogue in the name of the job that refreshes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A source of a catalogue."""

    catalogue: str
    location: str
    is_folder: bool

    def __str__(self) -> str:
        return f"{self.catalogue} from {self.location}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How long audit rows and events are kept, and how many back-ups."""

    audit_days: int = 365
    logs_days: int = 180
    backups: int = 3


RowsRead = Callable[[int], None]
"""Called with the number of rows read so far; may raise to stop reading."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceOperations:
    """The operations that the built-in jobs need."""

    list_sources: Callable[[], Sequence[Source]]
    refresh: Callable[[Source, RowsRead], str]
    """Refreshes a catalogue from one of its sources; returns a summary."""
    list_catalogues: Callable[[], Sequence[str]]
    verify_index: Callable[[str, Checkpoint], Sequence[Problem]]
    """Returns how the indexes of a catalogue differ from its records."""
    rebuild_index: Callable[[str], str]
    check_catalogue: Callable[[str, Checkpoint], Sequence[Problem]]
    """Returns the problems of a catalogue."""
    mend_catalogue: Callable[[str, Checkpoint], Sequence[str]]
    """Replaces what is damaged in a catalogue and can be derived from its records; returns what was done."""
    check_control: Callable[[], Sequence[str]]
    """Returns the problems of the control database."""
    verify_audit: Callable[[], AuditReport]
    plan_backup: Callable[[], BackupPlan]
    backups: Path
    """The folder of back-ups."""
    prune_audit: Callable[[datetime], int]
    recalibrate: Callable[[str], str]
    now: Callable[[], datetime]
    prunings: Mapping[str, Callable[[datetime], int]]
    """Name → deletes entries older than a time, and returns their number."""
    retention: Retention = Retention()
    list_released: Callable[[], Sequence[str]] = tuple
    """Returns the catalogues that were installed from a place."""
    update_release: Callable[[str], str] = lambda _name: ""
    """Brings a catalogue to the newest release of its place; returns a summary."""


Work = Callable[[MaintenanceOperations, JobContext], None]
"""What a job does; its docstring is what is shown of the job."""


def list_builtin_jobs(maintenance: Callable[[], MaintenanceOperations]) -> list[JobSpec]:
    """Return the built-in jobs with their default schedules; `maintenance` is called when a job runs.

    Those that need the network are off until an administrator enables them.
    """

    def declare(name: str, work: Work, schedule: str, *, enabled: bool = True, resumes: bool = False) -> JobSpec:
        return JobSpec(
            name=name,
            description=work.__doc__ or "",
            schedule=schedule,
            body=lambda context: work(maintenance(), context),
            enabled=enabled,
            resumes=resumes,
        )

    return [
        declare(BACKUP_JOB, back_up, "0 3 * * *", resumes=True),
        declare("integrity_check", check_integrity, "30 3 * * *"),
        declare("prune_audit", prune_audit, "0 5 * * 0", resumes=True),
        declare("prune_logs", prune_logs, "15 5 * * *", resumes=True),
        declare("rebuild_indexes", rebuild_indexes, MANUAL, resumes=True),
        declare("recompute_calibration", recompute_calibration, "0 6 1 * *", resumes=True),
        declare("refresh_sources", refresh_sources, "0 2 * * *", enabled=False, resumes=True),
        declare("rescan_folders", rescan_folders, "1h", resumes=True),
        declare("update_releases", update_releases, "0 1 * * *", enabled=False, resumes=True),
        declare("verify_indexes", verify_indexes, "0 4 * * 0"),
    ]


def list_refresh_jobs(catalogues: Iterable[str], maintenance: Callable[[], MaintenanceOperations]) -> list[JobSpec]:
    """Return a job for each of these catalogues, which runs by a schedule once it is given one."""
    return [
        JobSpec(
            name=f"{REFRESH_PREFIX}{name}",
            description=f"Bring the catalogue '{name}' up to the sources that it was built from.",
            schedule=MANUAL,
            body=partial(_refresh_catalogue, maintenance, name),
            resumes=True,
            is_quiet=True,
        )
        for name in catalogues
    ]


def _refresh_catalogue(maintenance: Callable[[], MaintenanceOperations], name: str, context: JobContext) -> None:
    operations = maintenance()
    _refresh(operations, [source for source in operations.list_sources() if source.catalogue == name], context)


def rescan_folders(maintenance: MaintenanceOperations, context: JobContext) -> None:
    """Bring every catalogue up to the folders that it was built from."""
    _refresh(maintenance, [source for source in maintenance.list_sources() if source.is_folder], context)


def refresh_sources(maintenance: MaintenanceOperations, context: JobContext) -> None:
    """Bring every catalogue up to the files, databases and providers that it was built from."""
    _refresh(maintenance, [source for source in maintenance.list_sources() if not source.is_folder], context)


def update_releases(maintenance: MaintenanceOperations, context: JobContext) -> None:
    """Bring catalogues that were installed from a place to its newest release."""
    _each(context, "updating", maintenance.list_released(), maintenance.update_release)


def rebuild_indexes(maintenance: MaintenanceOperations, context: JobContext) -> None:
    """Build the indexes of every catalogue anew from its records."""
    _each(context, "indexing", maintenance.list_catalogues(), maintenance.rebuild_index)


def recompute_calibration(maintenance: MaintenanceOperations, context: JobContext) -> None:
    """Measure anew what a cosine means in each catalogue; served from the next start on."""
    _each(context, "measuring", maintenance.list_catalogues(), maintenance.recalibrate)


def verify_indexes(maintenance: MaintenanceOperations, context: JobContext) -> None:
    """Check that the indexes of every catalogue have exactly its records."""

    def verify(name: str) -> str:
        return _require_none(
            maintenance.verify_index(name, context.check_stopped), "its indexes have exactly its records"
        )

    _each(context, "verifying", maintenance.list_catalogues(), verify)


def check_integrity(maintenance: MaintenanceOperations, context: JobContext) -> None:
    """Check the files of every catalogue, the control database, and the chain of the audit."""

    def check_catalogue(name: str) -> str:
        done = maintenance.mend_catalogue(name, context.check_stopped)
        whole = _require_none(maintenance.check_catalogue(name, context.check_stopped), "whole")
        return "; ".join((whole, *done))

    checks: dict[str, Callable[[], str]] = {
        **{f"catalogue {name}": partial(check_catalogue, name) for name in maintenance.list_catalogues()},
        "control database": lambda: _require_none(maintenance.check_control(), "whole"),
        "audit": lambda: _audit_state(maintenance.verify_audit()),
    }
    _each(context, "checking", list(checks), lambda what: checks[what]())


def back_up(maintenance: MaintenanceOperations, context: JobContext) -> None:
    """Copy records, accounts and audit into the library's backups folder, with checksums."""
    plan = maintenance.plan_backup()
    made = make_backup(
        plan, maintenance.backups, at=maintenance.now(), keep=maintenance.retention.backups, context=context
    )
    size_bytes = sum(path.stat().st_size for path in made.rglob("*") if path.is_file())
    for note in plan.notes:
        context.write(note)
    context.write(f"{len(plan.items)} items, {size_bytes / 1_000_000:,.1f} MB, in {made}")


def prune_audit(maintenance: MaintenanceOperations, context: JobContext) -> None:
    """Remove old rows of the audit, in a way that leaves it verifiable."""
    before = maintenance.now() - timedelta(days=maintenance.retention.audit_days)
    removed = maintenance.prune_audit(before)
    context.write(f"{removed} rows from before {before:%Y-%m-%d} removed; {_audit_state(maintenance.verify_audit())}")


def prune_logs(maintenance: MaintenanceOperations, context: JobContext) -> None:
    """Remove old events and other notes."""
    before = maintenance.now() - timedelta(days=maintenance.retention.logs_days)

    def prune(what: str) -> str:
        return f"{maintenance.prunings[what](before)} from before {before:%Y-%m-%d} removed"

    _each(context, "pruning", sorted(maintenance.prunings), prune)


def _refresh(maintenance: MaintenanceOperations, sources: Sequence[Source], context: JobContext) -> None:
    by_name = {str(source): source for source in sources}

    def refresh(name: str) -> str:
        def rows_read(count: int) -> None:
            context.progress(count, None, f"reading {name}")

        return maintenance.refresh(by_name[name], rows_read)

    _each(context, "reading", list(by_name), refresh)


def _each(context: JobContext, doing: str, names: Sequence[str], work: Callable[[str], str]) -> None:
    """Run `work` for each name, report each outcome, and fail at the end if any failed."""
    problems = []
    for number, name in enumerate(names):
        context.progress(number, len(names), f"{doing} {name}")
        try:
            context.write(f"{name}: {work(name)}")
        except ExpectedError as error:
            context.write(f"{name}: failed: {error.message}")
            problems.append(f"{name}: {error.message}")
    context.progress(len(names), len(names), f"{len(names)} looked at")
    if not names:
        context.write("there is nothing to do")
    if problems:
        raise StorageError(f"{len(problems)} of {len(names)} failed: {'; '.join(problems)}")


def _require_none(problems: Sequence[Problem | str], otherwise: str) -> str:
    """Return `otherwise` where there are no problems; else raise them."""
    if problems:
        raise StorageError("; ".join(str(problem) for problem in problems))
    return otherwise


def _audit_state(report: AuditReport) -> str:
    if report.first_problem is not None:
        raise StorageError(f"the audit is not whole: {report.first_problem}; see stackroom audit verify")
    pruned = f" (after {report.pruned} that were pruned)" if report.pruned else ""
    return f"the audit's {report.rows} rows{pruned} are as they were written"
