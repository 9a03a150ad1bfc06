"""Where a record's text comes from: the file and the place in it, as the ledger of its catalogue has them."""

from collections.abc import Iterable
from typing import Annotated

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from stackroom.ingest.ledger import find_places
from stackroom.library import LEDGER_FILE
from stackroom.model.record import Record, RecordId
from stackroom.sources.location import shown_name
from stackroom.tools.catalogue import OpenCatalogue
from stackroom.tools.spec import ToolResult

FIRST_LINE, LAST_LINE = "first_line", "last_line"
"""The fields of a passage that say which lines of its file it has."""


class FromFile(ToolResult):
    """A part of an answer that says which file and place its text is from, where that is known; not in the schema."""

    origin: Annotated[str | None, SkipJsonSchema()] = Field(default=None, exclude_if=lambda origin: origin is None)


def list_places(catalogue: OpenCatalogue, records: Iterable[Record]) -> dict[RecordId, str]:
    """Return the file and place of each of these records that came from a source."""
    if catalogue.folder is None:
        return {}
    by_id = {record.id: record for record in records}
    found = find_places(catalogue.folder / LEDGER_FILE, by_id)
    return {one: _place(source, row, by_id[one]) for one, (source, row) in found.items()}


def find_place(catalogue: OpenCatalogue, record: Record) -> str | None:
    """Return the file and place of a record; None where they are not known."""
    return list_places(catalogue, [record]).get(record.id)


def _place(source: str, row: str, record: Record) -> str:
    """Return a place as `films.csv, line 12`; of the source the name alone."""
    name = shown_name(source)
    first, last = record.get(FIRST_LINE), record.get(LAST_LINE)
    lines = f"lines {first}-{last}" if isinstance(first, int) and isinstance(last, int) else ""
    return ", ".join(part for part in (name if name != row else "", row, lines) if part)
