"""Who may do and see what after random admin actions: as a plain model says, action by action.

`STACKROOM_RIGHTS_STEPS=10000` takes as many; several seeds: `PYTHONPATH=tests python -m
support.rights_walk 10000 1 2 3`.
"""

import os
from collections.abc import Callable
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

import pytest

from stackroom.control.accounts import accounts, identity_cache, rules, users
from stackroom.control.database.engine import ControlDatabase
from support.control import Place
from support.rights_walk import walk

pytestmark = [pytest.mark.row("Z3"), pytest.mark.row("Z6")]

STEPS = int(os.environ.get("STACKROOM_RIGHTS_STEPS", "400"))
GUARDS: dict[str, tuple[int, Any, str, Callable[..., Any]]] = {
    "catalogues are not compared": (10, rules, "_hidden", lambda *_: False),
    "tokens for others name no catalogues": (1, rules, "require_may_issue", lambda *_: None),
    "restrictions hide nothing": (10, identity_cache, "hidden_among", lambda *_: frozenset()),
    "lists of roles confine nobody": (2, users, "only_of", lambda own, _roles: own),
    "the last administrator may go": (1, accounts, "_admin_left", lambda *_: nullcontext()),
}
"""A guard → a seed whose walk soon needs it, and what stands in for it."""


def test_random_admin_actions_leave_everybody_with_the_rights_of_the_model(
    place: Place,
) -> None:
    steps = STEPS if place.is_sqlite else STEPS // 4
    counts = walk(place.open(), steps=steps, seed=20261116)
    assert counts["taken"] + counts["refused"] == steps
    assert counts["taken"] >= steps // 5
    assert counts["comparisons"] >= steps // 10


@pytest.mark.parametrize("guard", GUARDS)
def test_the_walk_notices_a_guard_that_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, guard: str
) -> None:
    seed, module, name, stand_in = GUARDS[guard]
    monkeypatch.setattr(module, name, stand_in)
    with (
        closing(ControlDatabase.open(f"sqlite:///{tmp_path}/walk.sqlite")) as database,
        pytest.raises(AssertionError, match=f"seed {seed}, step"),
    ):
        walk(database, steps=60, seed=seed)
