"""Opening the library for a command that builds, and getting the model that it needs."""

from functools import partial

import click

from stackroom.assembly.model_choice import ModelChoice, install_model
from stackroom.assembly.workshop import Workshop
from stackroom.cli.output import wants_json
from stackroom.cli.private_files import keep_private
from stackroom.settings import load_settings


def open_workshop() -> Workshop:
    """Open the library of the settings to build in; it is closed when the command ends."""
    settings = load_settings()
    keep_private(settings.home)
    workshop = Workshop(settings)
    click.get_current_context().call_on_close(workshop.close)
    return workshop


def require_model(workshop: Workshop, choice: ModelChoice | None = None) -> None:
    """Install a local model where it is missing, with progress; without a choice, the one that the
    settings name.
    """
    install_model(workshop, choice, say=partial(click.echo, err=True), quiet=wants_json())
