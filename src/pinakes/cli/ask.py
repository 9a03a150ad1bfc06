"""`list`, `search`, `recommend`, `get`: query catalogues from the terminal."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import click

from pinakes.catalogue.codec import plain_record
from pinakes.catalogue.spec import CatalogueSpec, FieldType, texts_of
from pinakes.cli.filters import option_of, usual_conditions
from pinakes.cli.json_output import json_option, print_json
from pinakes.cli.opening import open_app
from pinakes.cli.tables import print_table, shortened
from pinakes.errors import InputError, NotFoundError
from pinakes.library import UNFINISHED
from pinakes.model.hits import Evidence, Hit, SearchPage
from pinakes.model.record import Record
from pinakes.model.scope import SEES_EVERYTHING, WHOLE
from pinakes.recommend.recommender import Recommendations, Request
from pinakes.recommend.signals import Signals
from pinakes.search.names import NameChoice
from pinakes.tools.merge import NEAREST_SHOWN
from pinakes.tools.scopes import Asked, scope_of
from pinakes.tools.spec import NOTHING_ANSWERS

FREE_OPTIONS = {"ignore_unknown_options": True, "allow_extra_args": True}


@click.command("list")
@json_option
def list_command(as_json: bool) -> None:
    """List the catalogues in the library."""
    app = open_app()
    rows = []
    problems = {name: f"cannot be opened: {problem}" for name, problem in app.library.check().items()}
    problems |= dict.fromkeys(app.library.list_unfinished(), f"is {UNFINISHED}")
    for one in app.library.list_installed():
        if unopened := app.find_problem(one.name):
            problems[one.name] = f"cannot be opened: {unopened}"
            continue
        reader = app.open_catalogue(one.name).shelf.reader()
        rows.append(
            {
                "name": one.name,
                "spec": one.spec_name,
                "records": reader.count(WHOLE),
                "model": reader.model.name if reader.model else None,
                "folder": str(one.folder),
            }
        )
    for name, problem in problems.items():
        click.echo(f"pinakes: '{name}' {problem}", err=True)
    if as_json:
        print_json(rows)
    elif rows:
        print_table(
            ("name", "records", "model", "folder"), [(r["name"], r["records"], r["model"], r["folder"]) for r in rows]
        )
    elif not problems:
        click.echo("the library is empty; run: pinakes init")


@click.command("search", context_settings=FREE_OPTIONS)
@click.argument("catalogue")
@click.argument("query")
@click.option("--limit", default=10, show_default=True, type=click.IntRange(1, 50))
@click.option("--adult", is_flag=True, help="Find adult records too.")
@json_option
@click.pass_context
def search_command(ctx: click.Context, catalogue: str, query: str, limit: int, adult: bool, as_json: bool) -> None:
    """Search CATALOGUE for QUERY.

    Filters are options named after fields: --year 2015..2020, --type MOVIE,OVA (any), --tags space,drama (all),
    --not-tags horror (none).
    """
    if not query.strip():
        raise InputError("the query is empty; to see the values of a field: pinakes browse")
    opened = open_app().open_catalogue(catalogue)
    view = opened.view()
    scope, notes = scope_of(view, asked_of(query, ctx.args, with_adult=adult))
    page = _nearest_few(view.search(query, scope=scope, limit=limit))
    if as_json:
        print_json({**_page_as_json(page, opened.spec), "notes": notes})
        return
    if page.evidence is Evidence.NONE:
        click.echo(NOTHING_ANSWERS)
    print_table(
        ("", "title", "", "found by", "score"), [_hit_row(n, hit, opened.spec) for n, hit in enumerate(page.hits, 1)]
    )
    degraded = f" ({page.degraded})" if page.degraded else ""
    click.echo(f"{page.total_matches} matches, evidence: {page.evidence}, {page.mode}{degraded}")
    for note in notes:
        click.echo(note)


def _nearest_few(page: SearchPage) -> SearchPage:
    """Return a page without evidence with its first hits only."""
    return replace(page, hits=page.hits[:NEAREST_SHOWN]) if page.evidence is Evidence.NONE else page


def _page_as_json(page: SearchPage, spec: CatalogueSpec) -> dict[str, Any]:
    hits = [
        {
            **plain_record(hit.record, spec),
            "score": round(hit.score, 4),
            "relevance": hit.label,
            "matchType": hit.match_type,
        }
        for hit in page.hits
    ]
    return {
        "results": hits,
        "totalMatches": page.total_matches,
        "evidence": page.evidence,
        "searchMode": page.mode,
        "degraded": page.degraded,
    }


@click.command("recommend")
@click.argument("catalogue")
@click.argument("titles", nargs=-1, required=True)
@click.option("--preferences", default="", help='In plain words: "post-2010, not horror, under 300 pages".')
@click.option("--exclude", multiple=True, help="A title to leave out; may be given more than once.")
@click.option("--limit", default=8, show_default=True, type=click.IntRange(1, 20))
@json_option
def recommend_command(
    catalogue: str, titles: tuple[str, ...], preferences: str, exclude: tuple[str, ...], limit: int, as_json: bool
) -> None:
    """Recommend what is like TITLES, from CATALOGUE."""
    opened = open_app().open_catalogue(catalogue)
    request = Request(titles=titles, preferences=preferences, exclude=exclude, limit=limit)
    answer = opened.view().recommend(request, scope=WHOLE)
    if as_json:
        print_json(_recommendations_json(answer, opened.spec))
    else:
        print_recommendations(answer, opened.spec)


@click.command("get")
@click.argument("catalogue")
@click.argument("id_or_title")
@json_option
def get_command(catalogue: str, id_or_title: str, as_json: bool) -> None:
    """Show one record of CATALOGUE, by its id or by a title."""
    view = open_app().open_catalogue(catalogue).view()
    record = view.find_stated(id_or_title, scope=WHOLE)
    if record is None:
        choice = view.resolve(id_or_title, scope=WHOLE)
        record = choice.record
        if record is None:
            hint = f"; did you mean {', '.join(choice.suggestions)}?" if choice.suggestions else ""
            raise NotFoundError(f"nothing in '{catalogue}' has the id or title '{id_or_title}'{hint}")
        if choice.doubt:
            click.echo(f"'{id_or_title}': {_taken(choice)}", err=True)
    if as_json:
        print_json(plain_record(record, view.spec))
    else:
        print_table(
            ("field", "value"), [("id", record.id), *((name, _cell(value)) for name, value in record.fields.items())]
        )


def asked_of(query: str, arguments: Sequence[str], *, with_adult: bool) -> Asked:
    """Return the limits of a search by the options of its command line."""
    return Asked(
        query=query,
        visibility=SEES_EVERYTHING,
        conditions=lambda spec: usual_conditions(arguments, spec),
        label=option_of,
        with_adult=lambda _spec: with_adult,
    )


def print_recommendations(answer: Recommendations, spec: CatalogueSpec) -> None:
    """Print recommendations with their signals, and what was understood."""
    rows = [
        (
            number,
            spec.title_of(item.record),
            _facts(item.record, spec),
            f"{item.score:.2f}",
            " ".join(f"{value:.2f}" for value in _content_signals(item.signals)),
        )
        for number, item in enumerate(answer.items, 1)
    ]
    print_table(("", "title", "", "score", "meaning tags time form"), rows)
    for choice in answer.titles:
        click.echo(f"'{choice.asked}': {_taken(choice)}")
    for choice in answer.excluded:
        click.echo(f"'{choice.asked}': left out, {_taken(choice)}")
    for understood in answer.preferences.understood:
        click.echo(f"'{understood.text}': {understood.meaning}")
    for text in (*answer.preferences.not_understood, *answer.notes):
        click.echo(f"not understood: {text}")


def _taken(choice: NameChoice) -> str:
    """Return what a title was taken as, with what is not certain about it."""
    if choice.record is not None:
        return f"taken as '{choice.title}'{f' ({choice.doubt})' if choice.doubt else ''}"
    hint = f"; did you mean {', '.join(choice.suggestions)}?" if choice.suggestions else ""
    return f"not in the catalogue{hint}"


def _content_signals(parts: Signals) -> tuple[float, float, float, float]:
    return parts.semantic, parts.taxonomy, parts.temporal, parts.format


def _hit_row(number: int, hit: Hit, spec: CatalogueSpec) -> tuple[object, ...]:
    return number, spec.title_of(hit.record), _facts(hit.record, spec), hit.match_type, f"{hit.score:.2f}"


def _facts(record: Record, spec: CatalogueSpec) -> str:
    """Return a record's enum and number filters on one line."""
    kinds = (FieldType.ENUM, FieldType.INT)
    names = [field.name for field in spec.fields.values() if field.type in kinds and field.filter]
    return " · ".join(str(record.get(name)) for name in names if record.get(name) is not None)


def _cell(value: Any) -> str:
    return shortened(", ".join(texts_of(value)), 600)


def _recommendations_json(answer: Recommendations, spec: CatalogueSpec) -> dict[str, Any]:
    return {
        "recommendations": [
            {
                **plain_record(item.record, spec),
                "similarityScore": round(item.score, 4),
                "signals": {
                    "semantic": item.signals.semantic,
                    "taxonomy": item.signals.taxonomy,
                    "temporal": item.signals.temporal,
                    "format": item.signals.format,
                    "popularity": item.signals.popularity,
                },
                "otherSignals": {"wish": item.signals.wish, "known": item.signals.known},
            }
            for item in answer.items
        ],
        "tasteCentroid": answer.taste_tags,
        "titles": [_choice_json(one) for one in answer.titles],
        "excluded": [_choice_json(one) for one in answer.excluded],
        "understood": [{"text": one.text, "meaning": one.meaning} for one in answer.preferences.understood],
        "notUnderstood": [*answer.preferences.not_understood, *answer.notes],
    }


def _choice_json(choice: NameChoice) -> dict[str, Any]:
    return {
        "asked": choice.asked,
        "title": choice.title or None,
        "confidence": choice.sureness,
        "suggestions": choice.suggestions,
    }
