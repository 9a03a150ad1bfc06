"""A process that dies while it installs or updates from a release leaves the former version or the
new one, whole.

`python -m support.release_kills` kills at each step many times; here each test kills at some of
them.
"""

import pkgutil
import random
from collections.abc import Sequence

import pytest

from support.release_kills import (
    INSTALL_STEPS,
    UPDATE_STEPS,
    Killings,
    Step,
)

pytestmark = [pytest.mark.row("A11"), pytest.mark.row("N4")]

STARS = 30
SOME = 3


@pytest.fixture(scope="module")
def killings(tmp_path_factory: pytest.TempPathFactory) -> Killings:
    return Killings(folder=tmp_path_factory.mktemp("kills"), drawn=random.Random(7), stars=STARS)


def _some(steps: Sequence[Step], seed: int) -> list[Step]:
    return random.Random(seed).sample(list(steps), SOME)


def test_every_step_is_a_function_of_the_code() -> None:
    assert all(callable(pkgutil.resolve_name(step.target)) for step in INSTALL_STEPS + UPDATE_STEPS)


@pytest.mark.parametrize("step", _some(INSTALL_STEPS, 1), ids=lambda step: step.target)
def test_a_killed_installation_leaves_nothing_or_all_and_the_same_command_goes_on(
    killings: Killings, step: Step
) -> None:
    killings.kill_install(step, 1)


@pytest.mark.parametrize("step", _some(UPDATE_STEPS, 2), ids=lambda step: step.target)
def test_a_killed_update_leaves_the_former_or_the_new_release(
    killings: Killings, step: Step
) -> None:
    killings.kill_update(step, 1)
