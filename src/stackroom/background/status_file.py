"""The tasks of each server of a library, in a file that its server writes now and then, for other
processes to list.
"""

import os
import time
from contextlib import suppress
from pathlib import Path

import orjson
from pydantic import TypeAdapter

from stackroom.background.background import Background, Task, TaskContext, TaskStatus
from stackroom.background.processes import (
    identity_of_this_process,
    is_certainly_gone,
    place_of_this_process,
)
from stackroom.frozen import frozen

FOLDER = "background"
PERIOD_S = 10.0
OLD_S = 60.0  # a file that was not written for so long is of a server that has ended


@frozen
class ServerTasks:
    """The tasks of one server."""

    place: str  # host and process, for messages
    process: str  # the identity of the process
    tasks: list[TaskStatus]


def status_task(background: Background, home: Path) -> Task:
    """Return the task that writes the file of this process."""
    path = home / FOLDER / f"{os.getpid()}.json"
    place, process = place_of_this_process(), identity_of_this_process()

    def write(_context: TaskContext) -> str:
        content = orjson.dumps(
            ServerTasks(place=place, process=process, tasks=background.list_tasks())
        )
        new = path.with_suffix(".new")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            new.write_bytes(content)
            new.replace(path)
        except OSError as error:  # of a library that cannot be written to, its own server tells
            return f"{path} cannot be written: {error.strerror}"
        return ""

    description = (
        "Writes what the tasks of this server do into the library, for stackroom doctor to list."
    )
    return Task(name="note what tasks do", description=description, run=write, period_s=PERIOD_S)


def list_server_tasks(home: Path) -> list[ServerTasks]:
    """Return the tasks of the servers that run over a library; files of others are deleted."""
    found = []
    for path in sorted((home / FOLDER).glob("*.json")):
        try:
            server = TypeAdapter(ServerTasks).validate_json(path.read_bytes())
            is_old = time.time() - path.stat().st_mtime > OLD_S
        except (OSError, ValueError):
            continue
        if not is_old and not is_certainly_gone(server.process):
            found.append(server)
            continue
        with suppress(OSError):
            path.unlink()
    return found
