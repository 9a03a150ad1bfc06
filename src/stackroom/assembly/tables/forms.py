"""The forms in which an uploaded table, its proposal and the changes to it are sent and answered."""

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from stackroom.catalogue.infer.choices import NONE, Choices
from stackroom.catalogue.spec import FieldType, Role
from stackroom.library import NAME
from stackroom.sources.location import MOST_LINES, ReadOptions
from stackroom.tools.endpoint import BodyParams, EndpointResult, QueryParams

MOST_COLUMNS = 2_000
LONGEST_NAME = 500
"""The longest name of a column, and template of columns, that is taken."""
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


class ReadingChoice(BodyParams):
    """The table of a file that has several, and the layout of its head; left out: found in the file."""

    table: str | None = Field(default=None, max_length=LONGEST_NAME, description="a table, or the sheet of a workbook")
    skip: int | None = Field(default=None, ge=0, le=MOST_LINES, description="lines above the heading")
    header_rows: int | None = Field(default=None, ge=0, le=MOST_LINES, description="lines of the heading; 0: none")
    records: str | None = Field(default=None, max_length=LONGEST_NAME, description="the list in a JSON document")

    def options(self) -> ReadOptions:
        """Return the options of the reader."""
        return ReadOptions(table=self.table, skip=self.skip, header_rows=self.header_rows, records=self.records)


class ColumnChoice(BodyParams):
    """Decisions about one column; left out: as it is inferred."""

    type: FieldType | None = None
    role: Role | Literal["none"] | None = None
    use: Literal["keep", "drop"] | None = Field(default=None, description="keep it, or leave it out")


class ProposalBody(BodyParams):
    """All changes to what is inferred; a change that is not in it is taken back."""

    name: str | None = Field(default=None, pattern=f"^{NAME.pattern}$", description="the catalogue's name")
    title: str | None = Field(default=None, max_length=100, description="the catalogue's title, for people")
    record_title: str | None = Field(default=None, max_length=LONGEST_NAME, description="a column, or {a} – {b}")
    id: str | None = Field(default=None, max_length=LONGEST_NAME, description="a column; none: made of the row")
    body: str | None = Field(default=None, max_length=LONGEST_NAME, description="the main text: a column, or none")
    group: str | None = Field(default=None, max_length=LONGEST_NAME, description="what the rows of a record share")
    columns: dict[str, ColumnChoice] = Field(default_factory=dict, max_length=MOST_COLUMNS)
    reading: ReadingChoice = ReadingChoice()

    def choices(self) -> Choices:
        """Return the decisions about columns as inference takes them."""
        columns = self.columns
        return Choices(
            id=self.id,
            title=self.record_title,
            body=self.body,
            group=self.group,
            types={name: one.type for name, one in columns.items() if one.type is not None},
            roles={name: _role(one.role) for name, one in columns.items() if one.role is not None},
            drop=frozenset(name for name, one in columns.items() if one.use == "drop"),
            keep=frozenset(name for name, one in columns.items() if one.use == "keep"),
        )


def _role(stated: str) -> Role | None:
    return None if stated == NONE else Role(stated)


class BuildBody(BodyParams):
    """The choices for a build."""

    embed: bool = Field(default=True, description="whether it is found by meaning too, which takes longer")


class TableState(StrEnum):
    """The stages of an uploaded table."""

    RECEIVING = "receiving"
    READING = "reading"
    PROPOSED = "proposed"
    BUILDING = "building"
    BUILT = "built"
    FAILED = "failed"


class BuildProgress(EndpointResult):
    """The progress of a build: rows that are read, then texts that are embedded."""

    phase: Literal["rows", "texts"] = "rows"
    done: int = 0
    total: int | None = None
    is_searchable: bool = False
    """Whether its records can be searched by words already."""


class TableResult(EndpointResult):
    """An uploaded table, and what became of it."""

    id: str
    file: str
    size_bytes: int
    received: int
    state: TableState
    problem: str | None
    """Why it cannot be read or built, and what would be right."""
    catalogue: str | None
    """The name of the catalogue that is built of it."""
    progress: BuildProgress | None
    report: list[str]
    """Sentences about a build that has ended."""


class TablesResult(EndpointResult):
    """The limits of an upload, and the tables of the caller."""

    max_bytes: int
    piece_bytes: int
    suffixes: list[str]
    tables: list[TableResult]


class ColumnResult(EndpointResult):
    """A column of the table, and what is proposed for it."""

    column: str
    field: str | None
    """None where it has no field of its own."""
    type: str | None
    role: str | None
    uses: str
    reason: str
    examples: list[str]
    filled: float


class ProposalResult(EndpointResult):
    """A proposed catalogue: what becomes of each column, and the first records."""

    name: str
    title: str
    rows: int
    is_sample: bool
    record_title: str
    id: str | None
    body: str | None
    group: str | None
    columns: list[ColumnResult]
    composed: list[ColumnResult]
    """Fields that are made of several columns."""
    tables: list[str]
    """The other tables of the file."""
    notes: list[str]
    results: list[dict[str, Any]]
    declaration: str
    types: list[str]
    roles: list[str]
    changes: ProposalBody
