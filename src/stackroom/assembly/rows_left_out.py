"""The rows of a table that a spec would make no record of, counted before anything is built.

Few rows are mapped: those that may be empty, and those that share with another row what tells rows apart. All others
make a record of their own.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np
import numpy.typing as npt

from stackroom.catalogue.profile import NONE, Codes, ColumnProfile
from stackroom.catalogue.spec import CatalogueSpec, FieldSpec, FieldType
from stackroom.errors import InputError
from stackroom.ingest.mapping import RowMapping, build_mapping, require_valid

MOST_KEYS = 3
"""The number of columns by which equal rows are looked for."""
READ_ALWAYS = frozenset({FieldType.TEXT, FieldType.TEXTS, FieldType.TAGS, FieldType.URL, FieldType.JSON})
"""The types of which every cell can be read."""
Places = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsLeftOut:
    """A number of rows that would make no record, and why."""

    count: int
    reason: str

    def line(self, *, sample: int = 0) -> str:
        """Return the sentence for people; `sample` is the number of rows that were looked at, if not all were."""
        rows = "1 row" if self.count == 1 else f"{self.count:,} rows"
        where = f", in a sample of {sample:,} rows" if sample else ""
        return f"{rows} would be left out{where}: {self.reason}"


def count_rows_left_out(
    rows: Sequence[Mapping[str, Any]], columns: Sequence[ColumnProfile], spec: CatalogueSpec
) -> tuple[RowsLeftOut, ...]:
    """Return how many of the rows would make no record, by reason, the most first."""
    if not rows:
        return ()
    mapping = build_mapping(spec)
    by_name = {column.name: column for column in columns}
    doubtful = _may_be_empty(spec, by_name, len(rows))
    if not spec.group_path:
        doubtful |= _may_repeat(spec, by_name, len(rows))
    reasons = Counter(_reasons(list(compress(rows, doubtful.tolist())), mapping, spec))
    return tuple(RowsLeftOut(count=count, reason=reason) for reason, count in reasons.most_common())


def _reasons(rows: Sequence[Mapping[str, Any]], mapping: RowMapping, spec: CatalogueSpec) -> Iterator[str]:
    """Yield why each row that makes no record does not."""
    seen: set[str] = set()
    repeated = f"the '{spec.id_path}' of an earlier row again" if spec.id_path else "the same as an earlier row"
    for row in rows:
        try:
            for record in mapping.records_of(row):
                require_valid(record, spec)
                if record.id in seen and not spec.group_path:
                    yield repeated
                seen.add(record.id)
        except InputError as error:
            yield error.message


def _may_be_empty(spec: CatalogueSpec, columns: Mapping[str, ColumnProfile], count: int) -> Places:
    """Return the rows without a value in the columns that can be read whatever they hold."""
    readable = [column for field in spec.fields.values() if field.type in READ_ALWAYS for column in _of(field, columns)]
    empty = np.ones(count, dtype=np.bool_)
    for column in readable:
        empty &= column.codes == NONE
    return empty


def _of(field: FieldSpec, columns: Mapping[str, ColumnProfile]) -> list[ColumnProfile]:
    return [columns[path] for path in field.source_paths if path in columns]


def _may_repeat(spec: CatalogueSpec, columns: Mapping[str, ColumnProfile], count: int) -> Places:
    """Return the rows that have in common with another what tells rows apart: the id, or else some texts."""
    if spec.id_path in columns:
        codes = columns[spec.id_path].codes
        without: Places = codes == NONE
        return np.logical_or(_repeated(codes), without)
    keys = sorted(_plain_texts(spec, columns), key=lambda column: -column.distinct)[:MOST_KEYS]
    if not keys:
        return np.ones(count, dtype=np.bool_)
    together = keys[0].codes.astype(np.int64)
    for column in keys[1:]:
        wide = together * (len(column.texts) + 1) + column.codes
        together = np.unique(wide, return_inverse=True)[1].astype(np.int64)
    return _repeated(together)


def _repeated(codes: Codes | npt.NDArray[np.int64]) -> Places:
    _, places, counts = np.unique(codes, return_inverse=True, return_counts=True)
    repeated: Places = counts[places] > 1
    return repeated


def _plain_texts(spec: CatalogueSpec, columns: Mapping[str, ColumnProfile]) -> Iterator[ColumnProfile]:
    """Yield the columns of text that are kept as they are, so that different cells are different values."""
    for field in spec.fields.values():
        column = columns.get(field.source_path) if field.type is FieldType.TEXT and not field.template else None
        if column is not None and not any("<" in text or "&" in text for text in column.texts):
            yield column
