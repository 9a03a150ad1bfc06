"""A request to edit as the engine takes it: the catalogue that is meant, and the ids of records given by name."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from stackroom.errors import ExpectedError, InputError, NotFoundError, did_you_mean
from stackroom.ingest.edits.apply import Edits
from stackroom.ingest.edits.changes import NAMES_LISTED, nearest_labels, scope_of
from stackroom.ingest.edits.draft import LONGEST_SOURCE_ID, EditAction, EditRequest
from stackroom.ingest.edits.values import WHOLE_REQUEST, Place, require_id, run_each
from stackroom.model.principal import Principal
from stackroom.model.scope import Scope
from stackroom.search.ids import example_id, find_by_id
from stackroom.search.names import find_namesakes
from stackroom.shelf.port import Shelf
from stackroom.text.normalise import meant
from stackroom.tools.catalogue import ask_each
from stackroom.tools.edits.answer import ChangeParams, MutateParams

BY_NAME = (EditAction.UPDATE, EditAction.DELETE)
"""The actions on a record, which may be given by its name."""


def requests_of(params: MutateParams) -> list[EditRequest]:
    """Return the requests of a call, with ids and names as they are given."""
    if params.changes is None:
        return [_request_of(params, params, WHOLE_REQUEST)]
    if params.id is not None or params.fields is not None:
        raise InputError("'id' and 'fields' are given in each of 'changes', not next to it; move them there")
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


def chosen_catalogue(
    editable: Mapping[str, Edits], principal: Principal, stated: str | None, requests: Sequence[EditRequest]
) -> str:
    """Return the catalogue that is meant: the named one, or the only one that the requests can be about."""
    known = list(editable)
    asked = meant(stated, known) if stated is not None else None
    if asked is not None and asked not in known:
        hint = did_you_mean(asked, known)
        raise NotFoundError(f"no editable catalogue {asked[:60]!r}{hint}; there are {', '.join(known)}")
    if asked is not None or len(known) == 1:
        return asked or known[0]
    named = _in_ids(requests, known)
    if len(named) == 1:
        return named[0]
    scope = Scope(visibility=principal.visibility)
    asked_each = ask_each(editable, lambda edits: all(_is_about(request, edits.shelf, scope) for request in requests))
    able = [name for name, is_able in asked_each.found.items() if is_able]
    if len(able) == 1 and not asked_each.skipped:  # one that cannot be read may be the one that is meant
        return able[0]
    raise InputError(f"'catalogue' is missing; one of {', '.join(known)}")


def _in_ids(requests: Sequence[EditRequest], known: Sequence[str]) -> list[str]:
    """Return the catalogues that ids begin with, as in `library/author-woolf`."""
    ids = [request.id for request in requests if request.id]
    stated = [require_id(record_id, longest=LONGEST_SOURCE_ID).partition("/") for record_id in ids]
    return list(dict.fromkeys(name for name, _, rest in stated if name in known and rest))


def _is_about(request: EditRequest, shelf: Shelf, scope: Scope) -> bool:
    """Tell whether a request can be about a catalogue: it has the record, the change or the kind that is named."""
    if request.action is EditAction.CREATE:
        return meant(request.kind or "", shelf.spec.kinds) in shelf.spec.kinds
    if not request.id:
        return False
    if request.action is EditAction.UNDO:
        return bool(shelf.history().list_changes(call_id=request.id, limit=1))
    return find_by_id(shelf.reader(), request.id, scope=scope) is not None
