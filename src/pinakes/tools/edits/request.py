"""A request to edit as the engine takes it: names given for ids resolved, namesakes of new records noted."""

from pinakes.errors import InputError, NotFoundError
from pinakes.ingest.edits.draft import LONGEST_SOURCE_ID, EditAction, EditRequest
from pinakes.ingest.edits.values import require_id
from pinakes.model.scope import KIND_FIELD, AnyOf, Scope
from pinakes.search.ids import example_id, find_by_id
from pinakes.search.names import find_namesakes, resolve_name
from pinakes.shelf.port import Shelf
from pinakes.tools.edits.shapes import MutateParams

NAMESAKES_LISTED = 5
BY_NAME = (EditAction.UPDATE, EditAction.DELETE)
"""The actions on a record, which may be given by its name."""


def request_of(params: MutateParams, catalogue: str, shelf: Shelf, scope: Scope) -> tuple[EditRequest, list[str]]:
    """Return the request with the id as the catalogue has it, and notes on a name that was taken for one."""
    record_id, notes = params.id, []
    if params.action is EditAction.CREATE:
        notes = _namesake_notes(params, shelf, scope)
    elif record_id and params.action in BY_NAME:
        record_id, notes = _meant(params, catalogue, shelf, scope)
    request = EditRequest(
        action=params.action, id=record_id, kind=params.kind, fields=params.fields or {}, cascade=params.cascade
    )
    return request, notes


def _meant(params: MutateParams, catalogue: str, shelf: Shelf, scope: Scope) -> tuple[str, list[str]]:
    """Return the id of the record that an id or a name means; refuse a name that is not of exactly one record."""
    stated, reader, spec = params.id or "", shelf.reader(), shelf.spec
    require_id(stated, longest=LONGEST_SOURCE_ID)
    key = find_by_id(reader, stated, scope=scope, catalogue=catalogue)
    if key is not None:
        return reader.ids([key])[0], []
    named = find_namesakes(reader, spec, stated, scope=of_kind(scope, params.kind))
    if len(named) == 1:
        return named[0].record.id, [f"'{stated[:80]}' was taken for {named[0].label}"]
    if params.plan:  # the planner says what is wrong with it
        return stated, []
    if named:
        listed = "; ".join(one.label for one in named[:NAMESAKES_LISTED])
        raise InputError(f"'id': several are called '{stated[:80]}'; give the id of one: {listed}")
    like = resolve_name(reader, spec, stated, scope=of_kind(scope, params.kind))
    near = ([like.label] if like.label else list(like.suggestions))[:NAMESAKES_LISTED]
    hint = f"; did you mean {' or '.join(near)}?" if near else f"; an id looks like '{example_id(reader, scope=scope)}'"
    raise NotFoundError(f"there is no record '{stated[:80]}' in '{catalogue}'{hint}")


def _namesake_notes(params: MutateParams, shelf: Shelf, scope: Scope) -> list[str]:
    """Return a note on the records that have the name of a new one."""
    title = (params.fields or {}).get(shelf.spec.title_field.name)
    if not isinstance(title, str):
        return []
    named = find_namesakes(shelf.reader(), shelf.spec, title, scope=of_kind(scope, params.kind))
    listed = "; ".join(one.label for one in named[:NAMESAKES_LISTED])
    return [f"there is one of this name already: {listed}"] if named else []


def of_kind(scope: Scope, kind: str | None) -> Scope:
    """Return a scope narrowed to a kind, if one is given."""
    return scope.narrowed(AnyOf(KIND_FIELD, (kind,))) if kind else scope
