"""`model pull|list|check` and `embed`: embedding models, and vectors of records that wait for
them.
"""

from pathlib import Path
from typing import Any

import click

from stackroom.assembly.model_choice import describe_waiting, embed_waiting, want_present_model
from stackroom.cli.opening import open_app
from stackroom.cli.output import FILE, HELP, command, flag, json_option, print_as_json, print_table
from stackroom.cli.progress import build_progress
from stackroom.cli.workshop import require_model
from stackroom.embed.models import LOCAL_MODELS, get_local_model
from stackroom.embed.weights import (
    MODEL_NAME,
    check_model,
    model_folder,
    multiplies_bytes,
    pull_model,
    weight_sources,
)
from stackroom.errors import ModelError, UnavailableError
from stackroom.settings import load_settings

SENTENCES = (
    "a judo throw over the shoulder",
    "throwing an opponent across the back",
    "the tax return of a small company",
)
"""Two sentences of similar meaning, and one of another."""
WORK = (
    "{done} of {ranges} done, {items} items in {seconds:.0f} s; workers: {workers}, failures:"
    " {failures} {error}"
)
COLUMNS = ("model", "where", "dimension", "ready", "graph")
# least margin of the similar sentences; all-MiniLM-L6-v2 has 0.6, damaged weights almost none
LEAST_MARGIN = 0.3


@click.group("model")
def model_command() -> None:
    """Download, list and check embedding models."""


@model_command.command("pull", help=HELP["model pull"])
@click.option("--from", "source", type=FILE, help="A folder with the published files.")
@flag("--force", help="Get it again even if it is there.")
@click.argument("name", default=MODEL_NAME)
def pull_command(name: str, source: Path | None, force: bool) -> None:
    """Install the local model NAME: by default all-MiniLM-L6-v2 (80 MB, once)."""
    settings = load_settings()
    sources = weight_sources(settings, show_progress=True)
    folder = pull_model(
        settings.models_folder, get_local_model(name), source=source, force=force, sources=sources
    )
    click.echo(f"{name} is ready in {folder}")


@model_command.command("list")
@json_option
def list_models_command() -> None:
    """List the local models and the configured endpoint."""
    settings = load_settings()
    rows: list[tuple[Any, ...]] = []
    for model in LOCAL_MODELS.values():
        folder = model_folder(settings.models_folder, model)
        graph = "8 bits" if multiplies_bytes() else "32 bits"
        rows.append(
            (model.name, "local", model.id.dimension, not check_model(folder, model), graph)
        )
    if (remote := settings.embedding).kind != "local":
        ready = open_app(settings).embedder.check() is None
        rows.append((remote.model, remote.url, remote.dimension, ready, "by the server"))
    if not print_as_json([dict(zip(COLUMNS, row, strict=True)) for row in rows]):
        print_table(COLUMNS, rows)


@model_command.command("check")
def check_command() -> None:
    """Check that the configured embedder works: that similar sentences have similar vectors."""
    settings = load_settings()
    embedder = open_app(settings).embedder
    if problem := embedder.check():
        raise (
            ModelError(problem) if settings.embedding.kind == "local" else UnavailableError(problem)
        )
    first, like, other = embedder.embed_documents(SENTENCES)
    near, far = float(first @ like), float(first @ other)
    if near - far < LEAST_MARGIN:
        raise ModelError(
            f"{embedder.model}: similar sentences are no nearer ({near:.2f}) than others"
            f" ({far:.2f}): the model is damaged; run: stackroom model pull --force"
        )
    click.echo(f"{embedder.model}: works")


@command("embed")
@click.argument("catalogue")
@flag("--status", help="Only tell how many texts wait, and how far embedding and indexing are.")
@json_option
def embed_command(catalogue: str, status: bool) -> None:
    """Embed the records of CATALOGUE that have no vector yet, while it is read."""
    app = open_app()
    if not status:
        require_model(app, want_present_model(app, catalogue))
        with build_progress(catalogue) as report_progress:
            embedded = embed_waiting(app, catalogue, progress=report_progress).embedded
    waiting, shared = describe_waiting(app, catalogue)
    made = {} if status else {"embedded": embedded}
    if print_as_json({**made, "waiting": waiting, **shared}):
        return
    if not status:
        click.echo(f"{catalogue}: {embedded} texts embedded here")
    click.echo(f"{waiting} texts wait for a vector")
    for kind, work in shared.items():
        click.echo(f"{kind}: {WORK.format_map(work)}".rstrip())
