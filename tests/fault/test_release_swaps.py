"""Releases are swapped in under a server that is asked: every answer comes, and is of one version.

`python -m support.release_swaps` swaps a hundred times with another process; here it is a few
times.
"""

import threading
from pathlib import Path

import pytest

from stackroom.settings import Settings
from support.libraries import opened
from support.publisher import make_stars, new_publisher
from support.release_kills import NEW, OLD, install_newest
from support.release_swaps import Load, swap

pytestmark = [pytest.mark.row("A11"), pytest.mark.row("N4")]

STARS = 40
SWAPS = 5


def _serve(folder: Path) -> Path:
    publisher, home = new_publisher(folder), folder / "home"
    publisher.publish(OLD, make_stars(STARS, OLD).values())
    install_newest(home, publisher.folder)
    publisher.publish(NEW, make_stars(STARS, NEW).values())
    return home


def test_no_answer_fails_or_is_mixed_while_releases_are_swapped(tmp_path: Path) -> None:
    home = _serve(tmp_path)
    with opened(Settings(home=home)) as library:
        load = Load(library=library)
        load.ask("golden star")
        asking = threading.Thread(target=load.run)
        asking.start()
        swap(home, SWAPS)
        load.end()
        asking.join()
        load.ask("golden star")

    assert load.failed == []
    assert load.mixed == []
    assert load.seen[0] == OLD
    assert load.seen[-1] == NEW
