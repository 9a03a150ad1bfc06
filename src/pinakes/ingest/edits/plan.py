"""Planning an edit: a request and a view of the catalogue → the records before and after. Nothing is written.

The request is checked against the spec; `relations` adds the changes that follow from it, `undo` reverts past calls.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from pinakes.catalogue.spec import CatalogueSpec
from pinakes.errors import ConflictError, InputError, NotFoundError, did_you_mean
from pinakes.ingest.edits.draft import Draft, EditAction, EditPlan, EditRequest, required_id
from pinakes.ingest.edits.relations import follow_rename, settle_own, take_out
from pinakes.ingest.edits.undo import plan_undo
from pinakes.ingest.edits.values import read_fields, require_new_id
from pinakes.model.record import Record, RecordId
from pinakes.model.scope import SEES_EVERYTHING, Visibility
from pinakes.shelf.port import ShelfHistory, ShelfReader

LONGEST_ID = 200


def plan_edit(
    request: EditRequest,
    *,
    spec: CatalogueSpec,
    reader: ShelfReader,
    history: ShelfHistory,
    visibility: Visibility = SEES_EVERYTHING,
) -> EditPlan:
    """Return the plan of a request, or refuse it with what would be valid."""
    _require_editable(spec)
    draft = Draft(spec, reader, history, visibility)
    _PLANNERS[request.action](draft, request)
    return draft.plan()


def _plan_create(draft: Draft, request: EditRequest) -> None:
    spec = draft.spec
    if not request.fields:
        raise InputError(f"'fields' is missing: a new record has at least '{spec.title_field.name}'")
    kind = _kind_of(request.kind, spec)
    values = read_fields(request.fields, kind, spec, draft.known_tags)
    title = values.get(spec.title_field.name)
    record_id = (
        RecordId(require_new_id(request.id, longest=LONGEST_ID))
        if request.id
        else draft.free_id(kind, str(title or ""))
    )
    if draft.find(record_id) is not None:
        raise ConflictError(f"there is a record '{record_id}' already; update it, or give another 'id'")
    record = Record(
        id=record_id, kind=kind, fields={name: value for name, value in values.items() if value is not None}
    )
    settle_own(draft, record, given=values)


def _plan_update(draft: Draft, request: EditRequest) -> None:
    old = draft.get_visible(required_id(request))
    if not request.fields:
        raise InputError("'fields' is missing: give the values to set, with null for those to remove")
    if request.kind not in (None, old.kind):
        raise InputError(f"'{old.id}' is of kind {old.kind}, which cannot be changed; create another record")
    values = read_fields(request.fields, old.kind, draft.spec, partial(draft.known_tags, record=old))
    fields = {name: value for name, value in {**old.fields, **values}.items() if value is not None}
    settle_own(draft, replace(old, fields=fields), given=values)
    follow_rename(draft, old)


def _plan_delete(draft: Draft, request: EditRequest) -> None:
    if request.fields:
        raise InputError("a delete takes no 'fields'")
    record = draft.get_visible(required_id(request))
    if request.kind not in (None, record.kind):
        raise NotFoundError(f"there is no {request.kind} '{record.id[:80]}'; it is of kind {record.kind}")
    take_out(draft, [record], cascade=request.cascade)


_PLANNERS: Mapping[EditAction, Callable[[Draft, EditRequest], None]] = {
    EditAction.CREATE: _plan_create,
    EditAction.UPDATE: _plan_update,
    EditAction.DELETE: _plan_delete,
    EditAction.UNDO: plan_undo,
}


def _require_editable(spec: CatalogueSpec) -> None:
    if not spec.editable:
        raise InputError(f"'{spec.name}' cannot be edited: its catalogue.toml does not say editable = true")


def _kind_of(asked: str | None, spec: CatalogueSpec) -> str:
    known = list(spec.kinds)
    if asked is None and len(known) > 1:
        raise InputError(f"'kind' is missing; one of {', '.join(known)}")
    if asked is not None and asked not in known:
        raise InputError(f"no kind {asked[:60]!r}{did_you_mean(asked, known)}; one of {', '.join(known)}")
    return asked or known[0]
