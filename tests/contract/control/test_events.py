"""Events and what they say, on every kind of control database."""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import func, select

from stackroom.admin.analytics import analytics_tool
from stackroom.analytics import events as events_module
from stackroom.analytics.events import (
    LIMITS,
    Event,
    EventKind,
    EventLog,
    EventReports,
    EventSpan,
    ReportPeriod,
)
from stackroom.control.database.engine import ControlDatabase
from stackroom.control.database.tables import events
from stackroom.errors import StorageError
from stackroom.gate.gate import Gate
from stackroom.model.principal import LOCAL_USER, AuditEntry, Outcome
from stackroom.model.scope import Visibility
from stackroom.tools.toolbox import Toolbox

pytestmark = pytest.mark.row("Z7")

MONDAY = datetime(2026, 11, 9, 8, 0, tzinfo=UTC)
SEARCH, PLAY, DOWNLOAD, SERVE = map(EventKind, ("search", "play", "download", "serve"))


@pytest.fixture
def log(database: ControlDatabase) -> Iterator[EventLog]:
    log = EventLog(database)
    yield log
    log.close()


@pytest.fixture
def reports(database: ControlDatabase, log: EventLog) -> EventReports:
    return EventReports(database, log)


def event(kind: EventKind, user: str = "ann", *, days: float = 0, **more: Any) -> Event:
    return Event(at=MONDAY + timedelta(days=days), kind=kind, user=user, **more)


def play(
    user: str, track: str, seconds: float, *, days: float = 0, catalogue: str = "music"
) -> Event:
    return event(PLAY, user, days=days, subject=track, seconds=seconds, catalogue=catalogue)


def search(query: str, results: int | None, *, user: str = "ann", **more: Any) -> Event:
    return event(SEARCH, user, subject=query, results=results, tool="search", **more)


def kept(log: EventLog) -> int:
    """Return how many events there are."""
    log.flush()
    with log._database.read() as connection:
        return int(connection.execute(select(func.count()).select_from(events)).scalar_one())


def test_listening_is_counted_for_each_user_most_first(
    log: EventLog, reports: EventReports
) -> None:
    for one in (
        play("ann", "t1", 60),
        play("ann", "t1", 30),
        play("ann", "t2", 10),
        play("bob", "t1", 300),
    ):
        log.note(one)
    rows, total = reports.listening(EventSpan())
    assert total == 2
    assert rows == [
        {"user": "bob", "plays": 1, "seconds": 300, "tracks": 1, "listeners": 1},
        {"user": "ann", "plays": 3, "seconds": 100, "tracks": 2, "listeners": 1},
    ]


@pytest.mark.parametrize(
    ("period", "labels"),
    [
        (ReportPeriod.DAY, ["2026-12-01", "2026-11-16", "2026-11-15", "2026-11-09"]),
        (ReportPeriod.WEEK, ["2026-11-30", "2026-11-16", "2026-11-09"]),
        (ReportPeriod.MONTH, ["2026-12-01", "2026-11-01"]),
    ],
)
def test_a_period_is_labelled_by_its_first_day_the_latest_first(
    period: ReportPeriod, labels: list[str], log: EventLog, reports: EventReports
) -> None:
    for days in (0, 6.6, 7, 22):  # Monday; Sunday evening; the Monday after; 1 December, a Tuesday
        log.note(play("ann", "t", 1, days=days))
    rows, total = reports.listening(EventSpan(), by=period)
    assert [row["period"] for row in rows] == labels
    assert total == len(labels)
    assert sum(row["plays"] for row in rows) == 4


HIDDEN = Visibility(frozenset(), hidden=frozenset({"secret"}))
ONLY_SECRET = Visibility(frozenset(), only=frozenset({"secret"}))


@pytest.mark.parametrize(
    ("span", "tracks"),
    [
        pytest.param({}, ["t4", "t1", "t2", "t3"], id="all"),
        pytest.param(
            {"since": MONDAY + timedelta(days=1), "until": MONDAY + timedelta(days=2)},
            ["t2"],
            id="a span has its beginning and not its end",
        ),
        pytest.param({"user": "bob"}, ["t3"], id="one user"),
        pytest.param({"user": "nobody"}, [], id="nobody"),
        pytest.param({"visibility": HIDDEN}, ["t1", "t2"], id="but for a hidden catalogue"),
        pytest.param({"visibility": ONLY_SECRET}, ["t3"], id="one catalogue"),
    ],
)
def test_a_report_counts_what_it_is_asked_for_and_its_reader_may_see(
    span: dict[str, Any], tracks: list[str], log: EventLog, reports: EventReports
) -> None:
    log.note(play("ann", "t1", 1))
    log.note(play("ann", "t2", 1, days=1))
    log.note(play("bob", "t3", 1, days=2, catalogue="secret"))
    log.note(play("ann", "t4", 1, days=3, catalogue=""))
    rows, total = reports.popular(EventSpan(**span))
    assert ([row["id"] for row in rows], total) == (tracks, len(tracks))


def test_nobody_has_a_name_that_no_database_takes(reports: EventReports) -> None:
    gate = Gate(Toolbox([analytics_tool(reports)]))
    answer = gate.call(LOCAL_USER, "analytics.query", {"query_type": "listening", "user": "a\0b"})
    assert answer.error_code == "not_found"


def test_bandwidth_tells_what_was_sent_from_what_was_fetched(
    log: EventLog, reports: EventReports
) -> None:
    log.note(event(SERVE, subject="records://1", bytes=100))
    log.note(event(SEARCH, subject="q", results=1, bytes=20))
    log.note(event(PLAY, subject="t", bytes=3_000_000_000))
    log.note(event(DOWNLOAD, subject="album", bytes=5_000_000_000))
    for user in ("ann", "bob"):
        log.note(play(user, "t", 5))  # nothing was sent for it, and it is no request
    sent = {"requests": 3, "served_bytes": 3_000_000_120, "downloaded_bytes": 5_000_000_000}
    assert reports.bandwidth(EventSpan()) == ([{"user": "ann", **sent}], 1)
    assert reports.bandwidth(EventSpan(), by=ReportPeriod.DAY)[0][0]["period"] == "2026-11-09"


def test_what_is_popular_comes_in_the_same_order_however_it_was_noted(
    log: EventLog, reports: EventReports
) -> None:
    for track, seconds in (("b", 5), ("a", 5), ("c", 9), ("d", 1), ("d", 1)):
        log.note(play("ann", track, seconds))
    rows, total = reports.popular(EventSpan())
    assert [row["id"] for row in rows] == ["d", "c", "a", "b"]
    assert total == 4
    assert rows[0] == {"catalogue": "music", "id": "d", "plays": 2, "seconds": 2, "listeners": 1}


def test_queries_without_results_are_those_that_found_nothing(
    log: EventLog, reports: EventReports
) -> None:
    log.note(search("atlantis", 0))
    log.note(search("atlantis", 0, user="bob", days=1))
    log.note(search("bach", 3))
    log.note(search("unknown", None))
    (row,), total = reports.searched(EventSpan(), without_results=True)
    assert row == {
        "query": "atlantis",
        "searches": 2,
        "users": 2,
        "results": 0,
        "last": "2026-11-10T08:00:00+00:00",
    }
    assert total == 1
    queries = [one["query"] for one in reports.searched(EventSpan())[0]]
    assert queries == ["atlantis", "bach", "unknown"]


def test_pruning_removes_what_is_older_and_nothing_else(log: EventLog) -> None:
    for days in range(10):
        log.note(play("ann", f"t{days}", 1, days=days))
    log.flush()
    assert log.prune(MONDAY + timedelta(days=7)) == 7
    assert kept(log) == 3
    assert log.prune(MONDAY) == 0


def test_the_oldest_go_when_there_are_too_many(
    database: ControlDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events_module, "COUNTED_EVERY", 1)
    log = EventLog(database, most_kept=5)
    for number in range(12):
        log.note(search(f"q{number}", 1))
    rows, _ = EventReports(database, log).searched(EventSpan())
    assert sorted(row["query"] for row in rows) == ["q10", "q11", "q7", "q8", "q9"]
    log.close()


def test_events_are_written_once_where_the_oldest_cannot_be_removed_at_first(
    log: EventLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    trim, failures = events_module._trim, [StorageError("the database is away")]

    def fail_once(*arguments: Any, **named: Any) -> None:
        if failures:
            raise failures.pop()
        trim(*arguments, **named)

    monkeypatch.setattr(events_module, "_trim", fail_once)
    monkeypatch.setattr(events_module, "COUNTED_EVERY", 1)
    log.note(play("ann", "t", 1))
    with pytest.raises(StorageError, match="away"):
        log.flush()
    assert kept(log) == 1


def test_whoever_waits_for_what_was_noted_does_not_wait_for_what_others_note_meanwhile(
    log: EventLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    written, writer = threading.Event(), log._writer
    append = writer._append

    def busy(group: Sequence[Event]) -> None:
        append(group)
        if not written.is_set():
            log.note(play("bob", "t", 1))

    monkeypatch.setattr(writer, "_append", busy)
    log.note(play("ann", "t", 1))
    waiting = threading.Thread(target=log.flush, daemon=True)
    waiting.start()
    waiting.join(timeout=120)
    is_waiting = waiting.is_alive()
    written.set()
    assert not is_waiting
    assert kept(log) >= 1


def test_events_are_dropped_and_counted_rather_than_waited_for(
    database: ControlDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = EventLog(database, limits=replace(LIMITS, most_queued=10, retry_s=0.01))

    def fail(_group: object) -> None:
        raise StorageError("the database is away")

    monkeypatch.setattr(log._writer, "_append", fail)
    for number in range(30):
        log.note(search(f"q{number}", 1))
    assert log.dropped >= 20
    with pytest.raises(StorageError, match="away"):
        log.flush()
    log.close()
    assert log.dropped == 30


def test_odd_texts_are_kept_in_a_form_that_the_database_takes(
    log: EventLog, reports: EventReports
) -> None:
    log.note(search("nul \0 and half \ud800 of a pair", 0, user="x" * 500))
    (row,), _ = reports.searched(EventSpan())
    assert "nul" in row["query"]
    log.note(search("y" * 5000, 0))
    assert max(len(one["query"]) for one in reports.searched(EventSpan())[0]) == 200


def entry(**more: Any) -> AuditEntry:
    values: dict[str, Any] = {
        "at": MONDAY,
        "call_id": "c",
        "principal": "ann",
        "via": "rest",
        "operation": "tools/call",
        "target": "search",
        "parameters": {"query": "  Space\tPIRATES ", "catalogue": "anime"},
        "outcome": Outcome.OK,
        "duration_ms": 3.0,
        "result_bytes": 70,
        "result_count": 4,
    }
    return AuditEntry(**{**values, **more})


@pytest.fixture
def record(log: EventLog) -> Callable[..., None]:
    return lambda **more: log.write(entry(**more), durable=False)


@pytest.mark.parametrize(
    "more",
    [
        {"outcome": Outcome.ERROR},
        {"target": "debug.sql", "result_bytes": 0},
        {"parameters": {"query": 5}, "result_bytes": 0},
        {"operation": "account/login", "parameters": {}, "result_bytes": 0},
    ],
)
def test_what_is_no_search_and_gave_nothing_is_no_event(
    more: dict[str, Any], record: Callable[..., None], log: EventLog
) -> None:
    record(**more)
    assert kept(log) == 0


def test_whatever_else_was_sent_is_counted_by_its_size(
    record: Callable[..., None], reports: EventReports
) -> None:
    record(operation="resources/read", target="logs://recent", parameters={})
    record(target="debug.sql", parameters={"query": "SELECT 1"})
    assert reports.searched(EventSpan()) == ([], 0)
    assert reports.bandwidth(EventSpan())[0][0]["served_bytes"] == 140


def test_a_user_who_was_created_again_does_not_inherit_the_plays_of_the_former(
    reports: EventReports, log: EventLog, people: Any
) -> None:
    at = people.clock.now() - timedelta(days=1)
    log.note(replace(play("lis", "a", 10), at=at))
    log.note(replace(play("ann", "a", 5), at=at))
    people.add("lis", roles=["user"])
    log.note(replace(play("lis", "b", 20), at=people.clock.now() + timedelta(hours=1)))
    rows, total = reports.listening(EventSpan())
    told = [(row["user"], row["seconds"]) for row in rows]
    assert told == [("lis", 20), ("lis (deleted)", 10), ("ann", 5)]
    assert total == 3
    rows, _ = reports.listening(EventSpan(user="lis"))
    assert [(row["user"], row["seconds"], row["tracks"]) for row in rows] == [("lis", 20, 1)]
    assert [one["id"] for one in reports.popular(EventSpan(user="lis"))[0]] == ["b"]
    names = [reports.find_user_names(name) for name in ("lis", "ann", "eve")]
    assert names == [["lis"], ["ann"], ["lis"]]
