"""`server.query` with the audit: rows by user, tool, outcome and time, and a check of the chain."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from stackroom.admin.server import Server, server_tool
from stackroom.control.audit import AuditLog
from stackroom.control.database.engine import ControlDatabase
from stackroom.model.principal import LOCAL_USER, Action, AuditEntry, Outcome, Principal
from stackroom.model.scope import Visibility
from stackroom.settings import Settings
from support.control import audit_rows

pytestmark = pytest.mark.row("Z13")

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
CALL = AuditEntry(
    at=NOON - timedelta(hours=3),
    call_id="c",
    principal="ada",
    via="websocket",
    operation="tools/call",
    target="search",
    parameters={"query": "rain"},
    outcome=Outcome.OK,
)
CALLS = (
    CALL,
    replace(
        CALL,
        principal="bob",
        target="catalog.mutate",
        parameters={"action": "create"},
        call_id="made",
    ),
    replace(
        CALL,
        at=NOON - timedelta(minutes=30),
        outcome=Outcome.REFUSED,
        error_code="unknown_tool",
        target="x",
    ),
    replace(
        CALL,
        at=NOON,
        operation="account/login",
        principal="anonymous",
        target="ada",
        outcome=Outcome.ERROR,
    ),
)


@pytest.fixture
def log(tmp_path: Path) -> Iterator[AuditLog]:
    with closing(ControlDatabase.open(f"sqlite:///{tmp_path / 'control.sqlite'}")) as database:
        log = AuditLog(database)
        for call in CALLS:
            log.write(call, durable=False)
        yield log
        log.close()


@pytest.fixture
def served(log: AuditLog, tmp_path: Path, behind_gate: Callable[..., Any]) -> Any:
    settings = Settings(home=tmp_path)
    server = Server(settings=settings, started_at=NOON, audit=log, now=lambda: NOON)
    return behind_gate([server_tool(server)])


def test_the_audit_is_read_newest_first_with_who_what_and_the_outcome(served: Any) -> None:
    answer = served.ask("server.query", query_type="audit")
    assert (answer["total"], answer["has_more"], answer["values"]) == (4, False, {})
    assert [row["number"] for row in answer["rows"]] == [4, 3, 2, 1]
    assert answer["rows"][2] == {
        "number": 2,
        "at": "2026-11-15T09:00:00.000+00:00",
        "user": "bob",
        "via": "websocket",
        "operation": "tools/call",
        "target": "catalog.mutate",
        "outcome": "ok",
        "call_id": "made",
        "parameters": {"action": "create"},
    }
    text = served.call("server.query", query_type="audit").text
    assert "number: 2; at: 2026-11-15T09:00:00.000+00:00; user: bob" in text
    assert "call_id: made" in text


@pytest.mark.parametrize(
    ("wanted", "numbers"),
    [
        ({"user": "Bob"}, [2]),
        ({"tool": "account/login"}, [4]),
        ({"tool": "tools/call", "user": "ada"}, [3, 1]),
        ({"outcome": "refused"}, [3]),
        ({"since": "1h"}, [4, 3]),
        ({"until": "1h"}, [2, 1]),
        ({"until": "2026-11-15"}, [4, 3, 2, 1]),
    ],
)
def test_rows_are_chosen_by_user_tool_outcome_and_time(
    served: Any, wanted: Any, numbers: list[int]
) -> None:
    answer = served.ask("server.query", query_type="audit", **wanted)
    assert [row["number"] for row in answer["rows"]] == numbers
    assert answer["total"] == len(numbers)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"query_type": "audit", "since": "soon"},
            "'since': 'soon' is not a day or a moment; write 2026-11-15",
        ),
        ({"query_type": "audit", "since": "1h", "until": "2h"}, "'since' is not before 'until'"),
        ({"query_type": "info", "user": "ada"}, "'user' is for query_type 'audit', not for 'info'"),
        ({"query_type": "audit", "head": "1:a"}, "'head' is for query_type 'audit_check'"),
        ({"query_type": "audit_check", "head": "1:a"}, "'head' must be NUMBER:HASH"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(
    served: Any, arguments: Any, message: str
) -> None:
    code, text = served.refusal("server.query", **arguments)
    assert code == "invalid_input"
    assert message in text


def test_the_chain_is_verified_and_the_first_broken_row_is_named(
    served: Any, log: AuditLog, tmp_path: Path
) -> None:
    values = served.ask("server.query", query_type="audit_check")["values"]
    assert (values["whole"], values["verified"], values["complete"]) == (True, 4, True)
    assert values["head"] == values["last"] == f"4:{audit_rows(log, limit=1)[0].hash}"
    with closing(sqlite3.connect(tmp_path / "control.sqlite")) as database, database:
        database.execute("UPDATE audit SET principal = 'eve' WHERE number = 3")
    values = served.ask("server.query", query_type="audit_check")["values"]
    assert (values["whole"], values["verified"]) == (False, 2)
    assert values["first_problem"].startswith("row 3 is not as it was written")


def test_only_an_administrator_who_sees_every_catalogue_reads_the_audit(served: Any) -> None:
    confined = replace(LOCAL_USER, visibility=Visibility(hidden=frozenset({"personal"})))
    code, text = served.refusal("server.query", query_type="audit", principal=confined)
    assert (code, "some are kept from you" in text) == ("forbidden", True)
    assert served.ask("server.query", query_type="audit_check", principal=confined)["values"][
        "whole"
    ]
    others = Principal(name="ann", actions=frozenset(Action) - {Action.SERVER_ADMIN})
    assert served.gate.list_tools(others) == []


def test_a_server_without_accounts_says_that_it_has_no_audit(
    tmp_path: Path, behind_gate: Callable[..., Any]
) -> None:
    tool = server_tool(Server(settings=Settings(home=tmp_path), started_at=NOON))
    code, text = behind_gate([tool]).refusal("server.query", query_type="audit")
    assert (code, "this server has no accounts" in text) == ("not_found", True)
