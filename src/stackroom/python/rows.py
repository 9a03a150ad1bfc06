"""Tables that are in memory as the rows of a source: DataFrames, Arrow tables, and dictionaries."""

import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from stackroom.errors import InputError
from stackroom.packages import load_target
from stackroom.sources.columns import plain_value
from stackroom.sources.port import RowSource, SourceRow

ARROW_TABLE = "arro3.core:Table"
MISSING = ("NaTType", "NAType")
"""The classes of what pandas has for a missing date or value."""


class GivenRows(RowSource):
    """Implements `RowSource` for rows that a program gives; given again, they take the place of the former ones."""

    def __init__(self, name: str, rows: list[Mapping[str, Any]]) -> None:
        self._name = name
        self._rows = rows

    @property
    def name(self) -> str:
        """The catalogue's name, marked as no file."""
        return f"python:{self._name}"

    def count_rows(self) -> int:
        """Return the number of rows."""
        return len(self._rows)

    def iter_rows(self, *, start: int = 0) -> Iterator[SourceRow]:
        """Yield the rows."""
        for number, row in islice(enumerate(self._rows, 1), start, None):
            yield SourceRow(place=f"row {number}", values={str(name): _plain(cell) for name, cell in row.items()})


def rows_of(table: Any) -> list[Mapping[str, Any]]:
    """Return the rows of a DataFrame, of an Arrow table, or of an iterable of dictionaries."""
    if hasattr(table, "to_dicts"):  # polars
        rows = table.to_dicts()
    elif hasattr(table, "to_dict"):  # pandas
        rows = table.to_dict(orient="records")
    elif hasattr(table, "__arrow_c_stream__"):
        columns = load_target(ARROW_TABLE)(table)
        named = {name: columns[name].to_pylist() for name in columns.column_names}
        rows = [dict(zip(named, cells, strict=True)) for cells in zip(*named.values(), strict=True)]
    else:
        rows = list(table) if isinstance(table, Iterable) else None
    if not rows or not all(isinstance(row, Mapping) for row in rows):
        kind = type(table).__name__
        raise InputError(f"a table is a path, a DataFrame, an Arrow table or dictionaries with values; given: {kind}")
    return list(rows)


def _plain(cell: Any) -> Any:
    """Return a cell without what only a DataFrame has: NaN, and scalars of numpy."""
    cell = cell.item() if hasattr(cell, "item") and not hasattr(cell, "__len__") else cell
    is_number = not isinstance(cell, float) or math.isfinite(cell)
    return plain_value(cell) if is_number and type(cell).__name__ not in MISSING else None
