"""Releases are swapped in under a library that is asked: every answer comes, and is of one version.

`python -m support.release_swaps` swaps a hundred times; here it is a few times.
"""

from pathlib import Path

import pytest

from support.release_kills import NEW, OLD
from support.release_swaps import run_swaps

pytestmark = [pytest.mark.row("A11"), pytest.mark.row("N4")]


def test_no_answer_fails_or_is_mixed_while_releases_are_swapped(tmp_path: Path) -> None:
    load = run_swaps(tmp_path, 5, stars=40)
    assert (load.failed, load.mixed) == ([], [])
    assert (load.seen[0], load.seen[-1]) == (OLD, NEW)
