"""The change log as a shelf stores it: each change with the record before it; the record after it is derived."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from stackroom.catalogue.codec import decode_record
from stackroom.catalogue.spec import CatalogueSpec
from stackroom.errors import ConflictError
from stackroom.model.record import Record, RecordId
from stackroom.shelf.port import Author, Op, PastChange

MOVED_SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedChange:
    """A stored change with the record before it; the record after it is the next `before`, or the present one."""

    change_no: int
    id: RecordId
    op: Op
    before: bytes | None
    author: Author
    at: datetime


def with_afters(
    page: Sequence[LoggedChange],
    later: Iterable[tuple[RecordId, int, bytes | None]],
    present: Mapping[RecordId, bytes],
    spec: CatalogueSpec,
) -> list[PastChange]:
    """Return the changes of a page with the records before and after each.

    `later` has (id, change number, record before) of every change to these records since the oldest of the page, and
    `present` the present records.
    """
    replaced: dict[RecordId, list[tuple[int, bytes | None]]] = {}
    for record_id, change_no, before in sorted(later, key=lambda change: change[1]):
        replaced.setdefault(record_id, []).append((change_no, before))

    def after_of(change: LoggedChange) -> bytes | None:
        following = replaced.get(change.id, [])
        index = bisect_right(following, change.change_no, key=lambda one: one[0])
        return following[index][1] if index < len(following) else present.get(change.id)

    return [
        PastChange(
            change_no=change.change_no,
            id=change.id,
            op=change.op,
            author=change.author,
            at=change.at,
            before=_decoded(change.id, change.before, spec),
            after=_decoded(change.id, after_of(change), spec),
        )
        for change in page
    ]


def require_unmoved(expected: Mapping[RecordId, int], versions: Mapping[RecordId, int]) -> None:
    """Raise ConflictError where a last change is not the expected one; 0 stands for an id that never existed."""
    moved = sorted(one for one, change_no in expected.items() if versions.get(one, 0) != change_no)
    if not moved:
        return
    named = ", ".join(f"'{one}' (change {versions.get(one, 0)})" for one in moved[:MOVED_SHOWN])
    more = f" and {len(moved) - MOVED_SHOWN} more" if len(moved) > MOVED_SHOWN else ""
    raise ConflictError(f"changed since it was read: {named}{more}; nothing was changed now")


def keepable(ids: Iterable[RecordId]) -> list[RecordId]:
    """Return the ids that can be stored: UTF-8 has no lone surrogates."""
    return [record_id for record_id in ids if _is_utf8(record_id)]


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _decoded(record_id: RecordId, body: bytes | None, spec: CatalogueSpec) -> Record | None:
    return None if body is None else decode_record(record_id, body, spec)
