"""`tour`: set up, and see it at work."""

import shlex

import click

from pinakes.assembly.app import App
from pinakes.cli.ask import print_recommendations
from pinakes.cli.build import set_up
from pinakes.cli.clients import build_entry
from pinakes.cli.tables import print_table, shortened
from pinakes.gate.gate import Gate
from pinakes.model.principal import LOCAL_USER
from pinakes.model.scope import WHOLE, Range, Scope
from pinakes.recommend.recommender import Request
from pinakes.settings import load_settings
from pinakes.tools.catalogue import OpenCatalogue

SEARCHES = (
    ("melancholy journey through space", WHOLE),
    ("fulmetal alchemst", WHOLE),
    ("進撃の巨人", WHOLE),
    ("cooking contests", Scope(conditions=(Range("year", 2010),))),
)
QUESTIONS_TO_ALL = ("how do we review code", "attention for machine translation", "a fireball in a crowded room")
PREFERENCES = "post-2010, not horror, under 26 episodes"


@click.command("tour")
def tour_command() -> None:
    """Set up the library if need be, then show a few searches, a recommendation, and how to connect an assistant."""
    app = App(load_settings())
    set_up(app)
    click.echo(f"\nlibrary: {app.settings.home}")
    for one in app.library.list_installed():
        opened = app.open_catalogue(one.name)
        click.echo(f"  {one.name}: {opened.shelf.reader().count(WHOLE)} records. {opened.spec.summary}")
    anime = app.open_catalogue("anime")
    _show_searches(anime)
    _show_recommendation(anime)
    _show_questions_to_all(app.build_gate())
    _show_connection(app)
    app.close()


def _show_searches(anime: OpenCatalogue) -> None:
    for query, scope in SEARCHES:
        page = anime.view().search(query, scope=scope, limit=3)
        rows = [
            (
                hit.record.get("title"),
                hit.record.get("year"),
                f"{hit.score:.2f}",
                hit.match_type,
                shortened(hit.record.get("synopsis"), 90),
            )
            for hit in page.hits
        ]
        since = " (since 2010)" if scope is not WHOLE else ""
        print_table(("title", "year", "score", "by", "synopsis"), rows, title=f"\nsearch anime: {query}{since}")


def _show_recommendation(anime: OpenCatalogue) -> None:
    click.echo(f"\nrecommend: like 'Cowbow Bebop' (sic), {PREFERENCES}")
    request = Request(titles=("Cowbow Bebop",), preferences=PREFERENCES, limit=5)
    print_recommendations(anime.view().recommend(request, scope=WHOLE), anime.spec)


def _show_questions_to_all(gate: Gate) -> None:
    for query in QUESTIONS_TO_ALL:
        answer = gate.call(LOCAL_USER, "search", {"query": query, "limit": 3})
        found = answer.structured["results"] if answer.structured else []
        rows = [(one["catalogue"], one["title"], one["relevance"] or "", shortened(one["text"], 70)) for one in found]
        print_table(("catalogue", "title", "relevance", "text"), rows, title=f"\nsearch everything: {query}")


def _show_connection(app: App) -> None:
    entry = build_entry(app.settings.home, ())
    command = shlex.join([f"PINAKES_HOME={app.settings.home}", entry["command"], *entry["args"]])
    click.echo("\nTo connect an assistant over stdio:")
    click.echo(f"  claude mcp add pinakes -- env {command}")
    click.echo("or let Pinakes write the configuration: pinakes install claude-desktop | claude-code | cursor | vscode")
