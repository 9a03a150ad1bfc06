"""Undo: restore the records that a call changed to what they were before it."""

from collections.abc import Container

from pinakes.catalogue.spec import CatalogueSpec
from pinakes.errors import ConflictError, InputError, NotFoundError
from pinakes.ingest.edits.draft import MOST_RECORDS, Draft, EditRequest, RecordChange, are_alike, required_id
from pinakes.ingest.edits.relations import follow_rename, ids_in, relations_of, take_out, titles_of, with_value
from pinakes.model.record import Record, RecordId
from pinakes.model.scope import Visibility
from pinakes.shelf.port import Op, PastChange


def plan_undo(draft: Draft, request: EditRequest) -> None:
    """Draft the inverse of a call; refuse if one of its records has changed since."""
    if request.fields or request.kind:
        raise InputError("an undo takes an 'id' alone: the id of the call or the number of the change to undo")
    group = _group_of(draft, str(required_id(request)))
    ended = {change.id: change.after for change in reversed(group)}  # oldest first: the last after stays
    before_first = {change.id: change.before for change in group}
    started = {record_id: before_first[record_id] for record_id in ended}
    last = max(change.change_no for change in group)
    for record_id, end in ended.items():
        if not are_alike(draft.find(record_id), end):
            raise ConflictError(f"{_describe_conflict(draft, record_id, after=last)}; undo that first")
    restored = [start for start in started.values() if start is not None]
    for start in restored:
        draft.put(start)
    left = [end for end in ended.values() if end is not None]
    take_out(draft, [end for end in left if started[end.id] is None], cascade=request.cascade)
    named = {one for start in restored for rel in relations_of(start.kind, draft.spec) for one in ids_in(start, rel)}
    renamed = {one for one in named - started.keys() if _is_renamed(draft, one, since=last)}
    for start in restored:
        _settle_restored(draft, start, renamed=renamed)
    for end in left:
        follow_rename(draft, end, but=started)


def _settle_restored(draft: Draft, record: Record, *, renamed: Container[RecordId]) -> None:
    """Require that the records a restored one names exist, and update the titles of those renamed since."""
    before = draft.find_before(record.id)
    for relation in relations_of(record.kind, draft.spec):
        named = ids_in(record, relation)
        gone = [one for one in named if (target := draft.find(one)) is None or target.kind != relation.to]
        if gone and (before is None or ids_in(before, relation) != named):
            raise ConflictError(f"'{record.id}' cannot be restored: the {relation.to} '{gone[0]}' no longer exists")
        for one in named if relation.copies else ():
            if one in renamed:
                now = draft.find(record.id) or record
                draft.put(with_value(now, relation.copies, titles_of(draft, now, relation, only=one)))


def _is_renamed(draft: Draft, record_id: RecordId, *, since: int) -> bool:
    """Tell whether a record was renamed after a change."""
    now = draft.find(record_id)
    later = [change for change in _changes_of(draft, record_id) if change.change_no > since]
    was = later[-1].before if later else None
    return now is not None and was is not None and draft.spec.title_of(now) != draft.spec.title_of(was)


def _group_of(draft: Draft, asked: str) -> list[PastChange]:
    """Return the changes of a call, given its id or the number of one of its changes; newest first."""
    history = draft.history
    group = history.list_changes(call_id=asked, limit=MOST_RECORDS + 1)
    if not group and asked.isdecimal() and len(asked) < 16:
        group = history.list_changes(before=int(asked) + 1, limit=1)
        if group and group[0].change_no != int(asked):
            group = []
        if group and group[0].author.call_id:
            group = history.list_changes(call_id=group[0].author.call_id, limit=MOST_RECORDS + 1)
    group = [change for change in group if change.change_no <= draft.change_no]
    hidden = [change for change in group if not is_visible(change, draft.visibility)]
    if len(hidden) == len(group) or not all(_is_copied_title(change, draft.spec) for change in hidden):
        raise NotFoundError(f"there is no change '{asked[:80]}'; changelog://recent has the calls and their changes")
    if len(group) > MOST_RECORDS:
        raise InputError(f"more than {MOST_RECORDS} changes were made by '{asked}'; they cannot be undone in one call")
    return group


def record_change(change: PastChange) -> RecordChange:
    """Return what a past change did to its record."""
    return RecordChange(id=change.id, before=change.before, after=change.after)


def is_visible(change: RecordChange | PastChange, visibility: Visibility) -> bool:
    """Tell whether a caller may see a record both before and after a change."""
    return all(visibility.sees(record.audiences) for record in (change.before, change.after) if record is not None)


def _is_copied_title(change: PastChange, spec: CatalogueSpec) -> bool:
    """Tell whether a change only updated copied titles after a rename."""
    if change.before is None or change.after is None:
        return False
    copying = {relation.copies for relation in relations_of(change.after.kind, spec)}
    changed = record_change(change).fields
    return change.before.audiences == change.after.audiences and all(one.field in copying for one in changed)


def _describe_conflict(draft: Draft, record_id: RecordId, *, after: int) -> str:
    """Describe who changed a record after a change."""
    later = [one for one in _changes_of(draft, record_id) if one.change_no > after]
    if not all(is_visible(one, draft.visibility) for one in later):
        return "a record that you may not see has changed since"
    moved = [one for one in later if not are_alike(one.before, one.after)]
    if not moved:
        return f"'{record_id}' has changed since"
    return describe_change(moved[0])


def _changes_of(draft: Draft, record_id: RecordId) -> list[PastChange]:
    return draft.history.list_changes(ids=[record_id], before=draft.change_no + 1, limit=MOST_RECORDS)


def describe_change(change: PastChange) -> str:
    """Describe who changed a record, and when."""
    done = "deleted" if change.op is Op.DELETE else "changed"
    return (
        f"'{change.id}' was {done} since by {change.author.principal} (change {change.change_no}, "
        f"{change.at:%Y-%m-%d %H:%M:%S} UTC)"
    )
