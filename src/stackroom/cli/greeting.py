"""`stackroom` without a command: what the library has, or an offer to make one, and the next commands."""

import sys
from collections.abc import Sequence

import click

from stackroom import __version__
from stackroom.assembly.app import App
from stackroom.cli.build import set_up
from stackroom.cli.opening import describe_problems, open_app
from stackroom.model.scope import WHOLE

SHOWN = 8
"""How many catalogues are named; more are only counted."""
NextCommand = tuple[str, str]
MAKE_LIBRARY: NextCommand = ("stackroom init", "build the sample catalogues and get the embedding models (110 MB)")
ADD: NextCommand = ("stackroom add FILE", "build a catalogue from a table or a folder of documents")
CONNECT: NextCommand = ("stackroom install CLIENT", "let an assistant ask it: claude-desktop, claude-code, cursor …")
DOCTOR: NextCommand = ("stackroom doctor", "check the library, and say what to do")
SEARCH: NextCommand = ("stackroom search 'WORDS'", "search everything in it")


def greet() -> None:
    """Greet, say what is in the library or offer to make one, and show three commands to go on with."""
    app = open_app()
    click.echo(f"Stackroom {__version__}: catalogues for AI assistants, on your machine.")
    names = [one.name for one in app.library.list_installed()]
    problems = describe_problems(app.library)
    if not names and not problems:
        click.echo(f"There is no library yet; it will be in {app.settings.home} (STACKROOM_HOME names another folder).")
        if not _is_wanted():
            _show_next(MAKE_LIBRARY, ADD, CONNECT)
            return
        set_up(app)
        names = [one.name for one in app.library.list_installed()]
    click.echo(f"The library in {app.settings.home} has {_described(app, names)}.")
    for name, problem in problems.items():
        click.echo(f"'{name}' {problem}")
    _show_next(SEARCH if names else DOCTOR, ADD, CONNECT)


def _is_wanted() -> bool:
    """Ask on a terminal whether to make a library now."""
    is_asked = sys.stdin is not None and sys.stdin.isatty()
    return is_asked and click.confirm(
        "Make it now, with the sample catalogues (110 MB of models, some minutes)?", default=True
    )


def _described(app: App, names: Sequence[str]) -> str:
    if not names:
        return "no catalogue that can be searched"
    several = f"{len(names)} catalogues" if len(names) > 1 else "1 catalogue"
    shown = ", ".join(f"{name} ({_records(app, name)})" for name in names[:SHOWN])
    return f"{several}: {shown}{', …' if len(names) > SHOWN else ''}"


def _records(app: App, name: str) -> str:
    if app.find_problem(name):
        return "cannot be opened; run: stackroom doctor"
    return f"{app.open_catalogue(name).shelf.reader().count(WHOLE):,} records"


def _show_next(*commands: NextCommand) -> None:
    click.echo("\nNext:")
    width = max(len(command) for command, _ in commands)
    for command, meaning in commands:
        click.echo(f"  {command:{width}}  {meaning}")
    click.echo("All commands: stackroom --help")
