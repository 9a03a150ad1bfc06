"""`model pull|list|check`: embedding models."""

from pathlib import Path

import click

from pinakes.assembly.app import App
from pinakes.cli.json_output import json_option, print_json
from pinakes.cli.tables import print_table
from pinakes.embed.weights import MODEL_NAME, check_model, model_folder, pull_model
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
def pull_command(source: Path | None, force: bool) -> None:
    """Download the local model (80 MB, once)."""
    settings = load_settings()
    folder = pull_model(
        settings.models_folder, source=source, force=force, show_progress=True, offline=settings.offline
    )
    click.echo(f"{MODEL_NAME} is ready in {folder}")


@model_command.command("list")
@json_option
def list_models_command(as_json: bool) -> None:
    """List the local model and the configured endpoint."""
    settings = load_settings()
    problems = check_model(model_folder(settings.models_folder))
    rows = [{"model": MODEL_NAME, "where": "local", "dimension": 384, "ready": not problems}]
    if settings.embedding.kind != "local":
        remote = settings.embedding
        ready = App(settings).embedder.check() is None
        rows.append({"model": remote.model, "where": remote.url, "dimension": remote.dimension, "ready": ready})
    if as_json:
        print_json(rows)
    else:
        print_table(("model", "where", "dimension", "ready"), [tuple(row.values()) for row in rows])


@model_command.command("check")
def check_command() -> None:
    """Check that the configured embedder works, by embedding a sentence."""
    settings = load_settings()
    embedder = App(settings).embedder
    if problem := embedder.check():
        raise ModelError(problem) if settings.embedding.kind == "local" else UnavailableError(problem)
    embedder.embed_query("a library of catalogues")
    click.echo(f"{embedder.model}: works")
