"""The audit on SQLite and PostgreSQL: every call is there, and every way of changing one shows."""

import logging
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from stackroom.control import audit as audit_module
from stackroom.control.audit import HASHED_COLUMNS, LIMITS, AuditFilter, AuditLog, hash_of
from stackroom.errors import InputError, StorageError
from stackroom.model.principal import AuditEntry, Outcome
from support.control import audit_rows
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
from stackroom.control.audit import AuditLog
from stackroom.control.database.engine import ControlDatabase
from stackroom.model.principal import AuditEntry, Outcome
database = ControlDatabase.open(sys.argv[1])
log = AuditLog(database)
def note(call_id, durable):
    entry = AuditEntry(at=datetime.now(UTC), call_id=call_id, principal="ada", via="http",
                       operation="tools/call", target="search", parameters={}, outcome=Outcome.OK)
    log.write(entry, durable=durable)
print("ready", flush=True)
sys.stdin.readline()
"""
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


def problem_in(log: AuditLog, **asked: Any) -> str:
    """Return the first problem that a check finds; empty: none."""
    return log.verify(**asked).first_problem or ""


def test_a_durable_entry_is_there_for_others_as_it_was_written(place: Any, log: AuditLog) -> None:
    log.write(ENTRY, durable=True)
    (row,) = audit_rows(AuditLog(place.open()))
    assert AuditEntry(**{name: getattr(row, name) for name in ENTRY.__dataclass_fields__}) == ENTRY
    assert (row.number, len(row.hash)) == (1, 64)


def test_other_entries_are_there_within_a_moment_and_before_later_ones(
    place: Any, log: AuditLog
) -> None:
    reader = AuditLog(place.open())
    log.write(replace(ENTRY, call_id="first"), durable=False)
    wait_until(lambda: bool(audit_rows(reader)))
    log.write(replace(ENTRY, call_id="second"), durable=False)
    log.write(replace(ENTRY, call_id="third"), durable=True)
    assert [row.call_id for row in audit_rows(reader)] == ["first", "second", "third"]


def test_closing_writes_what_is_queued(place: Any) -> None:
    log = AuditLog(place.open())
    for _ in range(1234):
        log.write(ENTRY, durable=False)
    log.close()
    whole = AuditLog(place.open())
    assert whole.verify().rows == 1234
    with pytest.raises(StorageError, match="closed"):
        log.write(ENTRY, durable=False)
    whole.close()  # though nothing was ever written


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
        log.write(
            replace(ENTRY, parameters=parameters, target="\0\ud800é", error_code="\ud800"),
            durable=True,
        )
    rows = audit_rows(log)
    assert rows[0].target == "\\x00\\ud800é"
    assert rows[0].parameters == odd[0]
    assert [sorted(row.parameters) for row in rows[1:]] == [
        ["unreadable"],
        ["unreadable"],
        ["characters", "cut_off"],
    ]
    assert not problem_in(log)


def test_an_empty_audit_is_whole(log: AuditLog) -> None:
    report = log.verify()
    assert (report.rows, report.first_problem, report.head) == (0, None, "0:" + "0" * 64)
    assert log.prune(at_day(1)) == 0


def test_a_whole_audit_gives_its_head(chain: AuditLog) -> None:
    report = chain.verify()
    assert (report.rows, report.first_problem) == (5, None)
    assert report.head == f"5:{audit_rows(chain)[-1].hash}"
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


def test_a_changed_cell_of_any_column_is_found(
    chain: AuditLog, execute: Callable[..., list[Any]]
) -> None:
    for column in (*HASHED_COLUMNS, "hash"):
        for value in OTHER_VALUES.get(column, ("something else", "")):
            (before,) = execute(f"SELECT {column} FROM audit WHERE number = 3")[0]
            execute(f"UPDATE audit SET {column} = :value WHERE number = 3", value=value)
            problem = problem_in(chain)
            assert problem.startswith("row 3 "), (column, value, problem)
            changed = value if column == "number" else 3
            execute(
                f"UPDATE audit SET {column} = :before WHERE number = :n", before=before, n=changed
            )
            assert not problem_in(chain)


def test_a_hash_is_the_same_for_ever_and_of_every_column() -> None:
    values = (1, 1_794_744_000_000_000, "c", "ada", "http", "tools/call", "s", '{"q":"ä"}', "ok")
    digest = hash_of("0" * 64, (*values, None, 1234, 0, ""))
    assert digest == "95ced2b17f2fc4d2ba1ecc5e081ed5d1555e37a5b40b471b0dbc3d594cfd5b8d"
    assert len(values) + 4 == len(HASHED_COLUMNS)
    assert hash_of("", ("ab", "c")) != hash_of("", ("a", "bc"))
    assert hash_of("", (None,)) != hash_of("", ("null",))


COPIED = ", ".join([*HASHED_COLUMNS[1:], "hash"])
COPY = f"INSERT INTO audit (number, {COPIED}) SELECT {{}}, {COPIED} FROM audit WHERE number = {{}}"
MOVE = "UPDATE audit SET number = {} WHERE number = {}"


@pytest.mark.parametrize(
    ("statements", "problem"),
    [
        *(([f"DELETE FROM audit WHERE number = {n}"], f"row {n} is missing") for n in range(1, 6)),
        (
            [
                "DELETE FROM audit WHERE number = 3",
                "UPDATE audit SET number = number - 1 WHERE number > 3",
                "UPDATE audit_head SET number = 4",
            ],
            "row 3 is not as it was written",
        ),
        (
            [MOVE.format(-1, 2), MOVE.format(2, 4), MOVE.format(4, -1)],
            "row 2 is not as it was written",
        ),
        *(([COPY.format(n, 5)], f"row {n} ") for n in (-5, 0, 6)),
        ([COPY.format(60, 5)], "row 6 is missing"),
        (
            [
                *(MOVE.format(n + 1, n) for n in (5, 4, 3)),
                COPY.format(3, 2),
                "UPDATE audit_head SET number = 6",
            ],
            "row 3 is not as it was written",
        ),
        (["UPDATE audit_head SET number = 4"], "row 5 was not written"),
        (["UPDATE audit_head SET number = 6"], "row 6 is missing"),
        (["UPDATE audit_head SET hash = 'x'"], "row 5 is not the one"),
        (["DELETE FROM audit_head"], "the head of the audit is missing"),
        (["DELETE FROM audit"], "row 1 is missing"),
    ],
)
def test_rows_that_are_gone_moved_or_added_and_another_head_are_found(
    chain: AuditLog, execute: Callable[..., list[Any]], statements: list[str], problem: str
) -> None:
    for statement in statements:
        execute(statement)
    assert problem_in(chain).startswith(problem)


def test_a_row_added_with_the_right_hash_but_not_by_us_is_found(
    chain: AuditLog, execute: Callable[..., list[Any]]
) -> None:
    execute(COPY.format(6, 5))
    (row,) = execute(f"SELECT {', '.join(HASHED_COLUMNS)} FROM audit WHERE number = 6")
    digest = hash_of(audit_rows(chain)[4].hash, row)
    execute("UPDATE audit SET hash = :digest WHERE number = 6", digest=digest)
    assert problem_in(chain).startswith("row 6 was not written by Stackroom")


def rewrite_from(execute: Callable[..., list[Any]], first: int) -> None:
    """Make a new chain from a row on, as somebody with the whole database could."""
    rows = execute(f"SELECT {', '.join(HASHED_COLUMNS)}, hash FROM audit ORDER BY number")
    previous = rows[first - 2].hash if first > 1 else "0" * 64
    for row in rows[first - 1 :]:
        values = list(row[:-1])
        values[3] = "mallory"
        previous = hash_of(previous, values)
        execute(
            "UPDATE audit SET principal = 'mallory', hash = :hash WHERE number = :n",
            hash=previous,
            n=row.number,
        )
    execute("UPDATE audit_head SET hash = :hash", hash=previous)


def test_a_whole_new_chain_shows_when_the_head_was_noted(
    chain: AuditLog, execute: Callable[..., list[Any]]
) -> None:
    noted = chain.verify().head
    rewrite_from(execute, 2)
    assert not problem_in(chain)
    assert problem_in(chain, expect=noted).startswith("row 5 does not have the expected hash")
    execute("DELETE FROM audit WHERE number > 3")
    execute("UPDATE audit_head SET number = 3, hash = (SELECT hash FROM audit WHERE number = 3)")
    assert not problem_in(chain)
    assert problem_in(chain, expect=noted) == "row 5, which is expected, is missing"


@pytest.mark.parametrize(
    "noted", ["", "5", "5:abc", "x:" + "a" * 64, "-1:" + "a" * 64, f"{'9' * 5_000}:{'ab' * 32}"]
)
def test_a_head_that_was_noted_wrongly_is_refused(chain: AuditLog, noted: str) -> None:
    with pytest.raises(InputError, match="'expect' must be NUMBER:HASH"):
        chain.verify(expect=noted)
    with pytest.raises(InputError, match="'head' must be NUMBER:HASH"):
        chain.verify(after=noted)


def test_a_chain_is_verified_in_parts_each_beginning_after_the_last(
    chain: AuditLog, execute: Callable[..., list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_module, "CHECKED_AT_ONCE", 2)
    parts = [chain.verify(most_s=0)]
    while not parts[-1].is_complete:
        parts.append(chain.verify(after=parts[-1].last, most_s=0))
    assert [(part.rows, part.first_problem) for part in parts] == [(2, None), (2, None), (1, None)]
    assert parts[-1].last == parts[-1].head
    execute("UPDATE audit SET principal = 'eve' WHERE number = 4")
    assert (chain.verify(most_s=0).first_problem, chain.verify(most_s=0).is_complete) == (
        None,
        False,
    )
    second = chain.verify(after=parts[0].last, most_s=0)
    assert str(second.first_problem).startswith("row 4 is not as it was written")


def test_a_part_begins_only_after_a_row_that_still_has_its_hash(chain: AuditLog) -> None:
    rewritten, missing = (
        chain.verify(after=f"{number}:{'a' * 64}").first_problem for number in (2, 9)
    )
    assert rewritten == "row 2 does not have the expected hash: rows up to it were rewritten"
    assert missing == "row 9, which is expected, is missing"


@pytest.fixture
def filled(log: AuditLog) -> AuditLog:
    """An audit of a row a minute."""
    edits: list[dict[str, Any]] = [
        {},
        {"principal": "bob"},
        {"target": "catalog.mutate", "outcome": Outcome.REFUSED},
        {"operation": "account/login", "target": "bob", "outcome": Outcome.ERROR},
        {"principal": "bob", "target": "catalog.mutate"},
    ]
    for minute, edit in enumerate(edits):
        log.write(replace(ENTRY, at=ENTRY.at + timedelta(minutes=minute), **edit), durable=False)
    return log


def test_pages_fit_together_and_rows_are_counted_up_to_a_bound(
    filled: AuditLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = [filled.page(AuditFilter(), offset=offset, limit=2) for offset in (0, 2)]
    assert [[row.number for row in page.rows] for page in pages] == [[5, 4], [3, 2]]
    assert [page.total for page in pages] == [5, 5]
    monkeypatch.setattr(audit_module, "MOST_COUNTED", 3)
    assert filled.page(AuditFilter(), limit=2).total == 3


def test_nothing_is_written_after_rows_that_are_not_ours(
    chain: AuditLog, execute: Callable[..., list[Any]]
) -> None:
    execute(COPY.format(6, 5))
    with pytest.raises(StorageError, match="rows past its end, which Stackroom did not write"):
        chain.write(ENTRY, durable=True)
    execute("DELETE FROM audit WHERE number = 6")
    execute("UPDATE audit_head SET id = 2")
    with pytest.raises(StorageError, match="the head of the audit is missing"):
        chain.write(ENTRY, durable=True)
    execute("UPDATE audit_head SET id = 1")
    chain.write(ENTRY, durable=True)
    assert chain.verify().rows == 6


@pytest.mark.parametrize("attempt", range(3))
def test_a_killed_process_leaves_a_chain_with_every_durable_row(
    place: Any, log: AuditLog, attempt: int
) -> None:
    process = place.run(WRITES_UNTIL_KILLED)
    with process:
        process.stdout.readline()
        process.stdin.write("go\n")
        process.stdin.flush()
        acknowledged = [process.stdout.readline().strip() for _ in range(5 + 7 * attempt)]
        process.send_signal(signal.SIGKILL)
        acknowledged += process.stdout.read().split()
    report = log.verify()
    assert report.first_problem is None
    written = {row.call_id for row in audit_rows(log, limit=10_000)}
    assert written >= {
        f"{kind} {number}" for kind in ("passing", "durable") for number in acknowledged
    }
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
    assert "the audit cannot be written" in [
        record.message.partition(":")[0] for record in caplog.records
    ]
    execute("ALTER TABLE gone RENAME TO audit")
    log.write(replace(ENTRY, call_id="later"), durable=True)
    assert [row.call_id for row in audit_rows(log)] == ["passing", "later"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_bug_in_the_writer_keeps_nobody_waiting(
    log: AuditLog, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    assert [row.call_id for row in audit_rows(log)] == ["before", "after"]


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
    assert [row.call_id for row in audit_rows(log)] == ["late"]


def test_nothing_goes_unnoted_when_the_queue_is_full(
    place: Any, execute: Callable[..., list[Any]]
) -> None:
    limits = replace(LIMITS, most_queued=10, group_rows=2, patience_s=3.0, retry_s=0.01)
    log = AuditLog(place.open(), limits=limits)
    execute("ALTER TABLE audit RENAME TO gone")
    for _ in range(10):
        log.write(ENTRY, durable=False)
    with pytest.raises(StorageError, match="the audit cannot keep up"):
        log.write(ENTRY, durable=False)
    execute("ALTER TABLE gone RENAME TO audit")
    for _ in range(20):  # each waits until there is room
        log.write(ENTRY, durable=False)
    log.close()
    assert AuditLog(place.open()).verify().rows == 30


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


def test_closing_tries_once_more_where_the_database_was_away(
    place: Any, execute: Callable[..., list[Any]]
) -> None:
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
    *kept, note = audit_rows(days)
    assert [row.call_id for row in kept] == ["call-5", "call-6", "call-7"]
    by = (note.principal, note.via, note.operation, note.number)
    assert by == ("local", "job", "audit/prune", 8)
    assert note.parameters == {"before": "2026-01-05T00:00:00+00:00", "rows": 4}
    assert not problem_in(days, expect=noted)
    days.write(replace(ENTRY, call_id="after", at=at_day(8)), durable=True)
    assert days.prune(at_day(5)) == 0
    assert AuditLog(place.open()).verify().rows == 5


@pytest.mark.row("N5")
def test_an_audit_can_be_pruned_again_a_part_at_a_time_and_down_to_the_notes_of_it(
    days: AuditLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_module, "PRUNED_AT_ONCE", 2)
    for day, pruned in ((2, 1), (4, 3), (400, 6)):
        assert days.prune(at_day(1) + timedelta(days=day - 1)) == pruned
        assert not problem_in(days)
    assert (days.verify().rows, days.verify().pruned) == (3, 10)
    days.write(ENTRY, durable=True)
    assert days.verify().rows == 4


@pytest.mark.row("N5")
def test_rows_that_were_changed_are_not_pruned_away(
    days: AuditLog, execute: Callable[..., list[Any]]
) -> None:
    execute("UPDATE audit SET principal = 'mallory' WHERE number = 2")
    with pytest.raises(
        StorageError, match="nothing is pruned, since the audit is not whole: row 2 "
    ):
        days.prune(at_day(6))
    assert len(audit_rows(days)) == 7


@pytest.mark.row("N5")
def test_rows_that_somebody_takes_from_the_beginning_are_found_though_the_anchor_was_moved(
    days: AuditLog, execute: Callable[..., list[Any]]
) -> None:
    days.prune(at_day(2))
    assert (
        days.verify(after=f"0:{'a' * 64}").first_problem
        == "row 0, which is expected, was pruned with all rows up to 1"
    )
    execute("DELETE FROM audit WHERE number <= 5")
    assert problem_in(days).startswith("row 2 is missing")
    sixth = audit_rows(days)[0]
    execute("DELETE FROM audit WHERE number = 6")
    execute("UPDATE audit_anchor SET number = 6, hash = :hash", hash=sixth.hash)
    assert (
        days.verify().first_problem
        == "rows up to 6 are missing, and no row says that they were pruned"
    )
    execute("DELETE FROM audit_anchor")
    assert problem_in(days).startswith("row 1 is missing")


@pytest.mark.row("N5")
def test_a_head_that_was_noted_before_pruning_is_told_to_be_gone(days: AuditLog) -> None:
    heads = {row.number: f"{row.number}:{row.hash}" for row in audit_rows(days)}
    days.prune(at_day(5))
    assert not problem_in(days, expect=heads[4])
    assert not problem_in(days, expect=heads[5])
    gone = problem_in(days, expect=heads[3])
    assert gone == "row 3, which is expected, was pruned with all rows up to 4"
    other = problem_in(days, expect="4:" + "a" * 64)
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
    notes = sum(row.operation == "audit/prune" for row in audit_rows(log, limit=1000))
    assert (report.pruned, report.rows) == (pruned, 90 + notes - pruned)
