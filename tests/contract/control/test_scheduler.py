"""The scheduler on SQLite and PostgreSQL: bodies are run one at a time, followed, cancelled,
interrupted, taken up.
"""

import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from stackroom.background.background import Background
from stackroom.errors import InputError
from stackroom.jobs.board import JobBoard
from stackroom.jobs.job import JobContext, JobSpec, RunCause, RunState
from stackroom.jobs.lease import LeaseTimes
from stackroom.jobs.scheduler import Scheduler, SchedulerTimes
from support.processes import wait_until

pytestmark = pytest.mark.row("Z9")

PATIENCE_S = 120.0
QUICK = SchedulerTimes(
    look_every_s=0.02,
    stop_within_s=0.2,
    lease=LeaseTimes(length_s=2.0, renewed_every_s=0.2, margin_s=0.5),
)


class Work:
    """Bodies that do what a test wants, and what they went through."""

    def __init__(self) -> None:
        self.goes_on = threading.Event()
        self.begun = threading.Event()
        self.left = threading.Event()
        self.ran: list[str] = []
        self.at_once = 0
        self.most_at_once = 0
        self._guard = threading.Lock()

    def jobs(self) -> list[JobSpec]:
        bodies: dict[str, Callable[[JobContext], None]] = {
            "quick": self.quick,
            "waits": self.waits,
            "deaf": self.deaf,
            "refuses": self.refuses,
            "breaks": self.breaks,
        }
        return [
            JobSpec(
                name=name,
                description=name,
                schedule="manual",
                body=body,
                resumes=name in {"waits", "deaf"},
            )
            for name, body in bodies.items()
        ] + [JobSpec(name="hourly", description="hourly", schedule="1h", body=self.quick)]

    def quick(self, context: JobContext) -> None:
        with self._guard:
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        context.write("quick")
        self.ran.append("quick")
        with self._guard:
            self.at_once -= 1

    def waits(self, context: JobContext) -> None:
        """Go from checkpoint to checkpoint until let go."""
        context.progress(1, 2, "waiting")
        context.write("begun")
        self.begun.set()
        try:
            while not self.goes_on.wait(0.005):
                context.check_stopped()
        finally:
            self.left.set()
        self.ran.append("waits")

    def deaf(self, context: JobContext) -> None:
        """Reach no checkpoint until let go."""
        self.begun.set()
        assert self.goes_on.wait(PATIENCE_S)

    def refuses(self, context: JobContext) -> None:
        raise InputError("the folder is gone")

    def breaks(self, context: JobContext) -> None:
        raise ZeroDivisionError


@pytest.fixture
def work() -> Iterator[Work]:
    work = Work()
    yield work
    work.goes_on.set()


@pytest.fixture
def new_scheduler(place: Any, work: Work) -> Callable[..., Scheduler]:
    """A scheduler as another process would have it, on the clock of the test."""

    def make(**named: Any) -> Scheduler:
        board = JobBoard(place.open(), work.jobs(), now=place.clock.now)
        return Scheduler(board, monotonic=place.clock.monotonic, **named)

    return make


@pytest.fixture
def scheduler(new_scheduler: Callable[..., Scheduler]) -> Scheduler:
    return new_scheduler()


class RunningScheduler(Scheduler):
    """A scheduler with a background of its own."""

    def __init__(self, board: JobBoard, *, times: SchedulerTimes) -> None:
        super().__init__(board, times=times)
        self.background = Background()
        self.start_in(self.background)
        self.background.start()

    def stop(self) -> None:
        self.background.stop()
        super().stop()


@pytest.fixture
def real(place: Any, work: Work) -> Iterator[Callable[[], Scheduler]]:
    """Schedulers on the real clock, which are stopped at the end."""
    made: list[Scheduler] = []

    def make() -> Scheduler:
        made.append(RunningScheduler(JobBoard(place.open(), work.jobs()), times=QUICK))
        return made[-1]

    yield make
    work.goes_on.set()
    for one in made:
        one.stop()


def is_over(scheduler: Scheduler) -> bool:
    """Wait for the running job; tell whether none runs."""
    running = scheduler._running
    return running is None or running.is_over.wait(PATIENCE_S)


def finish(scheduler: Scheduler) -> None:
    """Wait for the running job, and take the next step."""
    assert is_over(scheduler)
    scheduler.step()


def last_state(board: JobBoard, name: str) -> RunState | None:
    run = board.get_job(name).last_run
    return None if run is None else run.state


def test_what_is_triggered_is_run_in_order_one_at_a_time(scheduler: Scheduler, work: Work) -> None:
    board = scheduler.board
    board.trigger("waits", by="ada")
    board.trigger("quick", by="bob")
    scheduler.step()
    assert work.begun.wait(PATIENCE_S)
    scheduler.step()
    run = board.get_job("waits").last_run
    assert run is not None
    assert (run.state, run.done, run.total, run.message) == (RunState.RUNNING, 1, 2, "waiting")
    assert last_state(board, "quick") is RunState.QUEUED
    found = board.find_output("waits")
    assert found is not None
    assert found.text == "begun\n"
    work.goes_on.set()
    finish(scheduler)
    assert last_state(board, "waits") is RunState.DONE
    finish(scheduler)
    assert last_state(board, "quick") is RunState.DONE
    assert work.ran == ["waits", "quick"]


def test_a_body_that_fails_is_noted_with_the_reason_and_others_go_on(
    scheduler: Scheduler, caplog: pytest.LogCaptureFixture
) -> None:
    board = scheduler.board
    for name in ("refuses", "breaks", "quick"):
        board.trigger(name, by="ada")
    for _ in range(4):
        scheduler.step()
        assert is_over(scheduler)
    runs = {run.job: run for run in board.list_runs()[0]}
    assert (runs["refuses"].state, runs["refuses"].error) == (RunState.FAILED, "the folder is gone")
    assert (runs["breaks"].state, runs["breaks"].error) == (
        RunState.FAILED,
        "a bug: ZeroDivisionError; the log has it",
    )
    assert runs["quick"].state is RunState.DONE
    assert "ZeroDivisionError" in caplog.text
    told = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    assert f"job 'refuses' (run {runs['refuses'].id}) failed: the folder is gone" in told


def test_a_failure_that_somebody_waits_for_is_told_to_them_and_not_logged_too(
    scheduler: Scheduler, caplog: pytest.LogCaptureFixture
) -> None:
    run = scheduler.run_now("refuses", by="ada", show=lambda _run, _report: None)
    assert (run.state, run.error) == (RunState.FAILED, "the folder is gone")
    assert "the folder is gone" not in caplog.text


def test_a_running_job_is_cancelled_from_another_process_at_its_next_checkpoint(
    scheduler: Scheduler, new_scheduler: Callable[..., Scheduler], work: Work
) -> None:
    elsewhere = new_scheduler().board
    elsewhere.trigger("waits", by="ada")
    scheduler.step()
    assert work.begun.wait(PATIENCE_S)
    elsewhere.cancel("waits")
    scheduler.step()
    finish(scheduler)
    run = elsewhere.get_job("waits").last_run
    assert run is not None
    assert (run.state, run.error, run.cause) == (
        RunState.CANCELLED,
        "it was cancelled",
        RunCause.REQUEST,
    )
    assert work.ran == []


def test_one_of_two_runs_jobs_and_the_other_takes_over_when_it_is_dead(
    place: Any, new_scheduler: Callable[..., Scheduler], work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "stackroom.jobs.lease.identity_of_this_process", lambda: "another-machine 1 1"
    )
    first, second = new_scheduler(), new_scheduler()
    first.step()
    second.board.trigger("waits", by="ada")
    second.board.trigger("quick", by="ada")
    second.step()
    assert (first._lease.is_held, second._lease.is_held) == (True, False)
    first.step()
    assert work.begun.wait(PATIENCE_S)
    place.clock.advance(21)  # the first has not been heard of
    second.step()
    assert second._lease.is_held
    assert [(run.job, run.state) for run in second.board.list_runs()[0]] == [
        ("waits", RunState.QUEUED),
        ("quick", RunState.RUNNING),
        ("waits", RunState.INTERRUPTED),
    ]
    first.step()  # it comes back, and finds that it has been followed
    finish(first)
    assert not first._lease.is_held
    finish(second)
    work.goes_on.set()
    finish(second)
    newest = second.board.get_job("waits").last_run
    assert newest is not None
    assert (newest.state, newest.cause, newest.attempt) == (RunState.DONE, RunCause.RESUME, 2)


def test_a_database_that_is_away_ends_nothing_for_good(
    real: Callable[[], Scheduler],
    work: Work,
    execute: Callable[..., list[Any]],
    caplog: pytest.LogCaptureFixture,
) -> None:
    scheduler = real()
    scheduler.board.trigger("waits", by="ada")
    assert work.begun.wait(PATIENCE_S)
    work.begun.clear()
    execute("ALTER TABLE job_lease RENAME TO gone")
    assert work.left.wait(PATIENCE_S)  # told to, since nobody knows whose the lease is by now
    execute("ALTER TABLE gone RENAME TO job_lease")
    assert work.begun.wait(PATIENCE_S)  # begun anew
    work.goes_on.set()
    wait_until(lambda: last_state(scheduler.board, "waits") is RunState.DONE)
    states = [(run.state, run.cause) for run in scheduler.board.list_runs("waits")[0]]
    assert states == [(RunState.DONE, RunCause.RESUME), (RunState.INTERRUPTED, RunCause.REQUEST)]
    assert caplog.text.count("background task 'run jobs' failed") == 1


def test_stopping_lets_a_body_reach_its_checkpoint_and_has_it_begun_anew_later(
    real: Callable[[], Scheduler], work: Work
) -> None:
    first, second = real(), real()
    wait_until(lambda: first._lease.is_held or second._lease.is_held)
    holder, other = (first, second) if first._lease.is_held else (second, first)
    other.board.trigger("waits", by="ada")
    assert work.begun.wait(PATIENCE_S)
    work.begun.clear()
    holder.stop()
    assert work.begun.wait(PATIENCE_S)  # by the other
    work.goes_on.set()
    wait_until(lambda: last_state(other.board, "waits") is RunState.DONE)
    done, interrupted = other.board.list_runs("waits")[0]
    assert (interrupted.state, interrupted.error) == (
        RunState.INTERRUPTED,
        "it was told to end before it was done",
    )
    assert (done.cause, done.attempt) == (RunCause.RESUME, 1)


def test_stopping_does_not_wait_for_a_body_that_reaches_no_checkpoint(
    real: Callable[[], Scheduler], work: Work
) -> None:
    scheduler = real()
    scheduler.board.trigger("deaf", by="ada")
    assert work.begun.wait(PATIENCE_S)
    scheduler.stop()
    again, interrupted = scheduler.board.list_runs("deaf")[0]
    assert (interrupted.state, again.state) == (RunState.INTERRUPTED, RunState.QUEUED)
    assert scheduler.board.find_runner() is None


def test_what_is_queued_already_is_what_is_run_here(place: Any, work: Work) -> None:
    board = JobBoard(place.open(), work.jobs())
    queued = board.trigger("quick", by="ada")
    run = Scheduler(board, times=QUICK).run_now("quick", by="local", show=lambda *_: None)
    assert (run.id, run.requested_by) == (queued.id, "ada")


def test_a_holder_that_may_be_dead_is_waited_for_before_a_job_is_run_here(
    place: Any, work: Work, execute: Callable[..., list[Any]]
) -> None:
    board = JobBoard(place.open(), work.jobs())
    dead = Scheduler(board, times=QUICK)
    dead.step()
    execute(
        "UPDATE job_lease SET process = 'another-machine 1 1', expires_at = expires_at - 3000000"
    )
    ((ends_at,),) = execute("SELECT expires_at FROM job_lease")
    run = Scheduler(board, times=QUICK).run_now("quick", by="local", show=lambda *_: None)
    assert run.state is RunState.DONE
    assert run.started_at.timestamp() * 1_000_000 >= ends_at
