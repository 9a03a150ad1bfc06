"""The tasks of running servers, listed by another process of the library."""

import json
import os
import re
from pathlib import Path

from stackroom.background.background import (
    FOLDER,
    Background,
    Task,
    TaskContext,
    list_server_tasks,
    status_task,
)
from stackroom.errors import StorageError

SOON_S = 10.0


def fail(_context: TaskContext) -> str:
    raise StorageError("no disk")


def note_tasks(home: Path) -> Path:
    """Run two tasks, and return the file about them."""
    background = Background()
    background.add(
        Task(name="sync", description="Syncs.", run=fail, retry_s=60.0),
        Task(name="look", description="Looks.", run=lambda _context: "seen", period_s=60.0),
    )
    background.start()
    for name in ("sync", "look"):
        assert background.wait_for(name, runs=1, timeout_s=SOON_S)
    status_task(background, home).run(TaskContext())
    background.stop()
    return home / FOLDER / f"{os.getpid()}.json"


def test_the_tasks_of_a_running_server_are_listed(tmp_path: Path) -> None:
    note_tasks(tmp_path)
    (server,) = list_server_tasks(tmp_path)
    assert f"process {os.getpid()}" in server.place
    look, sync = server.tasks
    assert str(look).startswith("waiting; last done ")
    assert str(look).endswith(" UTC: seen")
    assert re.fullmatch(
        r"failing, 1 times so far, last [-0-9]{10} [:0-9]{8} UTC: no disk", str(sync)
    )
    assert (sync.failures, sync.next_at is not None) == (1, True)


def test_the_file_of_a_server_that_has_ended_is_deleted(tmp_path: Path) -> None:
    path = note_tasks(tmp_path)
    known = json.loads(path.read_bytes())
    path.write_text(json.dumps({**known, "process": f"{known['process']}0"}))
    assert list_server_tasks(tmp_path) == []
    assert not path.exists()


def test_a_library_that_cannot_be_written_to_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / FOLDER).write_text("a file where the folder should be")
    assert "cannot be written" in str(status_task(Background(), tmp_path).run(TaskContext()))
