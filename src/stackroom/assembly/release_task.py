"""The background task that checks for newer releases of the served catalogues."""

import importlib
from functools import cache

from stackroom.assembly.app import App
from stackroom.background.task import Task, TaskContext

CHECK_MODULE = "stackroom.packs.check"
"""Slow to import; loaded when the task runs."""
FIRST_CHECK_S = 10.0
"""How long after the start it begins."""
PAUSE_S = 600.0
"""The pause before it sees again whether a check is due; catalogues may have come meanwhile."""


def release_task(app: App) -> Task:
    """Return the task of a server, unless the settings forbid it: then it has nothing to do."""

    @cache
    def checker() -> object:
        return importlib.import_module(CHECK_MODULE).ReleaseChecker(app.library, app.settings, app.release_status)

    def run(context: TaskContext) -> None:
        if app.settings.updates.check and not app.settings.offline:
            for catalogue in app.list_served():
                context.check_stopped()
                checker().check_once(catalogue.name)  # type: ignore[attr-defined]

    return Task(
        name="releases",
        description="Ask the places of catalogues that were installed from releases for newer ones.",
        run=run,
        first_s=FIRST_CHECK_S,
        period_s=PAUSE_S,
    )
