"""`users.query` and `users.mutate`, through the gate, on every kind of control database."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from stackroom.admin.users import USERS_TOOLS
from stackroom.control.audit import AuditLog
from stackroom.gate.answer import Answer
from stackroom.gate.gate import Gate
from stackroom.model.principal import LOCAL_USER, Principal
from stackroom.tools.operation import Office
from stackroom.tools.toolbox import Toolbox
from support.texts import values_missing_from_text

pytestmark = pytest.mark.row("Z6")

PASSWORD = "correct horse battery"
Mutate = Callable[..., Answer]


@pytest.fixture
def audit(people: Any) -> Any:
    audit = AuditLog(people.database)
    yield audit
    audit.close()


@pytest.fixture
def gate(people: Any, audit: AuditLog) -> Gate:
    return Gate(Toolbox(USERS_TOOLS), observers=[audit], office=Office(control=people.control))


@pytest.fixture
def mutate(gate: Gate) -> Mutate:
    def call(action: str, name: str, *, by: Principal = LOCAL_USER, **more: Any) -> Answer:
        return gate.call(by, "users.mutate", {"action": action, "name": name, **more})

    return call


def done(answer: Answer) -> dict[str, Any]:
    assert answer.structured is not None, answer.text
    assert values_missing_from_text(answer.structured, answer.text) == []
    return answer.structured


def test_live_sessions_and_tokens_in_use_are_listed(people: Any) -> None:
    people.add("ann", roles=["user"])
    people.add("bob", roles=["user"])
    session, ended, used = people.session("ann"), people.session("ann"), people.token("bob")
    people.token("bob")
    people.credentials.revoke_secret(ended)
    people.credentials.find(used)
    day_before = people.clock.now() - timedelta(days=1)
    live = people.credentials.list_all(used_since=day_before)
    assert [(one.user, one.kind, one.id) for one in live] == [
        ("ann", "session", people.credentials.find(session)[0].id),
        ("bob", "token", people.credentials.find(used)[0].id),
    ]
    people.clock.advance(13 * 3600)
    live = people.credentials.list_all(used_since=people.clock.now() - timedelta(days=1))
    assert [one.user for one in live] == ["bob"]
    people.accounts.set_disabled(LOCAL_USER, "bob", disabled=True)
    assert people.credentials.list_all(used_since=day_before) == []


@pytest.mark.row("N8")
def test_many_users_are_listed_within_a_budget_and_none_is_lost(gate: Gate, mutate: Mutate) -> None:
    for number in range(30):
        done(mutate("create", f"user{number:02}", password=PASSWORD))
    seen: list[str] = []
    page = done(gate.call(LOCAL_USER, "users.query", {"query_type": "list", "max_tokens": 400}))
    while page["has_more"]:
        assert len(json.dumps(page)) <= 1_600
        seen += [user["name"] for user in page["users"]]
        arguments = {"query_type": "list", "max_tokens": 400, "offset": len(seen)}
        page = done(gate.call(LOCAL_USER, "users.query", arguments))
    seen += [user["name"] for user in page["users"]]
    whole = done(gate.call(LOCAL_USER, "users.query", {"query_type": "list", "limit": 100}))
    assert seen == [user["name"] for user in whole["users"]]
