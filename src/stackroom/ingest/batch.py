"""Ingest from a provider or from a list of rows, with counts of inserted, duplicate and failed rows.

Both build on `ingest` and are idempotent: run again after an interruption, they skip what was already written.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import orjson

from stackroom.ingest.pipeline import Progress, Target, ingest
from stackroom.sources.port import RowSource, SourceRow

NAME_DIGITS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestCounts:
    """Counts of rows by outcome; each row is in exactly one. A row that was already ingested is a duplicate."""

    inserted: int
    duplicates: int
    failed: int

    @property
    def rows(self) -> int:
        """The number of rows, without those that only describe the source."""
        return self.inserted + self.duplicates + self.failed


class ListRows(RowSource):
    """Implements `RowSource` over a list: one with a name replaces the former one of that name, others only add."""

    name = ""
    is_whole = False

    def __init__(self, rows: Sequence[Mapping[str, Any]], *, name: str = "") -> None:
        self._rows = rows
        self.is_whole = bool(name)
        self.name = name or f"list:{hashlib.sha256(_encoded(rows)).hexdigest()[:NAME_DIGITS]}"

    def count_rows(self) -> int | None:
        """Return the length of the list."""
        return len(self._rows)

    def iter_rows(self, *, start: int = 0) -> Iterator[SourceRow]:
        """Yield the rows; one that is not a mapping carries a problem instead of values."""
        for number, values in islice(enumerate(self._rows, start=1), start, None):
            if isinstance(values, Mapping):
                yield SourceRow(place=f"row {number}", values=values)
            else:
                problem = f"a {type(values).__name__}, not an object"
                yield SourceRow(place=f"row {number}", values={}, problem=problem)


def _encoded(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """Return rows as bytes: as JSON, or as Python writes them where a value has no JSON form (a 30-digit integer)."""
    try:
        return orjson.dumps(list(rows), default=str, option=orjson.OPT_NON_STR_KEYS)
    except TypeError:
        return repr(list(rows)).encode(errors="replace")


def ingest_from_provider(
    source: RowSource, target: Target, *, progress: Progress = lambda _report: None
) -> IngestCounts:
    """Ingest all rows of a provider into the target, and count them."""
    report = ingest(source, target, progress=progress)
    return IngestCounts(
        inserted=report.written, duplicates=report.duplicates + report.unchanged, failed=report.rejected
    )


def ingest_batch(
    rows: Sequence[Mapping[str, Any]], target: Target, *, progress: Progress = lambda _report: None
) -> IngestCounts:
    """Ingest a list of rows into the target, and count them."""
    return ingest_from_provider(ListRows(rows), target, progress=progress)
