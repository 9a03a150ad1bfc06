"""Opening the library for a command."""

import click

from pinakes.assembly.app import App
from pinakes.cli.private_files import keep_private
from pinakes.settings import Settings, load_settings


def open_app(settings: Settings | None = None) -> App:
    """Open the library of the settings; it is closed when the command ends, and what is written is private."""
    found = settings or load_settings()
    keep_private(found.home)
    app = App(found)
    if (context := click.get_current_context(silent=True)) is not None:
        context.call_on_close(app.close)
    return app
