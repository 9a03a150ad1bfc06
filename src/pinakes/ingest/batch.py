"""Ingest rows from a provider or from a list into a target, and count what became of them.

Both build on `ingest`, and so can be run again after an interruption: what is there already is recognised.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import orjson

from pinakes.ingest.pipeline import IngestReport, Progress, Target, ingest
from pinakes.sources.port import RowSource, SourceRow

NAME_DIGITS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestCounts:
    """What became of the rows; each is one of the three. A row that is there already is a duplicate."""

    inserted: int
    duplicates: int
    failed: int

    @property
    def rows(self) -> int:
        """How many rows there were; one that is a source's own description is none."""
        return self.inserted + self.duplicates + self.failed


class ListRows:
    """Implements `RowSource` over a list. Its name is made of what the rows say: the same list goes on where it was."""

    is_whole = False
    """A list only adds: what it does not have is not gone."""

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self._rows = rows
        self.name = f"list:{hashlib.sha256(_said_by(rows)).hexdigest()[:NAME_DIGITS]}"

    def count_rows(self) -> int | None:
        """Return how long the list is."""
        return len(self._rows)

    def iter_rows(self, *, start: int = 0) -> Iterator[SourceRow]:
        """Yield the rows; one that is not a mapping comes with its problem."""
        for number, values in islice(enumerate(self._rows, start=1), start, None):
            if isinstance(values, Mapping):
                yield SourceRow(place=f"row {number}", values=values)
            else:
                problem = f"a {type(values).__name__}, not an object"
                yield SourceRow(place=f"row {number}", values={}, problem=problem)


def _said_by(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """Return what rows say; with a value that JSON has not, such as a whole number of 30 digits, as Python does."""
    try:
        return orjson.dumps(list(rows), default=str, option=orjson.OPT_NON_STR_KEYS)
    except TypeError:
        return repr(list(rows)).encode(errors="replace")


def _say_nothing(_report: IngestReport) -> None:
    """Show no progress."""


def ingest_from_provider(source: RowSource, target: Target, *, progress: Progress = _say_nothing) -> IngestCounts:
    """Bring everything a provider has into the target, and count it."""
    report = ingest(source, target, progress=progress)
    return IngestCounts(
        inserted=report.written, duplicates=report.duplicates + report.unchanged, failed=report.rejected
    )


def ingest_batch(
    rows: Sequence[Mapping[str, Any]], target: Target, *, progress: Progress = _say_nothing
) -> IngestCounts:
    """Bring a list of rows into the target, and count them."""
    return ingest_from_provider(ListRows(rows), target, progress=progress)
