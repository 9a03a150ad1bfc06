"""Jobs on SQLite and PostgreSQL: who runs them, what becomes of runs, and when they are due."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from stackroom.control.database.engine import ControlDatabase
from stackroom.errors import ConflictError, InputError
from stackroom.jobs import job as job_module
from stackroom.jobs.board import JobBoard
from stackroom.jobs.job import (
    MOST_OUTPUT_BYTES,
    JobContext,
    JobRun,
    JobSpec,
    RunCause,
    RunEnd,
    RunReport,
    Runs,
    RunState,
)
from stackroom.jobs.lease import Lease

pytestmark = pytest.mark.row("Z9")

ELSEWHERE = "another-machine 1 1"
"""A process of which nothing can be told from here."""


def do_nothing(_context: JobContext) -> None:
    pass


JOBS = [
    JobSpec(name="hourly", description="Every hour.", schedule="1h", body=do_nothing),
    JobSpec(
        name="nightly", description="At three.", schedule="0 3 * * *", body=do_nothing, resumes=True
    ),
    JobSpec(name="asked", description="When asked.", schedule="manual", body=do_nothing),
    JobSpec(
        name="off", description="Not by itself.", schedule="1h", body=do_nothing, enabled=False
    ),
]


@pytest.fixture
def board(place: Any, database: ControlDatabase) -> JobBoard:
    return JobBoard(database, JOBS, now=place.clock.now)


@pytest.fixture
def runs(board: JobBoard) -> Runs:
    return board.runs


@pytest.fixture
def new_lease(place: Any) -> Callable[[], Lease]:
    """A would-be holder, each with its own connection to the database."""
    return lambda: Lease(place.open(), now=place.clock.now, monotonic=place.clock.monotonic)


@pytest.fixture
def far_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every holder is on a machine of which nothing can be told from here."""
    monkeypatch.setattr("stackroom.jobs.lease.identity_of_this_process", lambda: ELSEWHERE)


def begun(runs: Runs, job: str, *, holder: str = "me") -> JobRun:
    """Return a run that was queued and started."""
    run = runs.queue(job, by="ada")
    assert runs.start(run.id, holder=holder)
    return run


def test_one_of_several_has_the_lease_and_keeps_it_by_renewing(
    place: Any, new_lease: Callable[[], Lease]
) -> None:
    first, second = new_lease(), new_lease()
    assert first.find_holder() is None
    assert first.take()
    assert not second.take()
    for _ in range(20):
        place.clock.advance(4)
        assert first.is_due
        assert first.renew()
        assert not second.take()
    assert first.is_held
    holder = second.find_holder()
    assert holder is not None
    assert holder.id == first.id
    assert "process" in holder.place


def test_a_lease_that_is_given_back_is_free_at_once(new_lease: Callable[[], Lease]) -> None:
    first, second = new_lease(), new_lease()
    assert first.take()
    second.release()  # not theirs
    assert not second.take()
    first.release()
    assert not first.is_held
    assert second.take()
    assert not first.renew()


@pytest.mark.usefixtures("far_away")
def test_a_dead_holders_lease_is_taken_when_it_has_not_moved_for_its_length(
    place: Any, new_lease: Callable[[], Lease]
) -> None:
    first, second, third = new_lease(), new_lease(), new_lease()
    assert first.take()
    assert not second.take()
    place.clock.advance(19)
    assert not second.take()
    assert not first.is_held  # it stopped before anybody takes over
    place.clock.advance(1)
    assert second.take()
    assert not third.take()
    assert not first.renew()
    assert not first.is_held


def test_a_holder_whose_process_is_gone_from_this_machine_is_followed_at_once(
    new_lease: Callable[[], Lease], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = new_lease(), new_lease()
    assert first.take()
    assert not second.take()
    monkeypatch.setattr("stackroom.jobs.lease.is_certainly_gone", lambda _identity: True)
    assert second.take()


@pytest.mark.usefixtures("far_away")
@pytest.mark.parametrize("ahead_s", [-50_000, -30, 30, 59])
def test_clocks_that_differ_take_the_lease_from_nobody_alive(
    place: Any, new_lease: Callable[[], Lease], ahead_s: float
) -> None:
    first = new_lease()
    other = Lease(
        place.open(),
        now=lambda: place.clock.now() + timedelta(seconds=ahead_s),
        monotonic=place.clock.monotonic,
    )
    assert first.take()
    for _ in range(30):
        assert not other.take()
        place.clock.advance(4)
        assert first.renew()
    place.clock.advance(10)
    assert not other.take()
    place.clock.advance(20)
    assert other.take()


def test_of_many_who_take_at_once_one_has_it(
    new_lease: Callable[[], Lease], at_once: Callable[..., list[Any]]
) -> None:
    taken = at_once([lease.take for lease in [new_lease() for _ in range(8)]])
    assert sorted(map(bool, taken)) == [False] * 7 + [True]


def test_a_run_goes_from_the_queue_to_its_end(place: Any, runs: Runs) -> None:
    queued = runs.queue("hourly", by="ada")
    assert (queued.state, queued.cause, queued.requested_by) == (
        RunState.QUEUED,
        RunCause.REQUEST,
        "ada",
    )
    assert runs.find_next(["hourly"]) == queued
    assert runs.find_next(["nightly"]) is None
    place.clock.advance(5)
    assert runs.start(queued.id, holder="me")
    assert not runs.start(queued.id, holder="you")
    assert runs.follow(
        queued.id, RunReport(done=3, total=10, message="three", output="a\n"), holder="me"
    )
    running = runs.find(queued.id)
    assert running is not None
    assert (running.state, running.done, running.total, running.message) == (
        RunState.RUNNING,
        3,
        10,
        "three",
    )
    place.clock.advance(5)
    assert runs.end(
        queued.id,
        RunReport(output="a\nb\n", output_dropped=7),
        RunEnd(state=RunState.DONE),
        holder="me",
    )
    ended = runs.find(queued.id)
    assert ended is not None
    assert (ended.state, ended.error) == (RunState.DONE, None)
    assert ended.started_at is not None
    assert ended.ended_at == ended.started_at + timedelta(seconds=5)
    assert runs.output(queued.id) == ("a\nb\n", 7)
    assert runs.find(9999) is None
    assert runs.output(9999) == ("", 0)


def test_a_job_is_queued_once_however_many_ask(
    place: Any, runs: Runs, at_once: Callable[..., list[Any]]
) -> None:
    others = [Runs(place.open(), now=place.clock.now) for _ in range(6)]
    found = at_once([lambda other=other: other.queue("hourly", by="ada") for other in others])
    refused = [one for one in found if isinstance(one, ConflictError)]
    assert len(refused) == 5, found
    assert "queued already" in refused[0].message
    run = runs.find_next(["hourly"])
    assert run is not None
    runs.start(run.id, holder="me")
    with pytest.raises(ConflictError, match=f"is running already \\(run {run.id}\\)"):
        runs.queue("hourly", by="bob")


def test_what_a_former_holder_writes_goes_nowhere(runs: Runs) -> None:
    run = begun(runs, "asked", holder="dead")
    assert [one.id for one in runs.interrupt_others([], besides=None)] == [run.id]
    assert not runs.follow(run.id, RunReport(message="still here"), holder="dead")
    assert not runs.end(run.id, RunReport(), RunEnd(state=RunState.DONE), holder="dead")
    known = runs.find(run.id)
    assert known is not None
    assert (known.state, known.message) == (RunState.INTERRUPTED, "")
    assert known.error == "its process ended before it did"
    assert known.ended_at is not None


def test_what_was_interrupted_is_begun_anew_where_it_can_be_but_not_for_ever(runs: Runs) -> None:
    first = runs.queue("nightly", by="ada")
    asked = runs.queue("asked", by="ada")
    runs.start(asked.id, holder="dead")
    for attempt in range(1, 4):
        run = runs.find_next(["nightly"])
        assert run is not None
        assert (run.attempt, run.requested_by) == (attempt, "ada")
        assert run.cause is (RunCause.REQUEST if run.id == first.id else RunCause.RESUME)
        runs.start(run.id, holder="dead")
        runs.interrupt_others(["nightly"], besides=None)
    assert runs.find_next(["nightly", "asked"]) is None
    states = {run.state for run in runs.list_runs(job=None, limit=10, offset=0)[0]}
    assert states == {RunState.INTERRUPTED}


def test_ones_own_run_is_not_interrupted_by_taking_over(runs: Runs) -> None:
    run = begun(runs, "nightly")
    assert runs.interrupt_others(["nightly"], besides=run.id) == []
    assert runs.follow(run.id, RunReport(), holder="me")


@pytest.mark.parametrize("end", ["told to end", "killed"])
def test_a_run_that_was_cancelled_before_its_process_ended_is_cancelled_and_not_begun_anew(
    runs: Runs, end: str
) -> None:
    run = begun(runs, "nightly")
    runs.cancel("nightly")
    if end == "killed":
        runs.interrupt_others(["nightly"], besides=None)
    else:
        assert runs.end(
            run.id, RunReport(), RunEnd(state=RunState.INTERRUPTED, is_resumed=True), holder="me"
        )
    ended = runs.find(run.id)
    assert ended is not None
    assert (ended.state, ended.error) == (RunState.CANCELLED, "it was cancelled")
    assert runs.find_next(["nightly"]) is None


def test_an_orderly_interruption_does_not_count_as_an_attempt(runs: Runs) -> None:
    for _ in range(5):
        run = runs.find_next(["nightly"]) or runs.queue("nightly", by="ada")
        runs.start(run.id, holder="me")
        runs.end(
            run.id, RunReport(), RunEnd(state=RunState.INTERRUPTED, is_resumed=True), holder="me"
        )
    again = runs.find_next(["nightly"])
    assert again is not None
    assert (again.attempt, again.cause) == (1, RunCause.RESUME)


def test_a_queued_run_is_cancelled_at_once_and_a_running_one_is_asked_to_end(runs: Runs) -> None:
    with pytest.raises(ConflictError, match="neither queued nor running"):
        runs.cancel("asked")
    runs.queue("asked", by="ada")
    cancelled = runs.cancel("asked")
    assert (cancelled.state, cancelled.is_live) == (RunState.CANCELLED, False)
    assert cancelled.ended_at is not None
    begun(runs, "asked")
    asked = runs.cancel("asked")
    assert (asked.state, asked.is_cancelling) == (RunState.RUNNING, True)


def test_history_is_paged_newest_first_and_bounded(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_module, "KEPT_RUNS", 5)
    kept = runs.queue("nightly", by="ada")
    for _ in range(9):
        run = begun(runs, "hourly")
        runs.end(
            run.id, RunReport(), RunEnd(state=RunState.FAILED, error="x" * 10_000), holder="me"
        )
    page, total = runs.list_runs(job="hourly", limit=3, offset=3)
    assert (len(page), total) == (2, 5)
    newest, total = runs.list_runs(job=None, limit=3, offset=0)
    assert [one.id for one in newest] == [run.id, run.id - 1, run.id - 2]
    assert total == 6
    assert len(newest[0].error or "") == 500
    assert runs.latest() == {"nightly": kept, "hourly": newest[0]}


def test_output_of_any_kind_is_stored_within_bounds(runs: Runs) -> None:
    run = runs.queue("asked", by="\0\ud800" * 100)
    runs.start(run.id, holder="me")
    context = JobContext()
    for number in range(20_000):
        context.write(f"{number} \0 \ud800 ü")
    context.progress(1, 2, "\0" * 1000)
    assert runs.end(
        run.id, context.report(), RunEnd(state=RunState.FAILED, error="\0\ud800"), holder="me"
    )
    text, dropped = runs.output(run.id)
    assert len(text.encode()) <= MOST_OUTPUT_BYTES
    assert text.endswith("19999 \\x00 \\ud800 ü\n")
    assert dropped > 100_000


def test_a_job_is_due_when_its_time_comes_and_then_not_before_the_next(
    place: Any, board: JobBoard
) -> None:
    board.queue_due()  # first seen: due in an hour, and at three
    timings = board.timings(JOBS)
    assert timings["hourly"].next_at == place.clock.now() + timedelta(hours=1)
    assert (timings["asked"].next_at, timings["off"].next_at) == (None, None)
    assert board.runs.find_next(list(board.specs)) is None
    place.clock.advance(3600)
    board.queue_due()
    run = board.runs.find_next(list(board.specs))
    assert run is not None
    assert (run.job, run.cause, run.requested_by) == ("hourly", RunCause.SCHEDULE, "schedule")
    board.queue_due()
    assert board.runs.list_runs(job=None, limit=10, offset=0)[1] == 1


def test_what_was_missed_is_made_up_for_once(place: Any, board: JobBoard) -> None:
    board.queue_due()
    place.clock.advance(10 * 24 * 3600)
    board.queue_due()
    board.queue_due()
    assert {run.job for run in board.list_runs()[0]} == {"hourly", "nightly"}
    assert board.list_runs()[1] == 2
    assert board.timings(JOBS)["hourly"].next_at == place.clock.now() + timedelta(hours=1)


def test_a_job_that_is_due_while_it_runs_is_not_queued_again(place: Any, board: JobBoard) -> None:
    board.queue_due()
    begun(board.runs, "hourly")
    place.clock.advance(3600)
    board.queue_due()
    assert board.list_runs("hourly")[1] == 1
    assert board.timings(JOBS)["hourly"].next_at == place.clock.now() + timedelta(hours=1)


def test_a_clock_that_was_wrong_does_not_keep_a_job_waiting(place: Any, board: JobBoard) -> None:
    place.clock.advance(10 * 365 * 24 * 3600)
    board.queue_due()
    place.clock.advance(-10 * 365 * 24 * 3600)
    board.queue_due()
    assert board.timings(JOBS)["hourly"].next_at == place.clock.now() + timedelta(hours=1)


def test_a_schedule_that_is_set_holds_in_every_process(place: Any, board: JobBoard) -> None:
    elsewhere = JobBoard(place.open(), JOBS, now=place.clock.now)
    status = elsewhere.change("hourly", schedule=" 2 H ")
    assert (status.timing.schedule.text, status.timing.next_at) == (
        "2h",
        place.clock.now() + timedelta(hours=2),
    )
    assert board.get_job("hourly") == status
    board.queue_due()
    place.clock.advance(3600)
    board.queue_due()
    assert board.list_runs()[1] == 0
    place.clock.advance(3600)
    board.queue_due()
    assert board.list_runs()[1] == 1
    with pytest.raises(InputError, match="write an interval"):
        board.change("hourly", schedule="now and then")
    assert board.get_job("hourly").timing.schedule.text == "2h"


def test_a_disabled_job_runs_only_when_it_is_asked_for(place: Any, board: JobBoard) -> None:
    board.queue_due()
    disabled = board.change("hourly", enabled=False)
    assert (disabled.timing.enabled, disabled.timing.next_at) == (False, None)
    enabled = board.change("off", enabled=True)
    assert enabled.timing.next_at == place.clock.now() + timedelta(hours=1)
    place.clock.advance(3600)
    board.queue_due()
    assert {run.job for run in board.list_runs()[0]} == {"off"}
    assert board.trigger("hourly", by="ada").job == "hourly"
    assert board.change("hourly", schedule="1m").timing.next_at is None


def test_nonsense_that_somebody_wrote_into_the_database_is_passed_over(
    board: JobBoard, execute: Callable[..., list[Any]]
) -> None:
    board.change("hourly", schedule="2h")
    execute("UPDATE job_settings SET schedule = 'nonsense'")
    assert board.get_job("hourly").timing.schedule.text == "1h"


def test_processes_that_queue_what_is_due_at_once_queue_it_once(
    place: Any, board: JobBoard, at_once: Callable[..., list[Any]]
) -> None:
    boards = [JobBoard(place.open(), JOBS, now=place.clock.now) for _ in range(6)]
    for seconds in (0, 3600):
        place.clock.advance(seconds)
        found = at_once([lambda other=other: other.queue_due() for other in boards])
        assert all(one is None or isinstance(one, ConflictError) for one in found), found
    assert board.list_runs()[1] == 1


def test_the_runner_is_told_only_while_it_is_alive(
    place: Any, board: JobBoard, new_lease: Callable[[], Lease]
) -> None:
    assert board.find_runner() is None
    lease = new_lease()
    lease.take()
    runner = board.find_runner()
    assert runner is not None
    assert runner.id == lease.id
    place.clock.advance(21)
    assert board.find_runner() is None
