"""The catalogue that an edit is about: the named one, or the only one that the request can be about."""

from collections.abc import Mapping

from pinakes.errors import InputError, NotFoundError, did_you_mean
from pinakes.ingest.edits.apply import Edits
from pinakes.ingest.edits.draft import LONGEST_SOURCE_ID, EditAction
from pinakes.ingest.edits.values import require_id
from pinakes.model.principal import Principal
from pinakes.model.scope import Scope
from pinakes.search.ids import find_by_id
from pinakes.search.names import find_namesakes
from pinakes.shelf.port import Shelf
from pinakes.text.spelling import meant
from pinakes.tools.catalogue import ask_each
from pinakes.tools.edits.request import BY_NAME, of_kind
from pinakes.tools.edits.shapes import MutateInCatalogueParams, MutateParams


def chosen_catalogue(editable: Mapping[str, Edits], principal: Principal, params: MutateParams) -> str:
    """Return the catalogue that is meant: the named one, or the only one that the request can be about."""
    known = list(editable)
    stated = params.catalogue if isinstance(params, MutateInCatalogueParams) else None
    asked = meant(stated, known) if stated is not None else None
    if asked is not None and asked not in known:
        hint = did_you_mean(asked, known)
        raise NotFoundError(f"no editable catalogue {asked[:60]!r}{hint}; there are {', '.join(known)}")
    if asked is not None or len(known) == 1:
        return asked or known[0]
    if params.id:
        require_id(params.id, longest=LONGEST_SOURCE_ID)
        name, _, rest = params.id.partition("/")
        if name in known and rest:
            return name
    scope = Scope(visibility=principal.visibility)
    asked_of = ask_each(editable, lambda edits: _is_about(params, edits.shelf, scope))
    able = [name for name, is_about in asked_of.found.items() if is_about]
    if not able and params.id and params.action in BY_NAME:
        asked_of = ask_each(editable, lambda edits: _is_named(params, edits.shelf, scope))
        able = [name for name, is_named in asked_of.found.items() if is_named]
    if len(able) == 1 and not asked_of.skipped:  # one that cannot be read may be the one that is meant
        return able[0]
    raise InputError(f"'catalogue' is missing; one of {', '.join(known)}")


def _is_about(params: MutateParams, shelf: Shelf, scope: Scope) -> bool:
    """Tell whether a request can be about a catalogue: it has the record, the change or the kind that is named."""
    if params.action is EditAction.CREATE:
        return params.kind in shelf.spec.kinds
    if not params.id:
        return False
    if params.action is EditAction.UNDO:
        return bool(shelf.history().list_changes(call_id=params.id, limit=1))
    return find_by_id(shelf.reader(), params.id, scope=scope) is not None


def _is_named(params: MutateParams, shelf: Shelf, scope: Scope) -> bool:
    """Tell whether a catalogue has a record of the name that is given as an id."""
    return bool(find_namesakes(shelf.reader(), shelf.spec, params.id or "", scope=of_kind(scope, params.kind)))
