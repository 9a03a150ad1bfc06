"""`list`, `search`, `explain`, `recommend`, `similar`, `get`, `browse`, `export`: query catalogues
from the terminal.

Filters are typed as options: `--year 2015..2020 --tags space,drama --not-tags horror`.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial, wraps
from pathlib import Path
from typing import Any

import click
import orjson
from annotated_types import Ge, Le
from click.core import ParameterSource
from pydantic import BaseModel

from stackroom.assembly.app import App, gate_over
from stackroom.catalogue.codec import plain_record
from stackroom.catalogue.spec import CatalogueSpec, FieldType, FilterKind, texts_of
from stackroom.cli.answers import NOT, print_records, print_results, show_figures, with_options
from stackroom.cli.opening import describe_problems, open_app
from stackroom.cli.operations import build_command
from stackroom.cli.output import (
    HELP,
    command,
    flag,
    json_option,
    print_answer,
    print_as_json,
    print_table,
    wants_json,
)
from stackroom.errors import InputError, NotFoundError, did_you_mean
from stackroom.generic import tools
from stackroom.generic.explain import WhyParams
from stackroom.generic.export import ExportFormat, ExportParams, export_records
from stackroom.generic.recommend import RecommendParams
from stackroom.generic.record import list_written
from stackroom.generic.record_text import has_value, number_text, with_unit
from stackroom.generic.shapes import BrowseParams, SearchParams, SimilarParams
from stackroom.python.catalogue import NamedParams, get_named
from stackroom.tools.catalogue import OpenCatalogue
from stackroom.tools.filters import ADULT, BOUNDS, MOST_ADVISED, filters_by_use, filters_of
from stackroom.tools.operation import OFF, Call, operation
from stackroom.tools.reading import EVERY, is_list
from stackroom.tools.spec import GenericParams, explanation_lines, validate_fields, why_lines

Options = Sequence[tuple[str, str | None]]
"""The free options of a command line: the name of each, and what was given for it."""


def read_filters(
    options: Options, specs: Sequence[CatalogueSpec]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the free options of a command line as the `filters` and the `exclude` of a call."""
    known = {name: field for spec in specs for name, field in filters_of(spec).items()}
    filters: dict[str, Any] = {}
    excluded: dict[str, Any] = {}
    for option, value in options:
        if value is None:
            raise InputError(f"'--{option}' wants a value; give one after it")
        name = option.removeprefix(NOT)
        if name not in known:
            by_use = [field.name for spec in specs for field in filters_by_use(spec)]
            listed = [f"--{one}" for one in dict.fromkeys((*by_use, *known))]
            hint = did_you_mean(name, list(known))
            raise InputError(
                f"no filter '--{name}'{hint}; filters: {', '.join(listed[:MOST_ADVISED])}"
            )
        # As a filter has it: the bounds of a range, or a list of values.
        wanted: dict[str, str] | list[str] = split_names([value])
        if known[name].filter is FilterKind.RANGE or (known[name].brackets and ".." in value):
            low, dots, high = value.partition("..")
            wanted = {
                bound: text
                for bound, text in zip(BOUNDS, (low, high if dots else low), strict=True)
                if text
            }
        if not wanted:
            raise InputError(
                f"'--{option}' wants a value; such as a,b for one of several, or 2010..2020 for a"
                " range"
            )
        (excluded if option.startswith(NOT) else filters)[name] = wanted
    return filters, excluded


def filtered(name: str) -> Callable[[Callable[..., None]], click.Command]:
    """Declare a command with such options, which it names in what it refuses, and not the arguments
    of tools.
    """

    def declare(ask: Callable[..., None]) -> click.Command:
        @wraps(ask)
        def run(*arguments: Any, **given: Any) -> None:
            try:
                ask(*arguments, **given)
            except InputError as error:
                error.message = with_options(error.message)
                raise

        free = {"ignore_unknown_options": True, "allow_extra_args": True}
        return command(name, context_settings=free)(run)

    return declare


def split_arguments(arguments: Iterable[str]) -> tuple[list[str], Options]:
    """Return the arguments of a command line that are not filters, and the options that are."""
    stated, options, rest = [], [], iter(arguments)
    for one in rest:
        if not one.startswith("--"):
            stated.append(one)
            continue
        option, equals, value = one[2:].partition("=")
        options.append((option, value if equals else next(rest, None)))
    return stated, options


def split_names(stated: Sequence[str]) -> list[str]:
    """Return the names of an option that may be repeated, and may have several with commas."""
    return [part.strip() for one in stated for part in one.split(",") if part.strip()]


Texts = tuple[str, ...]
free_arguments = partial(click.argument, "arguments", nargs=-1, type=click.UNPROCESSED)
adult_option = partial(flag, "--adult")


def limit_option(params: type[BaseModel]) -> Callable[[Any], Any]:
    """Return the option that limits an answer, as the parameters of its operation do."""
    limit = params.model_fields["limit"]
    bounds = {type(mark): mark for mark in limit.metadata}
    least, most = bounds[Ge].ge, bounds[Le].le
    return click.option(
        "--limit", default=limit.default, show_default=True, type=click.IntRange(least, most)
    )


@operation("list")
def list_opened(call: Call, _params: GenericParams) -> list[dict[str, Any]]:
    """List catalogues, with how many records each has, and the model of its vectors."""
    readers = {one.name: one.shelf.reader() for one in call.catalogues}
    return [
        {
            "name": name,
            "records": reader.count(call.scope),
            "model": reader.model.name if reader.model else None,
        }
        for name, reader in readers.items()
    ]


@click.command("list")
@json_option
def list_command() -> None:
    """List the catalogues in the library."""
    app = open_app()
    status, (opened, unopened) = app.release_status, _open_catalogues(app)
    problems, rows = {**describe_problems(app.library), **unopened}, []
    notes = {
        one.name: f"is outdated: {newer}"
        for one in app.library.list_installed()
        if (newer := status.find_newer(one.name))
    }
    for name, note in {**notes, **problems}.items():
        click.echo(f"stackroom: '{name}' {note}", err=True)
    for counted in gate_over(*opened.values()).ask(list_opened, GenericParams()):
        installed = app.library.get_installed(counted["name"])
        placed = {"name": installed.name, "spec": installed.spec_name, **counted}
        release = status.installed_version(installed.name)
        rows.append({**placed, "folder": str(installed.folder), "release": release})
    if print_as_json(rows):
        return
    if rows:
        columns = ("name", "records", "model", "folder")
        print_table(columns, [[row[column] for column in columns] for row in rows])
    elif not problems:
        click.echo("the library is empty; run: stackroom init")


@filtered("search")
@free_arguments(metavar="[CATALOGUE] QUERY")
@limit_option(SearchParams)
@adult_option(help="Find adult records too.")
@json_option
def search_command(arguments: Texts, limit: int, adult: bool) -> None:
    """Search CATALOGUE for QUERY, or every catalogue."""
    stated, options = split_arguments(arguments)
    app = open_app()
    catalogue, query = _catalogue_and_query(stated, app)
    chosen = {catalogue.name: catalogue} if catalogue else _every_catalogue(app)
    params = search_params(
        query, options, [one.spec for one in chosen.values()], limit=limit, with_adult=adult
    )
    found = gate_over(*chosen.values()).ask(tools.search, params)
    if not print_as_json(found.model_dump(mode="json")):
        is_listed = is_list(query) or (found.understood is not None and not found.understood.query)
        print_results(found, is_listed=is_listed, with_names=not catalogue)


def search_params(
    query: str,
    options: Options,
    specs: Sequence[CatalogueSpec],
    *,
    limit: int = 10,
    with_adult: bool,
) -> SearchParams:
    """Return the arguments of `search` by the options of a command line."""
    filters, excluded = read_filters(options, specs)
    if with_adult and any(spec.adult and ADULT not in filters_of(spec) for spec in specs):
        filters[ADULT] = True
    text = query.encode("utf-8", "replace").decode()  # an argument may have bytes that are no text
    return SearchParams(
        query=text, filters=filters, exclude=excluded, limit=limit, include=["counts"]
    )


def _catalogue_and_query(stated: Sequence[str], app: App) -> tuple[OpenCatalogue | None, str]:
    """Return the catalogue that is named, if one is, and the query."""
    if not stated:
        raise click.UsageError("Missing argument 'QUERY'.")
    is_first_named = app.library.find_installed(stated[0]) is not None
    if len(stated) == 1 and is_first_named:
        problem = (
            f"'{stated[0]}' is a catalogue; say what to search it for: stackroom search {stated[0]}"
            ' "WORDS"'
        )
        raise InputError(problem)
    if len(stated) > 2:
        named, words = (f" {stated[0]}", stated[1:]) if is_first_named else ("", stated)
        raise InputError(
            f'a query of several words goes in quotes: stackroom search{named} "{" ".join(words)}"'
        )
    if not stated[-1].strip():
        raise InputError("the query is empty; to see the values of a field: stackroom browse")
    if len(stated) == 1:
        return None, stated[0]
    name, query = stated
    try:
        return app.open_catalogue(name), query
    except NotFoundError as error:
        if name in app.library.list_unfinished():
            raise
        hint = f'to search all of them, put the query in quotes: stackroom search "{name} {query}"'
        raise NotFoundError(f"{error.message}; {hint}") from error


def _open_catalogues(app: App) -> tuple[dict[str, OpenCatalogue], dict[str, str]]:
    """Return the catalogues that can be opened, and the rest of a sentence about each other."""
    names = [installed.name for installed in app.library.list_installed()]
    found = {name: app.find_problem(name) for name in names}
    problems = {name: f"cannot be opened: {problem}" for name, problem in found.items() if problem}
    return {name: app.open_catalogue(name) for name in names if name not in problems}, problems


def _every_catalogue(app: App) -> dict[str, OpenCatalogue]:
    """Return the catalogues that can be opened; say which cannot."""
    opened, problems = _open_catalogues(app)
    for name, problem in problems.items():
        click.echo(f"stackroom: '{name}' {problem}", err=True)
    if not opened:
        raise NotFoundError("there is no catalogue to search; run: stackroom init")
    return opened


@filtered("recommend")
@click.argument("catalogue")
@free_arguments(metavar="[TITLE]...")
@click.option(
    "--wishes", default="", help='In plain words: "post-2010, not horror, under 300 pages".'
)
@click.option(
    "--dislike", multiple=True, help="A record to keep away from; may be given more than once."
)
@click.option(
    "--exclude", multiple=True, help="A record to leave out; may be given more than once."
)
@limit_option(RecommendParams)
@json_option
def recommend_command(
    catalogue: str, arguments: Texts, wishes: str, dislike: Texts, exclude: Texts, limit: int
) -> None:
    """Recommend what is like the records of TITLE, by title or id, from CATALOGUE, or what has the
    wishes.
    """
    titles, options = split_arguments(arguments)
    opened = open_app().open_catalogue(catalogue)
    filters, _ = read_filters(options, [opened.spec])
    params = RecommendParams(
        likes=list(titles),
        dislikes=list(dislike),
        wishes=wishes,
        filters=filters,
        limit=limit,
        exclude=list(exclude),
        include=["tiles"],
    )
    found = gate_over(opened).ask(tools.recommend, params)
    if print_as_json(found.model_dump(mode="json")):
        return
    labelled = []
    for result in found.results:
        signals = ", ".join(f"{name} {value:.2f}" for name, value in (result.signals or {}).items())
        labelled.append((result, f"score {result.score:.2f} ({signals})"))
    print_records(labelled, with_catalogue=False)
    for wish in found.understood:
        click.echo(f"'{wish.phrase}': {wish.text}")
    for text in found.not_understood:
        click.echo(f"not understood: {text}")
    for note in found.notes:
        click.echo(with_options(note))


@click.command("similar")
@click.argument("record_id", metavar="CATALOGUE/ID")
@limit_option(SimilarParams)
@json_option
def similar_command(record_id: str, limit: int) -> None:
    """Show the records nearest in meaning to one: CATALOGUE/ID, CATALOGUE/TITLE, or a TITLE that
    only one has.
    """
    gate = gate_over(*_every_catalogue(open_app()).values())
    found = gate.ask(tools.similar, SimilarParams(id=record_id, limit=limit))
    if not print_as_json(found.model_dump(mode="json")):
        print_records(
            [(one, f"score {one.score:.2f}") for one in found.results], with_catalogue=True
        )


@click.command("get")
@click.argument("catalogue")
@click.argument("id_or_title")
@json_option
def get_command(catalogue: str, id_or_title: str) -> None:
    """Show one record of CATALOGUE, by its id or by a title."""
    gate = gate_over(open_app().open_catalogue(catalogue))
    view, record, doubt = gate.ask(get_named, NamedParams(name=id_or_title))
    spec = view.spec
    if doubt:
        click.echo(f"'{id_or_title}': taken as '{spec.title_of(record)}' ({doubt})", err=True)
    written = list_written(view.catalogue, record)
    if print_as_json(plain_record(record, spec) | ({"written": written} if written else {})):
        return
    rows: list[tuple[str, str]] = [("id", record.id)]
    for field in spec.fields.values():
        if field.shown and has_value(record, field):
            value = record.get(field.name)
            is_number = isinstance(value, int | float)
            text = number_text(value) if is_number else ", ".join(texts_of(value))
            is_json = field.type is FieldType.JSON
            shown = orjson.dumps(value).decode() if is_json else with_unit(text, field)
            rows.append((field.name, shown))
    print_table(("field", "value"), rows)


@filtered("explain")
@click.argument("catalogue")
@click.argument("query")
@click.argument("record_id", metavar="[ID]", required=False)
@limit_option(SearchParams)
@adult_option(help="Find adult records too.")
@json_option
@click.pass_context
def explain_command(
    ctx: click.Context, catalogue: str, query: str, record_id: str | None, limit: int, adult: bool
) -> None:
    """Say why a search of CATALOGUE for QUERY finds its first hits; with ID, why that record has
    its place or none.
    """
    ids, options = split_arguments([*([record_id] if record_id else []), *ctx.args])
    if len(ids) > 1:
        raise InputError(f"'{ids[1]}' is too much; a query of several words goes in quotes")
    if not query.strip():
        raise InputError("the query is empty; give the words to explain a search for")
    opened = open_app().open_catalogue(catalogue)
    params = search_params(query, options, [opened.spec], limit=limit, with_adult=adult)
    gate = gate_over(opened)
    if not ids:
        hits = gate.ask(tools.search, params.model_copy(update={"explain": True})).results
        shown = {"id", "title", "score", "why"}
        if print_as_json([hit.model_dump(mode="json", include=shown) for hit in hits]):
            return
        for number, hit in enumerate(hits, start=1):
            click.echo(f"{number}. {hit.title} [{hit.id}] {hit.score:.4f}")
            for line in why_lines(hit.why):
                click.echo(f"   {line}")
        if not hits:
            click.echo("nothing was found")
        return
    record = gate.ask(get_named, NamedParams(name=ids[0])).record
    arguments = params.model_dump(exclude_unset=True)
    asked = WhyParams(id=f"{opened.name}/{record.id}", arguments=arguments)
    told = {**gate.ask(tools.explain, asked).model_dump(mode="json"), "tool": "stackroom search"}
    print_answer(told, with_options("\n".join(explanation_lines(told))))


@filtered("browse")
@click.argument("catalogue")
@click.option("--field", help="The field to browse; by default the catalogue's tags.")
@click.option("--search", help="Only values like this.")
@click.option(
    "--by", multiple=True, help="Group by a field: country, year/decade, price/10; at most two."
)
@click.option("--of", help="A number: its minimum, maximum, mean, median and sum.")
@click.option("--sort", help="The order of groups: count, value, mean, 'mean asc' …")
@click.option("--query", default="", help="Words that every record has.")
@adult_option(help="Count adult records too.")
@click.option("--limit", default=30, show_default=True, type=click.IntRange(1))
@json_option
@click.pass_context
def browse_command(
    ctx: click.Context,
    catalogue: str,
    field: str | None,
    search: str | None,
    by: Texts,
    of: str | None,
    sort: str | None,
    query: str,
    adult: bool,
    limit: int,
) -> None:
    """Show the values of a field of CATALOGUE with how many records have each, or count and sum
    records by group.
    """
    opened, (stray, options) = open_app().open_catalogue(catalogue), split_arguments(ctx.args)
    if stray:
        problem = f"'{stray[0]}' is not an option; a query of several words goes in quotes"
        raise InputError(problem)
    limits = search_params(query, options, [opened.spec], with_adult=adult)
    asked = limits.model_dump(include={"query", "filters", "exclude"}) | {
        "by": split_names(by) or None,
        "of": of,
    }
    if not by and not of:
        asked["field"] = _require_facet(opened.spec, field)
    params = validate_fields(BrowseParams, {**asked, "search": search, "sort": sort})
    if ctx.get_parameter_source("limit") is not ParameterSource.DEFAULT:
        params = params.model_copy(update={"limit": limit})
    found = gate_over(opened).ask(tools.browse, params)
    if params.has_figures:
        show_figures(found.catalogues[0])
    else:
        rows = [
            (one.category, one.value, one.count) for one in found.catalogues[0].fields[0].values
        ]
        columns = ("category", "value", "count")
        if not print_as_json([dict(zip(columns, row, strict=True)) for row in rows]):
            print_table(
                ("value", "category", "count"),
                [(value, category, count) for category, value, count in rows],
            )
    for note in found.notes:
        click.echo(with_options(note), err=wants_json())


def _require_facet(spec: CatalogueSpec, stated: str | None) -> str:
    """Return the field to browse, by default the tags; refuse one whose values are not counted."""
    facets = {field.name: field.type for field in spec.fields.values() if field.facet}
    if not facets:
        raise InputError(
            f"catalogue '{spec.name}' has no field to browse; give a field of its spec facet = true"
        )
    name = stated or next(
        (name for name, kind in facets.items() if kind is FieldType.TAGS), next(iter(facets))
    )
    if name not in facets:
        hint = did_you_mean(name, list(facets))
        raise InputError(f"'--field': no facet '{name}'{hint}; facets: {', '.join(facets)}")
    return name


@filtered("export")
@free_arguments(metavar="CATALOGUE [QUERY]")
@click.option("--to", "target", required=True, metavar="FILE", help=HELP["export --to"])
@click.option(
    "--by",
    multiple=True,
    help="Write counts by a field instead: country, year/decade; at most two.",
)
@click.option("--of", help="A number: write its figures instead, by group or record by record.")
@click.option(
    "--sort", default="", metavar="FIELD", help="Sort by a field; -FIELD: the greatest first."
)
@adult_option(help="Write adult records too.")
@flag("--force", help="Replace the file if it exists.")
def export_command(
    arguments: Texts,
    target: str,
    by: tuple[str, ...],
    of: str | None,
    sort: str,
    adult: bool,
    force: bool,
) -> None:
    """Write every record of CATALOGUE to a file, or those that a QUERY finds, in the order of
    `search`.
    """
    stated, options = split_arguments(arguments)
    if not 1 <= len(stated) <= 2:
        raise click.UsageError("Give a catalogue, and at most one query, in quotes.")
    try:
        chosen = ExportFormat(Path(target).suffix.removeprefix(".").lower())
    except ValueError as error:
        known = ", ".join(f".{known}" for known in ExportFormat)
        raise InputError(f"'--to': the name must end in one of {known}") from error
    catalogue = open_app().open_catalogue(stated[0])
    query = stated[1] if len(stated) == 2 else EVERY
    params = search_params(query, options, [catalogue.spec], with_adult=adult)
    asked = params.model_dump(include={"query", "filters", "exclude"})
    has_figures = bool(by or of)
    asked |= (
        {"by": split_names(by) or None, "of": of, "sort": sort or None}
        if has_figures
        else {"sort": sort}
    )
    given: dict[str, Any] = {"format": chosen, "search": "", "browse": ""}
    given["browse" if has_figures else "search"] = orjson.dumps(asked).decode()
    wanted = ExportParams.model_construct(**given)
    file = gate_over(catalogue).ask(export_records, wanted)
    _write_file(Path(target), file.pieces, force=force)
    click.echo(f"{target}: {Path(target).stat().st_size:,} bytes")


def _write_file(path: Path, pieces: Iterable[bytes], *, force: bool) -> None:
    """Write a file whole, or not at all."""
    if path.exists() and not force:
        raise InputError(f"{path} exists; --force replaces it")
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with beside.open("wb") as file:
            file.writelines(pieces)
        beside.replace(path)  # the commit point
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from error
    finally:
        beside.unlink(missing_ok=True)


def find_derived(name: str) -> click.Command | None:
    """Return the command of an operation over all catalogues for which none is made by hand."""
    for known in tools.GENERIC_OPERATIONS:
        if known.name == name and known.faces.command is not OFF:
            return build_command(
                known, open_gate=lambda: gate_over(*_every_catalogue(open_app()).values())
            )
    return None
