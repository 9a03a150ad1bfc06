"""`analytics.query`: reports over events, paged, for whoever may view them."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from stackroom.admin.analytics import analytics_tool
from stackroom.analytics.events import Event, EventKind, EventLog, EventReports
from stackroom.control.database.engine import ControlDatabase
from stackroom.generic.tools import generic_tools
from stackroom.model.principal import LOCAL_USER, Action, Principal
from stackroom.model.scope import Visibility

pytestmark = pytest.mark.row("Z7")

NOON = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)
ANALYST = Principal(
    name="analyst",
    actions=frozenset({Action.VIEW_ANALYTICS}),
    visibility=Visibility(frozenset(), hidden=frozenset({"songs"})),
)


@pytest.fixture
def log(tmp_path: Path) -> Iterator[EventLog]:
    database = ControlDatabase.open(f"sqlite:///{tmp_path / 'control.sqlite'}")
    log = EventLog(database)
    yield log
    log.close()
    database.close()


@pytest.fixture
def served(log: EventLog, songs: Any, behind_gate: Callable[..., Any]) -> Any:
    """`analytics.query`, and a search whose calls are recorded."""
    tool = analytics_tool(EventReports(log._database, log))
    served = [songs.opened]
    return behind_gate([tool, *generic_tools(served)], catalogues=served, observers=[log])


def played(
    log: EventLog, track: str, user: str = "ann", *, days: int = 0, seconds: int = 60
) -> None:
    log.note(
        Event(
            at=NOON - timedelta(days=days),
            kind=EventKind.PLAY,
            user=user,
            subject=track,
            catalogue="songs",
            seconds=seconds,
            bytes=1000,
        )
    )


def test_what_was_played_has_its_title_and_its_address(served: Any, log: EventLog) -> None:
    for track in ("Winter Road", "Winter Road", "gone"):
        played(log, track)
    answer = served.ask("analytics.query", query_type="popular")
    assert answer["rows"] == [
        {
            "id": "songs/Winter Road",
            "title": "Winter Road",
            "plays": 2,
            "seconds": 120,
            "listeners": 1,
        },
        {"id": "songs/gone", "title": None, "plays": 1, "seconds": 60, "listeners": 1},
    ]
    assert (answer["total"], answer["has_more"]) == (2, False)


def test_searches_through_the_gate_are_what_top_queries_are_made_of(served: Any) -> None:
    for query in ("winter road", "Winter  Road", "xyzzy"):
        served.ask("search", query=query)
    rows = served.ask("analytics.query", query_type="top_queries")["rows"]
    assert [(row["query"], row["searches"]) for row in rows] == [("winter road", 2), ("xyzzy", 1)]


def test_a_report_is_of_one_user_and_of_the_days_asked_for_both_included(
    served: Any, log: EventLog
) -> None:
    for days in range(4):
        played(log, "t", days=days)
        played(log, "t", "bob", days=days)
    days = {"from": "2026-11-13", "to": "2026-11-14"}
    (row,) = served.ask("analytics.query", query_type="listening", user="Bob", **days)["rows"]
    assert row == {"user": "bob", "plays": 2, "seconds": 120, "tracks": 1, "listeners": 1}
    by_day = served.ask("analytics.query", query_type="listening", period="day", **days)["rows"]
    assert [(row["period"], row["plays"]) for row in by_day] == [
        ("2026-11-14", 2),
        ("2026-11-13", 2),
    ]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"query_type": "popular", "period": "day"}, "'period' is for"),
        ({"query_type": "listening", "from": "yesterday"}, "'from': 'yesterday' is not a day"),
        (
            {"query_type": "listening", "from": "2026-11-15", "to": "2026-11-14"},
            "'from' is not before 'to'",
        ),
        ({"query_type": "listening", "since": "2026-11-15"}, "unknown argument 'since'"),
    ],
)
def test_what_is_wrong_is_said(served: Any, arguments: dict[str, Any], says: str) -> None:
    code, text = served.refusal("analytics.query", **arguments)
    assert code == "invalid_input"
    assert says in text


def test_whoever_does_not_see_a_catalogue_does_not_see_what_was_played_of_it(
    served: Any, log: EventLog
) -> None:
    played(log, "Winter Road")
    assert served.ask("analytics.query", query_type="popular", principal=ANALYST)["rows"] == []
    rows = served.ask(
        "analytics.query",
        query_type="popular",
        principal=replace(LOCAL_USER, visibility=Visibility()),
    )["rows"]
    assert len(rows) == 1


def test_queries_of_a_catalogue_of_which_a_part_is_hidden_are_not_told(
    served: Any, songs: Any, new_song: Callable[..., Any]
) -> None:
    analyst = replace(ANALYST, visibility=Visibility(frozenset()))
    served.ask("search", query="winter", catalogue="songs")
    assert (
        len(served.ask("analytics.query", query_type="top_queries", principal=analyst)["rows"]) == 1
    )
    songs.put(replace(new_song("Hidden Lake"), audiences=("staff",)))
    served.ask("search", query="hidden", catalogue="songs")
    assert served.ask("analytics.query", query_type="top_queries", principal=analyst)["rows"] == []
    assert len(served.ask("analytics.query", query_type="top_queries")["rows"]) == 2


def test_a_user_who_does_not_exist_is_not_found(served: Any, log: EventLog) -> None:
    played(log, "t", "ann")
    code, text = served.refusal("analytics.query", query_type="listening", user="nobody")
    assert (code, "there is no user 'nobody', and no event of one" in text) == ("not_found", True)
    assert served.ask("analytics.query", query_type="listening", user="Ann")["total"] == 1
