"""The identity of this process, and whether another on this machine has certainly ended.

From Linux's `/proc`: boot id, namespace of process ids, and process id. On other platforms, for processes of other
machines or containers, and where the id was given to another process, nothing is certain.
"""

import os
import socket
from pathlib import Path

PROC = Path("/proc")
UNKNOWN = ""


def place_of_this_process() -> str:
    """Return host and process id, for messages."""
    return f"{socket.gethostname()}, process {os.getpid()}"


def identity_of_this_process() -> str:
    """Return the identity of this process; empty where the platform has none."""
    machine = _machine()
    return UNKNOWN if machine is None else f"{machine} {os.getpid()}"


def is_certainly_gone(identity: str) -> bool:
    """Tell whether the process was on this machine and has ended."""
    machine, _, process = identity.rpartition(" ")
    if not machine or machine != _machine() or not process.isdecimal():
        return False
    try:
        os.kill(int(process), 0)  # sends nothing
    except OSError as error:
        return isinstance(error, ProcessLookupError)  # one of another user exists
    return False


def _machine() -> str | None:
    """Return the boot id of this machine and the namespace of its process ids."""
    try:
        boot = (PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {os.readlink(PROC / 'self/ns/pid')}".replace(" ", "/")
    except OSError:
        return None
