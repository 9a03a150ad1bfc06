"""The answers of the Python API: records, tables, changes and explanations, as values."""

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, overload

from stackroom.catalogue.spec import FieldType
from stackroom.errors import InputError
from stackroom.generic.export import Column, ExportedTable, Row, cell_of

SHOWN_ROWS = 20
SHOWN_CHARS = 80
ARROW = "stackroom.generic.export_files"


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A record: its id, kind and title, all of its values by field, and its place in an answer."""

    id: str
    catalogue: str
    kind: str
    title: str
    values: Mapping[str, Any]
    text: str = ""
    """The part of its text that answers the query best."""
    url: str = ""
    score: float | None = None
    relevance: str | None = None
    """How well it answers: IDENTICAL, HIGHLY_SIMILAR, SIMILAR, RELEVANT; None where it is only near, or was listed."""
    signals: Mapping[str, float] = field(default_factory=dict)
    """How much each signal speaks for it, of a recommendation."""

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of a field, or the default where the record has none."""
        return self.values.get(name, default)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows with the names and types of their columns."""

    columns: Sequence[Column]
    rows: Sequence[Row]

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return a dictionary for each row."""
        names = [column.name for column in self.columns]
        return [dict(zip(names, row, strict=True)) for row in self.rows]

    def to_arrow(self) -> Any:
        """Return an Arrow table, which pyarrow, polars, DuckDB and pandas take as it is."""
        return importlib.import_module(ARROW).to_arrow(ExportedTable(columns=self.columns, rows=iter(self.rows)))

    def to_pandas(self) -> Any:
        """Return a DataFrame of pandas, which has to be installed."""
        try:
            pandas = importlib.import_module("pandas")
        except ImportError as error:
            raise InputError("pandas is not installed; to_dicts() and to_arrow() need nothing") from error
        return pandas.DataFrame(self.rows, columns=[column.name for column in self.columns])

    def _repr_html_(self) -> str:
        """Return the first rows for a notebook."""
        head = "".join(f"<th>{escape(column.name)}</th>" for column in self.columns)
        lines = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in self.rows[:SHOWN_ROWS])
        more = len(self.rows) - SHOWN_ROWS
        return f"<table><tr>{head}</tr>{lines}</table>{f'<p>and {more:,} more</p>' if more > 0 else ''}"


def _cell(value: Any) -> str:
    text = "" if value is None else str(cell_of(value))
    return f"<td>{escape(text if len(text) <= SHOWN_CHARS else f'{text[:SHOWN_CHARS]}…')}</td>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Results(Table, Sequence[Record]):
    """Records in order, and as a table. `total` counts all that answer, or that have the filters."""

    records: Sequence[Record]
    total: int
    evidence: str | None = None
    """How well the best of them answer: strong, weak or none; None of a list."""
    understood: Sequence[str] = ()
    """The conditions that were read in the words of the query or of the wishes."""
    notes: Sequence[str] = ()

    @overload
    def __getitem__(self, place: int) -> Record: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Record]: ...
    def __getitem__(self, place: int | slice) -> Record | Sequence[Record]:
        return self.records[place]

    def __len__(self) -> int:
        return len(self.records)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change that was made: what it changed, field by field, and how to take it back."""

    call_id: str | None
    """Names the change in the log; None where everything was so already."""
    records: Sequence[Mapping[str, Any]]
    """Each record with `id`, `kind`, `op` and `fields`, which have `field`, `before` and `after`."""
    notes: Sequence[str]
    take_back: Callable[[str], "Change"] = field(repr=False, compare=False)

    def undo(self) -> "Change":
        """Take the change back, and return the change that did."""
        if self.call_id is None:
            raise InputError("nothing was changed, so there is nothing to undo")
        return self.take_back(self.call_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a record has its rank in an answer, or why it is not in it."""

    rank: int | None
    because: Sequence[str]
    parts: Mapping[str, Any]
    """The measures behind it: score, strength, order, ranks by words and by meaning."""

    def __str__(self) -> str:
        return "\n".join(self.because)


def text_columns(*names: str) -> list[Column]:
    """Return columns of texts."""
    return [Column(name, FieldType.TEXT) for name in names]
