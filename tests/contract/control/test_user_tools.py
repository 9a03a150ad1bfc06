"""`users.query` and `users.mutate`, through the gate, on every kind of control database."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from stackroom.admin.users import USERS_TOOLS
from stackroom.control.audit.log import AuditLog
from stackroom.gate.answer import Answer
from stackroom.gate.gate import Gate
from stackroom.model.principal import LOCAL_USER, Principal
from stackroom.tools.operation import Office
from stackroom.tools.toolbox import Toolbox
from support.control import audit_rows
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


def test_a_user_without_a_password_gets_one_that_works_once(people: Any, mutate: Mutate) -> None:
    answer = mutate("create", "bob")
    made = done(answer)
    assert made["user"]["permissions"] == ["AccessCatalog"]
    secret = made["one_time_password"]
    assert answer.text.splitlines()[0] == f"action: create; name: bob; one_time_password: {secret}"
    assert people.accounts.check_login("bob", secret) is not None
    assert people.accounts.check_login("bob", secret) is None


def test_the_sessions_of_a_user_are_ended_and_their_tokens_are_not(
    people: Any, mutate: Mutate
) -> None:
    people.add("ann", roles=["user"])
    first, second, token = people.session("ann"), people.session("ann"), people.token("ann")

    def valid() -> list[bool]:
        return [people.credentials.find(secret) is not None for secret in (first, second, token)]

    assert done(mutate("end_sessions", "Ann"))["user"]["name"] == "ann"
    assert valid() == [False, False, True]


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


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"action": "set_role", "name": "x"}, "'role' is missing"),
        ({"action": "grant", "name": "x"}, "'permission' is missing"),
        ({"action": "grant", "name": "x", "permission": "Everything"}, "'permission'"),
        (
            {"action": "delete", "name": "x", "role": "admin"},
            "'role' is for 'create', 'set_role', not for 'delete'",
        ),
        (
            {"action": "reset_password", "name": "x", "password": PASSWORD},
            "'password' is for 'create', not for",
        ),
        ({"action": "create", "name": "x", "password": "short"}, ""),
        ({"action": "promote", "name": "x"}, "'action'"),
        ({"action": "create_role", "name": "x"}, "'permissions' is missing"),
        (
            {"action": "create_role", "name": "x", "permissions": [], "quotas": {"reads": 5}},
            "'quotas",
        ),
        (
            {"action": "create_role", "name": "x", "permissions": [], "quotas": {"read": -1}},
            "'quotas",
        ),
        (
            {"action": "grant", "name": "x", "permissions": ["EditCatalog"]},
            "'permissions' is for 'create', 'create_role', 'update_role'",
        ),
    ],
)
def test_what_is_wrong_is_said_and_no_password_is_repeated(
    gate: Gate, arguments: dict[str, Any], says: str
) -> None:
    answer = gate.call(LOCAL_USER, "users.mutate", arguments)
    assert answer.error_code == "invalid_input"
    assert says in answer.text
    assert arguments.get("password", "no password") not in answer.text


def test_a_user_whose_list_names_an_unknown_catalogue_is_not_created(
    people: Any, mutate: Mutate
) -> None:
    answer = mutate("create", "ann", password=PASSWORD, catalogues=["papres"])
    assert answer.error_code == "not_found"
    assert people.accounts.list_users() == ([], 0)


def test_neither_passwords_nor_one_time_secrets_are_in_the_audit(
    mutate: Mutate, audit: AuditLog
) -> None:
    secret = done(mutate("create", "ann"))["one_time_password"]
    mutate("create", "bob", password=PASSWORD)
    again = mutate("reset_password", "ann")
    second = done(again)["one_time_password"]
    assert second in again.text  # who asked sees it, and nobody else
    written = json.dumps([str(row) for row in audit_rows(audit)])
    assert not [one for one in (secret, second, PASSWORD) if one in written]
    assert [row.target for row in audit_rows(audit)] == ["users.mutate"] * 3


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
