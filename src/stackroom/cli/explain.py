"""`explain`: why a search finds what it finds, and why it does not find a record."""

from collections.abc import Sequence
from typing import Any

import click

from stackroom.catalogue.spec import CatalogueSpec
from stackroom.cli.ask import FREE_OPTIONS, asked_of
from stackroom.cli.filters import split_arguments
from stackroom.cli.opening import open_app
from stackroom.cli.output import json_option, print_json
from stackroom.errors import InputError
from stackroom.generic.explain import explain_hits, explain_record, require_record
from stackroom.model.hits import Hit
from stackroom.model.principal import LOCAL_USER
from stackroom.tools.merge import scope_of, usual_path
from stackroom.tools.spec import explanation_lines, shape_why, why_lines

COMMAND = "stackroom search"


@click.command("explain", context_settings=FREE_OPTIONS)
@click.argument("catalogue")
@click.argument("query")
@click.argument("record_id", metavar="[ID]", required=False)
@click.option("--limit", default=10, show_default=True, type=click.IntRange(1, 50))
@click.option("--adult", is_flag=True, help="Find adult records too.")
@json_option
@click.pass_context
def explain_command(
    ctx: click.Context,
    catalogue: str,
    query: str,
    record_id: str | None,
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
    opened = open_app().open_catalogue(catalogue)
    view = opened.view()
    scope, notes = scope_of(view, asked_of(query, free, with_adult=adult))
    path = usual_path(view, query, scope=scope, limit=limit, notes=notes)
    if record_id is None:
        _print_hits(explain_hits(path, limit), opened.spec, as_json=as_json)
    else:
        told = explain_record(path, require_record(view, record_id, LOCAL_USER), tool=COMMAND).model_dump(mode="json")
        if as_json:
            print_json(told)
        else:
            click.echo("\n".join(explanation_lines(told)))


def _split(arguments: Sequence[str]) -> tuple[str | None, list[str]]:
    """Return the id, which may be before or after the options of filters, and those options."""
    ids, options = split_arguments(arguments)
    if len(ids) > 1:
        raise InputError(f"'{ids[1]}' is too much; a query of several words goes in quotes")
    return (ids[0] if ids else None), options


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
