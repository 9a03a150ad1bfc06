"""Deltas: the records and vectors that differ between two versions of a catalogue, as one block.

A delta has one line of JSON, {"base", "target", "removed", "bare", "record_bytes"}, then the new and changed records
as a block of records has them, then the new and changed vectors as a block of vectors has them. From the blocks of the
former version and a delta, the blocks of the new version are made again; each counts only if it has the content that
the manifest names. Correctness never depends on a delta: a block that does not come out right is fetched whole.
"""

import hashlib
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest
from pathlib import Path
from typing import Any

import orjson

from pinakes.errors import StorageError
from pinakes.model.record import RecordId
from pinakes.packs.blocks import (
    EncodedBlock,
    PackedRecord,
    PackedVector,
    dump_records,
    dump_vectors,
    encode_block,
    parse_records,
    parse_vectors,
)
from pinakes.packs.manifest import Block, BlockKind, Manifest, PackDelta, load_manifest
from pinakes.packs.state import StateChanges, compare_states, state_of_pack

REBUILT_LEVEL = 1
"""Blocks made again are compressed quickly: they are not shipped."""

LoadContent = Callable[[Block], bytes]
"""Returns the content of a block of the former version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedDelta:
    """The content of a delta."""

    base: str
    target: str
    records: Mapping[RecordId, PackedRecord]
    vectors: Mapping[RecordId, PackedVector]
    removed: frozenset[RecordId]
    bare: frozenset[RecordId]


def build_delta(old_folder: Path, new_folder: Path) -> EncodedBlock:
    """Return the delta from one pack to another, both in folders and of the same model."""
    old, new = load_manifest(old_folder), load_manifest(new_folder)
    if new.embeddings and old.embeddings and old.model_id != new.model_id:
        raise StorageError(f"no delta between vectors by {old.model_id} and by {new.model_id}: all of them differ")
    changes = compare_states(state_of_pack(old_folder, old), state_of_pack(new_folder, new))
    content = dump_delta(changes, base=old.content, target=new.content)
    return encode_block(BlockKind.DELTA, content, count=len(changes.added | changes.changed | changes.removed))


def describe_delta(old: Manifest, delta: EncodedBlock) -> PackDelta:
    """Return the member of a manifest that names a delta from a former version."""
    return PackDelta(base=old.content, block=delta.block)


def dump_delta(changes: StateChanges, *, base: str, target: str) -> bytes:
    """Return the content of a delta."""
    records = dump_records([changes.records[one] for one in sorted(changes.records)])
    vectors = dump_vectors([changes.vectors[one] for one in sorted(changes.vectors)])
    head = {
        "base": base,
        "target": target,
        "removed": sorted(changes.removed),
        "bare": sorted(changes.bare),
        "record_bytes": len(records),
    }
    return orjson.dumps(head, option=orjson.OPT_APPEND_NEWLINE) + records + vectors


def parse_delta(content: bytes, *, dimension: int) -> ParsedDelta:
    """Return the content of a delta; refuse one that is malformed."""
    first, _, rest = content.partition(b"\n")
    head = _parse_head(first)
    size = head["record_bytes"]
    return ParsedDelta(
        base=head["base"],
        target=head["target"],
        records={one.id: one for one in parse_records(rest[:size])},
        vectors={one.id: one for one in parse_vectors(rest[size:], dimension=dimension)},
        removed=frozenset(head["removed"]),
        bare=frozenset(head["bare"]),
    )


def _parse_head(line: bytes) -> dict[str, Any]:
    try:
        head = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise StorageError(f"a delta is damaged: {error}") from error
    types = {"base": str, "target": str, "removed": list, "bare": list, "record_bytes": int}
    if not isinstance(head, dict) or any(not isinstance(head.get(name), kind) for name, kind in types.items()):
        raise StorageError(f"a delta is damaged: its first line does not have {', '.join(types)}")
    if not all(isinstance(one, str) for one in (*head["removed"], *head["bare"])):
        raise StorageError("a delta is damaged: 'removed' and 'bare' are lists of ids")
    return head


def rebuild_blocks(
    old: Manifest, load: LoadContent, delta_content: bytes, new: Manifest
) -> Iterator[tuple[Block, bytes]]:
    """Yield the blocks of a new version that a former one does not have, with files made from it and a delta.

    A block that does not come out with its content is left out: it is to be fetched whole. The files are compressed
    anew, so that they are checked by their content (`is_shipped=False`).
    """
    delta = parse_delta(delta_content, dimension=new.dimension or 0)
    if (delta.base, delta.target) != (old.content, new.content):
        raise StorageError("the delta is one between other versions")
    rebuilding = _Rebuilding(old, load, delta, dimension=new.dimension or 0)
    known = {(block.kind, block.content) for block in old.blocks}
    ends = _ends(new)
    for block in new.blocks:
        if (block.kind, block.content) not in known:
            content = rebuilding.content_of(block, ends[block.first])
            if hashlib.sha256(content).hexdigest() == block.content:
                yield block, encode_block(block.kind, content, level=REBUILT_LEVEL).data


def _ends(manifest: Manifest) -> dict[str, str | None]:
    """Return where the range of each block ends: at the first id of the next."""
    firsts = [block.first for block in manifest.of_kind(BlockKind.RECORDS)]
    return dict(zip_longest(firsts, firsts[1:]))


class _Rebuilding:
    """Makes contents of a new version from blocks of a former one and a delta."""

    def __init__(self, old: Manifest, load: LoadContent, delta: ParsedDelta, *, dimension: int) -> None:
        self._old = {kind: old.of_kind(kind) for kind in (BlockKind.RECORDS, BlockKind.VECTORS)}
        self._ends = _ends(old)
        self._delta = delta
        self._added = {
            BlockKind.RECORDS: sorted(delta.records),
            BlockKind.VECTORS: sorted(delta.vectors),
        }
        self._records = lru_cache(maxsize=2)(lambda block: parse_records(load(block)))
        self._vectors = lru_cache(maxsize=2)(lambda block: parse_vectors(load(block), dimension=dimension))

    def content_of(self, block: Block, end: str | None) -> bytes:
        """Return the content of a range, which ends before an id, or with the last one."""
        first = RecordId(block.first)
        if block.kind is BlockKind.RECORDS:
            return dump_records(self._merged_records(first, end))
        return dump_vectors(self._merged_vectors(first, end))

    def _merged_records(self, first: RecordId, end: str | None) -> list[PackedRecord]:
        found = {
            one.id: one
            for block in self._overlapping(BlockKind.RECORDS, first, end)
            for one in self._records(block)
            if _is_within(one.id, first, end) and one.id not in self._delta.removed
        }
        found |= {one: self._delta.records[one] for one in self._within(BlockKind.RECORDS, first, end)}
        return [found[one] for one in sorted(found)]

    def _merged_vectors(self, first: RecordId, end: str | None) -> list[PackedVector]:
        gone = self._delta.removed | self._delta.bare
        found = {
            one.id: one
            for block in self._overlapping(BlockKind.VECTORS, first, end)
            for one in self._vectors(block)
            if _is_within(one.id, first, end) and one.id not in gone
        }
        found |= {one: self._delta.vectors[one] for one in self._within(BlockKind.VECTORS, first, end)}
        return [found[one] for one in sorted(found)]

    def _overlapping(self, kind: BlockKind, first: RecordId, end: str | None) -> Iterator[Block]:
        for block in self._old[kind]:
            its_end = self._ends[block.first]
            if (end is None or block.first < end) and (its_end is None or its_end > first):
                yield block

    def _within(self, kind: BlockKind, first: RecordId, end: str | None) -> Sequence[RecordId]:
        ids = self._added[kind]
        return ids[bisect_left(ids, first) : len(ids) if end is None else bisect_left(ids, RecordId(end))]


def _is_within(record_id: RecordId, first: RecordId, end: str | None) -> bool:
    return record_id >= first and (end is None or record_id < end)
