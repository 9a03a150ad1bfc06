"""The tasks of each server of a library, in a file that its server writes now and then, for other processes to list."""

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

from stackroom.background.background import Background
from stackroom.background.identity import identity_of_this_process, is_certainly_gone, place_of_this_process
from stackroom.background.task import Task, TaskContext, TaskState, TaskStatus

FOLDER = "background"
PERIOD_S = 10.0
OLD_S = 60.0
"""A file that was not written for so long is of a server that has ended."""
TIMES = ("next_at", "last_at", "last_success_at")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerTasks:
    """The tasks of one server."""

    place: str
    """Host and process, for messages."""
    tasks: Sequence[TaskStatus]


def status_task(background: Background, home: Path) -> Task:
    """Return the task that writes the file of this process."""
    path = home / FOLDER / f"{os.getpid()}.json"

    def write(_context: TaskContext) -> str:
        try:
            _write(path, background.list_tasks())
        except OSError as error:  # of a library that cannot be written to, its own server tells
            return f"{path} cannot be written: {error.strerror}"
        return ""

    description = "Writes what the tasks of this server do into the library, for stackroom doctor to list."
    return Task(name="note what tasks do", description=description, run=write, period_s=PERIOD_S)


def list_server_tasks(home: Path) -> list[ServerTasks]:
    """Return the tasks of the servers that run over a library; files of others are deleted."""
    found = []
    for path in sorted((home / FOLDER).glob("*.json")):
        try:
            known = orjson.loads(path.read_bytes())
            is_old = time.time() - path.stat().st_mtime > OLD_S
            tasks = [_decode(one) for one in known["tasks"]]
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if is_old or is_certainly_gone(known["process"]):
            with suppress(OSError):
                path.unlink()
        else:
            found.append(ServerTasks(place=known["place"], tasks=tasks))
    return found


def _write(path: Path, tasks: Sequence[TaskStatus]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {
        "place": place_of_this_process(),
        "process": identity_of_this_process(),
        "tasks": [asdict(one) for one in tasks],
    }
    new = path.with_suffix(".new")
    new.write_bytes(orjson.dumps(content))
    new.replace(path)


def _decode(known: dict[str, Any]) -> TaskStatus:
    times = {name: datetime.fromisoformat(known[name]) for name in TIMES if known[name] is not None}
    return TaskStatus(**{**known, **times, "state": TaskState(known["state"])})
