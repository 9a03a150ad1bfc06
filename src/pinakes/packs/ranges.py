"""A catalogue's records and vectors in the ranges of ids that blocks are made of, read from a snapshot of a shelf."""

from collections.abc import Iterator, Sequence
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
    records = sorted(reader.fetch(keys, scope=WHOLE).values(), key=lambda record: record.id)
    if len(records) != len(keys):
        lost = len(keys) - len(records)
        raise StorageError(f"'{spec.name}': {lost} of its records cannot be read; pinakes doctor says what to do")
    return CatalogueRange(records=[pack_record(one) for one in records], vectors=_read_vectors(reader, spec, records))


def _read_vectors(reader: ShelfReader, spec: CatalogueSpec, records: Sequence[Record]) -> list[PackedVector]:
    digests = {record.id: digest for record in records if (digest := find_digest(record, spec)) is not None}
    stored = reader.stored_vectors(list(dict.fromkeys(digests.values())))
    return [PackedVector(one, digest, stored[digest]) for one, digest in digests.items() if digest in stored]
