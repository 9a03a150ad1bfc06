"""Options about tables: how their rows are read, and what becomes of their columns."""

from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import partial, reduce, wraps
from typing import Any

import click

from stackroom.catalogue.infer.declare import NONE, Choices
from stackroom.catalogue.spec import FieldRole, FieldType
from stackroom.errors import InputError, did_you_mean
from stackroom.sources.location import ReadOptions

TYPES = [kind.value for kind in FieldType if kind is not FieldType.ENUM]
ROLES = [role.value for role in FieldRole]

Command = Callable[..., None]


def _reading(choice: str, known: Sequence[str], convert: Callable[[str], Any]) -> Callable[..., dict[str, Any]]:
    """Return the callback of an option COLUMN=CHOICE, which refuses what is not known."""

    def read(_context: click.Context, _option: click.Parameter, stated: Sequence[str]) -> dict[str, Any]:
        chosen = {}
        for option in stated:
            column, _, value = option.rpartition("=")
            name = value.strip().lower()
            if not column.strip() or not name:
                raise InputError(
                    f"--{choice}: '{option[:80]}' is not COLUMN={choice.upper()}; "
                    f"write the column, '=' and its {choice}"
                )
            if name not in known:
                hint = did_you_mean(name, list(known))
                raise InputError(f"{choice}: no {choice} '{value[:40]}'{hint}; there are {', '.join(known)}")
            chosen[column.strip()] = convert(name)
        return chosen

    return read


def _as_set(_context: click.Context, _option: click.Parameter, stated: Sequence[str]) -> frozenset[str]:
    return frozenset(stated)


CHOICE_OPTIONS = (
    click.option("--title", metavar="COLUMN", help='What names a record: a column, or a template: "{from} – {to}".'),
    click.option("--id", metavar="COLUMN", help="What identifies a row; none: ids are made of the rows."),
    click.option("--body", metavar="COLUMN", help="The main text; none: there is none."),
    click.option(
        "--type",
        "types",
        multiple=True,
        metavar="COLUMN=TYPE",
        callback=_reading("type", TYPES, FieldType),
        help=f"The type of a column: {', '.join(TYPES)}.",
    ),
    click.option(
        "--role",
        "roles",
        multiple=True,
        metavar="COLUMN=ROLE",
        callback=_reading("role", [*ROLES, NONE], lambda name: None if name == NONE else FieldRole(name)),
        help=f"The role of a column: {', '.join(ROLES)}, none.",
    ),
    click.option("--drop", multiple=True, metavar="COLUMN", callback=_as_set, help="A column to leave out."),
    click.option(
        "--keep", multiple=True, metavar="COLUMN", callback=_as_set, help="A column to keep that would be left out."
    ),
    click.option("--group", metavar="COLUMN", help="What the rows of one record have in common; they become one."),
)
READ_OPTIONS = (
    click.option(
        "--table",
        "--sheet",
        help="The table of an SQLite file, or the sheet of a spreadsheet; by default its main one.",
    ),
    click.option("--query", help="A SELECT statement for the rows of an SQLite file."),
    click.option("--skip", type=int, metavar="LINES", help="The number of lines above the header."),
    click.option("--header-rows", type=int, metavar="LINES", help="The number of lines of the header; 0 for none."),
    click.option("--encoding", metavar="NAME", help="The encoding of a text file, such as cp1251; by default found."),
    click.option("--no-pairs", "pairs", flag_value=False, default=None, help="Read rows of attributes as they are."),
    click.option("--records", metavar="PATH", help="The list of records in a JSON file, such as data.items."),
    click.option(
        "--join",
        multiple=True,
        metavar="FILE",
        callback=lambda _context, _option, files: files or None,
        help="A file with a table that belongs to this one: names and sums of its rows are joined by keys.",
    ),
)


def _with_options(options: Sequence[Any], kind: type[Choices | ReadOptions], name: str, command: Command) -> Command:
    """Give a command options that are named as the fields of a dataclass, which it takes as one argument."""
    names = [field.name for field in fields(kind)]

    @wraps(command)
    def run(*arguments: Any, **given: Any) -> None:
        stated = {option: given.pop(option) for option in names}
        command(*arguments, **{name: kind(**stated)}, **given)

    return reduce(lambda made, option: option(made), reversed(options), run)


choice_options = partial(_with_options, CHOICE_OPTIONS, Choices, "choices")
read_options = partial(_with_options, READ_OPTIONS, ReadOptions, "options")
