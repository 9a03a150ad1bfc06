"""Commands as sources: run for the owner of a library at the command line, and by jobs where the settings allow it.

A command has the rights of the process that runs it, so no tool, endpoint or client can name one. A job reads the names
of sources from the library's folder; there a catalogue that was copied from elsewhere may have brought one along, which
is why `sources.commands` is false unless the owner sets it.
"""

from pinakes.errors import InputError
from pinakes.settings import Settings
from pinakes.sources.command_rows import Command, CommandRows
from pinakes.sources.location import COMMAND_PREFIX, SourceLocation
from pinakes.sources.options import ReadOptions


def is_command(location: str) -> bool:
    """Tell whether a location is a command."""
    return location.startswith(COMMAND_PREFIX)


def open_command(location: str, options: ReadOptions, settings: Settings, *, is_owner: bool) -> CommandRows:
    """Return the rows that a command prints; it is run when the first one is read."""
    if not is_owner and not settings.sources.commands:
        raise InputError(
            f"{location}: a job may not run commands; to allow it, set commands = true in [sources] of pinakes.toml"
        )
    place = SourceLocation.parse(location)
    return CommandRows(Command.parse(place.location), options.over(place.options))
