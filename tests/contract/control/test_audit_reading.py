"""The audit read by who, what, outcome and time, and verified in parts, on SQLite and PostgreSQL."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import inspect

from stackroom.control.audit import reading
from stackroom.control.audit.log import AuditFilter, AuditLog
from stackroom.errors import InputError
from stackroom.model.principal import AuditEntry, Outcome

pytestmark = pytest.mark.row("Z13")

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
ENTRY = AuditEntry(
    at=NOON,
    call_id="c",
    principal="ada",
    via="http",
    operation="tools/call",
    target="search",
    parameters={},
    outcome=Outcome.OK,
)


@pytest.fixture
def log(database: Any) -> Iterator[AuditLog]:
    log = AuditLog(database)
    yield log
    log.close()


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
        log.write(replace(ENTRY, at=NOON + timedelta(minutes=minute), call_id=f"c{minute}", **edit), durable=False)
    return log


@pytest.mark.parametrize(
    ("wanted", "numbers"),
    [
        ({}, [5, 4, 3, 2, 1]),
        ({"principal": "bob"}, [5, 2]),
        ({"target": "catalog.mutate"}, [5, 3]),
        ({"target": "catalog.mutate", "principal": "ada"}, [3]),
        ({"operation": "account/login"}, [4]),
        ({"outcome": "refused"}, [3]),
        ({"outcome": "ok"}, [5, 2, 1]),
        ({"since": NOON + timedelta(minutes=3)}, [5, 4]),
        ({"until": NOON + timedelta(minutes=1)}, [1]),
        ({"since": NOON + timedelta(minutes=1), "until": NOON + timedelta(minutes=3)}, [3, 2]),
        ({"up_to": 2}, [2, 1]),
        ({"principal": "\0"}, []),
    ],
)
def test_rows_are_found_by_who_what_outcome_and_time_newest_first(
    filled: AuditLog, wanted: dict[str, Any], numbers: list[int]
) -> None:
    page = filled.page(AuditFilter(**wanted))
    assert [row.number for row in page.rows] == numbers
    assert page.total == len(numbers)
    without_mark = {name: value for name, value in wanted.items() if name != "up_to"}
    if without_mark == wanted:
        assert [row.number for row in filled.tail(**wanted)] == numbers[::-1]


def test_pages_fit_together_while_rows_are_written(filled: AuditLog) -> None:
    first = filled.page(AuditFilter(), limit=2)
    filled.write(replace(ENTRY, call_id="late"), durable=True)
    second = filled.page(AuditFilter(up_to=first.up_to), offset=2, limit=2)
    assert [row.number for row in [*first.rows, *second.rows]] == [5, 4, 3, 2]
    assert (first.total, second.total, second.up_to) == (5, 5, 5)


def test_rows_are_counted_up_to_a_bound(filled: AuditLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST_COUNTED", 3)
    assert filled.page(AuditFilter(), limit=2).total == 3


def test_an_outcome_that_there_is_not_is_refused(filled: AuditLog) -> None:
    with pytest.raises(InputError, match="'outcome': no 'fine'; known: ok, error, refused"):
        filled.page(AuditFilter(outcome="fine"))


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "CHECKED_AT_ONCE", 2)


@pytest.mark.usefixtures("small_pages")
def test_a_chain_is_verified_in_parts_each_beginning_after_the_last(filled: AuditLog) -> None:
    first = filled.verify_part(most_s=0)
    second = filled.verify_part(after=str(first.last), most_s=0)
    third = filled.verify_part(after=str(second.last), most_s=0)
    assert [part.rows for part in (first, second, third)] == [2, 2, 1]
    assert [part.is_complete for part in (first, second, third)] == [False, False, True]
    assert [part.first_problem for part in (first, second, third)] == [None] * 3
    assert third.last == third.head


@pytest.mark.usefixtures("small_pages")
def test_a_changed_row_is_found_by_the_part_that_it_is_in(filled: AuditLog, execute: Callable[..., list[Any]]) -> None:
    filled.flush()
    execute("UPDATE audit SET principal = 'eve' WHERE number = 4")
    first = filled.verify_part(most_s=0)
    second = filled.verify_part(after=str(first.last), most_s=0)
    assert (first.first_problem, first.is_complete) == (None, False)
    assert str(second.first_problem).startswith("row 4 is not as it was written")


def test_a_part_begins_only_after_a_row_that_still_has_its_hash(filled: AuditLog) -> None:
    other = f"2:{'a' * 64}"
    assert "row 2 does not have the expected hash" in str(filled.verify_part(after=other, most_s=1).first_problem)
    assert "row 9, which is expected, is missing" in str(
        filled.verify_part(after=f"9:{'a' * 64}", most_s=1).first_problem
    )
    with pytest.raises(InputError, match="'head' must be NUMBER:HASH"):
        filled.verify_part(after="2", most_s=1)


def test_a_pruned_chain_is_verified_in_parts_and_rows_that_were_merely_removed_show(
    filled: AuditLog, execute: Callable[..., list[Any]]
) -> None:
    filled.prune(NOON + timedelta(minutes=2))
    whole = filled.verify_part(most_s=10)
    assert (whole.first_problem, whole.is_complete, whole.rows, whole.pruned) == (None, True, 4, 2)
    assert "was pruned" in str(filled.verify_part(after=f"1:{'a' * 64}", most_s=1).first_problem)
    execute("DELETE FROM audit WHERE operation = 'audit/prune'")
    assert "no row says that they were pruned" in str(filled.verify_part(most_s=10).first_problem)


def test_what_rows_are_filtered_by_is_indexed(filled: AuditLog, database: Any) -> None:
    with database.read() as connection:
        names = {index["name"] for index in inspect(connection).get_indexes("audit")}
    assert names >= {"audit_by_principal", "audit_by_target", "audit_by_outcome", "audit_by_moment", "audit_by_call"}
    if database.dialect == "sqlite":
        plans = {
            "audit_by_target": "target = 'x'",
            "audit_by_outcome": "outcome = 'refused' AND outcome <> 'ok'",
            "audit_by_principal": "principal = 'x'",
        }
        with database.read() as connection:
            for index, condition in plans.items():
                query = f"EXPLAIN QUERY PLAN SELECT hash FROM audit WHERE {condition} ORDER BY number DESC LIMIT 2"
                assert index in str(connection.exec_driver_sql(query).all())
