"""A request to edit as the engine takes it: one change or several, with names given for ids resolved."""

from collections.abc import Sequence
from dataclasses import replace

from stackroom.errors import ExpectedError, InputError, NotFoundError
from stackroom.ingest.edits.draft import LONGEST_SOURCE_ID, Edit, EditAction, EditBatch, EditRequest
from stackroom.ingest.edits.names import NAMES_LISTED, nearest_labels, scope_of
from stackroom.ingest.edits.values import WHOLE_REQUEST, Place, require_id, run_each
from stackroom.model.scope import Scope
from stackroom.search.ids import example_id, find_by_id
from stackroom.search.names import find_namesakes
from stackroom.shelf.port import Shelf
from stackroom.tools.edits.shapes import ChangeParams, MutateParams

BY_NAME = (EditAction.UPDATE, EditAction.DELETE)
"""The actions on a record, which may be given by its name."""


def requests_of(params: MutateParams) -> list[EditRequest]:
    """Return the requests of a call, with ids and names as they are given."""
    if params.changes is None:
        return [_request_of(params, params, WHOLE_REQUEST)]
    if params.id is not None or params.fields is not None:
        raise InputError("'id' and 'fields' are given in each of 'changes', not next to it")
    return [
        _request_of(change, params, Place(f"changes.{number}", f"changes.{number}.fields"))
        for number, change in enumerate(params.changes)
    ]


def _request_of(change: ChangeParams | MutateParams, params: MutateParams, place: Place) -> EditRequest:
    action = change.action or params.action
    if action is None:
        missing = f"'action' is missing; one of {', '.join(EditAction)}"
        raise InputError(place.locate(missing, ()))
    return EditRequest(
        action=action,
        id=change.id,
        kind=change.kind or params.kind,
        fields=change.fields or {},
        cascade=change.cascade or params.cascade,
        place=place,
    )


def edit_of(params: MutateParams, requests: Sequence[EditRequest]) -> Edit:
    """Return the edit that requests make."""
    return requests[0] if params.changes is None else EditBatch(changes=tuple(requests))


def with_ids(
    requests: Sequence[EditRequest], catalogue: str, shelf: Shelf, scope: Scope, *, is_planned: bool
) -> tuple[list[EditRequest], list[str]]:
    """Return the requests with ids as the catalogue has them, and notes on names that were taken for ids.

    With the plan of a preview, a name that is not of exactly one record is left to the planner.
    """
    notes: list[str] = []

    def with_id(request: EditRequest) -> EditRequest:
        if not request.id or request.action not in BY_NAME:
            return request
        try:
            record_id, taken = _meant(request, catalogue, shelf, scope)
        except ExpectedError:
            if is_planned:
                return request
            raise
        notes.extend(taken)
        return replace(request, id=record_id)

    resolved = run_each(requests, with_id, place_of=lambda one: one.place, fields=shelf.spec.fields)
    return resolved, notes


def _meant(request: EditRequest, catalogue: str, shelf: Shelf, scope: Scope) -> tuple[str, list[str]]:
    """Return the id of the record that an id or a name means; refuse a name that is not of exactly one record."""
    stated, reader, spec = request.id or "", shelf.reader(), shelf.spec
    require_id(stated, longest=LONGEST_SOURCE_ID)
    key = find_by_id(reader, stated, scope=scope, catalogue=catalogue)
    if key is not None:
        return reader.ids([key])[0], []
    of_kind = scope_of(scope, request.kind)
    named = find_namesakes(reader, spec, stated, scope=of_kind)
    if len(named) == 1:
        return named[0].record.id, [f"'{stated[:80]}' was taken for {named[0].label}"]
    if named:
        listed = "; ".join(one.label for one in named[:NAMES_LISTED])
        raise InputError(f"'id': several are called '{stated[:80]}'; give the id of one: {listed}")
    near = nearest_labels(reader, spec, stated, scope=of_kind)
    hint = f"; did you mean {' or '.join(near)}?" if near else f"; an id looks like '{example_id(reader, scope=scope)}'"
    raise NotFoundError(f"there is no record '{stated[:80]}' in '{catalogue}'{hint}")
