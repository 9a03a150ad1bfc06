"""The commands that catalogue packages bring. Looking for them loads the packages."""

import click

from pinakes.api.package import load_target
from pinakes.api.registry import PACKAGES


def list_summaries() -> dict[str, str]:
    """Return the commands of all packages, each with its one line of help."""
    return {name: command[1] for package in PACKAGES.iter_packages() for name, command in package.commands.items()}


def find_command(name: str) -> click.Command | None:
    """Load the command of this name."""
    for package in PACKAGES.iter_packages():
        if name in package.commands:
            command: click.Command = load_target(package.commands[name][0])
            return command
    return None
