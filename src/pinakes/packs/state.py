"""The state of a catalogue as the contents of its blocks: of a pack's folder, or of a snapshot of a shelf.

Two states are compared block by block; only blocks that differ are read.
"""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pinakes.catalogue.loader import LoadedSpec
from pinakes.errors import StorageError
from pinakes.model.record import Key, RecordId
from pinakes.packs.blocks import (
    PackedRecord,
    PackedVector,
    cut_ranges,
    dump_records,
    dump_vectors,
    load_block,
    parse_records,
    parse_vectors,
)
from pinakes.packs.manifest import Block, BlockKind, Manifest
from pinakes.packs.ranges import keys_by_id, read_range
from pinakes.shelf.port import ShelfReader


@dataclass(frozen=True, slots=True, kw_only=True)
class StatePart:
    """A block of a state: its range, and how to read its content."""

    kind: BlockKind
    first: RecordId
    count: int
    content: str
    size_bytes: int | None
    """The size of its file; None where it is not compressed yet."""
    load: Callable[[], bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueState:
    """A catalogue at one moment, as blocks of records and vectors."""

    parts: tuple[StatePart, ...]
    dimension: int
    """That of the vectors; 0 where there are none."""
    declaration: str
    """The sha256 of the spec."""

    def count(self, kind: BlockKind) -> int:
        """Return the number of records, or of vectors."""
        return sum(part.count for part in self.parts if part.kind is kind)

    def parts_beside(self, other: "CatalogueState") -> tuple[StatePart, ...]:
        """Return the parts that another state does not have."""
        known = {(part.kind, part.content) for part in other.parts}
        return tuple(part for part in self.parts if (part.kind, part.content) not in known)

    def records_in(self, parts: Iterable[StatePart]) -> dict[RecordId, PackedRecord]:
        """Return the records of some parts."""
        of_records = (part for part in parts if part.kind is BlockKind.RECORDS)
        return {one.id: one for part in of_records for one in parse_records(part.load())}

    def vectors_in(self, parts: Iterable[StatePart]) -> dict[RecordId, PackedVector]:
        """Return the vectors of some parts."""
        of_vectors = (part for part in parts if part.kind is BlockKind.VECTORS)
        return {one.id: one for part in of_vectors for one in parse_vectors(part.load(), dimension=self.dimension)}


def state_of_pack(folder: Path, manifest: Manifest) -> CatalogueState:
    """Return the state that a pack has."""

    def part(block: Block) -> StatePart:
        return StatePart(
            kind=block.kind,
            first=RecordId(block.first),
            count=block.count,
            content=block.content,
            size_bytes=block.size_bytes,
            load=partial(load_block, folder, block),
        )

    return CatalogueState(
        parts=tuple(map(part, manifest.blocks)),
        dimension=manifest.dimension or 0,
        declaration=manifest.spec.block.content,
    )


def state_of_shelf(reader: ShelfReader, loaded: LoadedSpec, *, cut: int) -> CatalogueState:
    """Return the state of a snapshot, cut as a pack is; contents are read again when they are compared."""
    keys = keys_by_id(reader)
    parts: list[StatePart] = []
    for ids in cut_ranges(keys, cut):
        parts += _parts_of_range(reader, loaded, [keys[one] for one in ids])
    return CatalogueState(
        parts=tuple(parts),
        dimension=reader.model.dimension if reader.model else 0,
        declaration=hashlib.sha256(loaded.declaration.encode()).hexdigest(),
    )


def _parts_of_range(reader: ShelfReader, loaded: LoadedSpec, keys: list[Key]) -> list[StatePart]:
    found = read_range(reader, loaded.spec, keys)
    contents = {BlockKind.RECORDS: dump_records(found.records)}
    contents |= {BlockKind.VECTORS: dump_vectors(found.vectors)} if found.vectors else {}
    counts = {BlockKind.RECORDS: len(found.records), BlockKind.VECTORS: len(found.vectors)}

    def load(kind: BlockKind) -> bytes:
        again = read_range(reader, loaded.spec, keys)
        return dump_records(again.records) if kind is BlockKind.RECORDS else dump_vectors(again.vectors)

    return [
        StatePart(
            kind=kind,
            first=found.first,
            count=counts[kind],
            content=hashlib.sha256(content).hexdigest(),
            size_bytes=None,
            load=partial(load, kind),
        )
        for kind, content in contents.items()
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class StateChanges:
    """All that differs between two states."""

    records: dict[RecordId, PackedRecord]
    """The records that are new or changed."""
    vectors: dict[RecordId, PackedVector]
    """The vectors that are new or changed."""
    added: frozenset[RecordId]
    removed: frozenset[RecordId]
    bare: frozenset[RecordId]
    """The records that are still there and have no vector any more."""

    @property
    def changed(self) -> frozenset[RecordId]:
        """The ids that both states have, with another record or another vector."""
        return (frozenset(self.records) | frozenset(self.vectors) | self.bare) - self.added


def compare_states(old: CatalogueState, new: CatalogueState) -> StateChanges:
    """Return what is new, changed and gone from one state to another."""
    old_parts, new_parts = old.parts_beside(new), new.parts_beside(old)
    if old.dimension and new.dimension and old.dimension != new.dimension:
        raise StorageError(f"vectors of {old.dimension} and of {new.dimension} dimensions cannot be compared")
    before, after = old.records_in(old_parts), new.records_in(new_parts)
    had, has = old.vectors_in(old_parts), new.vectors_in(new_parts)
    removed = frozenset(before.keys() - after.keys())
    return StateChanges(
        records={one: record for one, record in after.items() if before.get(one) != record},
        vectors={one: vector for one, vector in has.items() if not _is_same(had.get(one), vector)},
        added=frozenset(after.keys() - before.keys()),
        removed=removed,
        bare=frozenset(had.keys() - has.keys() - removed),
    )


def _is_same(one: PackedVector | None, other: PackedVector) -> bool:
    return one is not None and one.digest == other.digest and bool((one.vector == other.vector).all())
