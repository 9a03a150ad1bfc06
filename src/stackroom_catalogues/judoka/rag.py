"""`rag query|validate|health|prepare|check`: the passages that `query_rag` answers from, and the
model it needs.

`query` calls the tool, `validate` asks the passages' own questions; the others are the commands of
every catalogue under the names that the game's tools have for them.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import click
import orjson

from stackroom.api import (
    KIND_FIELD,
    AnyOf,
    ExpectedError,
    InputError,
    NotFoundError,
    Scope,
)
from stackroom.api.commands import LOCAL_USER, OpenedLibrary, OpenLibrary

SPEC_NAME = "judoka"
TOOL = "query_rag"
PASSAGES = Scope(conditions=(AnyOf(KIND_FIELD, ("passage",)),))
FILES = ("judokon://synonyms.json", "judokon://offline_rag_metadata.json")
ALIASES = {
    "health": (("doctor",), "Check the library and its catalogues; the same as: stackroom doctor."),
    "prepare": (
        ("model", "pull"),
        "Get the local model, 80 MB; the same as: stackroom model pull.",
    ),
    "check": (
        ("model", "check"),
        "Check that the model works; the same as: stackroom model check.",
    ),
}

catalogue_option = click.option(
    "--catalogue", help="Which catalogue; by default the first of judoka."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")


class Check(NamedTuple):
    """One thing that answering needs: its name, its state, and whether that is in order."""

    what: str
    found: str
    ok: bool


@click.group("rag")
def rag_command() -> None:
    """Query, check and prepare the passages that query_rag answers from."""


@rag_command.command("query")
@click.argument("query")
@catalogue_option
@json_option
@click.pass_obj
def query_command(
    open_library: OpenLibrary, query: str, catalogue: str | None, as_json: bool
) -> None:
    """Answer QUERY from passages, techniques and cards."""
    app = open_library()
    answer = app.build_gate([find_catalogue(app, catalogue)]).call(
        LOCAL_USER, TOOL, {"query": query}
    )
    if answer.structured is None:
        raise NotFoundError(answer.text)
    click.echo(_json(answer.structured) if as_json else answer.text)


@rag_command.command("validate")
@catalogue_option
@click.option(
    "--threshold",
    default=0.8,
    show_default=True,
    type=click.FloatRange(0, 1),
    help="The least hit rate.",
)
@json_option
@click.pass_context
def validate_command(
    ctx: click.Context, catalogue: str | None, threshold: float, as_json: bool
) -> None:
    """Check catalogue, model and files; then ask each passage's own question (its qaContext).

    A hit is a passage that comes back among the answers. Exit code 1 when a check fails, or the hit
    rate is under the threshold.
    """
    app = ctx.obj()
    name = find_catalogue(app, catalogue)
    checks = list(check_catalogue(app, name))
    asked, missed = evaluate(app, name)
    hits = asked - len(missed)
    hit_rate = hits / asked if asked else 0.0
    is_well = all(check.ok for check in checks) and hit_rate >= threshold
    if as_json:
        counted = {
            "questions": asked,
            "hits": hits,
            "missed": missed,
            "hit_rate": round(hit_rate, 4),
        }
        told = {
            "checks": [check._asdict() for check in checks],
            **counted,
            "threshold": threshold,
            "ok": is_well,
        }
        click.echo(_json(told))
    else:
        for check in checks:
            click.echo(f"{'ok ' if check.ok else 'BAD'} {check.what}: {check.found}")
        click.echo(f"hit rate {hit_rate:.3f}: {hits} of {asked} questions, least {threshold}")
    ctx.exit(0 if is_well else 1)


def _add_alias(name: str, path: Sequence[str], about: str) -> None:
    """Add a command that passes its arguments on to another one."""

    @rag_command.command(
        name, help=about, context_settings={"ignore_unknown_options": True, "help_option_names": []}
    )
    @click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
    @click.pass_context
    def run(ctx: click.Context, arguments: Sequence[str]) -> None:
        command: Any = ctx.find_root().command
        for word in path:
            command = command.get_command(ctx, word)
        with command.make_context(" ".join(path), list(arguments), parent=ctx.find_root()) as other:
            command.invoke(other)


for _name, (_path, _about) in ALIASES.items():
    _add_alias(_name, _path, _about)


def find_catalogue(app: OpenedLibrary, name: str | None) -> str:
    """Return the name of the catalogue to query: the given one, or the first that follows the
    package.
    """
    names = [
        installed.name
        for installed in app.library.list_installed()
        if installed.spec_name == SPEC_NAME
    ]
    if name is None and not names:
        raise NotFoundError(
            f"no catalogue of '{SPEC_NAME}' is installed; run: stackroom add FOLDER --as"
            f" {SPEC_NAME}"
        )
    installed = app.library.get_installed(name or names[0])
    if installed.spec_name != SPEC_NAME:
        raise InputError(
            f"'{name}' is a catalogue of '{installed.spec_name}', not of '{SPEC_NAME}'; leave out"
            " --catalogue"
        )
    return installed.name


def check_catalogue(app: OpenedLibrary, name: str) -> Iterator[Check]:
    """Check everything that answering needs: the model, records of each kind, vectors of that
    model, the files.
    """
    problem = app.embedder.check()
    yield Check(what="model", found=problem or str(app.embedder.model), ok=problem is None)
    reader = app.open_catalogue(name).shelf.reader()
    counts = {facet.value: facet.count for facet in reader.facets(KIND_FIELD, scope=Scope())}
    listed = ", ".join(f"{count} of kind {kind}" for kind, count in counts.items()) or "no records"
    yield Check(
        what=f"{name}: records", found=listed, ok=bool(counts.get("card") and counts.get("passage"))
    )
    made_by = (
        str(reader.model) if reader.model else f"none; run: stackroom add FOLDER --as {SPEC_NAME}"
    )
    yield Check(what=f"{name}: vectors", found=made_by, ok=reader.model == app.embedder.model)
    gate = app.build_gate([name])
    for address in FILES:
        try:
            text = gate.read(LOCAL_USER, address).text or ""
        except ExpectedError as error:
            yield Check(what=address, found=error.message, ok=False)
        else:
            yield Check(what=address, found=f"{len(text)} characters", ok=bool(text))


def evaluate(app: OpenedLibrary, name: str) -> tuple[int, list[str]]:
    """Ask the question of each passage that has one, as a client would; return how many, and the
    passages missed.
    """
    gate = app.build_gate([name])
    passages = app.open_catalogue(name).view().records(scope=PASSAGES)
    asked = [record for record in passages if record.get("qaContext")]
    missed: list[str] = []
    for record in asked:
        answer = gate.call(LOCAL_USER, TOOL, {"query": str(record.get("qaContext"))})
        if all(
            hit["text"] != record.get("text")
            for hit in (answer.structured or {}).get("results", ())
        ):
            missed.append(record.id)
    return len(asked), missed


def _json(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2, default=str)
