"""The three-way merge of a release with what was edited by hand since the installed one.

`base` is the installed release, `theirs` the one to install, `mine` the records as they are now. What the release does
not change stays as it is; what was not edited becomes what the release has; what both changed differently is a
conflict, and stays as it was edited unless the release is preferred. Only ranges of records that differ are read.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pinakes.model.record import RecordId
from pinakes.packs.blocks import PackedVector
from pinakes.packs.manifest import Block, Manifest
from pinakes.packs.releases.fetching import iter_ranges

Range = tuple[Block, Block | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeContent:
    """Records by their ids, as bytes that compare equal where the records do, and their vectors."""

    bodies: Mapping[RecordId, bytes] = field(default_factory=dict)
    vectors: Mapping[RecordId, PackedVector] = field(default_factory=dict)

    def differs(self, other: "RangeContent", record_id: RecordId) -> bool:
        """Tell whether a record or its vector is another there."""
        if self.bodies.get(record_id) != other.bodies.get(record_id):
            return True
        mine, theirs = self.vectors.get(record_id), other.vectors.get(record_id)
        if mine is None or theirs is None:
            return mine is not theirs
        return mine.digest != theirs.digest or mine.vector.tobytes() != theirs.vector.tobytes()


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """The outcome of a merge: the ids to take from the release, those to delete, and the conflicts."""

    taken: tuple[RecordId, ...] = ()
    deleted: tuple[RecordId, ...] = ()
    conflicts: tuple[RecordId, ...] = ()
    """The records that both changed differently, in order of their ids."""


def changed_ranges(manifest: Manifest, other: Manifest | None) -> list[Range]:
    """Return the ranges of a release that another does not have."""
    known = {_contents(one) for one in iter_ranges(other)} if other else set()
    is_other_model = other is not None and other.model_id != manifest.model_id
    return [one for one in iter_ranges(manifest) if is_other_model or _contents(one) not in known]


def _contents(one: Range) -> tuple[str, str]:
    records, vectors = one
    return records.content, vectors.content if vectors else ""


def changed_ids(base: RangeContent, theirs: RangeContent, *, is_other_model: bool) -> list[RecordId]:
    """Return the ids that a release adds, changes or removes, in order."""
    ids = sorted({*base.bodies, *theirs.bodies})
    return [one for one in ids if is_other_model or base.differs(theirs, one)]


def merge(
    ids: list[RecordId],
    *,
    base: RangeContent,
    theirs: RangeContent,
    mine: Mapping[RecordId, bytes],
    prefers_theirs: bool,
) -> Merged:
    """Decide about each record that a release changes."""
    conflicts = tuple(one for one in ids if _is_conflict(base.bodies.get(one), theirs.bodies.get(one), mine.get(one)))
    kept = set() if prefers_theirs else set(conflicts)
    kept |= {one for one in ids if _is_edited_alone(base.bodies.get(one), theirs.bodies.get(one), mine.get(one))}
    decided = [one for one in ids if one not in kept]
    return Merged(
        taken=tuple(one for one in decided if one in theirs.bodies),
        deleted=tuple(one for one in decided if one not in theirs.bodies and one in mine),
        conflicts=conflicts,
    )


def _is_conflict(base: bytes | None, theirs: bytes | None, mine: bytes | None) -> bool:
    return mine not in (base, theirs) and theirs != base


def _is_edited_alone(base: bytes | None, theirs: bytes | None, mine: bytes | None) -> bool:
    """Tell whether a record was edited here and the release has it as before; its vector may be another there."""
    return theirs == base and mine != base
