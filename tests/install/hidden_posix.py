"""Import every module of Stackroom as on a system without what only POSIX has; print those that
cannot be, as JSON.

Run as a program: what others' modules need was imported before it is hidden, since theirs are other
files on Windows.
"""

import gc
import importlib
import importlib.abc
import importlib.util
import json
import os
import re
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

PACKAGES = ("stackroom", "stackroom_catalogues")
NOT_MODULES = ("stackroom.__main__", "stackroom.cli.new_package")
"""A program, and the files that a new package is written from."""
IMPORT = re.compile(r"^(?:from|import) ([\w.]+)", re.MULTILINE)
MODULES = frozenset(
    {"fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty", "uvloop"}
)
OF_OS = """
    chown fchmod fchown fork forkpty getegid geteuid getgid getgroups getpgid getpgrp getuid
    initgroups killpg lchown mkfifo nice openpty posix_spawn register_at_fork sched_getaffinity
    setgid setpgid setsid setuid statvfs uname wait4 O_CLOEXEC O_DIRECTORY O_NOFOLLOW O_NONBLOCK
    O_SYNC
"""
OF_SIGNAL = """
    SIGALRM SIGCHLD SIGCONT SIGHUP SIGKILL SIGPIPE SIGQUIT SIGSTOP SIGUSR1 SIGUSR2 alarm
    pthread_sigmask setitimer sigwait
"""


class _Hiding(importlib.abc.MetaPathFinder):
    """Refuses the modules that only POSIX has."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: object = None
    ) -> None:
        """Refuse a module, or leave it to others."""
        if name in MODULES:
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)


def list_modules() -> list[str]:
    """Return the names of all modules, which are not imported for it."""
    names = []
    for package in PACKAGES:
        folder = Path(importlib.util.find_spec(package).origin).parent
        files = (
            file.relative_to(folder.parent).with_suffix("") for file in sorted(folder.rglob("*.py"))
        )
        names += [".".join(file.parts).removesuffix(".__init__") for file in files]
    return [name for name in names if not name.startswith(NOT_MODULES)]


def import_others(modules: Sequence[str]) -> None:
    """Import what the modules import of others, where it is installed."""
    texts = (Path(importlib.util.find_spec(package).origin).parent for package in PACKAGES)
    named = {
        name
        for folder in texts
        for file in folder.rglob("*.py")
        for name in IMPORT.findall(file.read_text("utf-8"))
    }
    for name in sorted(named - set(modules)):
        if name.split(".")[0] not in (*PACKAGES, *MODULES):
            with suppress(ImportError):
                importlib.import_module(name)


def hide() -> None:
    """Let this process look like one on Windows, as far as modules and names go."""
    for name in MODULES - {"posix"}:  # os itself has that one
        sys.modules.pop(name, None)
    for module, attributes in ((os, OF_OS), (signal, OF_SIGNAL)):
        for attribute in attributes.split():
            if hasattr(module, attribute):
                delattr(module, attribute)
    sys.meta_path.insert(0, _Hiding())
    sys.platform = "win32"


def find_failures(names: Sequence[str]) -> dict[str, str]:
    """Import the modules; return those that cannot be, with the reason."""
    failures = {}
    for name in names:
        try:
            importlib.import_module(name)
        except Exception as error:  # whatever it is, it is the answer
            failures[name] = repr(error)
    return failures


if __name__ == "__main__":
    gc.disable()
    modules = list_modules()
    import_others(modules)
    hide()
    print(
        json.dumps({"modules": len(modules), "failures": find_failures([*modules, *sys.argv[1:]])})
    )
