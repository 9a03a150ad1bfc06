"""The identity of this process, and whether another on this machine has certainly ended.

From Linux's `/proc`: boot id, namespace of process ids, process id and start time. On other platforms, and for
processes of other machines or containers, nothing is certain.
"""

import os
import socket
from pathlib import Path

PROC = Path("/proc")
UNKNOWN = ""
STATE_FIELD = 2
START_FIELD = 21
ENDED = frozenset("ZX")
"""States of an ended process whose parent has not waited for it yet."""


def place_of_this_process() -> str:
    """Return host and process id, for messages."""
    return f"{socket.gethostname()}, process {os.getpid()}"


def identity_of_this_process() -> str:
    """Return a unique identity of this process; empty where the platform has none."""
    machine = _machine()
    stat = _stat(os.getpid())
    return UNKNOWN if machine is None or stat is None else f"{machine} {os.getpid()} {stat[START_FIELD]}"


def is_certainly_gone(identity: str) -> bool:
    """Tell whether the process was on this machine and has ended."""
    machine, _, rest = identity.partition(" ")
    process, _, started = rest.partition(" ")
    if not started or machine != _machine() or not process.isdecimal():
        return False
    try:
        os.kill(int(process), 0)  # sends nothing
    except ProcessLookupError:
        return True
    except OSError:
        return False  # of another user: it exists, but may be hidden
    stat = _stat(int(process))
    return stat is not None and (stat[START_FIELD] != started or stat[STATE_FIELD] in ENDED)


def _machine() -> str | None:
    """Return the boot id of this machine and the namespace of its process ids."""
    try:
        boot = (PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {os.readlink(PROC / 'self/ns/pid')}".replace(" ", "/")
    except OSError:
        return None


def _stat(process: int) -> list[str] | None:
    """Return the fields of a process's `stat`; None where it does not exist."""
    try:
        text = (PROC / str(process) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    name_end = text.rindex(")")  # the name may contain spaces and brackets
    return [text.partition(" ")[0], "", *text[name_end + 2 :].split()]
