"""What an admin tool is asked about: one of several things, in one of several catalogues."""

from collections.abc import Sequence
from enum import StrEnum

from pydantic import WithJsonSchema

from pinakes.errors import InputError, NotFoundError, did_you_mean
from pinakes.model.principal import Principal
from pinakes.tools.catalogue import OpenCatalogue


def one_of(choices: type[StrEnum]) -> WithJsonSchema:
    """Return the schema of an argument that is one of these words, and no more than that."""
    return WithJsonSchema({"type": "string", "enum": [str(choice) for choice in choices]})


def visible_catalogues(catalogues: Sequence[OpenCatalogue], principal: Principal) -> list[OpenCatalogue]:
    """Return those that the caller sees."""
    return [catalogue for catalogue in catalogues if principal.sight.sees_catalogue(catalogue.name)]


def choose_catalogue(catalogues: Sequence[OpenCatalogue], principal: Principal, name: str | None) -> OpenCatalogue:
    """Return the named one; without a name the only one there is."""
    visible = {catalogue.name: catalogue for catalogue in visible_catalogues(catalogues, principal)}
    known = list(visible)
    if name is not None and name not in visible:
        raise NotFoundError(f"no catalogue '{name[:80]}'{did_you_mean(name[:80], known)}; there are {', '.join(known)}")
    if name is None and len(visible) != 1:
        raise InputError(f"'catalogue' is missing; there are {', '.join(known)}")
    return visible[name] if name is not None else visible[known[0]]
