"""The syncs that a server starts beside itself."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from stackroom.background.background import Background, TaskContext
from stackroom.errors import BusyError
from stackroom.settings import CollectionSettings, Settings
from stackroom.sources import collections
from stackroom.sources.collections import load_state
from support.processes import wait_until


@contextmanager
def watching(
    place: Path, home: Path, run_sync: Callable[[Path, str, TaskContext], int]
) -> Iterator[None]:
    """Watch a folder of this machine, which is looked at once unless that fails."""
    settings = Settings(
        home=home, collections=CollectionSettings(base_db_path=str(place), refresh_s=0)
    )
    background = Background()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(collections, "run_sync", run_sync)
        (task,) = collections.sync_tasks(settings)
        background.add(replace(task, first_s=0.0, retry_s=0.01))
        background.start()
        try:
            yield
        finally:
            background.stop()


def test_a_look_that_another_sync_kept_from_starting_is_made_up_for_though_nothing_changes(
    tmp_path: Path,
) -> None:
    """The other one may have been of some of the collections only, and is not a problem of the
    place.
    """
    codes = [BusyError.exit_code, BusyError.exit_code, 0]
    place, home = tmp_path / "vector_dbs", tmp_path / "home"
    place.mkdir()
    with watching(place, home, lambda _home, _place, _context: codes.pop(0)):
        wait_until(lambda: not codes, timeout_s=120)
    assert load_state(home, str(place)).problem is None
