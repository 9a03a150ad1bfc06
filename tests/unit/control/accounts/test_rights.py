"""What callers may do and see, for every set of permissions."""

from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain, combinations

import pytest

from stackroom.control.accounts.identity_cache import Rights
from stackroom.control.accounts.rules import (
    EVERYTHING,
    Reach,
    reach_of_roles,
    reach_of_user,
    require_may_change,
    require_may_enter,
    require_may_give,
    require_may_set_quotas,
)
from stackroom.control.accounts.users import Restriction, Role, User
from stackroom.errors import ForbiddenError
from stackroom.model.principal import Action, Principal, Quotas
from stackroom.model.scope import Visibility

pytestmark = pytest.mark.row("Z3")

USUAL = Quotas(read=120, write=30, sql=10)
RIGHTS = Rights(
    quotas={},
    usual_quotas=USUAL,
    restrictions={"letters": Restriction(users=frozenset({"bob"}), roles=frozenset())},
)
SETS = [
    frozenset(one) for one in chain.from_iterable(combinations(Action, size) for size in range(7))
]


def user(actions: frozenset[Action], name: str = "ada") -> User:
    return User(
        id=1,
        name=name,
        roles=(),
        granted=actions,
        actions=actions,
        disabled=False,
        has_password=True,
        has_one_time_password=False,
        created_at=datetime(2026, 11, 15, tzinfo=UTC),
    )


def is_allowed(rule: object, *arguments: object) -> bool:
    try:
        rule(*arguments)  # type: ignore[operator]
    except ForbiddenError:
        return False
    return True


def test_a_caller_may_do_what_their_user_and_their_token_may_both_do() -> None:
    assert len(SETS) == 64
    for actions in SETS:
        assert RIGHTS.principal(user(actions)).actions == actions
        for scopes in SETS:
            principal = RIGHTS.principal(user(actions), scopes=scopes)
            assert principal.actions == actions & scopes
            sees_all = Action.SERVER_ADMIN in actions & scopes
            assert (principal.visibility.audiences is None) is sees_all
            assert principal.visibility.sees_catalogue("letters") is sees_all
            assert principal.quotas == USUAL


def test_nobody_changes_enters_or_gives_more_than_they_have() -> None:
    for having in SETS:
        actor = Principal(name="ada", actions=having)
        manages = Action.MANAGE_PERMISSIONS in having
        for theirs in SETS:
            reaches = theirs <= having
            has = Reach(actions=theirs)
            assert is_allowed(require_may_give, actor, has) is reaches
            assert is_allowed(require_may_change, actor, user(theirs, "bob"), has) is (
                manages and reaches
            )
            assert is_allowed(require_may_enter, actor, user(theirs, "bob"), has) is (
                manages and reaches
            )
            assert is_allowed(require_may_enter, actor, user(theirs, "ada"), has) is reaches
    assert frozenset(Action) == EVERYTHING


def test_nobody_changes_or_enters_somebody_who_sees_a_catalogue_that_is_hidden_from_them() -> None:
    for having in SETS:
        actor = RIGHTS.principal(user(having))
        bob = user(having, "bob")
        reach = reach_of_user(bob, RIGHTS.restrictions)
        assert reach.catalogues == {"letters"}
        sees = Action.SERVER_ADMIN in having
        manages = Action.MANAGE_PERMISSIONS in having
        assert is_allowed(require_may_change, actor, bob, reach) is (manages and sees)
        assert is_allowed(require_may_enter, actor, bob, reach) is (manages and sees)


def test_nobody_gives_a_role_that_opens_a_catalogue_which_is_hidden_from_them() -> None:
    role = Role(name="staff", actions=frozenset(), quotas=None)
    restrictions = {"letters": Restriction(users=frozenset(), roles=frozenset({"staff"}))}
    gives = reach_of_roles([role], restrictions)
    assert gives == Reach(actions=frozenset(), catalogues=frozenset({"letters"}))
    for hidden in (frozenset[str](), frozenset({"letters"})):
        actor = Principal(
            name="ada",
            actions=EVERYTHING - {Action.SERVER_ADMIN},
            visibility=Visibility(hidden=hidden),
        )
        assert is_allowed(require_may_give, actor, gives) is ("letters" not in hidden)


def test_nobody_but_a_server_admin_gives_more_calls_than_they_have() -> None:
    more = replace(USUAL, write=31)
    manager = Principal(name="ada", actions=frozenset({Action.MANAGE_PERMISSIONS}), quotas=USUAL)
    assert is_allowed(require_may_set_quotas, manager, USUAL)
    assert not is_allowed(require_may_set_quotas, manager, more)
    assert is_allowed(require_may_set_quotas, replace(manager, actions=EVERYTHING), more)
