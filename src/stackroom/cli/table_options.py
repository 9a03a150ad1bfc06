"""Options about tables: how their rows are read, and what becomes of their columns."""

from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import partial, wraps
from typing import Any

import click

from stackroom.catalogue.infer.declare import NONE, Choices
from stackroom.catalogue.spec import FieldRole, FieldType
from stackroom.errors import InputError, did_you_mean
from stackroom.sources.location import ReadOptions
from stackroom.toml_text import load_packaged

TYPES = [kind.value for kind in FieldType if kind is not FieldType.ENUM]
ROLES = [role.value for role in FieldRole]

Command = Callable[..., None]


def _reading(
    choice: str, known: Sequence[str], convert: Callable[[str], Any]
) -> Callable[..., dict[str, Any]]:
    """Return the callback of an option COLUMN=CHOICE, which refuses what is not known."""

    def read(
        _context: click.Context, _option: click.Parameter, stated: Sequence[str]
    ) -> dict[str, Any]:
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
                raise InputError(
                    f"{choice}: no {choice} '{value[:40]}'{hint}; there are {', '.join(known)}"
                )
            chosen[column.strip()] = convert(name)
        return chosen

    return read


SETTINGS: dict[str, dict[str, Any]] = {
    "types": {
        "callback": _reading("type", TYPES, FieldType),
        "help": f"The type of a column: {', '.join(TYPES)}.",
    },
    "roles": {
        "callback": _reading(
            "role", [*ROLES, NONE], lambda name: None if name == NONE else FieldRole(name)
        ),
        "help": f"The role of a column: {', '.join(ROLES)}, none.",
    },
    "drop": {"callback": lambda _context, _option, stated: frozenset(stated)},
    "keep": {"callback": lambda _context, _option, stated: frozenset(stated)},
    "skip": {"type": int},
    "header_rows": {"type": int},
    "pairs": {"flag_value": False, "default": None},
    "join": {"callback": lambda _context, _option, files: files or None},
}
"""What a file cannot say of an option, by its field."""


def _with_options(kind: type[Choices | ReadOptions], name: str, command: Command) -> Command:
    """Give a command options that are named as the fields of a dataclass, which it takes as one
    argument.
    """
    names = [field.name for field in fields(kind)]

    @wraps(command)
    def run(*arguments: Any, **given: Any) -> None:
        stated = {option: given.pop(option) for option in names}
        command(*arguments, **{name: kind(**stated)}, **given)

    for field, told in reversed(load_packaged("stackroom.cli", "table_options.toml")[name].items()):
        run = click.option(*told.pop("flags"), field, **told, **SETTINGS.get(field, {}))(run)
    return run


choice_options = partial(_with_options, Choices, "choices")
read_options = partial(_with_options, ReadOptions, "options")
