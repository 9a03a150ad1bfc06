"""`tour`: set up, and see it at work."""

import shlex

import click

from pinakes.app import App
from pinakes.cli.ask import print_recommendations
from pinakes.cli.build import set_up
from pinakes.cli.clients import build_entry
from pinakes.cli.tables import print_table, shortened
from pinakes.model.scope import WHOLE, Range, Scope
from pinakes.recommend.recommender import Request
from pinakes.settings import load_settings

SEARCHES = (
    ("melancholy journey through space", WHOLE),
    ("anime like mushishi but in space", WHOLE),
    ("fulmetal alchemst", WHOLE),
    ("進撃の巨人", WHOLE),
    ("cooking contests", Scope(conditions=(Range("year", 2010),))),
)


@click.command("tour")
def tour_command() -> None:
    """Set up the library if need be, then show a few searches, a recommendation, and how to connect an assistant."""
    app = App(load_settings())
    set_up(app)
    anime = app.open_catalogue("anime")
    click.echo(f"\nlibrary: {app.settings.home} · anime: {anime.shelf.reader().count(WHOLE)} records")
    for query, scope in SEARCHES:
        page = anime.searcher.search(query, scope=scope, limit=3)
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
        print_table(("title", "year", "score", "by", "synopsis"), rows, title=f"\nsearch: {query}{since}")
    preferences = "post-2010, not horror, under 26 episodes"
    click.echo(f"\nrecommend: like 'Cowbow Bebop' (sic), {preferences}")
    answer = anime.recommender.recommend(
        Request(titles=("Cowbow Bebop",), preferences=preferences, limit=5), scope=WHOLE
    )
    print_recommendations(answer, anime.spec)
    entry = build_entry(app.settings.home, ())
    command = shlex.join([f"PINAKES_HOME={app.settings.home}", entry["command"], *entry["args"]])
    click.echo("\nTo connect an assistant over stdio:")
    click.echo(f"  claude mcp add pinakes -- env {command}")
    click.echo("or let Pinakes write the configuration: pinakes install claude-desktop | claude-code | cursor | vscode")
    app.close()
