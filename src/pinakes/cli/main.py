"""The `pinakes` command. A command's module is loaded when it is called."""

import gc
import importlib
import os
import sys
from typing import Any

import click

from pinakes import __version__
from pinakes.cli.safe_streams import install_safe_streams
from pinakes.errors import ExpectedError, InterruptedByUser, did_you_mean

# Queries multiply small matrices: a second BLAS thread costs more than it saves. Must be set before numpy is loaded.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

COMMANDS = {
    "init": ("pinakes.cli.build", "Set up a library: sample catalogues and the model, or a catalogue from a release."),
    "add": ("pinakes.cli.add", "Build a catalogue from a file, or update it."),
    "new": ("pinakes.cli.new", "Write a catalogue package to start from."),
    "spec": ("pinakes.cli.spec", "Make, check and show the specs of catalogues."),
    "watch": ("pinakes.cli.watch", "Update a catalogue whenever its folder or file changes."),
    "publish": ("pinakes.cli.publish", "Write a catalogue to a LanceDB table, in a folder or a bucket."),
    "pack": ("pinakes.cli.pack", "Build, check and compare packs: catalogues as files to ship."),
    "sync": ("pinakes.cli.sync", "Bring the library up to the collections of a LanceDB database."),
    "collections": ("pinakes.cli.sync", "List the collections of the database that the settings name."),
    "update": ("pinakes.cli.releases", "Update catalogues that were installed from a place to its newest release."),
    "rollback": ("pinakes.cli.releases", "Go back to the release that was installed before."),
    "rejects": ("pinakes.cli.build", "List the rows that were left out of a catalogue, and why."),
    "list": ("pinakes.cli.ask", "List the catalogues in the library."),
    "search": ("pinakes.cli.ask", "Search a catalogue, or all of them."),
    "explain": ("pinakes.cli.explain", "Say why a search finds what it finds, and why not a record."),
    "recommend": ("pinakes.cli.ask", "Recommend records that are like the given titles."),
    "get": ("pinakes.cli.ask", "Show one record, by id or title."),
    "browse": ("pinakes.cli.browse", "Show the values of a field, or count and sum records."),
    "serve": ("pinakes.cli.connect", "Serve catalogues to an assistant, over stdio."),
    "install": ("pinakes.cli.install", "Connect an assistant: write its configuration, or remove it."),
    "user": ("pinakes.cli.user", "Add, change and list accounts."),
    "token": ("pinakes.cli.token", "Create, list and revoke tokens for programs."),
    "role": ("pinakes.cli.role", "Add, change, list and delete roles: named sets of permissions."),
    "access": ("pinakes.cli.access", "Restrict catalogues to selected users and roles."),
    "job": ("pinakes.cli.job", "Show, run and schedule background jobs."),
    "audit": ("pinakes.cli.audit", "Show and verify the audit log."),
    "tour": ("pinakes.cli.tour", "Set up a library, and show a few searches and a recommendation."),
    "model": ("pinakes.cli.model", "Get, list and check embedding models."),
    "doctor": ("pinakes.cli.doctor", "Check the library, and say how to repair it."),
    "map": ("pinakes.cli.map", "Lay out the records of catalogues on maps, similar ones near each other."),
    "eval": ("pinakes.cli.measure", "Grade a catalogue by its own questions, or search on a BEIR folder."),
    "bench": ("pinakes.cli.measure", "Measure latency, start and memory on a catalogue."),
}
"""Command → its module, and one line of help."""


PACKAGE_COMMANDS = "pinakes.cli.package_commands"
OPENING = "pinakes.cli.opening"
GREETING = "pinakes.cli.greeting"
"""These load the catalogue packages: for the list of commands, for a command that is not in the table, and for none."""


class Commands(click.Group):
    """Loads a command's module when it is called."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """Return the commands in the order of the table, and after them those of catalogue packages."""
        return [*COMMANDS, *importlib.import_module(PACKAGE_COMMANDS).list_summaries()]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Load a command."""
        gc.disable()  # modules are not garbage: collecting takes a tenth of the time they take to load
        module = importlib.import_module(COMMANDS[name][0] if name in COMMANDS else PACKAGE_COMMANDS)
        gc.freeze()
        gc.enable()
        command: click.Command | None
        if name in COMMANDS:
            command = getattr(module, f"{name}_command")
            return command
        command = module.find_command(name)
        if command is None:
            ctx.fail(f"no command '{name}'{did_you_mean(name, self.list_commands(ctx))}")
        ctx.obj = importlib.import_module(OPENING).open_app
        return command

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands; their modules are not loaded."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])
        brought = importlib.import_module(PACKAGE_COMMANDS).list_summaries()
        if brought:
            with formatter.section("Commands of catalogue packages"):
                formatter.write_dl(list(brought.items()))


@click.group(cls=Commands, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="pinakes")
@click.pass_context
def cli(context: click.Context) -> None:
    """Catalogue servers for AI assistants.

    The library is in PINAKES_HOME, or in the platform's data folder. Without a command, Pinakes says what is in it, or
    offers to make one.
    """
    if context.invoked_subcommand is None:
        importlib.import_module(GREETING).greet()


def main(arguments: list[str] | None = None) -> Any:
    """Run a command; an expected error is one line on standard error and an exit code of its own."""
    install_safe_streams()
    os.umask(umask := os.umask(0o077))
    try:
        return cli.main(args=arguments, prog_name="pinakes", standalone_mode=False)
    except (click.exceptions.Abort, KeyboardInterrupt):
        _fail(InterruptedByUser("stopped; everything finished so far is kept"))
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except ExpectedError as error:
        _fail(error)
    finally:
        if arguments is not None:  # called within a process that goes on
            gc.unfreeze()
            os.umask(umask)


def _fail(error: ExpectedError) -> None:
    print(f"pinakes: {error.full_message}", file=sys.stderr)
    sys.exit(error.exit_code)
