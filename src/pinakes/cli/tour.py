"""`tour`: set up a library, and show searches and recommendations on its samples."""

import shlex

import click

from pinakes.api.package import Example
from pinakes.assembly.app import App
from pinakes.catalogue.spec import CatalogueSpec, Role, texts_of
from pinakes.cli.ask import print_recommendations
from pinakes.cli.build import set_up
from pinakes.cli.clients.server_entry import local_server
from pinakes.cli.opening import open_app
from pinakes.cli.tables import print_table, shortened
from pinakes.gate.gate import Gate
from pinakes.model.principal import LOCAL_USER
from pinakes.model.record import Record
from pinakes.model.scope import WHOLE, Range, Scope
from pinakes.recommend.recommender import Request
from pinakes.tools.catalogue import OpenCatalogue


@click.command("tour")
def tour_command() -> None:
    """Set up the library if need be, then show a few searches, a recommendation, and how to connect an assistant."""
    app = open_app()
    set_up(app)
    click.echo(f"\nlibrary: {app.settings.home}")
    for one in app.library.list_installed():
        opened = app.open_catalogue(one.name)
        click.echo(f"  {one.name}: {opened.shelf.reader().count(WHOLE)} records. {opened.spec.summary}")
    _show_examples(app)
    _show_connection(app)


def _show_examples(app: App) -> None:
    """Show the examples of the samples: first those on one catalogue, then those on everything."""
    gate = app.build_gate()
    examples = [(sample.name, one) for _package, sample in app.packages.iter_samples() for one in sample.examples]
    for name, example in sorted(examples, key=lambda pair: pair[1].of_everything):
        if example.of_everything:
            _show_search_of_everything(gate, example)
        elif app.library.find_installed(name) is not None:
            show = _show_recommendation if example.titles else _show_search
            show(app.open_catalogue(name), example)


def _show_search(catalogue: OpenCatalogue, example: Example) -> None:
    spec = catalogue.spec
    time_field = spec.field_with_role(Role.TIME)
    page = catalogue.view().search(example.query, scope=Scope(conditions=example.conditions), limit=3)
    rows = [
        (
            spec.title_of(hit.record),
            hit.record.get(time_field.name) if time_field else "",
            f"{hit.score:.2f}",
            hit.match_type,
            shortened(_body(hit.record, spec), 90),
        )
        for hit in page.hits
    ]
    since = "".join(f" (since {one.at_least})" for one in example.conditions if isinstance(one, Range))
    headings = ("title", time_field.name if time_field else "", "score", "by", "text")
    print_table(headings, rows, title=f"\nsearch {catalogue.name}: {example.query}{since}")


def _body(record: Record, spec: CatalogueSpec) -> str:
    field = spec.field_with_role(Role.BODY)
    return " ".join(texts_of(record.get(field.name))) if field else ""


def _show_recommendation(catalogue: OpenCatalogue, example: Example) -> None:
    titles = ", ".join(f"'{title}'" for title in example.titles)
    click.echo(f"\nrecommend: like {titles}, {example.preferences}")
    request = Request(titles=example.titles, preferences=example.preferences, limit=5)
    print_recommendations(catalogue.view().recommend(request, scope=WHOLE), catalogue.spec)


def _show_search_of_everything(gate: Gate, example: Example) -> None:
    answer = gate.call(LOCAL_USER, "search", {"query": example.query, "limit": 3})
    found = answer.structured["results"] if answer.structured else []
    rows = [(one["catalogue"], one["title"], one["relevance"] or "", shortened(one["text"], 70)) for one in found]
    print_table(("catalogue", "title", "relevance", "text"), rows, title=f"\nsearch everything: {example.query}")


def _show_connection(app: App) -> None:
    server = local_server(app.settings.home, ())
    command = shlex.join([f"PINAKES_HOME={app.settings.home}", server.command, *server.args])
    click.echo("\nTo connect an assistant: pinakes install claude-desktop; `pinakes install` lists the others.")
    click.echo(f"Its command, over stdio: {command}")
