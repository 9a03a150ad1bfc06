"""Options about tables: how their rows are read, and what becomes of their columns."""

import functools
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

import click

from stackroom.catalogue.infer.choices import NONE, Choices
from stackroom.catalogue.spec import FieldRole, FieldType
from stackroom.errors import InputError, did_you_mean
from stackroom.sources.location import ReadOptions

TYPES = [kind.value for kind in FieldType if kind is not FieldType.ENUM]
ROLES = [role.value for role in FieldRole]

CHOICE_OPTIONS = (
    click.option("--title", metavar="COLUMN", help='What names a record: a column, or a template: "{from} – {to}".'),
    click.option("--id", "id_column", metavar="COLUMN", help="What identifies a row; none: ids are made of the rows."),
    click.option("--body", metavar="COLUMN", help="The main text; none: there is none."),
    click.option(
        "--type", "types", multiple=True, metavar="COLUMN=TYPE", help=f"The type of a column: {', '.join(TYPES)}."
    ),
    click.option(
        "--role", "roles", multiple=True, metavar="COLUMN=ROLE", help=f"The role of a column: {', '.join(ROLES)}, none."
    ),
    click.option("--drop", multiple=True, metavar="COLUMN", help="A column to leave out."),
    click.option("--keep", multiple=True, metavar="COLUMN", help="A column to keep that would be left out."),
    click.option("--group", metavar="COLUMN", help="What the rows of one record have in common; they become one."),
)


def choice_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `Choices`, as its argument `choices`."""

    @functools.wraps(command)
    def run(
        *args: Any,
        title: str | None,
        id_column: str | None,
        body: str | None,
        types: tuple[str, ...],
        roles: tuple[str, ...],
        drop: tuple[str, ...],
        keep: tuple[str, ...],
        group: str | None,
        **others: Any,
    ) -> None:
        choices = Choices(
            title=title,
            id=id_column,
            body=body,
            types=dict(_type_of(one) for one in types),
            roles=dict(_role_of(role) for role in roles),
            drop=frozenset(drop),
            keep=frozenset(keep),
            group=group,
        )
        command(*args, choices=choices, **others)

    return functools.reduce(lambda made, option: option(made), reversed(CHOICE_OPTIONS), run)


def read_type(stated: str) -> FieldType:
    """Return the type of this name."""
    return FieldType(_one_of("type", stated, TYPES))


def read_role(stated: str) -> FieldRole | None:
    """Return the role of this name; None for `none`."""
    role = _one_of("role", stated, [*ROLES, NONE])
    return None if role == NONE else FieldRole(role)


def _one_of(choice: str, stated: str, known: Iterable[str]) -> str:
    name = stated.strip().lower()
    names = list(known)
    if name not in names:
        raise InputError(
            f"{choice}: no {choice} '{stated[:40]}'{did_you_mean(name, names)}; there are {', '.join(names)}"
        )
    return name


def _type_of(option: str) -> tuple[str, FieldType]:
    column, kind = _pair("type", option)
    return column, read_type(kind)


def _role_of(option: str) -> tuple[str, FieldRole | None]:
    column, role = _pair("role", option)
    return column, read_role(role)


def _pair(choice: str, option: str) -> tuple[str, str]:
    column, mark, value = option.rpartition("=")
    if not mark or not column.strip() or not value.strip():
        raise InputError(
            f"--{choice}: '{option[:80]}' is not COLUMN={choice.upper()}; write the column, '=' and its {choice}"
        )
    return column.strip(), value


READ_OPTIONS = (
    click.option("--table", help="The table of a database; by default the main one of an SQLite file."),
    click.option("--query", help="A SELECT statement for the rows of an SQLite file."),
    click.option("--sheet", help="The sheet of a spreadsheet; by default its main one."),
    click.option("--skip", type=int, metavar="LINES", help="The number of lines above the header."),
    click.option("--header-rows", type=int, metavar="LINES", help="The number of lines of the header; 0 for none."),
    click.option("--records", metavar="PATH", help="The list of records in a JSON file, such as data.items."),
)


def read_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command, which takes them as `options`."""

    @wraps(command)
    def with_options(
        *arguments: Any,
        table: str | None,
        query: str | None,
        sheet: str | None,
        skip: int | None,
        header_rows: int | None,
        records: str | None,
        **others: Any,
    ) -> Any:
        options = ReadOptions(
            table=table,
            query=query,
            sheet=sheet,
            skip=skip,
            header_rows=header_rows,
            records=records,
        )
        return command(*arguments, options=options, **others)

    for option in reversed(READ_OPTIONS):
        with_options = option(with_options)
    return with_options
