"""Restricted catalogues on SQLite and PostgreSQL."""

from typing import Any

import pytest

from pinakes.control.accounts.catalogue_access import Restriction
from pinakes.errors import ForbiddenError, InputError, NotFoundError
from pinakes.model.principal import ANONYMOUS, LOCAL_USER, Action, Principal
from pinakes.model.scope import Visibility

pytestmark = pytest.mark.row("Z3")


def test_a_catalogue_is_everybodys_until_it_is_restricted(people: Any) -> None:
    people.add("ada")
    assert people.access.list_restrictions() == {}
    assert people.access.hidden_from(people.user("ada")) == frozenset()


def test_a_restricted_catalogue_is_for_the_users_and_roles_it_names(people: Any) -> None:
    for name, roles in {"ada": [], "bob": ["editor"], "cleo": ["user", "agent"], "root": ["admin"]}.items():
        people.add(name, roles=roles)
    restriction = people.access.restrict(LOCAL_USER, "letters", users=["Ada"], roles=["agent"])
    assert restriction == Restriction(users=frozenset({"ada"}), roles=frozenset({"agent"}))
    hidden = {name: people.access.hidden_from(people.user(name)) for name in ("ada", "bob", "cleo", "root")}
    assert hidden == {"ada": frozenset(), "bob": {"letters"}, "cleo": frozenset(), "root": frozenset()}


def test_a_restriction_takes_the_place_of_the_one_before(people: Any) -> None:
    people.add("ada")
    people.access.restrict(LOCAL_USER, "letters", users=["ada"], roles=["agent"])
    people.access.restrict(LOCAL_USER, "letters", roles=["editor"])
    people.access.restrict(LOCAL_USER, "archive")
    assert people.access.list_restrictions() == {
        "archive": Restriction(users=frozenset(), roles=frozenset()),
        "letters": Restriction(users=frozenset(), roles=frozenset({"editor"})),
    }
    people.access.open_to_all(LOCAL_USER, "letters")
    assert people.access.hidden_from(people.user("ada")) == {"archive"}
    with pytest.raises(NotFoundError, match="'letters' is not restricted; restricted: archive"):
        people.access.open_to_all(LOCAL_USER, "letters")


def test_a_restriction_does_not_open_when_those_it_names_are_gone(people: Any) -> None:
    people.add("ada")
    people.add("bob")
    people.accounts.create_role(LOCAL_USER, "board", [], None)
    people.access.restrict(LOCAL_USER, "letters", users=["ada"], roles=["board"])
    people.accounts.delete_user(LOCAL_USER, "ada")
    people.accounts.delete_role(LOCAL_USER, "board")
    assert people.access.list_restrictions() == {"letters": Restriction(users=frozenset(), roles=frozenset())}
    assert people.access.hidden_from(people.user("bob")) == {"letters"}


def test_a_restriction_for_somebody_unknown_changes_nothing(people: Any) -> None:
    for unknown in ({"users": ["nobody"]}, {"roles": ["nothing"]}):
        with pytest.raises(NotFoundError):
            people.access.restrict(LOCAL_USER, "letters", **unknown)
    with pytest.raises(InputError, match="cannot name a catalogue"):
        people.access.restrict(LOCAL_USER, "no such name")
    assert people.access.list_restrictions() == {}


def test_restricting_needs_a_permission(people: Any) -> None:
    lacking = frozenset(Action) - {Action.SERVER_ADMIN, Action.MANAGE_PERMISSIONS}
    confined = Principal(name="ada", actions=frozenset(Action), visibility=Visibility(None, only=frozenset({"anime"})))
    for actor in (ANONYMOUS, Principal(name="ada", actions=lacking), confined):
        with pytest.raises(ForbiddenError):
            people.access.restrict(actor, "letters")
        with pytest.raises(ForbiddenError):
            people.access.open_to_all(actor, "letters")
    for action in (Action.SERVER_ADMIN, Action.MANAGE_PERMISSIONS):
        people.access.restrict(Principal(name="ada", actions=frozenset({action})), "letters")
