"""Opening the library for a command."""

import click

from stackroom.assembly.app import App
from stackroom.cli.private_files import keep_private
from stackroom.library import Library
from stackroom.settings import Settings, load_settings


def describe_problems(library: Library) -> dict[str, str]:
    """Return the catalogues that cannot be opened, each with the rest of a sentence that says why
    and what to do.
    """
    damaged = {name: f"cannot be opened: {problem}" for name, problem in library.check().items()}
    return {
        **damaged,
        **{name: f"is {problem}" for name, problem in library.describe_unfinished().items()},
    }


def open_app(settings: Settings | None = None) -> App:
    """Open the library of the settings; it is closed when the command ends, and what is written is
    private.
    """
    found = settings or load_settings()
    keep_private(found.home)
    app = App(found)
    if (context := click.get_current_context(silent=True)) is not None:
        context.call_on_close(app.close)
    return app
