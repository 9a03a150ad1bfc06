"""Jobs killed with -9 at random points: what they work on is whole, and the next run does the
work.
"""

import os
import random
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from stackroom.assembly.app import App
from stackroom.assembly.builtin_jobs import MaintainedLibrary, list_builtin_jobs
from stackroom.control.audit import AuditLog
from stackroom.control.control import Control
from stackroom.jobs.backup import check_backup, list_backups
from stackroom.jobs.board import JobBoard
from stackroom.jobs.job import RunState
from stackroom.jobs.scheduler import Scheduler
from stackroom.model.principal import AuditEntry, Outcome
from stackroom.settings import Settings
from support.dying import run_jobs
from support.kills import Child
from support.libraries import copy_samples

pytestmark = pytest.mark.row("Z9")

KILLS = int(os.environ.get("STACKROOM_KILLS", "4"))
"""How often jobs are killed; many more by the environment, for a long run."""
ROWS = 400
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A library with a catalogue, and an audit with old rows."""
    settings = Settings(home=copy_samples(tmp_path / "home", "anime"), offline=True)
    with closing(Control.open(settings)) as control:
        for number in range(ROWS):
            note(control.audit, number)
    return settings


def note(audit: AuditLog, number: int) -> None:
    entry = AuditEntry(
        at=LONG_AGO + timedelta(minutes=number),
        call_id=str(number),
        principal="ada",
        via="http",
        operation="tools/call",
        target="search",
        parameters={},
        outcome=Outcome.OK,
    )
    audit.write(entry, durable=False)


def kill_after(settings: Settings, delay_s: float) -> list[tuple[int, str]]:
    """Run jobs one after the other until they are killed; return the runs whose end was told."""
    child = Child(run_jobs, settings.home)
    child.hear(1)
    time.sleep(delay_s)
    child.kill()
    told = [line.split() for line in child.wait().said[1:]]
    return [(int(number), state) for number, state in told]


def test_jobs_that_are_killed_at_any_point_leave_everything_whole(settings: Settings) -> None:
    chance = random.Random(5)
    told: dict[int, str] = {}
    for number in range(KILLS):
        told |= dict(kill_after(settings, chance.uniform(0.0, 0.6)))
        with closing(Control.open(settings)) as control:
            note(control.audit, ROWS + number)
            report = control.audit.verify()
            assert report.first_problem is None
        for backup in list_backups(settings.home / "backups"):
            assert check_backup(backup) == []
    assert set(told.values()) <= {"done"}
    app = App(settings)
    with closing(Control.open(settings)) as control:
        board = JobBoard(
            control.database,
            list_builtin_jobs(MaintainedLibrary(app=app, control=control, backups=2)),
        )
        for name in (
            "backup",
            "backup",
            "prune_audit",
            "rebuild_indexes",
            "verify_indexes",
            "integrity_check",
        ):
            run = Scheduler(board).run_now(name, by="local", show=lambda *_: None)
            assert (run.state, run.error) == (RunState.DONE, None)
        runs, _ = board.list_runs(limit=200)
        assert not [run for run in runs if run.state is RunState.RUNNING]
        kept = {run.id: run.state for run in runs}
        assert all(kept.get(number, state) == state for number, state in told.items())
        assert control.audit.verify().pruned >= ROWS
    assert sorted(path.suffix for path in (settings.home / "backups").iterdir()) == ["", ""]
    app.close()
