"""Rows of a list as a source, and a catalogue in memory that sources are read into."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from stackroom.catalogue.spec import CatalogueSpec
from stackroom.ingest.ledger import Ledger
from stackroom.ingest.mapping import RowMapping, build_mapping
from stackroom.ingest.pipeline import (
    UNREQUESTED,
    IngestReport,
    IngestRequest,
    Progress,
    Target,
    ingest,
)
from stackroom.model.record import Record
from stackroom.model.scope import WHOLE
from stackroom.sources.port import RowSource, SourceRow
from support.memory_shelf import MemoryShelf


class ListedRows(RowSource):
    """Implements `RowSource` over a list; it may break down after so many rows, and notes where
    each reading began.
    """

    name = "rows.jsonl"
    is_whole = True

    def __init__(
        self,
        rows: Sequence[Mapping[str, Any]],
        *,
        name: str = "rows.jsonl",
        is_whole: bool = True,
        has_digests: bool = False,
        breaks_after: int | None = None,
    ) -> None:
        self.rows = rows
        self.name = name
        self.is_whole = is_whole
        self.has_digests = has_digests
        self.breaks_after = breaks_after
        self.starts: list[int] = []

    def count_rows(self) -> int | None:
        """Return the length of the list."""
        return len(self.rows)

    def iter_rows(self, *, start: int = 0) -> Iterator[SourceRow]:
        """Yield the rows; with digests, like files, where there are to be some."""
        self.starts.append(start)
        for number, values in enumerate(self.rows[start:], start=start + 1):
            if self.breaks_after is not None and number > self.breaks_after:
                raise KeyboardInterrupt
            digest = repr(sorted(values.items())) if self.has_digests else ""
            yield SourceRow(place=f"line {number}", values=values, digest=digest)


@dataclass(kw_only=True)
class IngestBench:
    """A catalogue in memory, its ledger, and short ways to read sources into it."""

    spec: CatalogueSpec
    mapping: RowMapping | None = None
    embedder: Any = None
    ledger: Ledger = field(default_factory=Ledger)
    shelf: MemoryShelf = field(init=False)

    def __post_init__(self) -> None:
        self.shelf = MemoryShelf(self.spec, model=self.embedder.model if self.embedder else None)

    def target(self, *, embed: bool = True, request: IngestRequest = UNREQUESTED) -> Target:
        """Return the destination of rows."""
        return Target(
            spec=self.spec,
            mapping=self.mapping or build_mapping(self.spec),
            writer=self.shelf,
            ledger=self.ledger,
            embedder=self.embedder if embed else None,
            request=request,
        )

    def add(
        self,
        source: RowSource,
        *,
        embed: bool = True,
        progress: Progress = lambda _report: None,
        **more: Any,
    ) -> IngestReport:
        """Read a source into the catalogue."""
        return ingest(source, self.target(embed=embed, **more), progress=progress)

    def records(self) -> dict[str, Record]:
        """Return every record by its id."""
        reader = self.shelf.reader()
        found = reader.fetch(reader.scan(scope=WHOLE, limit=10_000), scope=WHOLE)
        return {record.id: record for record in found.values()}
