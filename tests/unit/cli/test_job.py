"""`stackroom job`: jobs, as the owner of the library operates them."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from stackroom.assembly.builtin_jobs import list_builtin_jobs
from stackroom.control.control import Control
from stackroom.errors import BusyError, ConflictError, NotFoundError
from stackroom.jobs.board import JobBoard
from stackroom.jobs.scheduler import Scheduler
from stackroom.settings import Settings
from support.launching import launch
from support.terminals import Run

pytestmark = pytest.mark.row("Z9")


@pytest.fixture
def home(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty library without a network."""
    monkeypatch.setenv("RAG_STRICT_OFFLINE", "1")
    return home


@contextmanager
def board_of(home: Path) -> Iterator[JobBoard]:
    nothing_runs: Any = None
    with closing(Control.open(Settings(home=home))) as control:
        yield JobBoard(control.database, list_builtin_jobs(nothing_runs))


def audit_rows(home: Path) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(home / "control.sqlite")) as database:
        return database.execute(
            "SELECT operation, target, outcome FROM audit ORDER BY number"
        ).fetchall()


def test_looking_shows_every_job_and_makes_nothing(home: Path, run: Run) -> None:
    names = [job["job_id"] for job in run("job list --json").json["jobs"]]
    assert {"backup", "integrity_check", "rescan_folders", "prune_audit"} <= set(names)
    table = run("job list").out.splitlines()
    assert [line.split()[0] for line in table] == ["job", *names]
    shown = run("job show backup --json").json["jobs"][0]
    assert (shown["schedule"], shown["enabled"], shown["last_run"]) == ("0 3 * * *", True, None)
    assert run("job history").out == "nothing has run yet\n"
    assert run("job history --json").json["runs"] == []
    for command, code in (("output", NotFoundError), ("cancel", ConflictError)):
        ran = run(f"job {command} backup")
        assert (ran.code, ran.out) == (code.exit_code, "")
    assert list(home.iterdir()) == []


def test_a_job_is_run_here_with_its_output_its_history_and_a_note_in_the_audit(
    home: Path, run: Run
) -> None:
    ran = run("job run backup")
    assert ran.code == 0, ran.err
    assert str(home / "backups") in ran.out
    assert ran.err == "backup: done\n"
    again = run("job run verify_indexes --json").json
    assert (again["run"]["state"], again["output"]) == ("done", "there is nothing to do\n")
    (line,) = run("job history backup").out.splitlines()[1:]
    assert line.split()[:4] == ["1", "backup", "done", "request"]
    assert run("job output backup").out.startswith("backup, run 1: done; started ")
    assert run("job output 1 --json").json["run"]["requested_by"] == "local"
    assert audit_rows(home) == [("job/run", "backup", "ok"), ("job/run", "verify_indexes", "ok")]
    shown = run("job show backup").out
    assert "done" in shown
    assert "Copy records" in shown


def test_a_job_that_does_not_end_well_has_exit_code_1_and_says_why(home: Path, run: Run) -> None:
    run("job run verify_indexes")
    with closing(sqlite3.connect(home / "control.sqlite")) as database, database:
        database.execute("UPDATE audit_head SET number = 100")
    ran = run("job run integrity_check")
    assert ran.code == 1
    assert "integrity_check: failed: 1 of 2 failed: audit: the audit is not whole" in ran.err
    assert "control database: whole" in ran.out


def test_while_a_server_runs_jobs_it_is_named_and_nothing_is_run_here(home: Path, run: Run) -> None:
    with board_of(home) as board:
        server = Scheduler(board)
        server.step()
        ran = run("job run backup")
        assert ran.code == BusyError.exit_code
        assert "have it run there: stackroom job trigger backup" in ran.err
        assert run("job trigger backup").out.startswith("done: queued as run 1\n")
        assert run("job cancel backup").out.startswith("done: run 1 is taken from the queue\n")


@pytest.mark.parametrize("verb", ["run", "trigger", "enable", "schedule"])
def test_a_job_that_is_not_there_is_refused_before_anything_is_made(
    home: Path, run: Run, verb: str
) -> None:
    ran = run(f"job {verb} bakcup {'1h' if verb == 'schedule' else ''}")
    assert (ran.code, ran.out, "did you mean 'backup'?" in ran.err) == (
        NotFoundError.exit_code,
        "",
        True,
    )
    assert list(home.iterdir()) == []


def test_what_a_job_wrote_does_not_act_on_the_terminal(home: Path, run: Run) -> None:
    run("job run verify_indexes")
    with closing(sqlite3.connect(home / "control.sqlite")) as database, database:
        database.execute(
            "UPDATE job_runs SET output = char(27) || '[2Jcleared', message = char(27) || '[2J'"
        )
    for command in (["output", "verify_indexes"], ["show", "verify_indexes"], ["history"]):
        assert "\x1b" not in run(["job", *command]).out


def test_ctrl_c_cancels_what_is_run_here(home: Path, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    for number in range(900):
        (notes / f"{number}.md").write_text(f"# Note {number}\n\nText.\n")
    script = f"""
import os, signal, sys
# a shell's background jobs are started without it
signal.signal(signal.SIGINT, signal.default_int_handler)
from stackroom.cli.main import main
from stackroom.jobs.job import JobContext
main(["add", {str(notes)!r}, "--name", "notes", "--no-embed", "--json"])
progress = JobContext.progress
sent = []
def interrupting(self, done, total=None, message=""):
    if done >= 200 and total is None and not sent:
        sent.append(os.kill(os.getpid(), signal.SIGINT))
    progress(self, done, total, message)
JobContext.progress = interrupting
main(["job", "run", "rescan_folders"])
"""
    command = [sys.executable, "-c", script]
    with launch(command, env=os.environ, stdout=subprocess.PIPE, text=True) as started:
        printed = started.stdout.read()
    assert started.returncode == 130, printed
    with board_of(home) as board:
        run = board.get_job("rescan_folders").last_run
        assert run is not None
        assert run.state == "cancelled"
        assert board.find_runner() is None


def test_checking_the_audit_says_how_much_of_it_was_pruned(home: Path, run: Run) -> None:
    run("job run verify_indexes")
    with closing(Control.open(Settings(home=home))) as control:
        assert control.audit.prune(datetime(2100, 1, 1, tzinfo=UTC)) == 1
    assert run("audit verify").out.startswith(
        "1 rows, all as they were written; 1 older ones were pruned\n"
    )
    assert run("audit verify --json").json["pruned"] == 1


@pytest.fixture
def films(tmp_path: Path) -> Path:
    path = tmp_path / "films.csv"
    path.write_text("id,title\n1,Heat\n2,Ran\n")
    return path


def titles(run: Run) -> list[str]:
    return sorted(
        hit["title"] for hit in run("search films 'heat ran ikiru' --json").json["results"]
    )


@pytest.mark.row("N1")
def test_a_catalogue_is_refreshed_by_a_job_of_its_own(home: Path, films: Path, run: Run) -> None:
    run(f"add {films} --yes --no-embed")
    assert "refresh:films" not in [job["job_id"] for job in run("job list --json").json["jobs"]]
    assert run("job show refresh:films --json").json["jobs"][0]["schedule"] == "manual"
    scheduled = run("job schedule refresh:films 6h --json")
    assert scheduled.json["job"]["schedule"] == "6h"
    assert "refresh:films" in run("job list").out
    films.write_text("id,title\n1,Heat\n3,Ikiru\n")
    ran = run("job run refresh:films")
    assert ran.code == 0, ran.err
    assert titles(run) == ["Heat", "Ikiru"]
    assert run("job history refresh:films --json").json["runs"][0]["state"] == "done"
