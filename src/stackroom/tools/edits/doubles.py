"""Doubles: new records with a name that others have, and requests that were made already.

A call whose answer was lost is sent again, and would create its records twice. So a request that creates exactly what
the same caller created a moment ago, and that is still there, is answered as it was then.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import orjson

from stackroom.catalogue.codec import encode_record
from stackroom.catalogue.spec import CatalogueSpec
from stackroom.ingest.edits.draft import EditPlan, RecordChange
from stackroom.ingest.edits.names import NAMES_LISTED, scope_of
from stackroom.ingest.edits.relations import named_by
from stackroom.ingest.edits.undo import record_change
from stackroom.model.record import Record, RecordId
from stackroom.model.scope import Scope
from stackroom.search.names import NameCandidate, find_namesakes
from stackroom.shelf.port import Op, PastChange, Shelf, ShelfReader

REPEATED_WITHIN = timedelta(minutes=10)
MOST_CHANGES_READ = 1_000


def namesake_notes(plan: EditPlan, reader: ShelfReader, spec: CatalogueSpec, scope: Scope) -> list[str]:
    """Return a note on each new record that another has the name of, and the same related records if it has any."""
    drafted = {change.id for change in plan.changes}
    notes = []
    for record in _created(plan.changes):
        named = [one for one in _namesakes(record, reader, spec, scope) if one.record.id not in drafted]
        alike = [one for one in named if _is_related_alike(record, one.record, spec)]
        if alike:
            listed = "; ".join(one.label for one in alike[:NAMES_LISTED])
            notes.append(f"there is one of this name already: {listed}")
    return notes


def find_repeated(
    plan: EditPlan, shelf: Shelf, *, principal: str, scope: Scope, now: datetime
) -> list[PastChange] | None:
    """Return the changes of the caller's last call that created what a plan would create again; None if there is none.

    Only a plan that creates records and changes no other can repeat one. What was undone or deleted since is not
    repeated but made again.
    """
    created = list(_created(plan.changes))
    if not created or len(created) != len(plan.changes):
        return None
    namesakes = _namesakes(created[0], shelf.reader(), shelf.spec, scope)
    wanted = _shape(created)
    for call_id in _calls_that_made(
        [one.record.id for one in namesakes], shelf, principal, since=now - REPEATED_WITHIN
    ):
        changes = shelf.history().list_changes(call_id=call_id, limit=MOST_CHANGES_READ)[::-1]
        made = list(_created([record_change(change) for change in changes]))
        if _shape(made) == wanted and _are_there(made, shelf, scope):
            return changes
    return None


def _created(changes: Sequence[RecordChange]) -> Iterator[Record]:
    for change in changes:
        if change.op is Op.INSERT and change.after is not None:
            yield change.after


def _namesakes(record: Record, reader: ShelfReader, spec: CatalogueSpec, scope: Scope) -> list[NameCandidate]:
    return find_namesakes(reader, spec, spec.title_of(record), scope=scope_of(scope, record.kind))


def _is_related_alike(new: Record, other: Record, spec: CatalogueSpec) -> bool:
    """Tell whether two records name one record in common, or the new one names none."""
    named = named_by(new, spec)
    return not named or not named.isdisjoint(named_by(other, spec))


def _calls_that_made(ids: Sequence[RecordId], shelf: Shelf, principal: str, *, since: datetime) -> list[str]:
    """Return the calls in which a caller created one of these records since a time, newest first."""
    if not ids:
        return []
    changes = shelf.history().list_changes(ids=ids, limit=MOST_CHANGES_READ)
    mine = [one for one in changes if one.op is Op.INSERT and one.author.principal == principal and one.at >= since]
    return list(dict.fromkeys(one.author.call_id for one in mine if one.author.call_id))


def _are_there(records: Sequence[Record], shelf: Shelf, scope: Scope) -> bool:
    ids = [record.id for record in records]
    return len(shelf.reader().find(ids, scope=scope)) == len(set(ids))


def _shape(records: Sequence[Record]) -> list[Any]:
    """Return records in a form that is equal for records that differ only in ids, and in these among each other."""
    numbers = {record.id: f"#{number}" for number, record in enumerate(records)}
    bodies = [orjson.loads(encode_record(record)) for record in records]
    return [_renumbered(body, numbers) for body in bodies]


def _renumbered(value: Any, numbers: Mapping[RecordId, str]) -> Any:
    if isinstance(value, dict):
        return {name: _renumbered(one, numbers) for name, one in value.items()}
    if isinstance(value, list):
        return [_renumbered(one, numbers) for one in value]
    return numbers.get(RecordId(value), value) if isinstance(value, str) else value
