"""Restricted catalogues on SQLite and PostgreSQL."""

from collections.abc import Callable
from typing import Any

import pytest

from stackroom.control.accounts.users import Restriction
from stackroom.errors import ConflictError, ForbiddenError, InputError, NotFoundError
from stackroom.model.principal import LOCAL_USER, Action

pytestmark = pytest.mark.row("Z3")

GOOD = "correct horse battery"


def test_a_restriction_for_somebody_unknown_changes_nothing(people: Any) -> None:
    for unknown in ({"users": ["nobody"]}, {"roles": ["nothing"]}):
        with pytest.raises(NotFoundError):
            people.access.restrict(LOCAL_USER, "letters", **unknown)
    with pytest.raises(InputError, match="cannot name a catalogue"):
        people.access.restrict(LOCAL_USER, "no such name")
    assert people.access.list_restrictions() == {}


def test_a_refusal_does_not_name_the_catalogues_that_a_manager_does_not_see(people: Any) -> None:
    people.add("manager", Action.MANAGE_PERMISSIONS, Action.ACCESS_CATALOG)
    people.add("bob", Action.ACCESS_CATALOG, password=GOOD)
    people.accounts.create_role(LOCAL_USER, "staff", [Action.ACCESS_CATALOG], None)
    people.access.restrict(LOCAL_USER, "handbook", roles=["staff"])
    people.access.restrict(LOCAL_USER, "personal", users=["bob"])
    manager, accounts = people.principal("manager"), people.accounts
    for reach in (
        lambda: accounts.create_user(manager, "sock", password=None, roles=["staff"]),
        lambda: accounts.set_password(manager, "bob", GOOD),
        lambda: people.credentials.issue_token(manager, "bob", name="mine", catalogues=["anime"]),
        lambda: accounts.delete_role(manager, "staff"),
    ):
        with pytest.raises(
            ForbiddenError, match=r"catalogues (that|which) you do not see"
        ) as refusal:
            reach()
        assert "handbook" not in refusal.value.message
        assert "personal" not in refusal.value.message


def test_a_renamed_catalogue_keeps_its_restriction_tokens_schedule_and_figures_of_use(
    people: Any, execute: Callable[..., list[Any]]
) -> None:
    people.add("ada")
    people.add("bob")
    people.access.restrict(LOCAL_USER, "letters", users=["ada"])
    people.credentials.issue_token(LOCAL_USER, "ada", name="phone", catalogues=["letters", "maps"])
    people.accounts.set_catalogues(LOCAL_USER, "ada", frozenset({"letters"}))
    people.accounts.create_role(LOCAL_USER, "readers", [], None, frozenset({"letters", "maps"}))
    execute("INSERT INTO job_settings (name, schedule) VALUES ('refresh:letters', '6h')")
    execute(
        "INSERT INTO events (at, kind, user_name, catalogue, tool, subject, seconds, bytes,"
        " duration_us) VALUES (1, 'search', 'ada', 'letters', 'search', 'x', 0, 0, 0)"
    )
    with people.access.renaming("letters", "post"):
        assert people.access.hidden_from(people.user("bob")) == {"letters", "post"}
    assert people.access.list_restrictions() == {
        "post": Restriction(users=frozenset({"ada"}), roles=frozenset())
    }
    (token,) = people.credentials.list_of("ada")
    assert token.catalogues == {"post", "maps"}
    assert people.user("ada").catalogues == {"post"}
    assert {role.name: role.catalogues for role in people.accounts.list_roles()}["readers"] == {
        "post",
        "maps",
    }
    assert [row.name for row in execute("SELECT name FROM job_settings")] == ["refresh:post"]
    assert [row.catalogue for row in execute("SELECT catalogue FROM events")] == ["post"]


def test_a_renaming_that_fails_changes_nothing_and_a_name_with_a_restriction_is_refused(
    people: Any,
) -> None:
    people.access.restrict(LOCAL_USER, "letters")
    with pytest.raises(InputError), people.access.renaming("letters", "post"):
        raise InputError("the folder cannot be moved")
    assert list(people.access.list_restrictions()) == ["letters"]
    people.access.restrict(LOCAL_USER, "post")
    with (
        pytest.raises(ConflictError, match="stackroom access open post"),
        people.access.renaming("letters", "post"),
    ):
        pass
