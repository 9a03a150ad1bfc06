"""The tasks of a process: when they run, what happens after a failure, and how they are listed and
ended.
"""

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from stackroom.background.background import Background, Task, TaskContext, TaskState, TaskStatus
from stackroom.errors import NotFoundError, StorageError

SOON_S = 120.0
"""Far longer than anything here takes."""


class Clock:
    """A monotonic clock that is set by hand."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


class Tasks:
    """A background whose clock is set by hand, and which runs what is due when told."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.background = Background(
            monotonic=self.clock, chance=lambda: 0.5, now=lambda: datetime.now(UTC)
        )

    def status(self, name: str) -> TaskStatus:
        """Return the status of a task."""
        return next(status for status in self.background.list_tasks() if status.name == name)

    def step(self, name: str, after_s: float = 0.0) -> None:
        """Let time pass, run what is due, and wait for it."""
        self.clock.now_s += after_s
        before = self.status(name).runs
        self.background.run_due()
        assert self.background.wait_for(name, runs=before + 1, timeout_s=SOON_S)


@pytest.fixture
def tasks(monkeypatch: pytest.MonkeyPatch) -> Tasks:
    made = Tasks()
    monkeypatch.setattr("stackroom.background.background.start_thread", run_unless_loop)
    return made


def run_unless_loop(name: str, work: Callable[[], object]) -> None:
    """Start the threads of runs, and not the one that waits for the clock."""
    if name != "background":
        threading.Thread(target=work, daemon=True).start()


def failing(*problems: str) -> Callable[[TaskContext], str | None]:
    """Return work that fails with one problem after the other, and then goes well."""
    left = list(problems)

    def run(_context: TaskContext) -> str | None:
        if left:
            raise StorageError(left.pop(0))
        return "all done"

    return run


def test_a_task_runs_after_its_first_pause_and_then_once_a_period(tasks: Tasks) -> None:
    tasks.background.add(
        Task(
            name="look",
            description="Looks.",
            run=lambda _: "seen",
            first_s=3.0,
            period_s=10.0,
            jitter=0.2,
        )
    )
    tasks.background.start()
    assert tasks.background.run_due() == pytest.approx(3.0)
    tasks.step("look", 3.0)
    assert tasks.background.run_due() == pytest.approx(11.0)  # the period, and half of the jitter
    status = tasks.status("look")
    assert (status.state, status.note, status.runs, status.failures) == (
        TaskState.WAITING,
        "seen",
        1,
        0,
    )
    assert status.last_success_at is not None
    assert status.next_at is not None


def test_the_pause_after_failures_doubles_up_to_a_bound_and_a_success_ends_it(tasks: Tasks) -> None:
    work = failing("no disk", "no disk", "no disk")
    tasks.background.add(
        Task(
            name="sync",
            description="",
            run=work,
            period_s=60.0,
            jitter=0.0,
            retry_s=5.0,
            longest_retry_s=8.0,
        )
    )
    tasks.background.start()
    pauses = [0.0]
    for _ in range(3):
        tasks.step("sync", pauses[-1])
        pauses.append(tasks.background.run_due() or 0.0)
    assert pauses == pytest.approx([0.0, 5.0, 8.0, 8.0])
    status = tasks.status("sync")
    assert (status.state, status.failures, status.last_error) == (TaskState.FAILING, 3, "no disk")
    tasks.step("sync", 8.0)
    status = tasks.status("sync")
    assert (status.state, status.failures, status.last_error, status.note) == (
        TaskState.WAITING,
        0,
        "",
        "all done",
    )


def test_the_same_failure_is_logged_once(tasks: Tasks, caplog: pytest.LogCaptureFixture) -> None:
    tasks.background.add(
        Task(name="sync", description="", run=failing("no disk", "no disk", "no net"), period_s=1.0)
    )
    tasks.background.start()
    for _ in range(4):
        tasks.step("sync", 1000.0)
    assert [
        record.getMessage().rpartition(": ")[2]
        for record in caplog.records
        if "failed" in record.message
    ] == [
        "no disk",
        "no net",
    ]


def test_a_woken_task_runs_at_once_and_once_more_where_it_was_running(tasks: Tasks) -> None:
    begun, may_end = threading.Semaphore(0), threading.Semaphore(0)

    def run(_context: TaskContext) -> None:
        begun.release()
        assert may_end.acquire(timeout=SOON_S)

    tasks.background.add(Task(name="mend", description="", run=run, first_s=None))
    tasks.background.start()
    assert tasks.background.run_due() is None
    tasks.background.wake("mend")
    tasks.background.run_due()
    assert begun.acquire(timeout=SOON_S)
    tasks.background.wake("mend")
    tasks.background.run_due()
    assert tasks.status("mend").state is TaskState.RUNNING
    may_end.release(2)
    assert tasks.background.wait_for("mend", runs=1, timeout_s=SOON_S)
    tasks.step("mend")
    assert tasks.background.run_due() is None


def test_a_task_whose_lease_another_process_has_does_not_run(tasks: Tasks) -> None:
    lease = FakeLease(is_free=False)
    ran: list[bool] = []
    tasks.background.add(
        Task(
            name="once",
            description="",
            run=lambda _: ran.append(lease.is_free),
            period_s=1.0,
            lease=lease,
        )
    )
    tasks.background.start()
    tasks.step("once")
    assert (ran, tasks.status("once").state) == ([], TaskState.ELSEWHERE)
    lease.is_free = True
    tasks.step("once", 2.0)
    assert ran == [False]  # held while it runs
    assert lease.is_free
    assert tasks.status("once").state is TaskState.WAITING


class FakeLease:
    """A lease that is free or not."""

    def __init__(self, *, is_free: bool) -> None:
        self.is_free = is_free

    def take(self) -> bool:
        was_free, self.is_free = self.is_free, False
        return was_free

    def release(self) -> None:
        self.is_free = True


def test_names_are_unique_and_an_unknown_one_is_refused_with_the_known() -> None:
    background = Background()
    background.add(Task(name="look", description="", run=lambda _: None))
    with pytest.raises(ValueError, match="two background tasks 'look'"):
        background.add(Task(name="look", description="", run=lambda _: None))
    with pytest.raises(NotFoundError, match="no background task 'lok'; tasks: look"):
        background.wake("lok")


def test_a_task_that_hangs_holds_up_no_other_and_ends_at_its_next_checkpoint() -> None:
    background = Background()
    hangs = threading.Event()

    def hang(context: TaskContext) -> None:
        hangs.set()
        context.wait(1000.0)

    background.add(Task(name="a hang", description="", run=hang))
    background.start()
    assert hangs.wait(SOON_S)
    background.add(Task(name="b", description="", run=lambda _: "done"))  # also after the start
    assert background.wait_for("b", runs=1, timeout_s=SOON_S)
    background.stop(within_s=SOON_S)
    assert [task.state for task in background.list_tasks()] == [TaskState.STOPPED] * 2


def test_a_task_that_reaches_no_checkpoint_is_named_and_not_waited_for(
    caplog: pytest.LogCaptureFixture,
) -> None:
    background, begun, may_end = Background(), threading.Event(), threading.Event()

    def run(_context: TaskContext) -> None:
        begun.set()
        may_end.wait(SOON_S)

    background.add(Task(name="deaf", description="", run=run))
    background.start()
    assert begun.wait(SOON_S)
    background.stop(within_s=0.05)
    may_end.set()
    assert "did not end in time: deaf" in caplog.text


def test_a_rest_is_in_proportion_to_the_work() -> None:
    context = TaskContext()
    until = time.thread_time() + 0.02
    while time.thread_time() < until:
        sum(range(1000))
    started = time.monotonic()
    context.rest(0.25)
    assert time.monotonic() - started >= 0.05
