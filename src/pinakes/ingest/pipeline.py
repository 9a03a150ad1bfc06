"""The build: rows in, shelf out, in batches that are each whole.

A batch is mapped, checked, embedded where its text is new, and written in one transaction. An interrupted build is
resumed by running it again: what is there already is recognised and costs nothing.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from pinakes.catalogue.spec import CatalogueSpec, embedding_text
from pinakes.embed.port import Embedder
from pinakes.errors import InputError
from pinakes.ingest.mapping import RowMapping, require_valid
from pinakes.model.record import Record
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
    records = _records(source.iter_rows(), spec, mapping, report)
    try:
        while batch := list(islice(records, BATCH_RECORDS)):
            _write(batch, spec, writer, embedder, author, report)
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


def _write(
    batch: Sequence[Record],
    spec: CatalogueSpec,
    writer: ShelfWriter,
    embedder: Embedder | None,
    author: Author,
    report: IngestReport,
) -> None:
    texts = {record.id: _text(spec, record) if embedder else "" for record in batch}
    puts = [Put(record=record, embedding=_embedding(texts[record.id])) for record in batch]
    unchanged = writer.unchanged(puts)
    fresh = [put for put in puts if put.record.id not in unchanged]
    wanted = {put.embedding.digest: texts[put.record.id] for put in fresh if put.embedding}
    missing = writer.missing_embeddings(wanted)
    new_texts = {digest: text for digest, text in wanted.items() if digest in missing}
    vectors = dict(zip(new_texts, embedder.embed_documents(list(new_texts.values())), strict=True)) if embedder else {}
    changes = []
    for put in fresh:
        digest = put.embedding.digest if put.embedding else b""
        embedding = Embedding(digest=digest, vector=vectors.pop(digest, None)) if put.embedding else None
        changes.append(Put(record=put.record, embedding=embedding))
    if changes:
        writer.apply(changes, author=author)  # commit point of a batch
    report.written += len(changes)
    report.unchanged += len(unchanged)
    report.embedded += len(new_texts)


def _text(spec: CatalogueSpec, record: Record) -> str:
    return embedding_text(spec.embed, record) if spec.embed else ""


def _embedding(text: str) -> Embedding | None:
    return Embedding(digest=digest_of(text)) if text else None
