"""The `stackroom` command. A command's module is loaded when it is called."""

import gc
import importlib
import os
import sys
from importlib.metadata import EntryPoint, entry_points, metadata
from typing import Any

import click

from stackroom import LAYOUTS, __version__
from stackroom.errors import ExpectedError, InterruptedByUser, did_you_mean
from stackroom.text.safe import install_safe_streams
from stackroom.toml_text import load_packaged

# Queries multiply small matrices: a second BLAS thread costs more than it saves. Must be set before
# numpy is loaded.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

COMMANDS = load_packaged("stackroom.cli", "commands.toml")


PACKAGE_COMMANDS = "stackroom.commands"
"""The entry point group in which packages name their commands, as `module:attribute` of a click
command.
"""
OPENING = "stackroom.cli.opening"
DERIVING = "stackroom.cli.ask"
# these load the catalogue packages: for a command that a package brings, and for none
GREETING = "stackroom.cli.build"


def find_package_commands() -> dict[str, EntryPoint]:
    """Return the commands of installed packages by name; nothing of them is loaded."""
    return {found.name: found for found in entry_points(group=PACKAGE_COMMANDS)}


class Commands(click.Group):
    """Loads a command's module when it is called."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """Return the commands in the order of the table, and after them those of catalogue
        packages.
        """
        return [*COMMANDS, *find_package_commands()]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Load a command."""
        # modules are not garbage: collecting takes a tenth of the time they take to load
        gc.disable()
        command: click.Command | None
        if name in COMMANDS:
            command = getattr(importlib.import_module(COMMANDS[name][0]), f"{name}_command")
        elif (brought := find_package_commands().get(name)) is not None:
            command, ctx.obj = brought.load(), importlib.import_module(OPENING).open_app
        else:
            command = importlib.import_module(DERIVING).find_derived(name)
        gc.freeze()
        gc.enable()
        if command is None:
            ctx.fail(f"no command '{name}'{did_you_mean(name, self.list_commands(ctx))}")
        return command

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands; their modules are not loaded."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])
        if brought := find_package_commands():
            with formatter.section("Commands of catalogue packages"):
                formatter.write_dl(
                    [
                        (name, f"From {one.module.rpartition('.')[0]}.")
                        for name, one in brought.items()
                    ]
                )

    def format_epilog(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write where the documentation is: with the server, and at the address that the wheel
        states, if any.
        """
        stated = dict(
            address.split(", ", 1) for address in metadata("stackroom").get_all("Project-URL") or ()
        )
        with formatter.section("Documentation"):
            formatter.write_text(
                "; ".join(filter(None, (DOCUMENTATION, stated.get("Documentation"))))
            )


DOCUMENTATION = (
    "http://127.0.0.1:8080/docs while stackroom serve --http runs, for this version and without a"
    " network"
)
WRITTEN = "writes " + ", ".join(f"{what} of layout {number}" for what, number in LAYOUTS.items())


@click.group(
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(f"{__version__} ({WRITTEN})", prog_name="stackroom")
@click.pass_context
def cli(context: click.Context) -> None:
    """Catalogue servers for AI assistants.

    The library is in STACKROOM_HOME, or in the platform's data folder. Without a command, Stackroom
    says what is in it, or offers to make one.
    """
    if context.invoked_subcommand is None:
        importlib.import_module(GREETING).greet()


def main(arguments: list[str] | None = None) -> Any:
    """Run a command; an expected error is one line on standard error and an exit code of its
    own.
    """
    install_safe_streams()
    os.umask(umask := os.umask(0o077))
    try:
        return cli.main(args=arguments, prog_name="stackroom", standalone_mode=False)
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
    print(f"stackroom: {error.full_message}", file=sys.stderr)
    sys.exit(error.exit_code)
