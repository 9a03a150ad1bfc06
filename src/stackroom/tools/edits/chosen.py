"""The catalogue that an edit is about: the named one, or the only one that the request can be about."""

from collections.abc import Callable, Mapping, Sequence

from stackroom.errors import InputError, NotFoundError, did_you_mean
from stackroom.ingest.edits.apply import Edits
from stackroom.ingest.edits.draft import LONGEST_SOURCE_ID, EditAction, EditRequest
from stackroom.ingest.edits.names import scope_of
from stackroom.ingest.edits.values import require_id
from stackroom.model.principal import Principal
from stackroom.model.scope import Scope
from stackroom.search.ids import find_by_id
from stackroom.search.names import find_namesakes
from stackroom.shelf.port import Shelf
from stackroom.text.spelling import meant
from stackroom.tools.catalogue import ask_each
from stackroom.tools.edits.request import BY_NAME


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
    for is_about in (_is_about, _is_about_or_named):
        able, is_sure = _able(editable, requests, scope, is_about)
        if len(able) == 1 and is_sure:
            return able[0]
        if able:
            break
    raise InputError(f"'catalogue' is missing; one of {', '.join(known)}")


def _in_ids(requests: Sequence[EditRequest], known: Sequence[str]) -> list[str]:
    """Return the catalogues that ids begin with, as in `library/author-woolf`."""
    stated = [require_id(one, longest=LONGEST_SOURCE_ID).partition("/") for request in requests for one in request.ids]
    return list(dict.fromkeys(name for name, _, rest in stated if name in known and rest))


def _able(
    editable: Mapping[str, Edits],
    requests: Sequence[EditRequest],
    scope: Scope,
    is_about: Callable[[EditRequest, Shelf, Scope], bool],
) -> tuple[list[str], bool]:
    """Return the catalogues that every request can be about, and whether all could be asked."""
    asked = ask_each(editable, lambda edits: all(is_about(one, edits.shelf, scope) for one in requests))
    able = [name for name, is_able in asked.found.items() if is_able]
    return able, not asked.skipped  # one that cannot be read may be the one that is meant


def _is_about(request: EditRequest, shelf: Shelf, scope: Scope) -> bool:
    """Tell whether a request can be about a catalogue: it has the record, the change or the kind that is named."""
    if request.action is EditAction.CREATE:
        return meant(request.kind or "", shelf.spec.kinds) in shelf.spec.kinds
    if not request.id:
        return False
    if request.action is EditAction.UNDO:
        return bool(shelf.history().list_changes(call_id=request.id, limit=1))
    return find_by_id(shelf.reader(), request.id, scope=scope) is not None


def _is_about_or_named(request: EditRequest, shelf: Shelf, scope: Scope) -> bool:
    """Tell the same, where a name may be given as an id."""
    if _is_about(request, shelf, scope):
        return True
    if not request.id or request.action not in BY_NAME:
        return False
    return bool(find_namesakes(shelf.reader(), shelf.spec, request.id, scope=scope_of(scope, request.kind)))
