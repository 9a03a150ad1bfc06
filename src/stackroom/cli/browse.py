"""`browse`: the values of a field, or counts and figures of records by group."""

from collections.abc import Sequence
from typing import Any

import click
from click.core import ParameterSource

from stackroom.catalogue.spec import CatalogueSpec, FieldType
from stackroom.cli.ask import FREE_OPTIONS, search_params
from stackroom.cli.filters import split_names, takes_filters, with_options
from stackroom.cli.opening import open_app
from stackroom.cli.output import json_option, print_json, print_table, shortened
from stackroom.errors import InputError, did_you_mean
from stackroom.generic.aggregate.shapes import FIGURES, AggregateParts, BrowsedGroup, lacking_text
from stackroom.generic.browse import BrowsedValue, BrowseParams
from stackroom.generic.tools import GenericTools
from stackroom.model.principal import LOCAL_USER
from stackroom.tools.spec import validate_fields

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
@takes_filters
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
    opened = open_app().open_catalogue(catalogue)
    limits = search_params(query, ctx.args, [opened.spec], with_adult=adult)
    asked = limits.model_dump(include={"query", "filters", "exclude"}) | {"by": split_names(by) or None, "of": of}
    if not by and not of:
        asked["field"] = _require_facet(opened.spec, field)
    params = validate_fields(BrowseParams, {**asked, "search": search, "sort": sort})
    if ctx.get_parameter_source("limit") is not ParameterSource.DEFAULT:
        params = params.model_copy(update={"limit": limit})
    found = GenericTools([opened]).browse(LOCAL_USER, params)
    if params.has_figures:
        _show_figures(found.catalogues[0], as_json=as_json)
    else:
        _show_values(found.catalogues[0].fields[0].values, as_json=as_json)
    for note in found.notes:
        click.echo(with_options(note), err=as_json)


def _require_facet(spec: CatalogueSpec, stated: str | None) -> str:
    """Return the field to browse, by default the tags; refuse one whose values are not counted."""
    facets = {field.name: field.type for field in spec.fields.values() if field.facet}
    if not facets:
        raise InputError(f"catalogue '{spec.name}' has no field to browse; give a field of its spec facet = true")
    name = stated or next((name for name, kind in facets.items() if kind is FieldType.TAGS), next(iter(facets)))
    if name not in facets:
        hint = did_you_mean(name, list(facets))
        raise InputError(f"'--field': no facet '{name}'{hint}; facets: {', '.join(facets)}")
    return name


def _show_values(values: Sequence[BrowsedValue], *, as_json: bool) -> None:
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
