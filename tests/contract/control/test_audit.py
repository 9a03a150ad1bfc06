"""The audit on SQLite and PostgreSQL: every call is there, and every way of changing one shows."""

import logging
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from stackroom.control.audit import log as audit_module
from stackroom.control.audit.log import LIMITS, AuditLog
from stackroom.control.audit.reading import HASHED_COLUMNS, hash_of
from stackroom.control.database.batch_writer import ROWS_A_STATEMENT
from stackroom.errors import InputError, StorageError
from stackroom.model.principal import AuditEntry, Outcome
from support.processes import wait_until
from support.work import count_calls

pytestmark = pytest.mark.row("Z13")

ENTRY = AuditEntry(
    at=datetime(2026, 11, 15, 12, 0, 0, 123456, tzinfo=UTC),
    call_id="call-1",
    principal="ada",
    via="http",
    operation="tools/call",
    target="search",
    parameters={"query": "ロボット", "limit": 10},
    outcome=Outcome.OK,
    duration_ms=1.234,
    result_bytes=321,
    result_digest="ab" * 32,
)
WRITES = """
import sys
from datetime import UTC, datetime
from stackroom.control.audit.log import AuditLog
from stackroom.control.database.engine import ControlDatabase
from stackroom.model.principal import AuditEntry, Outcome
database = ControlDatabase.open(sys.argv[1])
log = AuditLog(database)
def note(call_id, durable):
    log.write(AuditEntry(at=datetime.now(UTC), call_id=call_id, principal="ada", via="http", operation="tools/call",
                         target="search", parameters={}, outcome=Outcome.OK), durable=durable)
print("ready", flush=True)
sys.stdin.readline()
"""
WRITES_MANY = (
    WRITES
    + """
for number in range(100):
    note(str(number), durable=number % 10 == 0)
log.close()
database.close()
"""
)
WRITES_UNTIL_KILLED = (
    WRITES
    + """
for number in range(1_000_000):
    note(f"passing {number}", durable=False)
    note(f"durable {number}", durable=True)
    print(number, flush=True)
"""
)


@pytest.fixture
def log(database: Any) -> Iterator[AuditLog]:
    log = AuditLog(database)
    yield log
    log.close()


@pytest.fixture
def chain(log: AuditLog) -> AuditLog:
    """An audit with five rows."""
    for number in range(1, 6):
        log.write(replace(ENTRY, call_id=f"call-{number}", error_code="not_found"), durable=False)
    log.flush()
    return log


def test_an_entry_is_there_as_it_was_written(log: AuditLog) -> None:
    log.write(ENTRY, durable=True)
    (row,) = log.tail()
    assert replace(ENTRY) == AuditEntry(**{name: getattr(row, name) for name in ENTRY.__dataclass_fields__})
    assert (row.number, len(row.hash)) == (1, 64)


def test_a_durable_entry_is_there_for_others_when_it_is_written(place: Any, log: AuditLog) -> None:
    log.write(ENTRY, durable=True)
    assert len(AuditLog(place.open()).tail()) == 1


def test_other_entries_are_there_within_a_moment_and_before_later_ones(place: Any, log: AuditLog) -> None:
    reader = AuditLog(place.open())
    log.write(replace(ENTRY, call_id="first"), durable=False)
    wait_until(lambda: bool(reader.tail()))
    log.write(replace(ENTRY, call_id="second"), durable=False)
    log.write(replace(ENTRY, call_id="third"), durable=True)
    assert [row.call_id for row in reader.tail()] == ["first", "second", "third"]


def test_closing_writes_what_is_queued(place: Any) -> None:
    log = AuditLog(place.open())
    for _ in range(1234):
        log.write(ENTRY, durable=False)
    log.close()
    assert AuditLog(place.open()).verify().rows == 1234
    with pytest.raises(StorageError, match="closed"):
        log.write(ENTRY, durable=False)


def test_a_log_that_was_never_used_closes(place: Any) -> None:
    AuditLog(place.open()).close()


def test_the_last_rows_are_listed_or_the_first_past_a_number(chain: AuditLog) -> None:
    assert [row.number for row in chain.tail(limit=2)] == [4, 5]
    assert [row.number for row in chain.tail(limit=2, after=1)] == [2, 3]
    assert [row.number for row in chain.tail(after=5)] == []
    for wrong in ({"limit": 0}, {"limit": 100_000}, {"after": -1}, {"outcome": "odd"}):
        with pytest.raises(InputError):
            chain.tail(**wrong)


def test_rows_are_listed_by_principal_operation_and_outcome(log: AuditLog) -> None:
    log.write(replace(ENTRY, call_id="one"), durable=False)
    log.write(replace(ENTRY, call_id="two", principal="bob"), durable=False)
    log.write(replace(ENTRY, call_id="three", operation="account/login"), durable=False)
    log.write(replace(ENTRY, call_id="four", outcome=Outcome.LIMITED), durable=False)
    assert [row.call_id for row in log.tail(principal="bob")] == ["two"]
    assert [row.call_id for row in log.tail(operation="account/login")] == ["three"]
    assert [row.call_id for row in log.tail(outcome="limited")] == ["four"]
    assert [row.call_id for row in log.tail(principal="ada", outcome="ok")] == ["one", "three"]
    assert log.tail(principal="\0") == []


def test_whatever_a_caller_sends_is_written(log: AuditLog) -> None:
    circular: dict[str, Any] = {}
    circular["self"] = circular
    odd: list[dict[str, Any]] = [
        {"text": "\0 \ud800 \U0001f600", "number": float("inf")},
        {"deep": {1, 2}, ("a", "b"): 1},
        circular,
        {"long": "x" * 1_000_000},
    ]
    for parameters in odd:
        log.write(replace(ENTRY, parameters=parameters, target="\0\ud800é", error_code="\ud800"), durable=True)
    rows = log.tail()
    assert rows[0].target == "\\x00\\ud800é"
    assert rows[0].parameters == odd[0]
    assert [sorted(row.parameters) for row in rows[1:]] == [["unreadable"], ["unreadable"], ["characters", "cut_off"]]
    assert log.verify().first_problem is None


def test_an_empty_audit_is_whole(log: AuditLog) -> None:
    report = log.verify()
    assert (report.rows, report.first_problem, report.head) == (0, None, "0:" + "0" * 64)


def test_a_whole_audit_gives_its_head(chain: AuditLog) -> None:
    report = chain.verify()
    assert (report.rows, report.first_problem) == (5, None)
    assert report.head == f"5:{chain.tail()[-1].hash}"
    assert chain.verify(expect=report.head) == report


OTHER_VALUES: dict[str, tuple[Any, ...]] = {
    "number": (77,),
    "at": (1, 0, -1),
    "duration_us": (1,),
    "result_bytes": (1,),
    "error_code": (None, "", "other"),
    "outcome": ("limited", "nonsense"),
    "parameters": ('{"limit":10,"query":"x"}', "{}", ""),
}


def test_a_changed_cell_of_any_column_is_found(chain: AuditLog, execute: Callable[..., list[Any]]) -> None:
    for column in (*HASHED_COLUMNS, "hash"):
        for value in OTHER_VALUES.get(column, ("something else", "")):
            (before,) = execute(f"SELECT {column} FROM audit WHERE number = 3")[0]
            execute(f"UPDATE audit SET {column} = :value WHERE number = 3", value=value)
            problem = chain.verify().first_problem
            assert (problem or "").startswith("row 3 "), (column, value, problem)
            changed = value if column == "number" else 3
            execute(f"UPDATE audit SET {column} = :before WHERE number = :n", before=before, n=changed)
            assert chain.verify().first_problem is None


@pytest.mark.parametrize("number", range(1, 6))
def test_a_deleted_row_is_found(chain: AuditLog, execute: Callable[..., list[Any]], number: int) -> None:
    execute("DELETE FROM audit WHERE number = :number", number=number)
    assert (chain.verify().first_problem or "").startswith(f"row {number} is missing")


@pytest.mark.parametrize("number", [1, 3, 5])
def test_a_deleted_row_is_found_though_those_after_it_were_moved_up(
    chain: AuditLog, execute: Callable[..., list[Any]], number: int
) -> None:
    execute("DELETE FROM audit WHERE number = :number", number=number)
    for later in range(number + 1, 6):
        execute("UPDATE audit SET number = number - 1 WHERE number = :later", later=later)
    execute("UPDATE audit_head SET number = 4")
    problem = chain.verify().first_problem or ""
    assert problem.startswith(f"row {min(number, 4)} is not"), problem


@pytest.mark.parametrize("pair", [(1, 2), (2, 4), (4, 5)])
def test_swapped_rows_are_found(chain: AuditLog, execute: Callable[..., list[Any]], pair: tuple[int, int]) -> None:
    for before, after in ((pair[0], -1), pair[::-1], (-1, pair[1])):
        execute("UPDATE audit SET number = :after WHERE number = :before", before=before, after=after)
    assert (chain.verify().first_problem or "").startswith(f"row {pair[0]} is not as it was written")


def insert_copy(execute: Callable[..., list[Any]], *, of: int, at: int) -> None:
    columns = ", ".join([*HASHED_COLUMNS[1:], "hash"])
    execute(f"INSERT INTO audit (number, {columns}) SELECT :at, {columns} FROM audit WHERE number = :of", of=of, at=at)


@pytest.mark.parametrize("at", [-5, 0, 6, 60])
def test_an_added_row_is_found(chain: AuditLog, execute: Callable[..., list[Any]], at: int) -> None:
    insert_copy(execute, of=5, at=at)
    assert (chain.verify().first_problem or "").startswith(f"row {at if at < 7 else 6} ")


def test_an_inserted_row_is_found(chain: AuditLog, execute: Callable[..., list[Any]]) -> None:
    for number in (5, 4, 3):
        execute("UPDATE audit SET number = number + 1 WHERE number = :number", number=number)
    insert_copy(execute, of=2, at=3)
    execute("UPDATE audit_head SET number = 6")
    assert (chain.verify().first_problem or "").startswith("row 3 is not as it was written")


def test_a_row_added_with_the_right_hash_but_not_by_us_is_found(
    chain: AuditLog, execute: Callable[..., list[Any]]
) -> None:
    insert_copy(execute, of=5, at=6)
    (row,) = execute(f"SELECT {', '.join(HASHED_COLUMNS)} FROM audit WHERE number = 6")
    digest = hash_of(chain.tail()[4].hash, row)
    execute("UPDATE audit SET hash = :digest WHERE number = 6", digest=digest)
    assert (chain.verify().first_problem or "").startswith("row 6 was not written by Stackroom")


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        ("UPDATE audit_head SET number = 4", "row 5 was not written"),
        ("UPDATE audit_head SET number = 6", "row 6 is missing"),
        ("UPDATE audit_head SET hash = 'x'", "row 5 is not the one"),
        ("DELETE FROM audit_head", "the head of the audit is missing"),
        ("DELETE FROM audit", "row 1 is missing"),
    ],
)
def test_a_changed_head_is_found(chain: AuditLog, execute: Callable[..., list[Any]], damage: str, problem: str) -> None:
    execute(damage)
    assert (chain.verify().first_problem or "").startswith(problem)


def rewrite_from(execute: Callable[..., list[Any]], first: int) -> None:
    """Make a new chain from a row on, as somebody with the whole database could."""
    rows = execute(f"SELECT {', '.join(HASHED_COLUMNS)}, hash FROM audit ORDER BY number")
    previous = rows[first - 2].hash if first > 1 else "0" * 64
    for row in rows[first - 1 :]:
        values = list(row[:-1])
        values[3] = "mallory"
        previous = hash_of(previous, values)
        execute("UPDATE audit SET principal = 'mallory', hash = :hash WHERE number = :n", hash=previous, n=row.number)
    execute("UPDATE audit_head SET hash = :hash", hash=previous)


def test_a_whole_new_chain_shows_when_the_head_was_noted(chain: AuditLog, execute: Callable[..., list[Any]]) -> None:
    noted = chain.verify().head
    rewrite_from(execute, 2)
    assert chain.verify().first_problem is None
    assert (chain.verify(expect=noted).first_problem or "").startswith("row 5 does not have the expected hash")
    execute("DELETE FROM audit WHERE number > 3")
    execute("UPDATE audit_head SET number = 3, hash = (SELECT hash FROM audit WHERE number = 3)")
    assert chain.verify().first_problem is None
    assert (chain.verify(expect=noted).first_problem or "").startswith("row 4 is missing")


@pytest.mark.parametrize("noted", ["", "5", "5:abc", "x:" + "a" * 64, "-1:" + "a" * 64])
def test_a_head_that_was_noted_wrongly_is_refused(chain: AuditLog, noted: str) -> None:
    with pytest.raises(InputError, match="NUMBER:HASH"):
        chain.verify(expect=noted)


def test_nothing_is_written_after_rows_that_are_not_ours(chain: AuditLog, execute: Callable[..., list[Any]]) -> None:
    insert_copy(execute, of=5, at=6)
    with pytest.raises(StorageError, match="rows past its end, which Stackroom did not write"):
        chain.write(ENTRY, durable=True)
    execute("DELETE FROM audit WHERE number = 6")
    execute("UPDATE audit_head SET id = 2")
    with pytest.raises(StorageError, match="the head of the audit is missing"):
        chain.write(ENTRY, durable=True)
    execute("UPDATE audit_head SET id = 1")
    chain.write(ENTRY, durable=True)
    assert chain.verify().rows == 6


def test_processes_that_write_at_once_make_one_chain(place: Any, log: AuditLog) -> None:
    place.run_together(WRITES_MANY, 3)
    report = log.verify()
    assert (report.rows, report.first_problem) == (300, None)
    assert sorted(row.call_id for row in log.tail(limit=1000)) == sorted(str(n) for n in [*range(100)] * 3)


def test_threads_that_write_at_once_make_one_chain(
    place: Any, log: AuditLog, at_once: Callable[..., list[Any]]
) -> None:
    other = AuditLog(place.open())

    def write(to: AuditLog) -> None:
        for number in range(50):
            to.write(ENTRY, durable=number % 7 == 0)

    assert at_once([lambda: write(log), lambda: write(other)] * 4) == [None] * 8
    other.close()
    log.flush()
    report = log.verify()
    assert (report.rows, report.first_problem) == (400, None)


@pytest.mark.parametrize("attempt", range(3))
def test_a_killed_process_leaves_a_chain_with_every_durable_row(place: Any, log: AuditLog, attempt: int) -> None:
    process: subprocess.Popen[str] = place.run(WRITES_UNTIL_KILLED)
    with process:
        assert process.stdout is not None
        assert process.stdin is not None
        process.stdout.readline()
        process.stdin.write("go\n")
        process.stdin.flush()
        acknowledged = [process.stdout.readline().strip() for _ in range(5 + 7 * attempt)]
        process.send_signal(signal.SIGKILL)
        acknowledged += process.stdout.read().split()
    report = log.verify()
    assert report.first_problem is None
    written = {row.call_id for row in log.tail(limit=10_000)}
    assert written >= {f"{kind} {number}" for kind in ("passing", "durable") for number in acknowledged}
    log.write(ENTRY, durable=True)
    assert log.verify().rows == report.rows + 1


def test_entries_wait_for_a_database_that_is_away_and_durable_ones_are_refused(
    log: AuditLog, execute: Callable[..., list[Any]], caplog: pytest.LogCaptureFixture
) -> None:
    execute("ALTER TABLE audit RENAME TO gone")
    with caplog.at_level(logging.ERROR):
        log.write(replace(ENTRY, call_id="passing"), durable=False)
        with pytest.raises(StorageError, match="the control database failed"):
            log.write(replace(ENTRY, call_id="durable"), durable=True)
        with pytest.raises(StorageError):
            log.flush()
    assert [record.message.partition(":")[0] for record in caplog.records] == ["the audit cannot be written"]
    execute("ALTER TABLE gone RENAME TO audit")
    log.write(replace(ENTRY, call_id="later"), durable=True)
    assert [row.call_id for row in log.tail()] == ["passing", "later"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_bug_in_the_writer_keeps_nobody_waiting(log: AuditLog, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_arguments: Any) -> Any:
        raise ArithmeticError

    log.write(replace(ENTRY, call_id="before"), durable=False)
    monkeypatch.setattr(audit_module, "hash_of", fails)
    with pytest.raises(StorageError, match="writing the audit failed"):
        log.write(replace(ENTRY, call_id="during"), durable=True)
    with pytest.raises(StorageError, match="writing the audit failed"):
        log.flush()
    monkeypatch.undo()
    log.write(replace(ENTRY, call_id="after"), durable=True)
    assert [row.call_id for row in log.tail()] == ["before", "after"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_what_is_noted_while_the_writer_fails_waits_until_it_has(
    log: AuditLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = log._writer
    put_off = writer._put_off
    late = threading.Thread(target=lambda: log.write(replace(ENTRY, call_id="late"), durable=True))

    def fails(*_arguments: Any) -> Any:
        monkeypatch.undo()
        monkeypatch.setattr(writer, "_put_off", slowly)
        raise ArithmeticError

    def slowly(count: int, error: StorageError, *, drop: bool) -> None:
        late.start()
        late.join(0.5)
        put_off(count, error, drop=drop)

    monkeypatch.setattr(audit_module, "hash_of", fails)
    with pytest.raises(StorageError, match="writing the audit failed"):
        log.write(replace(ENTRY, call_id="during"), durable=True)
    late.join()
    assert [row.call_id for row in log.tail()] == ["late"]


def test_nothing_goes_unnoted_when_the_queue_is_full(place: Any, execute: Callable[..., list[Any]]) -> None:
    log = AuditLog(place.open(), limits=replace(LIMITS, most_queued=10, patience_s=0.5, retry_s=0.01))
    execute("ALTER TABLE audit RENAME TO gone")
    for _ in range(10):
        log.write(ENTRY, durable=False)
    with pytest.raises(StorageError, match="the audit cannot keep up"):
        log.write(ENTRY, durable=False)
    execute("ALTER TABLE gone RENAME TO audit")
    log.write(ENTRY, durable=True)
    assert log.verify().rows == 11
    log.close()


def test_a_full_queue_makes_writers_wait_until_there_is_room(place: Any) -> None:
    log = AuditLog(place.open(), limits=replace(LIMITS, most_queued=3, group_rows=2))
    for _ in range(20):
        log.write(ENTRY, durable=False)
    log.close()
    assert AuditLog(place.open()).verify().rows == 20


def test_closing_without_a_database_says_what_is_lost(
    place: Any, execute: Callable[..., list[Any]], caplog: pytest.LogCaptureFixture
) -> None:
    log = AuditLog(place.open())
    execute("ALTER TABLE audit RENAME TO gone")
    with caplog.at_level(logging.ERROR):
        log.write(ENTRY, durable=False)
        log.close()
    assert "1 calls could not be written" in caplog.records[-1].message
    assert not [thread for thread in threading.enumerate() if thread.name == "audit"]


def test_closing_tries_once_more_where_the_database_was_away(place: Any, execute: Callable[..., list[Any]]) -> None:
    log = AuditLog(place.open(), limits=replace(LIMITS, retry_s=1.0))
    execute("ALTER TABLE audit RENAME TO gone")
    log.write(ENTRY, durable=False)
    with pytest.raises(StorageError):
        log.flush()
    execute("ALTER TABLE gone RENAME TO audit")
    log.close()  # before the next attempt is due
    assert AuditLog(place.open()).verify().rows == 1


def test_an_entry_that_need_not_be_durable_costs_its_caller_next_to_nothing(log: AuditLog) -> None:
    log.write(ENTRY, durable=False)
    assert count_calls(lambda: log.write(ENTRY, durable=False)) < 60


def at_day(day: int) -> datetime:
    return datetime(2026, 1, day, tzinfo=UTC)


@pytest.fixture
def days(log: AuditLog) -> AuditLog:
    """An audit with a row a day, of which the fourth is older than those before it."""
    for number, day in enumerate((1, 2, 3, 1, 5, 6, 7), start=1):
        log.write(replace(ENTRY, call_id=f"call-{number}", at=at_day(day)), durable=False)
    log.flush()
    return log


@pytest.mark.row("N5")
def test_old_rows_are_pruned_and_what_is_left_can_be_verified(days: AuditLog, place: Any) -> None:
    noted = days.verify().head
    assert days.prune(at_day(5)) == 4
    report = days.verify()
    assert (report.rows, report.pruned, report.first_problem) == (4, 4, None)
    *kept, note = days.tail()
    assert [row.call_id for row in kept] == ["call-5", "call-6", "call-7"]
    assert (note.principal, note.via, note.operation, note.number) == ("local", "job", "audit/prune", 8)
    assert note.parameters == {"before": "2026-01-05T00:00:00+00:00", "rows": 4}
    assert days.verify(expect=noted).first_problem is None
    days.write(replace(ENTRY, call_id="after", at=at_day(8)), durable=True)
    assert days.prune(at_day(5)) == 0
    assert AuditLog(place.open()).verify().rows == 5


@pytest.mark.row("N5")
def test_an_audit_can_be_pruned_again_and_down_to_the_note_of_it(days: AuditLog) -> None:
    assert days.prune(at_day(2)) == 1
    assert days.prune(at_day(4)) == 3
    assert days.verify().first_problem is None
    far = datetime(2100, 1, 1, tzinfo=UTC)
    assert days.prune(far) == 5
    report = days.verify()
    assert (report.rows, report.pruned, report.first_problem) == (1, 9, None)
    days.write(ENTRY, durable=True)
    assert days.verify().rows == 2


@pytest.mark.row("N5")
def test_very_many_rows_are_pruned_a_part_at_a_time(days: AuditLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_module, "PRUNED_AT_ONCE", 3)
    assert days.prune(at_day(7)) == 6
    report = days.verify()
    assert (report.rows, report.pruned, report.first_problem) == (3, 6, None)


@pytest.mark.row("N5")
def test_an_empty_audit_is_pruned_of_nothing(log: AuditLog) -> None:
    assert log.prune(at_day(1)) == 0
    assert log.verify().rows == 0


@pytest.mark.row("N5")
def test_rows_that_were_changed_are_not_pruned_away(days: AuditLog, execute: Callable[..., list[Any]]) -> None:
    execute("UPDATE audit SET principal = 'mallory' WHERE number = 2")
    with pytest.raises(StorageError, match="nothing is pruned, since the audit is not whole: row 2 "):
        days.prune(at_day(6))
    assert len(days.tail()) == 7


@pytest.mark.row("N5")
@pytest.mark.parametrize("number", range(5, 9))
def test_a_row_that_is_gone_after_pruning_is_found(
    days: AuditLog, execute: Callable[..., list[Any]], number: int
) -> None:
    days.prune(at_day(5))
    execute("DELETE FROM audit WHERE number = :number", number=number)
    assert (days.verify().first_problem or "").startswith(f"row {number} is missing")


@pytest.mark.row("N5")
def test_rows_that_somebody_takes_from_the_beginning_are_found_though_the_anchor_was_moved(
    days: AuditLog, execute: Callable[..., list[Any]]
) -> None:
    days.prune(at_day(2))
    execute("DELETE FROM audit WHERE number <= 5")
    assert (days.verify().first_problem or "").startswith("row 2 is missing")
    sixth = days.tail()[0]
    execute("DELETE FROM audit WHERE number = 6")
    execute("UPDATE audit_anchor SET number = 6, hash = :hash", hash=sixth.hash)
    assert days.verify().first_problem == "rows up to 6 are missing, and no row says that they were pruned"
    execute("DELETE FROM audit_anchor")
    assert (days.verify().first_problem or "").startswith("row 1 is missing")


@pytest.mark.row("N5")
def test_a_head_that_was_noted_before_pruning_is_told_to_be_gone(days: AuditLog) -> None:
    heads = {row.number: f"{row.number}:{row.hash}" for row in days.tail()}
    days.prune(at_day(5))
    assert days.verify(expect=heads[4]).first_problem is None
    assert days.verify(expect=heads[5]).first_problem is None
    gone = days.verify(expect=heads[3]).first_problem
    assert gone == "row 3, which is expected, was pruned with all rows up to 4"
    other = days.verify(expect="4:" + "a" * 64).first_problem
    assert other == "row 4 does not have the expected hash: rows up to it were rewritten"


@pytest.mark.row("N5")
def test_pruning_while_others_write_leaves_one_chain(
    place: Any, log: AuditLog, at_once: Callable[..., list[Any]]
) -> None:
    others = [AuditLog(place.open()) for _ in range(3)]

    def write(to: AuditLog) -> None:
        for number in range(30):
            to.write(replace(ENTRY, at=at_day(1)), durable=number % 5 == 0)

    def prune() -> int:
        return sum(log.prune(at_day(2)) for _ in range(10))

    *written, pruned = at_once([*(lambda other=other: write(other) for other in others), prune])
    for other in others:
        other.close()
    assert written == [None] * 3
    report = log.verify()
    assert report.first_problem is None
    notes = sum(row.operation == "audit/prune" for row in log.tail(limit=1000))
    assert (report.pruned, report.rows) == (pruned, 90 + notes - pruned)


def test_a_group_of_more_rows_than_a_statement_takes_is_written_whole(log: AuditLog) -> None:
    for number in range(ROWS_A_STATEMENT * 2 + 7):
        log.write(replace(ENTRY, call_id=f"call-{number}"), durable=False)
    report = log.verify()
    assert (report.rows, report.first_problem) == (ROWS_A_STATEMENT * 2 + 7, None)
    assert [row.call_id for row in log.tail(limit=1000)] == [f"call-{number}" for number in range(report.rows)]
