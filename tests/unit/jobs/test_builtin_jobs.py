"""What the jobs do, over maintenance that a test hands in."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from stackroom.background.task import TaskStopped
from stackroom.control.audit.reading import AuditReport
from stackroom.errors import InputError, StorageError, UnavailableError
from stackroom.jobs.backup import BackupPlan
from stackroom.jobs.builtin_jobs import MaintenanceOperations, Retention, Source, list_builtin_jobs
from stackroom.jobs.job import JobContext
from stackroom.jobs.timetable import parse_schedule
from stackroom.shelf.port import Problem

pytestmark = pytest.mark.row("Z9")

NOW = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)
WHOLE = AuditReport(rows=5, first_problem=None, head="5:x")


def nothing_wrong(*_arguments: Any) -> Sequence[str]:
    return []


@pytest.fixture
def maintenance(tmp_path: Path) -> MaintenanceOperations:
    """MaintenanceOperations of a library in which all is well."""
    sources = [
        Source(catalogue="notes", location="/notes", is_folder=True),
        Source(catalogue="films", location="/films.csv", is_folder=False),
        Source(catalogue="films", location="arxiv:all:film", is_folder=False),
    ]

    def refresh(source: Source, rows_read: Callable[[int], None]) -> str:
        rows_read(7)
        return f"read {source.location}"

    return MaintenanceOperations(
        list_sources=lambda: sources,
        refresh=refresh,
        list_catalogues=lambda: ["films", "notes"],
        verify_index=nothing_wrong,
        rebuild_index=lambda name: f"{len(name)} records indexed",
        check_catalogue=nothing_wrong,
        mend_catalogue=lambda _name, _checkpoint: [],
        check_control=nothing_wrong,
        verify_audit=lambda: WHOLE,
        plan_backup=lambda: BackupPlan(items=(), notes=("PostgreSQL is not in it",)),
        backups=tmp_path / "backups",
        prune_audit=lambda _before: 3,
        prunings={},
        recalibrate=lambda _name: "measured",
        now=lambda: NOW,
    )


def run(name: str, maintenance: MaintenanceOperations, context: JobContext | None = None) -> str:
    """Run a job, and return what it wrote."""
    context = context or JobContext()
    (spec,) = (one for one in list_builtin_jobs(lambda: maintenance) if one.name == name)
    spec.body(context)
    return context.report().output


def failure(name: str, maintenance: MaintenanceOperations) -> tuple[str, str]:
    """Run a job that fails, and return why, and what it wrote."""
    context = JobContext()
    with pytest.raises(StorageError) as caught:
        run(name, maintenance, context)
    return caught.value.message, context.report().output


def test_every_job_has_a_schedule_that_is_understood_and_a_name_of_its_own(maintenance: MaintenanceOperations) -> None:
    jobs = list_builtin_jobs(lambda: maintenance)
    assert [job.name for job in jobs] == sorted({job.name for job in jobs})
    for job in jobs:
        parse_schedule(job.schedule)
        assert job.description.endswith(".")


def test_nothing_outside_is_asked_unless_somebody_enables_it(maintenance: MaintenanceOperations) -> None:
    off = {job.name for job in list_builtin_jobs(lambda: maintenance) if not job.enabled}
    assert off == {"refresh_sources", "update_releases"}


def test_folders_and_other_sources_are_brought_up_by_jobs_of_their_own(maintenance: MaintenanceOperations) -> None:
    assert run("rescan_folders", maintenance) == "notes from /notes: read /notes\n"
    assert run("refresh_sources", maintenance).splitlines() == [
        "films from /films.csv: read /films.csv",
        "films from arxiv:all:film: read arxiv:all:film",
    ]


def test_a_source_that_fails_does_not_keep_the_others_waiting(maintenance: MaintenanceOperations) -> None:
    def refresh(source: Source, _rows_read: Callable[[int], None]) -> str:
        if source.location == "/films.csv":
            raise InputError("there is no such file")
        return "read"

    why, output = failure("refresh_sources", replace(maintenance, refresh=refresh))
    assert why == "1 of 2 failed: films from /films.csv: there is no such file"
    assert output.splitlines()[1] == "films from arxiv:all:film: read"


def test_a_job_is_left_between_rows_when_it_is_to_end(maintenance: MaintenanceOperations) -> None:
    context = JobContext()

    def refresh(_source: Source, rows_read: Callable[[int], None]) -> str:
        rows_read(1)
        assert context.report().done == 1
        context.stop()
        rows_read(2)
        raise AssertionError("it went on")

    with pytest.raises(TaskStopped):
        run("rescan_folders", replace(maintenance, refresh=refresh), context)


@pytest.mark.parametrize(
    ("name", "output"),
    [
        ("rebuild_indexes", "films: 5 records indexed\nnotes: 5 records indexed\n"),
        ("recompute_calibration", "films: measured\nnotes: measured\n"),
        (
            "verify_indexes",
            "films: its indexes have exactly its records\nnotes: its indexes have exactly its records\n",
        ),
    ],
)
def test_every_catalogue_is_looked_after(maintenance: MaintenanceOperations, name: str, output: str) -> None:
    context = JobContext()
    assert run(name, maintenance, context) == output
    assert (context.report().done, context.report().total) == (2, 2)


def test_where_there_is_nothing_to_do_it_says_so(maintenance: MaintenanceOperations) -> None:
    empty = replace(maintenance, list_catalogues=list, list_sources=list)
    for name in ("rebuild_indexes", "rescan_folders", "prune_logs"):
        assert run(name, empty) == "there is nothing to do\n"


DAMAGE = [
    Problem(part="records", message=message, advice="put it back") for message in ("page 7 is damaged", "page 8 too")
]


def test_the_integrity_check_says_what_is_whole_and_fails_with_what_is_not(maintenance: MaintenanceOperations) -> None:
    assert run("integrity_check", maintenance).splitlines() == [
        "catalogue films: whole",
        "catalogue notes: whole",
        "control database: whole",
        "audit: the audit's 5 rows are as they were written",
    ]
    broken = replace(
        maintenance,
        check_catalogue=lambda name, _checkpoint: DAMAGE if name == "notes" else [],
        verify_audit=lambda: replace(WHOLE, first_problem="row 3 is missing"),
    )
    why, output = failure("integrity_check", broken)
    assert why == (
        "2 of 4 failed: catalogue notes: page 7 is damaged; put it back; page 8 too; put it back; audit: the audit is "
        "not whole: row 3 is missing; see stackroom audit verify"
    )
    assert "control database: whole" in output
    assert "verify" in failure("verify_indexes", replace(maintenance, verify_index=lambda *_: ["verify"]))[0]


def test_a_back_up_says_where_it_is_and_what_is_not_in_it(maintenance: MaintenanceOperations) -> None:
    first, second = run("backup", maintenance).splitlines()
    assert first == "PostgreSQL is not in it"
    assert second.endswith(f"in {maintenance.backups / '20261115T120000Z'}")


def test_what_is_older_than_it_is_kept_is_pruned(maintenance: MaintenanceOperations) -> None:
    asked: dict[str, datetime] = {}

    def prune(what: str) -> Callable[[datetime], int]:
        def at(before: datetime) -> int:
            asked[what] = before
            return 12

        return at

    some = replace(
        maintenance,
        prune_audit=prune("audit"),
        verify_audit=lambda: replace(WHOLE, pruned=12),
        prunings={"events": prune("events"), "downloads": prune("downloads")},
        retention=Retention(audit_days=30, logs_days=10),
    )
    said = run("prune_audit", some)
    assert said == (
        "12 rows from before 2026-10-16 removed; "
        "the audit's 5 rows (after 12 that were pruned) are as they were written\n"
    )
    assert run("prune_logs", some).splitlines() == [
        "downloads: 12 from before 2026-11-05 removed",
        "events: 12 from before 2026-11-05 removed",
    ]
    assert asked["audit"] == datetime(2026, 10, 16, 12, 0, tzinfo=UTC)


def test_every_catalogue_from_a_place_is_updated_and_a_failure_is_named(maintenance: MaintenanceOperations) -> None:
    def update(name: str) -> str:
        if name == "films":
            raise UnavailableError("its place does not answer")
        return "1 → 2"

    operations = replace(maintenance, list_released=lambda: ["films", "stars"], update_release=update)
    why, output = failure("update_releases", operations)

    assert output.splitlines() == ["films: failed: its place does not answer", "stars: 1 → 2"]
    assert why == "1 of 2 failed: films: its place does not answer"
