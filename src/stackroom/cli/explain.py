"""`explain`: why a search finds what it finds, and why it does not find a record."""

from collections.abc import Sequence

import click

from stackroom.cli.ask import FREE_OPTIONS, search_params
from stackroom.cli.filters import split_arguments, takes_filters, with_options
from stackroom.cli.opening import open_app
from stackroom.cli.output import json_option, print_json
from stackroom.errors import InputError
from stackroom.generic.explain import explain_record
from stackroom.generic.shapes import ShownRecord
from stackroom.generic.tools import GenericTools
from stackroom.model.principal import LOCAL_USER
from stackroom.python.catalogue import find_named
from stackroom.tools.spec import explanation_lines, why_lines

COMMAND = "stackroom search"


@click.command("explain", context_settings=FREE_OPTIONS)
@click.argument("catalogue")
@click.argument("query")
@click.argument("record_id", metavar="[ID]", required=False)
@click.option("--limit", default=10, show_default=True, type=click.IntRange(1, 50))
@click.option("--adult", is_flag=True, help="Find adult records too.")
@json_option
@click.pass_context
@takes_filters
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
    ids, options = split_arguments([*([record_id] if record_id else []), *ctx.args])
    if len(ids) > 1:
        raise InputError(f"'{ids[1]}' is too much; a query of several words goes in quotes")
    if not query.strip():
        raise InputError("the query is empty; give the words to explain a search for")
    opened = open_app().open_catalogue(catalogue)
    params = search_params(query, options, [opened.spec], limit=limit, with_adult=adult)
    tools = GenericTools([opened])
    if not ids:
        found = tools.search(LOCAL_USER, params.model_copy(update={"explain": True}))
        _print_hits(found.results, as_json=as_json)
        return
    path = tools.path(LOCAL_USER, params, opened.name)
    told = explain_record(path, find_named(path.view, ids[0])[0], tool=COMMAND).model_dump(mode="json")
    if as_json:
        print_json(told)
    else:
        click.echo(with_options("\n".join(explanation_lines(told))))


def _print_hits(hits: Sequence[ShownRecord], *, as_json: bool) -> None:
    if as_json:
        print_json([hit.model_dump(mode="json", include={"id", "title", "score", "why"}) for hit in hits])
        return
    for number, hit in enumerate(hits, start=1):
        click.echo(f"{number}. {hit.title} [{hit.id}] {hit.score:.4f}")
        for line in why_lines(hit.why):
            click.echo(f"   {line}")
    if not hits:
        click.echo("nothing was found")
