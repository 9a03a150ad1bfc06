"""What callers may do and see, for every set of permissions."""

from datetime import UTC, datetime
from itertools import chain, combinations

import pytest

from pinakes.control.accounts.catalogue_access import Restriction
from pinakes.control.accounts.rights import Rights
from pinakes.control.accounts.rules import EVERYTHING, require_may_change, require_may_enter, require_may_give
from pinakes.control.accounts.users import User
from pinakes.errors import ForbiddenError
from pinakes.model.principal import Action, Principal, Quotas

pytestmark = pytest.mark.row("Z3")

USUAL = Quotas(read=120, write=30, sql=10)
RIGHTS = Rights(
    quotas={},
    usual_quotas=USUAL,
    restrictions={"letters": Restriction(users=frozenset({"bob"}), roles=frozenset())},
)
SETS = [frozenset(one) for one in chain.from_iterable(combinations(Action, size) for size in range(7))]


def user(actions: frozenset[Action], name: str = "ada") -> User:
    return User(
        id=1,
        name=name,
        roles=(),
        granted=actions,
        actions=actions,
        disabled=False,
        external=False,
        has_password=True,
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
            assert is_allowed(require_may_give, actor, theirs) is reaches
            assert is_allowed(require_may_change, actor, user(theirs, "bob")) is (manages and reaches)
            assert is_allowed(require_may_enter, actor, user(theirs, "bob")) is (manages and reaches)
            assert is_allowed(require_may_enter, actor, user(theirs, "ada")) is reaches
    assert frozenset(Action) == EVERYTHING
