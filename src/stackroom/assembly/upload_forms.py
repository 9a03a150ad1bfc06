"""What the endpoints of uploaded tables take and answer."""

from enum import StrEnum
from typing import Annotated

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from stackroom.tools.endpoint import BodyParams, EndpointResult, QueryParams

MOST_DIGITS = 15
"""The most digits of a place in a file."""


def _require_digits(value: object) -> object:
    if isinstance(value, str) and not (value.isascii() and value.isdecimal() and len(value) <= MOST_DIGITS):
        raise PydanticCustomError("whole_number", "must be a whole number of at most 15 digits")
    return value


class BeginBody(BodyParams):
    """A table that is going to be sent."""

    file: str = Field(min_length=1, max_length=255, description="the name of the file, with its suffix")
    size_bytes: int = Field(ge=0, description="the size of the file")


class PieceParams(QueryParams):
    """The place of a piece of the file."""

    offset: Annotated[int, BeforeValidator(_require_digits)] = Field(
        ge=0, description="how many bytes of the file come before it"
    )


class TableState(StrEnum):
    """The stages of an uploaded table."""

    RECEIVING = "receiving"
    BUILDING = "building"
    BUILT = "built"
    FAILED = "failed"


class TableResult(EndpointResult):
    """An uploaded table, and what became of it."""

    id: str
    file: str
    size_bytes: int
    received: int
    state: TableState
    problem: str | None
    """Why it cannot be built, and what would be right."""
    catalogue: str
    """The name of the catalogue that is built of it."""
    is_searchable: bool
    """Whether its records can be searched by words already."""
    report: list[str]
    """Sentences about a build that has ended."""


class TablesResult(EndpointResult):
    """The limits of an upload, and the tables of the caller."""

    max_bytes: int
    piece_bytes: int
    suffixes: list[str]
    tables: list[TableResult]
