"""Schedulers in processes of their own: one runs jobs, and when it is killed another takes over
what it left.
"""

import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from stackroom.jobs.board import JobBoard
from stackroom.jobs.job import JobContext, JobSpec, RunCause, RunState
from support.launching import Started
from support.processes import wait_until

pytestmark = pytest.mark.row("Z9")

SERVES = """
import os, sys, time
from stackroom.background.background import Background
from stackroom.control.database.engine import ControlDatabase
from stackroom.jobs.board import JobBoard
from stackroom.jobs.lease import LeaseTimes
from stackroom.jobs.scheduler import Scheduler, SchedulerTimes
from stackroom.jobs.job import JobSpec
def lasts(context):
    context.write(f"in {os.getpid()}")
    try:
        for number in range(100_000):
            context.progress(number, 100_000, "lasting")
            time.sleep(0.01)
    finally:
        print("left", flush=True)
def passes(context):
    context.write(f"in {os.getpid()}")
jobs = [JobSpec(name="lasts", description="", schedule="manual", body=lasts),
        JobSpec(name="resumes", description="", schedule="manual", body=lasts, resumes=True),
        JobSpec(name="passes", description="", schedule="manual", body=passes)]
lease = LeaseTimes(length_s=float(sys.argv[2]), renewed_every_s=0.2, margin_s=0.5)
times = SchedulerTimes(look_every_s=0.05, lease=lease)
scheduler = Scheduler(JobBoard(ControlDatabase.open(sys.argv[1]), jobs), times=times)
background = Background()
scheduler.start_in(background)
background.start()
print("ready", flush=True)
sys.stdin.readline()
background.stop()
scheduler.stop()
print("stopped", flush=True)
"""


def nothing(_context: JobContext) -> None:
    pass


JOBS = [
    JobSpec(name=name, description="", schedule="manual", body=nothing)
    for name in ("lasts", "resumes", "passes")
]


@pytest.fixture
def board(place: Any, database: Any) -> JobBoard:
    return JobBoard(database, JOBS)


@pytest.fixture
def serve(place: Any, board: JobBoard) -> Iterator[Callable[[], Started]]:
    """Start a process that runs a scheduler; what still runs at the end is ended."""
    started: list[Started] = []

    def start(lease_s: float = 20.0) -> Started:
        process = place.run(SERVES, str(lease_s))
        started.append(process)
        assert process.stdout.readline() == "ready\n"
        return process

    yield start
    for process in started:
        with process:
            process.kill()


def state(board: JobBoard, name: str) -> RunState | None:
    run = board.get_job(name).last_run
    return None if run is None else run.state


def pid_of(board: JobBoard) -> int | None:
    runner = board.find_runner()
    return None if runner is None else int(runner.place.rpartition(" ")[2])


def test_a_killed_holder_is_followed_and_its_run_is_interrupted_or_begun_anew(
    board: JobBoard, serve: Callable[[], Started]
) -> None:
    processes = {process.pid: process for process in (serve(), serve())}
    wait_until(lambda: pid_of(board))
    for name in ("lasts", "resumes"):
        board.trigger(name, by="ada")
        wait_until(lambda name=name: state(board, name) is RunState.RUNNING)
        killed = pid_of(board)
        assert killed is not None
        processes.pop(killed).send_signal(signal.SIGKILL)
        wait_until(lambda killed=killed: pid_of(board) not in {None, killed})
        survivor = serve()
        processes[survivor.pid] = survivor
    wait_until(lambda: state(board, "resumes") is RunState.RUNNING)
    (lasts,) = board.list_runs("lasts")[0]
    assert (lasts.state, lasts.error) == (RunState.INTERRUPTED, "its process ended before it did")
    again, interrupted = board.list_runs("resumes")[0]
    assert (interrupted.state, interrupted.ended_at is None) == (RunState.INTERRUPTED, False)
    assert (again.state, again.cause, again.attempt) == (RunState.RUNNING, RunCause.RESUME, 2)
    found = board.find_output(str(again.id))
    assert found is not None
    wait_until(lambda: (board.find_output(str(again.id)) or found).text == f"in {pid_of(board)}\n")
    board.cancel("resumes")
    wait_until(lambda: state(board, "resumes") is RunState.CANCELLED)


def test_a_holder_paused_for_longer_than_its_lease_is_followed_and_ends_its_run_when_it_goes_on(
    board: JobBoard, serve: Callable[..., Started]
) -> None:
    processes = {process.pid: process for process in (serve(2.0), serve(2.0))}
    wait_until(lambda: pid_of(board))
    first = board.trigger("resumes", by="ada")
    wait_until(lambda: state(board, "resumes") is RunState.RUNNING)
    paused = processes[pid_of(board) or 0]
    paused.send_signal(signal.SIGSTOP)
    wait_until(lambda: board.get_job("resumes").last_run != board.runs.find(first.id))
    wait_until(lambda: state(board, "resumes") is RunState.RUNNING)
    interrupted = board.runs.find(first.id)
    assert interrupted is not None
    assert interrupted.state is RunState.INTERRUPTED
    paused.send_signal(signal.SIGCONT)
    assert paused.stdout.readline() == "left\n"
    assert board.runs.find(first.id) == interrupted
    assert pid_of(board) not in {None, paused.pid}
    processes[pid_of(board) or 0].kill()
    wait_until(lambda: pid_of(board) == paused.pid)  # it is as good as ever
