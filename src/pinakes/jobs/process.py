"""Which process this is, and whether another on this machine is certainly gone, or certainly runs.

Told by Linux's `/proc`: the boot, the namespace of process ids, the id and when it started. Elsewhere, or of a process
of another machine or container, nothing is certain.
"""

import os
import socket
from pathlib import Path

PROC = Path("/proc")
UNKNOWN = ""
STATE_FIELD = 2
START_FIELD = 21
ENDED = frozenset("ZX")
"""States of a process that runs no more, though nobody has asked yet how it ended."""


def place_of_this_process() -> str:
    """Return where this process is, for people."""
    return f"{socket.gethostname()}, process {os.getpid()}"


def identity_of_this_process() -> str:
    """Return what tells this process from every other, empty where the platform does not say."""
    machine = _machine()
    stat = _stat(os.getpid())
    return UNKNOWN if machine is None or stat is None else f"{machine} {os.getpid()} {stat[START_FIELD]}"


def is_certainly_gone(identity: str) -> bool:
    """Tell whether the process with this identity was on this machine and does not run any more."""
    return _find_whether_it_runs(identity) is False


def is_certainly_running(identity: str) -> bool:
    """Tell whether the process with this identity is on this machine and has not ended, though it may be paused."""
    return _find_whether_it_runs(identity) is True


def _find_whether_it_runs(identity: str) -> bool | None:
    """Tell whether a process runs, None where that is not certain."""
    machine, _, rest = identity.partition(" ")
    process, _, started = rest.partition(" ")
    if not started or machine != _machine() or not process.isdecimal():
        return None
    try:
        os.kill(int(process), 0)  # sends nothing
    except ProcessLookupError:
        return False
    except OSError:
        return None  # somebody else's: it may be hidden from us, but it is there
    stat = _stat(int(process))
    return None if stat is None else stat[START_FIELD] == started and stat[STATE_FIELD] not in ENDED


def _machine() -> str | None:
    """Return the boot of this machine and the namespace in which ids of processes mean something."""
    try:
        boot = (PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {os.readlink(PROC / 'self/ns/pid')}".replace(" ", "/")
    except OSError:
        return None


def _stat(process: int) -> list[str] | None:
    """Return the fields of a process's `stat`, None where there is no such process."""
    try:
        text = (PROC / str(process) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    name_end = text.rindex(")")  # the name may have spaces and brackets in it
    return [text.partition(" ")[0], "", *text[name_end + 2 :].split()]
