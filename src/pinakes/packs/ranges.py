"""A catalogue's records and vectors in the ranges of ids that blocks are made of, read from a snapshot of a shelf."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pinakes.catalogue.embedded_text import find_digest
from pinakes.catalogue.spec import CatalogueSpec
from pinakes.errors import StorageError
from pinakes.model.record import Key, Record, RecordId
from pinakes.model.scope import WHOLE
from pinakes.packs.blocks import PackedRecord, PackedVector, cut_ranges, pack_record
from pinakes.shelf.batches import iter_key_batches
from pinakes.shelf.port import ShelfReader


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueRange:
    """The records of one range of ids, and the vectors of those that have one, both in order of ids."""

    records: Sequence[PackedRecord]
    vectors: Sequence[PackedVector]

    @property
    def first(self) -> RecordId:
        """The first id."""
        return self.records[0].id


def keys_by_id(reader: ShelfReader) -> dict[RecordId, Key]:
    """Return the keys of all records, in order of their ids."""
    found = [pair for keys in iter_key_batches(reader) for pair in zip(reader.ids(keys), keys, strict=True)]
    return dict(sorted(found))


def iter_ranges(reader: ShelfReader, spec: CatalogueSpec, *, cut: int) -> Iterator[CatalogueRange]:
    """Yield the records of a snapshot range by range; refuse a catalogue with records that cannot be read."""
    keys = keys_by_id(reader)
    for ids in cut_ranges(keys, cut):
        yield read_range(reader, spec, [keys[one] for one in ids])


def read_range(reader: ShelfReader, spec: CatalogueSpec, keys: Sequence[Key]) -> CatalogueRange:
    """Return the records of these keys with their vectors."""
    found = reader.fetch(keys, scope=WHOLE)
    if len(found) != len(keys):
        lost = len(keys) - len(found)
        raise StorageError(f"'{spec.name}': {lost} of its records cannot be read; pinakes doctor says what to do")
    by_id = sorted(found.items(), key=lambda item: item[1].id)
    return CatalogueRange(
        records=[pack_record(record) for _, record in by_id], vectors=_read_vectors(reader, spec, dict(by_id))
    )


def _read_vectors(reader: ShelfReader, spec: CatalogueSpec, records: Mapping[Key, Record]) -> list[PackedVector]:
    """Return the vectors that records have now; of those changed since the snapshot, by the texts that they had."""
    found = {key: (one.digest, one.vector) for key, one in reader.embeddings(list(records)).items()}
    texts = {key: find_digest(record, spec) for key, record in records.items() if key not in found}
    stored = reader.stored_vectors(list(dict.fromkeys(one for one in texts.values() if one is not None)))
    found |= {key: (digest, stored[digest]) for key, digest in texts.items() if digest is not None and digest in stored}
    return [
        PackedVector(record.id, digest, vector)
        for key, record in records.items()
        for digest, vector in (found.get(key, (b"", None)),)
        if vector is not None
    ]
