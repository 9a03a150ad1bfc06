"""What the admin tools share: how they are asked for one of several things, and how their rows read in a text."""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeVar

from pydantic import WithJsonSchema

from pinakes.errors import InputError, NotFoundError, did_you_mean
from pinakes.model.principal import Principal
from pinakes.tools.catalogue import OpenCatalogue

LARGEST = 10**9
"""What an id or an offset can be; every database counts so far."""

TEXT_CHARS = 16_000
"""How long the rows of a text may be together: enough for a page as it is usually asked for."""

ValueT = TypeVar("ValueT")


def one_of(choices: type[StrEnum]) -> WithJsonSchema:
    """Return the schema of an argument that is one of these words, and no more than that."""
    return WithJsonSchema({"type": "string", "enum": [str(choice) for choice in choices]})


def require_argument(name: str, value: ValueT | None, purpose: str) -> ValueT:
    """Return an argument that one of the things that a tool can do needs; refuse where it is missing."""
    if value is None:
        raise InputError(f"'{name}' is missing, which '{purpose}' needs")
    return value


def visible_catalogues(catalogues: Sequence[OpenCatalogue], principal: Principal) -> list[OpenCatalogue]:
    """Return those that the caller sees."""
    return [catalogue for catalogue in catalogues if principal.visibility.sees_catalogue(catalogue.name)]


def choose_catalogue(catalogues: Sequence[OpenCatalogue], principal: Principal, name: str | None) -> OpenCatalogue:
    """Return the named one; without a name the only one there is."""
    visible = {catalogue.name: catalogue for catalogue in visible_catalogues(catalogues, principal)}
    known = list(visible)
    if name is not None and name not in visible:
        raise NotFoundError(f"no catalogue '{name[:80]}'{did_you_mean(name, known)}; there are {', '.join(known)}")
    if name is None and len(visible) != 1:
        raise InputError(f"'catalogue' is missing; there are {', '.join(known)}")
    return visible[name] if name is not None else visible[known[0]]


def row_line(row: Mapping[str, Any]) -> str:
    """Return a row as a line of a text."""
    return ", ".join(f"{name} {value}" for name, value in row.items())


def iter_bounded(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a page as far as a text has room for them, and say how many it leaves out."""
    room = TEXT_CHARS
    for number, line in enumerate(lines):
        room -= len(line) + 1
        if room < 0 and number:
            yield f"… {len(lines) - number} more of these rows are in the structured content; or ask for fewer at once"
            return
        yield line if len(line) < TEXT_CHARS else f"{line[:TEXT_CHARS]}…"


def rows_text(query_type: str, total: int, rows: Sequence[Mapping[str, Any]]) -> str:
    """Say what was asked for and how many rows it has, and list the page of them."""
    return "\n".join([f"{query_type}: {total} rows", *iter_bounded([row_line(row) for row in rows])])
