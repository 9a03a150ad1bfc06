"""The build: rows in, shelf out, in batches that are each whole.

A batch is mapped, checked, embedded where its text is new, and written in one transaction. An interrupted build is
resumed by running it again: what is there already is recognised and costs nothing.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from pinakes.catalogue.spec import CatalogueSpec, embedding_text
from pinakes.embed.port import Embedder
from pinakes.errors import InputError
from pinakes.ingest.mapping import RowMapping, require_valid
from pinakes.model.record import Record
from pinakes.model.vectors import Vector
from pinakes.shelf.port import LOCAL, Author, Embedding, Put, ShelfWriter
from pinakes.sources.port import RowSource, SourceRow

BATCH_RECORDS = 256


@dataclass(slots=True, kw_only=True)
class IngestReport:
    """What became of the rows: each is in exactly one of written, unchanged, duplicates, rejected, metadata."""

    rows: int = 0
    written: int = 0
    unchanged: int = 0
    duplicates: int = 0
    rejected: int = 0
    metadata: int = 0
    embedded: int = 0
    rejects: list[tuple[str, str]] = field(default_factory=list)

    def reject(self, place: str, reason: str) -> None:
        """Note a row that is left out."""
        self.rejects.append((place, reason))


Progress = Callable[[IngestReport], None]


def ingest(
    source: RowSource,
    *,
    spec: CatalogueSpec,
    mapping: RowMapping,
    writer: ShelfWriter,
    embedder: Embedder | None,
    progress: Progress,
    author: Author = LOCAL,
) -> IngestReport:
    """Write every row of the source that makes a record, and publish."""
    report = IngestReport()
    batches = _Batches(spec=spec, writer=writer, embedder=embedder, author=author)
    records = _records(source.iter_rows(), spec, mapping, report)
    try:
        while batch := list(islice(records, BATCH_RECORDS)):
            batches.write(batch, report)
            progress(report)
    finally:
        writer.replace_rejects(source.name, report.rejects)
    writer.publish()
    progress(report)
    return report


def digest_of(text: str) -> bytes:
    """Return the name under which the vector of a text is kept."""
    return hashlib.sha256(text.encode("utf-8", errors="replace")).digest()


def _records(
    rows: Iterable[SourceRow], spec: CatalogueSpec, mapping: RowMapping, report: IngestReport
) -> Iterator[Record]:
    """Yield the record of each row that makes one; count the others."""
    seen: dict[str, str] = {}
    for row in rows:
        report.rows += 1
        if mapping.is_metadata(row.values):
            report.metadata += 1
            continue
        try:
            record = _record(row, spec, mapping)
        except InputError as error:
            report.rejected += 1
            report.reject(row.place, error.message)
            continue
        identities = mapping.identities_of(record)
        first = next((seen[one] for one in identities if one in seen), None)
        if first is not None:
            report.duplicates += 1
            report.reject(row.place, f"the same as {first}")
            continue
        seen.update(dict.fromkeys(identities, row.place))
        yield record


def _record(row: SourceRow, spec: CatalogueSpec, mapping: RowMapping) -> Record:
    if row.problem:
        raise InputError(row.problem)
    record = mapping.record_of(row.values)
    require_valid(record, spec)
    return record


@dataclass(frozen=True, slots=True, kw_only=True)
class _Batches:
    """Writes batches of records to a shelf."""

    spec: CatalogueSpec
    writer: ShelfWriter
    embedder: Embedder | None
    author: Author

    def write(self, batch: Sequence[Record], report: IngestReport) -> None:
        """Write what is new or changed, with the vectors of texts not seen before."""
        texts = {digest_of(text): text for record in batch if (text := self._text(record))}
        puts = [Put(record=record, embedding=self._embedding(record)) for record in batch]
        unchanged = self.writer.unchanged(puts)
        fresh = [put for put in puts if put.record.id not in unchanged]
        vectors = self._embed({put.embedding.digest: texts[put.embedding.digest] for put in fresh if put.embedding})
        changes = [_with_vector(put, vectors) for put in fresh]
        if changes:
            self.writer.apply(changes, author=self.author)  # commit point of a batch
        report.written += len(changes)
        report.unchanged += len(unchanged)
        report.embedded += len(vectors)

    def _text(self, record: Record) -> str:
        """Return what is embedded of a record; nothing where there is no embedder."""
        return embedding_text(self.spec.embed, record) if self.embedder and self.spec.embed else ""

    def _embedding(self, record: Record) -> Embedding | None:
        text = self._text(record)
        return Embedding(digest=digest_of(text)) if text else None

    def _embed(self, texts: Mapping[bytes, str]) -> dict[bytes, Vector]:
        """Return the vectors of those texts that the shelf does not have."""
        missing = self.writer.missing_embeddings(texts)
        wanted = {digest: text for digest, text in texts.items() if digest in missing}
        if not wanted or self.embedder is None:
            return {}
        return dict(zip(wanted, self.embedder.embed_documents(list(wanted.values())), strict=True))


def _with_vector(put: Put, vectors: Mapping[bytes, Vector]) -> Put:
    if put.embedding is None or put.embedding.digest not in vectors:
        return put
    digest = put.embedding.digest
    return Put(record=put.record, embedding=Embedding(digest=digest, vector=vectors[digest]))
