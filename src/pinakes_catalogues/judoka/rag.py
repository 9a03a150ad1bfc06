"""`rag query|validate|health|prepare|check`: the passages that `query_rag` answers from, and the model it needs."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click
import orjson

from pinakes.api import (
    KIND_FIELD,
    LOCAL_USER,
    WHOLE,
    AnyOf,
    Embedder,
    ExpectedError,
    Gate,
    InputError,
    ModelError,
    NotFoundError,
    Record,
    Scope,
)
from pinakes.api.commands import (
    MODEL_NAME,
    OpenedLibrary,
    OpenLibrary,
    check_model,
    model_folder,
    pull_model,
    weight_sources,
)

SPEC_NAME = "judoka"
TOOL = "query_rag"
PASSAGES = Scope(conditions=(AnyOf(KIND_FIELD, ("passage",)),))
FILES = ("judokon://synonyms.json", "judokon://offline_rag_metadata.json")
ALIKE = ("a judo throw over the shoulder", "throwing an opponent across the back", "the tax return of a small company")
"""Two sentences of similar meaning, and one of another."""

LEAST_MARGIN = 0.3
"""Least margin of the similar sentences; all-MiniLM-L6-v2 has 0.6, damaged weights almost none."""

catalogue_option = click.option("--catalogue", help="Which catalogue; by default the first of judoka.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One check: its subject, its result, and whether it passed."""

    what: str
    found: str
    ok: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """How many passages were found by their own question, and which were not."""

    questions: int
    hits: int
    missed: Sequence[str]

    @property
    def hit_rate(self) -> float:
        """The share of questions whose passage was found."""
        return self.hits / self.questions if self.questions else 0.0


@click.group("rag")
def rag_command() -> None:
    """Query, check and prepare the passages that query_rag answers from."""


@rag_command.command("query")
@click.argument("query")
@catalogue_option
@json_option
@click.pass_obj
def query_command(open_library: OpenLibrary, query: str, catalogue: str | None, as_json: bool) -> None:
    """Answer QUERY from passages, techniques and cards."""
    app = open_library()
    found = _asked(app.build_gate([find_catalogue(app, catalogue)]), query)
    if as_json:
        print_json(found)
        return
    for number, hit in enumerate(found["results"], start=1):
        click.echo(f"{number}. {hit['source']} [{hit['id']}] {hit['score']}\n   {' '.join(hit['text'].split())[:300]}")
    if not found["results"]:
        click.echo("nothing found")
    if found["hint"]:
        click.echo(found["hint"], err=True)


@rag_command.command("validate")
@catalogue_option
@click.option("--threshold", default=0.8, show_default=True, type=click.FloatRange(0, 1), help="The least hit rate.")
@click.option("--questions", type=click.IntRange(1), help="Ask so many questions at most; by default all.")
@json_option
@click.pass_context
def validate_command(
    ctx: click.Context, catalogue: str | None, threshold: float, questions: int | None, as_json: bool
) -> None:
    """Check catalogue, model and files; then ask each passage's own question (its qaContext).

    A hit is a passage that comes back among the answers. Exit code 1 when a check fails, or the hit rate is under the
    threshold.
    """
    app = ctx.obj()
    name = find_catalogue(app, catalogue)
    checks = list(check_catalogue(app, name))
    result = evaluate(app, name, at_most=questions)
    is_well = all(one.ok for one in checks) and result.hit_rate >= threshold
    if as_json:
        told = {**asdict(result), "hit_rate": round(result.hit_rate, 4), "threshold": threshold, "ok": is_well}
        print_json({"checks": [asdict(one) for one in checks], **told})
    else:
        print_findings(checks)
        click.echo(f"hit rate {result.hit_rate:.3f}: {result.hits} of {result.questions} questions, least {threshold}")
    if not is_well:
        ctx.exit(1)


@rag_command.command("health")
@catalogue_option
@json_option
@click.pass_context
def health_command(ctx: click.Context, catalogue: str | None, as_json: bool) -> None:
    """Check catalogue, model and files, and time a question. Exit code 1 when something is wrong."""
    app = ctx.obj()
    report_findings(ctx, list(_health(app, catalogue)), as_json=as_json)


@rag_command.command("prepare")
@click.option("--from", "source", type=click.Path(path_type=Path), help="A folder with the published files.")
@click.option("--force", is_flag=True, help="Get it again even if it is there.")
@json_option
@click.pass_obj
def prepare_command(open_library: OpenLibrary, source: Path | None, force: bool, as_json: bool) -> None:
    """Get the local model (80 MB, once); offline, from a folder only."""
    settings = open_library().settings
    folder = pull_model(
        settings.models_folder, source=source, force=force, sources=weight_sources(settings, show_progress=not as_json)
    )
    if as_json:
        print_json({"model": MODEL_NAME, "folder": str(folder), "ready": True})
    else:
        click.echo(f"{MODEL_NAME} is ready in {folder}")


@rag_command.command("check")
@json_option
@click.pass_context
def check_command(ctx: click.Context, as_json: bool) -> None:
    """Check that the embedding model is complete and works. Exit code 1 when it does not."""
    report_findings(ctx, list(check_embedder(ctx.obj())), as_json=as_json)


def find_catalogue(app: OpenedLibrary, name: str | None) -> str:
    """Return the name of the catalogue to query: the given one, or the first that follows the package."""
    names = [one.name for one in app.library.list_installed() if one.spec_name == SPEC_NAME]
    if name is None and not names:
        raise NotFoundError(f"no catalogue of '{SPEC_NAME}' is installed; run: pinakes add FOLDER --as {SPEC_NAME}")
    if name is None:
        return names[0]
    installed = app.library.get_installed(name)
    if installed.spec_name != SPEC_NAME:
        raise InputError(f"'{name}' is a catalogue of '{installed.spec_name}', not of '{SPEC_NAME}'")
    return installed.name


def check_catalogue(app: OpenedLibrary, name: str) -> Iterator[Finding]:
    """Check everything that answering needs: the model, records of each kind, vectors of that model, the files."""
    problem = app.embedder.check()
    yield Finding(what="model", found=problem or str(app.embedder.model), ok=problem is None)
    reader = app.open_catalogue(name).shelf.reader()
    counts = {facet.value: facet.count for facet in reader.facets(KIND_FIELD, scope=WHOLE)}
    listed = ", ".join(f"{count} of kind {kind}" for kind, count in counts.items()) or "no records"
    is_filled = bool(counts.get("card") and counts.get("passage"))
    yield Finding(what=f"{name}: records", found=listed, ok=is_filled)
    is_ours = reader.model == app.embedder.model
    made_by = str(reader.model) if reader.model else f"none; run: pinakes add FOLDER --as {SPEC_NAME}"
    yield Finding(what=f"{name}: vectors", found=made_by, ok=is_ours)
    gate = app.build_gate([name])
    for address in FILES:
        yield _check_file(gate, address)


def check_embedder(app: OpenedLibrary) -> Iterator[Finding]:
    """Check the model's files, and that similar sentences have similar vectors."""
    if app.settings.embedding.kind == "local" and not app.settings.embedding.folder:
        problems = check_model(model_folder(app.settings.models_folder))
        yield Finding(what="files", found="; ".join(problems) or "whole", ok=not problems)
    try:
        yield _check_meaning(app.embedder)
    except ExpectedError as error:
        yield Finding(what="model", found=error.message, ok=False)


def evaluate(app: OpenedLibrary, name: str, *, at_most: int | None = None) -> Evaluation:
    """Ask the question of each passage that has one, as a client would."""
    gate = app.build_gate([name])
    reader = app.open_catalogue(name).shelf.reader()
    keys = reader.scan(scope=PASSAGES, limit=reader.count(PASSAGES))
    asked = [record for record in reader.fetch(keys, scope=PASSAGES).values() if record.get("qaContext")][:at_most]
    missed = [record.id for record in asked if not _comes_back(gate, record)]
    return Evaluation(questions=len(asked), hits=len(asked) - len(missed), missed=missed)


def _comes_back(gate: Gate, record: Record) -> bool:
    answers = _asked(gate, str(record.get("qaContext")))["results"]
    return any(hit["text"] == record.get("text") for hit in answers)


def _health(app: OpenedLibrary, catalogue: str | None) -> Iterator[Finding]:
    yield Finding(what="offline", found="strict" if app.settings.offline else "no", ok=True)
    try:
        name = find_catalogue(app, catalogue)
        yield from check_catalogue(app, name)
        gate = app.build_gate([name])
        _asked(gate, ALIKE[0])  # the first question loads the model
        started = time.perf_counter()
        found = _asked(gate, ALIKE[1])
    except ExpectedError as error:
        yield Finding(what="catalogue", found=error.message, ok=False)
        return
    took_ms = (time.perf_counter() - started) * 1000
    told = found["hint"] or f"{len(found['results'])} results in {took_ms:.0f} ms"
    yield Finding(what="query", found=told, ok=bool(found["results"]) and found["hint"] is None)


def _check_file(gate: Gate, address: str) -> Finding:
    try:
        content = gate.read(LOCAL_USER, address)
    except ExpectedError as error:
        return Finding(what=address, found=error.message, ok=False)
    return Finding(what=address, found=f"{len(content.text or '')} characters", ok=bool(content.text))


def _check_meaning(embedder: Embedder) -> Finding:
    if problem := embedder.check():
        raise ModelError(problem)
    first, like, other = embedder.embed_documents(ALIKE)
    near, far = float(first @ like), float(first @ other)
    found = f"{embedder.model}: similar sentences {near:.2f}, others {far:.2f}"
    return Finding(what="meaning", found=found, ok=near - far >= LEAST_MARGIN)


def _asked(gate: Gate, query: str) -> dict[str, Any]:
    answer = gate.call(LOCAL_USER, TOOL, {"query": query})
    if answer.structured is None:
        raise NotFoundError(answer.text)
    return answer.structured


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    click.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2, default=str))


def print_findings(findings: Sequence[Finding]) -> None:
    """Print one line per finding."""
    for one in findings:
        click.echo(f"{'ok ' if one.ok else 'BAD'} {one.what}: {one.found}")


def report_findings(ctx: click.Context, findings: Sequence[Finding], *, as_json: bool) -> None:
    """Print findings; exit code 1 where one failed."""
    if as_json:
        print_json([asdict(one) for one in findings])
    else:
        print_findings(findings)
    if not all(one.ok for one in findings):
        ctx.exit(1)
