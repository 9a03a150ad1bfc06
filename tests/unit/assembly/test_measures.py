"""Measures that get worse with time: late and failed jobs, tokens that end, a disk that fills,
vectors that wait.
"""

import os
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from stackroom.assembly.app import App
from stackroom.assembly.server_health import (
    ENDS_SOON,
    ServerHealth,
    find_job_problems,
    find_stalled_vectors,
    iter_job_readings,
    iter_server_readings,
    list_ending_tokens,
)
from stackroom.control.control import Control
from stackroom.control.database.tables import utc_now
from stackroom.errors import StorageError
from stackroom.jobs.board import JobBoard
from stackroom.jobs.job import JobSpec, RunEnd, RunReport, Runs, RunState
from stackroom.model.principal import LOCAL_USER
from stackroom.settings import Settings
from stackroom.shelf.store_place import STORE_FILE
from stackroom.tools.catalogue import OpenCatalogue

pytestmark = pytest.mark.row("T8")

DAY = timedelta(days=1)


@pytest.fixture
def control(tmp_path: Path) -> Iterator[Control]:
    with closing(Control.open(Settings(home=tmp_path))) as opened:
        opened.accounts.create_first_admin()
        yield opened


def run_job(
    control: Control, name: str, *, error: str | None = None, at: datetime | None = None
) -> None:
    """Note a run of a job that ended at a time."""
    runs = Runs(control.database, now=lambda: at or utc_now())
    run = runs.queue(name, by="test")
    runs.start(run.id, holder="here")
    state = RunState.DONE if error is None else RunState.FAILED
    runs.end(run.id, RunReport(), RunEnd(state=state, error=error), holder="here")


def test_a_backup_that_fails_is_named_until_one_succeeds(control: Control) -> None:
    run_job(control, "backup", error="no room")
    run_job(control, "backup", error="not a folder")
    problems = find_job_problems(control.database, utc_now())
    assert problems == {"job backup": "failed 2 times (no success yet): not a folder"}
    run_job(control, "backup")
    assert find_job_problems(control.database, utc_now()) == {}


def test_a_backup_is_late_once_two_scheduled_runs_were_missed(control: Control) -> None:
    run_job(control, "backup")
    now = utc_now()
    assert find_job_problems(control.database, now + DAY) == {}
    (problem,) = find_job_problems(control.database, now + 3 * DAY).values()
    assert "older than twice its schedule" in problem


def test_a_backup_that_never_ran_is_late_by_the_age_of_the_accounts(control: Control) -> None:
    assert (
        "no success yet" in find_job_problems(control.database, utc_now() + 3 * DAY)["job backup"]
    )


def test_a_backup_that_is_off_or_manual_is_not_late(control: Control) -> None:
    spec = JobSpec(name="backup", description="", schedule="0 3 * * *", body=lambda _context: None)
    JobBoard(control.database, [spec]).change(spec.name, enabled=False)
    assert find_job_problems(control.database, utc_now() + 9 * DAY) == {}


def test_a_failure_that_no_run_followed_for_a_month_is_of_a_job_that_is_gone(
    control: Control,
) -> None:
    run_job(control, "backup")
    run_job(control, "refresh:gone", error="no such catalogue", at=utc_now() - 40 * DAY)
    run_job(control, "monthly", error="no room", at=utc_now() - 20 * DAY)
    assert list(find_job_problems(control.database, utc_now())) == ["job monthly"]


def test_tokens_that_end_soon_are_listed_and_those_without_an_end_are_not(control: Control) -> None:
    for name, days in (("soon", 5), ("next", 2), ("later", 60), ("service", None)):
        lasts = None if days is None else timedelta(days=days)
        control.credentials.issue_token(LOCAL_USER, "admin", name=name, expires_in=lasts)
    ending = list_ending_tokens(control.database, utc_now() + ENDS_SOON)
    assert [token.name for _ends_at, token in ending] == ["next", "soon"]
    readings = [
        one for one in iter_job_readings(control.database, utc_now()) if "token" in one.labels
    ]
    assert sorted(one.labels["token"] for one in readings) == ["later", "next", "soon"]


def test_jobs_are_measured_by_their_last_success_their_failures_and_the_age_of_the_backup(
    control: Control,
) -> None:
    run_job(control, "backup")
    run_job(control, "prune_logs", error="no room")
    values = {
        (one.name, one.labels.get("job")): one.value
        for one in iter_job_readings(control.database, utc_now())
    }
    assert values["job_failures", "prune_logs"] == 1
    assert values["job_failures", "backup"] == 0
    assert values["job_last_success_timestamp_seconds", "backup"] == pytest.approx(
        utc_now().timestamp(), abs=300
    )
    assert 0 <= values["backup_age_seconds", None] < 300


def waiting_catalogue(folder: Path, waiting: int, written_at: float) -> OpenCatalogue:
    (folder / STORE_FILE).touch()
    os.utime(folder / STORE_FILE, (written_at, written_at))
    reader = SimpleNamespace(awaiting_vectors=waiting)
    shelf = SimpleNamespace(find_reader=lambda: reader)
    return cast(OpenCatalogue, SimpleNamespace(name="films", folder=folder, shelf=shelf))


def test_vectors_wait_too_long_when_none_are_written_for_a_quarter_of_an_hour(
    tmp_path: Path,
) -> None:
    now = time.time()
    assert find_stalled_vectors(waiting_catalogue(tmp_path, 7, now)) is None
    problem = find_stalled_vectors(waiting_catalogue(tmp_path, 7, now - 1201))
    assert problem is not None
    assert problem.startswith("7 records wait for their vectors since 20 minutes")
    assert find_stalled_vectors(waiting_catalogue(tmp_path, 0, now - 1201)) is None


def test_health_names_a_backup_that_failed_and_its_task_logs_it(
    control: Control, tmp_path: Path
) -> None:
    run_job(control, "backup", error="no room")
    with closing(App(Settings(home=tmp_path))) as app:
        health = ServerHealth(app, control, fresh_s=0.0)
        assert health.problems() == {"job backup": "failed (no success yet): no room"}
        with pytest.raises(StorageError, match="job backup: failed"):
            health.task().run(cast(Any, None))
        control.credentials.issue_token(LOCAL_USER, "admin", name="soon", expires_in=DAY)
        health.problems()
        assert health.states()["tokens"].startswith("1 end within 14 days, the next on ")


def test_files_that_are_gone_are_no_measure_and_no_failure_of_the_check(tmp_path: Path) -> None:
    catalogue = waiting_catalogue(tmp_path, 7, 0.0)
    (tmp_path / STORE_FILE).unlink()
    assert find_stalled_vectors(catalogue) is None
    assert list(iter_server_readings(tmp_path / "gone", [], [])) == []
