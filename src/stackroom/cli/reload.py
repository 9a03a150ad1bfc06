"""`serve --reload`, for authors: a server that is started again when a file of a package or catalogue has changed.

This process looks at the files, and another one serves; one that cannot start waits for the next change.
"""

import importlib.util
import os
import signal
import threading
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import entry_points
from pathlib import Path

import click

from stackroom.background.processes import SHOWN, ChildProcess, python_module
from stackroom.packages import GROUP
from stackroom.settings import Settings

OPTION = "--reload"
LOOK_EVERY_S = 0.5
ENDING_S = 15.0


def serve_reloading(settings: Settings, arguments: Sequence[str]) -> None:
    """Serve in a process of its own, with these arguments of the command, until this one is ended."""
    ended = threading.Event()
    for name in ("SIGINT", "SIGTERM"):
        signal.signal(getattr(signal, name), lambda *_: ended.set())
    packages = list_packages()
    while not ended.is_set():
        before, server = list_stamps(packages, settings), _start(arguments)
        while not ended.wait(LOOK_EVERY_S) and list_stamps(packages, settings) == before:
            continue
        server.end(ENDING_S)
        if not ended.is_set():
            click.echo("stackroom: files have changed; the server is started again", err=True)


def list_packages() -> list[Path]:
    """Return the folders of the installed packages, which are not imported for that."""
    modules = {entry.module.partition(".")[0] for entry in entry_points(group=GROUP)}
    found = (importlib.util.find_spec(module) for module in sorted(modules))
    return [Path(folder) for spec in found if spec for folder in spec.submodule_search_locations or ()]


def list_stamps(packages: Sequence[Path], settings: Settings) -> dict[Path, int]:
    """Return when each file was changed last: code and declarations of packages and catalogues, and the settings."""
    code = (path for folder in packages for form in ("*.py", "*.toml") for path in folder.rglob(form))
    declared = settings.catalogues_folder.glob("*/*.toml")
    stamps = {}
    for path in (*code, *declared, *settings.home.glob("*.toml")):
        with suppress(OSError):  # it was just removed
            stamps[path] = path.stat().st_mtime_ns
    return stamps


def _start(arguments: Sequence[str]) -> ChildProcess:
    # Compiled files are compared by seconds and sizes, so that a quick second change would be missed with them.
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    given = [argument for argument in arguments if argument != OPTION]
    command = python_module("stackroom", *given)
    return ChildProcess("the server", command, shows_output=True, errors=SHOWN, environment=environment)
