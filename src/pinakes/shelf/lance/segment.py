"""A segment: rows of the documents table as arrays in memory, with everything needed to filter, rank and name them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pinakes.catalogue.spec import CatalogueSpec
from pinakes.model.record import Key, RecordId
from pinakes.model.scope import AUDIENCE_FIELD, KIND_FIELD, WORDS_FIELD
from pinakes.model.vectors import Vector
from pinakes.shelf.columns import Columns, Mask, NumberColumn, TermColumn
from pinakes.shelf.lance.layout import (
    label_column,
    number_column,
    numeric_fields,
    term_column,
    token_columns,
    value_fields,
)
from pinakes.shelf.lance.postings import Postings, build_postings
from pinakes.shelf.segments import find_rows
from pinakes.shelf.terms import term_of
from pinakes.text.titles import TitleIndex, build_title_arrays

Rows = NDArray[np.int64]

GATHER_BELOW = 0.25
"""A filter that keeps a smaller share than this has its vectors gathered; above, all are compared and masked."""

ROUNDING = 1e-5
"""More than a matrix product and a sum one by one differ for unit vectors."""


@dataclass(frozen=True, kw_only=True)
class Vectors:
    """One unit vector a row; zeros, and not `present`, where a record has none."""

    values: Vector
    present: Mask

    def nearest(self, query: Vector, *, mask: Mask | None, limit: int) -> tuple[Rows, NDArray[np.float32]]:
        """Return the best rows of the mask, ties of the last included, with their cosines; in no order."""
        rows = np.flatnonzero(self.present if mask is None else self.present & mask)
        if len(rows) < GATHER_BELOW * len(self.values):
            rough = self.values[rows] @ query
        else:
            rough = (self.values @ query)[rows]
        best = rows[reaching_best(rough, limit, slack=ROUNDING)]
        # One by one, so that equal vectors have equal cosines wherever they stand.
        return best, np.einsum("ij,j->i", self.values[best], query)


@dataclass(frozen=True, kw_only=True)
class Segment:
    """Rows in key order. `change_no` is the last change they contain."""

    change_no: int
    keys: NDArray[np.int64]
    ids: pa.StringArray
    columns: Columns
    titles: TitleIndex
    texts: Mapping[str, Postings]
    vectors: Vectors | None

    def rows_of(self, keys: Sequence[Key] | NDArray[np.int64]) -> Rows:
        """Return the row of each key, −1 where this segment does not have it."""
        return find_rows(self.keys, keys)

    def ids_of(self, rows: Rows) -> list[RecordId]:
        """Return the ids of the records at these rows."""
        found: list[RecordId] = self.ids.take(pa.array(rows)).to_pylist()
        return found

    @cached_property
    def row_by_id(self) -> Mapping[RecordId, int]:
        """The row of each id."""
        return {record_id: row for row, record_id in enumerate(self.ids.to_pylist())}


def build_segment(table: pa.Table, spec: CatalogueSpec, *, change_no: int) -> Segment:
    """Build a segment from the indexed columns of some rows."""
    columns = {name: table[name].combine_chunks() for name in table.column_names}
    texts = {name: build_postings(columns[name]) for name in token_columns(spec)}
    terms = {WORDS_FIELD: _word_column(texts["tokens"]), **_term_columns(columns, spec)}
    numbers = {field.name: _number_column(columns[number_column(field.name)]) for field in numeric_fields(spec)}
    return Segment(
        change_no=change_no,
        keys=columns["key"].to_numpy(zero_copy_only=False),
        ids=columns["id"],
        columns=Columns(size=table.num_rows, terms=terms, numbers=numbers),
        titles=TitleIndex(build_title_arrays(columns["names"].to_pylist())),
        texts=texts,
        vectors=_vectors(columns["vector"]) if "vector" in columns else None,
    )


def reaching_best(scores: NDArray[np.floating], limit: int, *, slack: float = 0.0) -> Rows:
    """Return the places of the best scores, and of those that come as near to the last of them as the slack."""
    if limit <= 0:
        return np.empty(0, np.int64)
    if len(scores) <= limit:
        return np.arange(len(scores))
    least = np.partition(scores, len(scores) - limit)[len(scores) - limit]
    return np.flatnonzero(scores >= least - slack)


def _word_column(postings: Postings) -> TermColumn:
    """Return the postings as a column, for conditions on words."""
    return TermColumn(entries=[(token, "", token) for token in postings.places], ends=postings.ends, rows=postings.rows)


def _term_columns(columns: Mapping[str, pa.Array], spec: CatalogueSpec) -> dict[str, TermColumn]:
    terms = {KIND_FIELD: _kind_column(columns["kind"]), AUDIENCE_FIELD: _audience_column(columns["audiences"])}
    for field in value_fields(spec):
        labels = pc.list_flatten(columns[label_column(field.name)])
        parts = [pc.list_flatten(columns[term_column(field.name)]), *(labels.field(part) for part in range(2))]
        terms[field.name] = _inverted(parts, owners=_owners(columns[term_column(field.name)]))
    return terms


def _kind_column(kinds: pa.Array) -> TermColumn:
    terms = pa.array([term_of(kind) for kind in kinds.to_pylist()], type=pa.string())
    return _inverted([terms, _blank(len(kinds)), kinds], owners=np.arange(len(kinds)))


def _audience_column(audiences: pa.Array) -> TermColumn:
    flat = pc.list_flatten(audiences)
    return _inverted([flat, _blank(len(flat)), flat], owners=_owners(audiences))


def _number_column(numbers: pa.Array) -> NumberColumn:
    return NumberColumn(values=numbers.to_numpy(zero_copy_only=False).astype(np.float64))


def _inverted(parts: Sequence[pa.Array], *, owners: Rows) -> TermColumn:
    """Invert values that come row by row as terms, categories and labels side by side."""
    encoded = [part.dictionary_encode() for part in parts]
    codes = np.zeros(len(owners), dtype=np.int64)
    for one in encoded:
        codes = codes * len(one.dictionary) + one.indices.to_numpy(zero_copy_only=False)
    _, firsts, places = np.unique(codes, return_index=True, return_inverse=True)
    entries = zip(*(part.take(pa.array(firsts)).to_pylist() for part in parts), strict=True)
    order = np.argsort(places, kind="stable")
    return TermColumn(
        entries=list(entries),
        ends=np.cumsum(np.bincount(places, minlength=len(firsts)), dtype=np.int64),
        rows=owners[order].astype(np.int32),
    )


def _owners(lists: pa.Array) -> Rows:
    """Return for each item of the lists the row of its list."""
    owners: Rows = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False)
    return owners


def _blank(size: int) -> pa.Array:
    return pa.array([""] * size, type=pa.string())


def _vectors(column: pa.FixedSizeListArray) -> Vectors:
    present = column.is_valid().to_numpy(zero_copy_only=False)
    values = np.zeros((len(column), column.type.list_size), dtype=np.float32)
    values[present] = column.flatten().to_numpy(zero_copy_only=False).reshape(-1, column.type.list_size)
    return Vectors(values=values, present=present)
