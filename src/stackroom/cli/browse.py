"""`browse`: the values of a field, or counts and figures of records by group."""

from collections.abc import Sequence
from typing import Any

import click
from click.core import ParameterSource

from stackroom.catalogue.spec import CatalogueSpec, FieldType
from stackroom.cli.ask import FREE_OPTIONS, asked_of
from stackroom.cli.filters import parse_conditions, split_names
from stackroom.cli.opening import open_app
from stackroom.cli.output import json_option, print_json, print_table, shortened
from stackroom.errors import InputError, did_you_mean
from stackroom.generic.aggregate.aggregate import AggregateSpec, aggregate
from stackroom.generic.aggregate.shapes import FIGURES, AggregateParts, BrowsedGroup, ListWith, lacking_text
from stackroom.generic.browse import RANKED_SHOWN
from stackroom.model.hits import FacetCount
from stackroom.model.scope import WHOLE, Scope
from stackroom.search.values import field_values
from stackroom.tools.catalogue import CatalogueView
from stackroom.tools.filters import ADULT, stated_filters
from stackroom.tools.listing import list_query, words_of_list
from stackroom.tools.merge import scope_of

TITLE_CHARS = 40


@click.command("browse", context_settings=FREE_OPTIONS)
@click.argument("catalogue")
@click.option("--field", help="The field to browse; by default the catalogue's tags.")
@click.option("--search", help="Only values like this.")
@click.option("--by", multiple=True, help="Group by a field: country, year/decade, price/10; at most two.")
@click.option("--of", help="A number: its minimum, maximum, mean, median and sum.")
@click.option("--sort", help="The order of groups: count, value, mean, 'mean asc' …")
@click.option("--query", default="", help="Words that every record has.")
@click.option("--adult", is_flag=True, help="Count adult records too.")
@click.option("--limit", default=30, show_default=True, type=click.IntRange(1))
@json_option
@click.pass_context
def browse_command(
    ctx: click.Context,
    catalogue: str,
    field: str | None,
    search: str | None,
    by: tuple[str, ...],
    of: str | None,
    sort: str | None,
    query: str,
    adult: bool,
    limit: int,
    as_json: bool,
) -> None:
    """Show the values of a field of CATALOGUE with how many records have each, or count and sum records by group.

    Filters are options named after fields, as of search: --year 2015..2020, --type MOVIE,OVA, --not-tags horror.
    """
    view = open_app().open_catalogue(catalogue).view()
    words = list_query(words_of_list(query))
    is_limited = bool(by or of or query.strip() or ctx.args or adult)
    scope, notes = scope_of(view, asked_of(words, ctx.args, with_adult=adult)) if is_limited else (WHOLE, [])
    if by or of:
        stated, excluded = stated_filters(parse_conditions(ctx.args, view.spec), view.spec)
        filters = {**stated, ADULT: True} if adult and view.spec.adult else stated
        dimensions = split_names(by)
        is_default = ctx.get_parameter_source("limit") is ParameterSource.DEFAULT
        few = RANKED_SHOWN if not dimensions and is_default else limit
        asked = AggregateSpec(by=dimensions, of=of, sort=sort, filters=filters, limit=few)
        found = aggregate(view, scope, asked)
        list_with = ListWith(catalogue=view.name, query=words, exclude=excluded or None)
        _show_figures(found.model_copy(update={"list_with": list_with}), as_json=as_json)
    else:
        _show_values(_values(view, field, search, scope)[:limit], as_json=as_json)
    for note in notes:
        click.echo(note, err=as_json)


def _values(view: CatalogueView, field: str | None, search: str | None, scope: Scope) -> list[FacetCount]:
    """Return the values of a field, the most frequent first, or those like the one that is searched for."""
    facets = [one.name for one in view.spec.fields.values() if one.facet]
    name = field or _default_facet(view.spec)
    if name not in facets:
        raise InputError(f"'--field': no facet '{name}'{did_you_mean(name, facets)}; facets: {', '.join(facets)}")
    found = view.reader.facets(name, scope=scope)
    if not search:
        return found
    wanted = set(field_values(view.reader, view.spec, name).matching(search))
    return [one for one in found if one.value in wanted]


def _default_facet(spec: CatalogueSpec) -> str:
    facets = [field for field in spec.fields.values() if field.facet]
    if not facets:
        raise InputError(f"catalogue '{spec.name}' has no field to browse; give a field of its spec facet = true")
    return next((field.name for field in facets if field.type is FieldType.TAGS), facets[0].name)


def _show_values(values: Sequence[FacetCount], *, as_json: bool) -> None:
    if as_json:
        print_json([{"category": value.category, "value": value.value, "count": value.count} for value in values])
    else:
        print_table(("value", "category", "count"), [(value.value, value.category, value.count) for value in values])


def _show_figures(found: AggregateParts, *, as_json: bool) -> None:
    if as_json:
        print_json(found.model_dump(mode="json"))
        return
    groups, overall = found.groups or [], found.overall
    if overall is None:
        return
    _print_overall(overall, found)
    if groups:
        figures = [name for name in FIGURES if any(getattr(group, name) is not None for group in groups)]
        rows = [(*group.values.values(), group.count, *(_cell(group, name) for name in figures)) for group in groups]
        print_table((*groups[0].values, "count", *figures), rows)
    if found.ranked:
        print_table((found.number_in_words, "title", "id"), [(one.value, one.title, one.id) for one in found.ranked])
    if found.group_count is not None:
        of_what = "groups" if groups else "records"
        click.echo(f"{len(groups) + len(found.ranked or ())} of {found.group_count} {of_what}; more with --limit")
    for name, count in found.without.items():
        click.echo(lacking_text(name, count).strip())


def _print_overall(overall: BrowsedGroup, found: AggregateParts) -> None:
    """Print how many records count, and the figures of all of them."""
    known = "" if overall.known is None else f", {overall.known} with {found.of}"
    click.echo(f"{overall.count} records{known}")
    rows = [(name, _cell(overall, name), _record(overall, name)) for name in FIGURES if _cell(overall, name) != ""]
    if rows:
        print_table((found.number_in_words, "", ""), rows)


def _cell(group: BrowsedGroup, name: str) -> Any:
    value = getattr(group, name)
    return "" if value is None else value


def _record(group: BrowsedGroup, name: str) -> str:
    record = getattr(group, f"{name}_record", None)
    return "" if record is None else f"{shortened(record.title, TITLE_CHARS)} [{record.id}]"
