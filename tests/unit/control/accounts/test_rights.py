"""What callers may do and see, for every set of permissions."""

from dataclasses import replace

import pytest

from stackroom.control.accounts.rules import (
    EVERYTHING,
    require_may_set_quotas,
)
from stackroom.errors import ForbiddenError
from stackroom.model.principal import Action, Principal, Quotas

pytestmark = pytest.mark.row("Z3")

USUAL = Quotas(read=120, write=30, sql=10)


def is_allowed(rule: object, *arguments: object) -> bool:
    try:
        rule(*arguments)  # type: ignore[operator]
    except ForbiddenError:
        return False
    return True


def test_nobody_but_a_server_admin_gives_more_calls_than_they_have() -> None:
    more = replace(USUAL, write=31)
    manager = Principal(name="ada", actions=frozenset({Action.MANAGE_PERMISSIONS}), quotas=USUAL)
    assert is_allowed(require_may_set_quotas, manager, USUAL)
    assert not is_allowed(require_may_set_quotas, manager, more)
    assert is_allowed(require_may_set_quotas, replace(manager, actions=EVERYTHING), more)
