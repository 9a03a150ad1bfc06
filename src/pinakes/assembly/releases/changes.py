"""The changes that a merge with a release comes to, and what is reported of them."""

from collections.abc import Mapping, Sequence

from pinakes.assembly.releases.content import build_put
from pinakes.assembly.releases.report import ReleaseReport
from pinakes.catalogue.codec import decode_record, encode_record
from pinakes.catalogue.loader import LoadedSpec
from pinakes.model.record import RecordId
from pinakes.packs.releases.merge import Merged, RangeContent
from pinakes.shelf.port import Change, Delete, ShelfWriter


def records_now(writer: ShelfWriter, ids: Sequence[RecordId]) -> dict[RecordId, bytes]:
    """Return the records of these ids that are in the catalogue, in the form in which they are compared."""
    found = writer.current_or_deleted(ids)
    return {one: encode_record(record) for one, record in found.items() if record is not None}


def changes_of(merged: Merged, theirs: RangeContent, loaded: LoadedSpec) -> list[Change]:
    """Return the changes that a merge comes to."""
    records = (decode_record(one, theirs.bodies[one], loaded.spec) for one in merged.taken)
    puts = [build_put(record, theirs.vectors.get(record.id), loaded.spec) for record in records]
    return [*puts, *(Delete(one) for one in merged.deleted)]


def note_merged(report: ReleaseReport, merged: Merged, theirs: RangeContent, mine: Mapping[RecordId, bytes]) -> None:
    """Report what a merge writes, removes, and leaves as a conflict."""
    report.written = sum(mine.get(one) != theirs.bodies[one] for one in merged.taken)
    report.removed = len(merged.deleted)
    report.conflicts = [str(one) for one in merged.conflicts]
