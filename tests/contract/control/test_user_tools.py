"""`users.query` and `users.mutate`, through the gate, on every kind of control database."""

import json
from collections.abc import Callable
from datetime import timedelta
from itertools import combinations
from typing import Any

import pytest

from stackroom.control.accounts.accounts import insert_user
from stackroom.control.audit.log import AuditLog
from stackroom.control.database.tables import utc_now
from stackroom.gate.answer import Answer
from stackroom.gate.gate import Gate
from stackroom.model.principal import LOCAL_USER, Action, Cost, Principal
from stackroom.tools.admin.roles import users_tools
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
    return Gate(Toolbox(users_tools(people.control)), observers=[audit])


@pytest.fixture
def mutate(gate: Gate) -> Mutate:
    def call(action: str, name: str, *, by: Principal = LOCAL_USER, **more: Any) -> Answer:
        return gate.call(by, "users.mutate", {"action": action, "name": name, **more})

    return call


def done(answer: Answer) -> dict[str, Any]:
    assert answer.structured is not None, answer.text
    assert values_missing_from_text(answer.structured, answer.text) == []
    return answer.structured


def test_a_user_is_created_with_a_role_and_logs_in_with_their_password(people: Any, mutate: Mutate) -> None:
    made = done(mutate("create", "Ann", role="editor", password=PASSWORD))
    assert made["user"]["roles"] == ["editor"]
    assert made["one_time_password"] is None
    assert people.accounts.check_login("ann", PASSWORD).name == "ann"


def test_a_user_without_a_password_gets_one_that_works_once(people: Any, mutate: Mutate) -> None:
    answer = mutate("create", "bob")
    made = done(answer)
    assert made["user"]["permissions"] == ["AccessCatalog"]
    secret = made["one_time_password"]
    assert answer.text.splitlines() == [
        "create bob: done",
        "bob: roles: user; permissions: AccessCatalog; has_one_time_password; created 2026-11-15T12:00:00+00:00",
        f"the one-time password, which is not shown again: {secret}",
    ]
    assert people.accounts.check_login("bob", secret) is not None
    assert people.accounts.check_login("bob", secret) is None


def test_a_deleted_user_of_an_issuer_is_called_as_the_issuer_does(people: Any, mutate: Mutate) -> None:
    with people.database.change() as connection:
        insert_user(connection, "ext:auth0|Ada", created_at=utc_now(), external=True)
    assert done(mutate("delete", "ext:auth0|Ada"))["name"] == "ext:auth0|Ada"


@pytest.mark.row("Z3")
def test_each_of_the_64_sets_of_permissions_is_given_to_a_user(people: Any, mutate: Mutate) -> None:
    sets = [some for size in range(7) for some in combinations(sorted(map(str, Action)), size)]
    assert len(sets) == 64
    for number, wanted in enumerate(sets):
        made = done(mutate("create", f"u{number}", role="none", permissions=list(wanted)))
        assert (made["user"]["roles"], made["user"]["permissions"]) == ([], list(wanted))
        assert people.principal(f"u{number}").actions == set(wanted)


def test_a_role_is_made_given_changed_and_deleted(gate: Gate, mutate: Mutate) -> None:
    quotas = {"read": 60, "write": 40, "sql": 0}
    made = done(mutate("create_role", "Curator", permissions=["AccessCatalog", "EditCatalog"], quotas=quotas))
    expected = {"name": "curator", "permissions": ["AccessCatalog", "EditCatalog"], "quotas": quotas, "builtin": False}
    assert (made["name"], made["user"], made["role"]) == ("curator", None, expected)
    mutate("create", "ann", role="curator", password=PASSWORD)
    changed = done(mutate("update_role", "curator", permissions=["AccessCatalog"]))["role"]
    assert (changed["permissions"], changed["quotas"]) == (["AccessCatalog"], quotas)
    assert done(mutate("update_role", "curator", quotas={}))["role"]["quotas"] is None
    roles = done(gate.call(LOCAL_USER, "users.query", {"query_type": "roles"}))
    assert [role["name"] for role in roles["roles"]] == ["admin", "agent", "curator", "editor", "user"]
    assert (roles["total"], roles["users"], roles["has_more"]) == (5, [], False)
    assert mutate("delete_role", "curator").error_code == "conflict"
    mutate("set_role", "ann", role="user")
    assert done(mutate("delete_role", "Curator"))["name"] == "curator"
    assert "role" not in done(mutate("set_role", "ann", role="none"))


def test_a_manager_reaches_no_hidden_catalogue_and_each_try_is_audited(
    people: Any, mutate: Mutate, audit: AuditLog
) -> None:
    people.add("manager", Action.MANAGE_PERMISSIONS, Action.ACCESS_CATALOG)
    people.add("bob", Action.ACCESS_CATALOG, password=PASSWORD)
    people.accounts.create_role(LOCAL_USER, "staff", [Action.ACCESS_CATALOG], None)
    people.access.restrict(LOCAL_USER, "handbook", roles=["staff"])
    people.access.restrict(LOCAL_USER, "personal", users=["bob"])
    manager = people.principal("manager")
    answers = [
        mutate("create", "sock", by=manager, role="staff", password=PASSWORD),
        mutate("set_role", "manager", by=manager, role="staff"),
        mutate("reset_password", "bob", by=manager),
        mutate("update_role", "staff", by=manager, permissions=[]),
    ]
    assert [answer.error_code for answer in answers] == ["forbidden"] * 4
    rows = audit.tail()
    assert [(row.principal, str(row.outcome), row.error_code) for row in rows] == [
        ("manager", "refused", "forbidden")
    ] * 4
    assert people.accounts.check_login("bob", PASSWORD) is not None


def test_the_sessions_of_a_user_are_ended_all_or_one_of_them(people: Any, mutate: Mutate, audit: AuditLog) -> None:
    people.add("ann", roles=["user"])
    first, second, token = people.session("ann"), people.session("ann"), people.token("ann")

    def valid() -> list[bool]:
        return [people.credentials.find(secret) is not None for secret in (first, second, token)]

    one = people.credentials.find(second)[0].id
    assert done(mutate("end_sessions", "ann", session=one))["user"]["name"] == "ann"
    assert valid() == [True, False, True]
    done(mutate("end_sessions", "Ann"))
    assert valid() == [False, False, True]
    assert mutate("end_sessions", "ann", session=one).error_code == "not_found"
    assert mutate("end_sessions", "ann", session="no-such").error_code == "not_found"
    assert [row.parameters.get("session") for row in audit.tail()] == [one, None, one, "no-such"]
    done(mutate("end_sessions", "ann", session=people.credentials.find(token)[0].id))
    assert valid() == [False, False, False]


def test_live_sessions_and_tokens_in_use_are_listed(people: Any) -> None:
    people.add("ann", roles=["user"])
    people.add("bob", roles=["user"])
    session, ended, used = people.session("ann"), people.session("ann"), people.token("bob")
    people.token("bob")
    people.credentials.revoke_secret(ended)
    people.credentials.find(used)
    day_before = people.clock.now() - timedelta(days=1)
    live = people.credentials.list_live(used_since=day_before)
    assert [(one.user, one.kind, one.id) for one in live] == [
        ("ann", "session", people.credentials.find(session)[0].id),
        ("bob", "token", people.credentials.find(used)[0].id),
    ]
    people.clock.advance(13 * 3600)
    live = people.credentials.list_live(used_since=people.clock.now() - timedelta(days=1))
    assert [one.user for one in live] == ["bob"]
    people.accounts.set_disabled(LOCAL_USER, "bob", disabled=True)
    assert people.credentials.list_live(used_since=day_before) == []


def test_whoever_may_not_manage_does_not_even_see_the_tools(people: Any, gate: Gate) -> None:
    reader = people.add("reader", Action.ACCESS_CATALOG, Action.SERVER_ADMIN)
    assert gate.list_tools(reader) == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"action": "set_role", "name": "x"}, "'role' is missing"),
        ({"action": "grant", "name": "x"}, "'permission' is missing"),
        ({"action": "grant", "name": "x", "permission": "Everything"}, "'permission'"),
        ({"action": "delete", "name": "x", "role": "admin"}, "'role' is for 'create', 'set_role', not for 'delete'"),
        ({"action": "reset_password", "name": "x", "password": PASSWORD}, "'password' is for 'create', not for"),
        ({"action": "create", "name": "x", "password": "short"}, ""),
        ({"action": "promote", "name": "x"}, "'action'"),
        ({"action": "create_role", "name": "x"}, "'permissions' is missing"),
        ({"action": "create_role", "name": "x", "permissions": [], "quotas": {"reads": 5}}, "'quotas"),
        (
            {"action": "grant", "name": "x", "permissions": ["EditCatalog"]},
            "'permissions' is for 'create', 'create_role', 'update_role'",
        ),
    ],
)
def test_what_is_wrong_is_said_and_no_password_is_repeated(gate: Gate, arguments: dict[str, Any], says: str) -> None:
    answer = gate.call(LOCAL_USER, "users.mutate", arguments)
    assert answer.error_code == "invalid_input"
    assert says in answer.text
    assert arguments.get("password", "no password") not in answer.text


def test_neither_passwords_nor_one_time_secrets_are_in_the_audit(mutate: Mutate, audit: AuditLog) -> None:
    secret = done(mutate("create", "ann"))["one_time_password"]
    mutate("create", "bob", password=PASSWORD)
    again = mutate("reset_password", "ann")
    second = done(again)["one_time_password"]
    assert again.text.endswith(second)  # who asked sees it, and nobody else
    written = json.dumps([str(row) for row in audit.tail()])
    assert not [one for one in (secret, second, PASSWORD) if one in written]
    assert [row.target for row in audit.tail()] == ["users.mutate"] * 3


def test_a_change_counts_as_a_write_and_a_question_does_not(people: Any) -> None:
    query, mutate = users_tools(people.control)
    assert (query.cost, query.read_only) == (Cost.READ, True)
    assert (mutate.cost, mutate.read_only) == (Cost.WRITE, False)
    assert {query.action, mutate.action} == {Action.MANAGE_PERMISSIONS}


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
