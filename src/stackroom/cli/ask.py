"""`list`, `search`, `recommend`, `similar`, `get`: query catalogues from the terminal."""

import re
from collections.abc import Iterable, Iterator, Sequence

import click
import orjson
from rich.console import Console
from rich.text import Text

from stackroom.assembly.app import App
from stackroom.catalogue.codec import plain_record
from stackroom.catalogue.spec import CatalogueSpec, FieldSpec, FieldType, texts_of
from stackroom.cli.filters import read_filters, split_arguments, takes_filters, with_options
from stackroom.cli.opening import describe_problems, open_app
from stackroom.cli.output import json_option, print_json, print_table
from stackroom.errors import InputError, NotFoundError
from stackroom.generic.recommend import RecommendParams
from stackroom.generic.record import list_written
from stackroom.generic.record_text import BETWEEN_FIELDS, has_value, number_text, with_unit
from stackroom.generic.shapes import SearchParams, SearchResult, ShownRecord, SimilarParams
from stackroom.generic.tools import GenericTools
from stackroom.model.hits import Evidence
from stackroom.model.principal import LOCAL_USER
from stackroom.model.record import Record
from stackroom.model.scope import WHOLE
from stackroom.python.catalogue import find_named
from stackroom.text.safe import safe_line, terminal_stream
from stackroom.tools.catalogue import OpenCatalogue
from stackroom.tools.filters import ADULT, filters_of
from stackroom.tools.listing import is_list
from stackroom.tools.spec import VERDICTS

INDENT = "   "
NARROWEST = 40
"""The width from which a terminal is wide enough to fold lines to it."""
FREE_OPTIONS = {"ignore_unknown_options": True, "allow_extra_args": True}


@click.command("list")
@json_option
def list_command(as_json: bool) -> None:
    """List the catalogues in the library."""
    app = open_app()
    rows = []
    problems = describe_problems(app.library)
    for installed in app.library.list_installed():
        if unopened := app.find_problem(installed.name):
            problems[installed.name] = f"cannot be opened: {unopened}"
            continue
        reader = app.open_catalogue(installed.name).shelf.reader()
        rows.append(
            {
                "name": installed.name,
                "spec": installed.spec_name,
                "records": reader.count(WHOLE),
                "model": reader.model.name if reader.model else None,
                "folder": str(installed.folder),
                "release": app.release_status.installed_version(installed.name),
            }
        )
    newer = {
        installed.name: app.release_status.find_newer(installed.name) for installed in app.library.list_installed()
    }
    notes = {name: f"is outdated: {found}" for name, found in newer.items() if found is not None}
    for name, note in {**notes, **problems}.items():
        click.echo(f"stackroom: '{name}' {note}", err=True)
    if as_json:
        print_json(rows)
    elif rows:
        print_table(
            ("name", "records", "model", "folder"), [(r["name"], r["records"], r["model"], r["folder"]) for r in rows]
        )
    elif not problems:
        click.echo("the library is empty; run: stackroom init")


@click.command("search", context_settings=FREE_OPTIONS)
@click.argument("arguments", metavar="[CATALOGUE] QUERY", nargs=-1, type=click.UNPROCESSED)
@click.option("--limit", default=10, show_default=True, type=click.IntRange(1, 50))
@click.option("--adult", is_flag=True, help="Find adult records too.")
@json_option
@takes_filters
def search_command(arguments: tuple[str, ...], limit: int, adult: bool, as_json: bool) -> None:
    """Search CATALOGUE for QUERY, or every catalogue.

    Filters are options named after fields: --year 2015..2020, --type MOVIE,OVA (any), --tags space,drama (all),
    --not-tags horror (none). Of all catalogues, those are searched that have the fields. The query '*' lists every
    record that has the filters, '* WORDS' those that have all of the words.
    """
    stated, options = split_arguments(arguments)
    app = open_app()
    catalogue, query = _catalogue_and_query(stated, app)
    chosen = {catalogue.name: catalogue} if catalogue else _every_catalogue(app)
    params = search_params(query, options, [one.spec for one in chosen.values()], limit=limit, with_adult=adult)
    found = GenericTools(list(chosen.values())).search(LOCAL_USER, params)
    if as_json:
        print_json(found.model_dump(mode="json"))
    else:
        is_listed = is_list(query) or (found.understood is not None and not found.understood.query)
        _print_results(found, is_listed=is_listed, with_names=not catalogue)


def search_params(
    query: str, options: Sequence[str], specs: Sequence[CatalogueSpec], *, limit: int = 10, with_adult: bool
) -> SearchParams:
    """Return the arguments of `search` by the options of a command line."""
    filters, excluded = read_filters(options, specs)
    if with_adult and any(spec.adult and ADULT not in filters_of(spec) for spec in specs):
        filters[ADULT] = True
    text = query.encode("utf-8", "replace").decode()  # an argument may have bytes that are no text
    return SearchParams(query=text, filters=filters, exclude=excluded, limit=limit, include=["counts"])


def _catalogue_and_query(stated: Sequence[str], app: App) -> tuple[OpenCatalogue | None, str]:
    """Return the catalogue that is named, if one is, and the query."""
    if not stated:
        raise click.UsageError("Missing argument 'QUERY'.")
    is_first_named = app.library.find_installed(stated[0]) is not None
    if len(stated) == 1 and is_first_named:
        raise InputError(
            f"'{stated[0]}' is a catalogue; say what to search it for: stackroom search {stated[0]} \"WORDS\""
        )
    if len(stated) > 2:
        named, words = (f" {stated[0]}", stated[1:]) if is_first_named else ("", stated)
        raise InputError(f'a query of several words goes in quotes: stackroom search{named} "{" ".join(words)}"')
    if not stated[-1].strip():
        raise InputError("the query is empty; to see the values of a field: stackroom browse")
    return (_get_catalogue(app, *stated) if len(stated) == 2 else None), stated[-1]


def _get_catalogue(app: App, name: str, query: str) -> OpenCatalogue:
    try:
        return app.open_catalogue(name)
    except NotFoundError as error:
        if name in app.library.list_unfinished():
            raise
        hint = f'to search all of them, put the query in quotes: stackroom search "{name} {query}"'
        raise NotFoundError(f"{error.message}; {hint}") from error


def _every_catalogue(app: App) -> dict[str, OpenCatalogue]:
    """Return the catalogues that can be opened; say which cannot."""
    names = [installed.name for installed in app.library.list_installed()]
    problems = {name: app.find_problem(name) for name in names}
    opened = {name: app.open_catalogue(name) for name, problem in problems.items() if problem is None}
    for name, problem in problems.items():
        if problem is not None:
            click.echo(f"stackroom: '{name}' cannot be opened: {problem}", err=True)
    if not opened:
        raise NotFoundError("there is no catalogue to search; run: stackroom init")
    return opened


def _print_results(found: SearchResult, *, is_listed: bool, with_names: bool) -> None:
    verdicts = [note for note in found.notes if note in VERDICTS]
    for verdict in verdicts:
        click.echo(verdict if found.results else "Nothing was found.")
    labelled = [(result, (result.relevance or "").replace("_", " ").lower()) for result in found.results]
    _print_records(labelled, with_catalogue=with_names)
    if found.results:
        click.echo(_counts(found, is_listed=is_listed))
    if found.left_out and found.left_out.adult:
        click.echo(f"{found.left_out.adult} adult records are left out; --adult lists them too")
    for note in found.notes:
        if note not in verdicts:
            click.echo(with_options(note))


def _counts(found: SearchResult, *, is_listed: bool) -> str:
    """Return how many of the records that answer, or are listed, are shown."""
    if is_listed or found.only_orders:
        return f"{len(found.results)} of {found.total} records"
    if found.evidence is Evidence.NONE:
        return f"evidence: {found.evidence}"
    answering = sum(result.relevance is not None for result in found.results)
    others = f", {len(found.results) - answering} more near" if answering < len(found.results) else ""
    return f"{answering} of {found.total} that answer{others}; evidence: {found.evidence}"


@click.command("recommend", context_settings=FREE_OPTIONS)
@click.argument("catalogue")
@click.argument("arguments", metavar="[TITLE]...", nargs=-1, type=click.UNPROCESSED)
@click.option("--wishes", default="", help='In plain words: "post-2010, not horror, under 300 pages".')
@click.option("--dislike", multiple=True, help="A record to keep away from; may be given more than once.")
@click.option("--exclude", multiple=True, help="A record to leave out; may be given more than once.")
@click.option("--limit", default=8, show_default=True, type=click.IntRange(1, 48))
@json_option
@takes_filters
def recommend_command(
    catalogue: str,
    arguments: tuple[str, ...],
    wishes: str,
    dislike: tuple[str, ...],
    exclude: tuple[str, ...],
    limit: int,
    as_json: bool,
) -> None:
    """Recommend what is like the records of TITLE, by title or id, from CATALOGUE, or what has the wishes.

    Filters are options named after fields, as of search: --year 2015..2020, --type MOVIE,OVA, --tags space,drama.
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
    found = GenericTools([opened]).recommend(LOCAL_USER, params)
    if as_json:
        print_json(found.model_dump(mode="json"))
        return
    _print_records([(result, _signals_in_words(result)) for result in found.results], with_catalogue=False)
    for wish in found.understood:
        click.echo(f"'{wish.phrase}': {wish.text}")
    for text in found.not_understood:
        click.echo(f"not understood: {text}")
    for note in found.notes:
        click.echo(with_options(note))


@click.command("similar")
@click.argument("record_id", metavar="CATALOGUE/ID")
@click.option("--limit", default=8, show_default=True, type=click.IntRange(1, 50))
@json_option
def similar_command(record_id: str, limit: int, as_json: bool) -> None:
    """Show the records nearest in meaning to one: CATALOGUE/ID, CATALOGUE/TITLE, or a TITLE that only one has."""
    tools = GenericTools(list(_every_catalogue(open_app()).values()))
    found = tools.similar(LOCAL_USER, SimilarParams(id=record_id, limit=limit))
    if as_json:
        print_json(found.model_dump(mode="json"))
    else:
        _print_records([(one, f"score {one.score:.2f}") for one in found.results], with_catalogue=True)


@click.command("get")
@click.argument("catalogue")
@click.argument("id_or_title")
@json_option
def get_command(catalogue: str, id_or_title: str, as_json: bool) -> None:
    """Show one record of CATALOGUE, by its id or by a title."""
    view = open_app().open_catalogue(catalogue).view()
    record, doubt = find_named(view, id_or_title)
    if doubt:
        click.echo(f"'{id_or_title}': taken as '{view.spec.title_of(record)}' ({doubt})", err=True)
    if as_json:
        written = list_written(view.catalogue, record)
        print_json(plain_record(record, view.spec) | ({"written": written} if written else {}))
    else:
        shown = [field for field in view.spec.fields.values() if field.shown and has_value(record, field)]
        print_table(("field", "value"), [("id", record.id), *((field.name, _cell(record, field)) for field in shown)])


def _signals_in_words(shown: ShownRecord) -> str:
    """Return the score of a recommendation, and the signals that it is made of."""
    signals = ", ".join(f"{name} {value:.2f}" for name, value in (shown.signals or {}).items())
    return f"score {shown.score:.2f} ({signals})"


def _cell(record: Record, field: FieldSpec) -> str:
    value = record.get(field.name)
    if field.type is FieldType.JSON:
        return orjson.dumps(value).decode()
    return with_unit(number_text(value) if isinstance(value, int | float) else ", ".join(texts_of(value)), field)


def _print_records(labelled: Iterable[tuple[ShownRecord, str]], *, with_catalogue: bool) -> None:
    """Print records, numbered: title, id and label on the first line, then telling fields and the body text."""
    console = Console(file=terminal_stream(), highlight=False, markup=False, emoji=False)
    width = console.width if console.is_terminal and console.width >= NARROWEST else None
    for number, (shown, label) in enumerate(labelled, 1):
        address = shown.id if with_catalogue else shown.id.removeprefix(f"{shown.catalogue}/")
        place = f"{number}.".ljust(len(INDENT))
        first = Text.assemble(place, (safe_line(shown.title), "bold"), (f" [{safe_line(address)}]", "dim"))
        console.print(first.append(f"  {label}", "green") if label else first, soft_wrap=True)
        for line in _lines(shown, console, width):
            console.print(line, soft_wrap=True)


def _lines(shown: ShownRecord, console: Console, width: int | None) -> Iterator[Text]:
    """Yield the lines below the title of a record; on a terminal they are as wide as that."""
    if shown.line:
        text = Text(safe_line(shown.line))
        for name in shown.fields:
            text.highlight_regex(rf"(?:(?<=^)|(?<={BETWEEN_FIELDS})){re.escape(name)}: ", "cyan")
        lines = [text] if width is None else text.wrap(console, width - len(INDENT))
        yield from (Text(INDENT) + line for line in lines)
    if shown.text:
        line = Text(safe_line(shown.text))
        if width is not None:
            line.truncate(width - len(INDENT), overflow="ellipsis")
        yield Text(INDENT) + line
