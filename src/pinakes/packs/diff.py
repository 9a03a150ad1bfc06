"""The difference between two states of a catalogue: ids, and the bytes that an update from one to the other moves."""

from dataclasses import dataclass

from pinakes.model.record import RecordId
from pinakes.packs.blocks import encode_block
from pinakes.packs.delta import dump_delta
from pinakes.packs.manifest import BlockKind
from pinakes.packs.state import CatalogueState, StateChanges, StatePart, compare_states


@dataclass(frozen=True, slots=True, kw_only=True)
class PackDiff:
    """All that differs from one state to another; ids in order."""

    records_before: int
    records_after: int
    embeddings_before: int
    embeddings_after: int
    added: tuple[RecordId, ...]
    changed: tuple[RecordId, ...]
    removed: tuple[RecordId, ...]
    is_spec_changed: bool
    block_bytes: int
    """The size of the blocks that the first state does not have."""
    delta_bytes: int
    """The size of a delta between both."""

    @property
    def update_bytes(self) -> int:
        """The bytes that an update moves, apart from the manifest: the delta, or the blocks where these are smaller."""
        return min(self.block_bytes, self.delta_bytes)

    @property
    def is_empty(self) -> bool:
        """Whether both states are the same."""
        return not (self.added or self.changed or self.removed or self.is_spec_changed)


def diff_states(old: CatalogueState, new: CatalogueState) -> PackDiff:
    """Compare two states of a catalogue."""
    changes = compare_states(old, new)
    return PackDiff(
        records_before=old.count(BlockKind.RECORDS),
        records_after=new.count(BlockKind.RECORDS),
        embeddings_before=old.count(BlockKind.VECTORS),
        embeddings_after=new.count(BlockKind.VECTORS),
        added=tuple(sorted(changes.added)),
        changed=tuple(sorted(changes.changed)),
        removed=tuple(sorted(changes.removed)),
        is_spec_changed=old.declaration != new.declaration,
        block_bytes=sum(_size_of(part) for part in new.parts_beside(old)),
        delta_bytes=_delta_bytes(changes),
    )


def _size_of(part: StatePart) -> int:
    return len(encode_block(part.kind, part.load()).data) if part.size_bytes is None else part.size_bytes


def _delta_bytes(changes: StateChanges) -> int:
    if not (changes.records or changes.vectors or changes.removed or changes.bare):
        return 0
    return len(encode_block(BlockKind.DELTA, dump_delta(changes, base="", target="")).data)
