"""`explain`: why a search finds what it finds, and why it does not find a record."""

from collections.abc import Mapping, Sequence
from typing import Any

import click
import orjson

from stackroom.assembly.app import App
from stackroom.catalogue.spec import CatalogueSpec
from stackroom.cli.ask import FREE_OPTIONS, asked_of
from stackroom.cli.filters import split_arguments
from stackroom.cli.json_output import json_option, print_json
from stackroom.cli.opening import open_app
from stackroom.errors import InputError
from stackroom.model.hits import Hit
from stackroom.model.principal import LOCAL_USER
from stackroom.tools.catalogue import OpenCatalogue
from stackroom.tools.explain import Question, explain_hits, explain_path, find_path, require_record
from stackroom.tools.merge import SearchPath, scope_of, usual_path
from stackroom.tools.spec import explanation_lines, shape_why, why_lines

COMMAND = "stackroom search"


@click.command("explain", context_settings=FREE_OPTIONS)
@click.argument("catalogue")
@click.argument("query")
@click.argument("record_id", metavar="[ID]", required=False)
@click.option("--tool", help="Explain the answer of this search tool; by default, of stackroom search.")
@click.option("--arguments", default="{}", help='Other arguments of the tool, as JSON: {"limit": 5}.')
@click.option("--limit", default=10, show_default=True, type=click.IntRange(1, 50))
@click.option("--adult", is_flag=True, help="Find adult records too.")
@json_option
@click.pass_context
def explain_command(
    ctx: click.Context,
    catalogue: str,
    query: str,
    record_id: str | None,
    tool: str | None,
    arguments: str,
    limit: int,
    adult: bool,
    as_json: bool,
) -> None:
    """Say why a search of CATALOGUE for QUERY finds its first hits; with ID, why that record has its place or none.

    The parts of a hit add up to its strength, and to the score that orders the hits. Filters are options named after
    fields, as for stackroom search.
    """
    record_id, free = _split([*([record_id] if record_id else []), *ctx.args])
    if not query.strip():
        raise InputError("the query is empty; give the words to explain a search for")
    app = open_app()
    opened = app.open_catalogue(catalogue)
    if tool is None:
        view = opened.view()
        scope, notes = scope_of(view, asked_of(query, free, with_adult=adult))
        named, path = COMMAND, usual_path(view, query, scope=scope, limit=limit, notes=notes)
    else:
        named, path = _tool_path(app, opened, Question(id=record_id or "", query=query, tool=tool), arguments, free)
    if record_id is None:
        _print_hits(explain_hits(path, limit), opened.spec, as_json=as_json)
    else:
        told = explain_path(path, require_record(opened.view(), record_id, LOCAL_USER), tool=named)
        _print_record(told, as_json=as_json)


def _split(arguments: Sequence[str]) -> tuple[str | None, list[str]]:
    """Return the id, which may be before or after the options of filters, and those options."""
    ids, options = split_arguments(arguments)
    if len(ids) > 1:
        raise InputError(f"'{ids[1]}' is too much; a query of several words goes in quotes")
    return (ids[0] if ids else None), options


def _tool_path(
    app: App, opened: OpenCatalogue, question: Question, arguments: str, free: Sequence[str]
) -> tuple[str, SearchPath]:
    """Return how a tool searches the catalogue."""
    if free:
        raise InputError(f"'{free[0]}': with --tool, filters go into --arguments, as JSON")
    app.build_gate([opened.name])
    given = _read_arguments(arguments)
    asked = Question(id=question.id, query=question.query, tool=question.tool, arguments=given)
    record = require_record(opened.view(), question.id, LOCAL_USER) if question.id else None
    tool, path = find_path(opened, app.list_tools(LOCAL_USER), LOCAL_USER, asked, record)
    return tool.name, path


def _read_arguments(arguments: str) -> dict[str, Any]:
    try:
        given = orjson.loads(arguments)
    except orjson.JSONDecodeError as error:
        raise InputError(f"'--arguments' is not JSON: {error}; right is {{\"limit\": 5}}") from error
    if not isinstance(given, dict):
        raise InputError("'--arguments' must be an object, as in {\"limit\": 5}")
    return given


def _print_hits(hits: Sequence[Hit], spec: CatalogueSpec, *, as_json: bool) -> None:
    if as_json:
        print_json([_hit_as_json(hit, spec) for hit in hits])
        return
    for number, hit in enumerate(hits, start=1):
        click.echo(f"{number}. {spec.title_of(hit.record)} [{hit.record.id}] {hit.score:.4f}")
        for line in why_lines(shape_why(hit.why)):
            click.echo(f"   {line}")
    if not hits:
        click.echo("nothing was found")


def _hit_as_json(hit: Hit, spec: CatalogueSpec) -> dict[str, Any]:
    why = shape_why(hit.why)
    return {
        "id": hit.record.id,
        "title": spec.title_of(hit.record),
        "score": round(hit.score, 4),
        "why": why.model_dump() if why else None,
    }


def _print_record(told: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(told)
        return
    for line in explanation_lines(told):
        click.echo(line)
