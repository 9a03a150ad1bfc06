"""Planning an edit: a request and a view of the catalogue → the records before and after. Nothing is written.

The request is checked against the spec; `changes` plans creations, updates and deletions with all that follows from
them, `undo` reverts past calls.
"""

from pinakes.catalogue.spec import CatalogueSpec
from pinakes.errors import InputError
from pinakes.ingest.edits.changes import plan_changes
from pinakes.ingest.edits.draft import Draft, Edit, EditAction, EditPlan, EditRequest
from pinakes.ingest.edits.undo import plan_undo
from pinakes.model.scope import SEES_EVERYTHING, Visibility
from pinakes.shelf.port import ShelfHistory, ShelfReader


def plan_edit(
    edit: Edit,
    *,
    spec: CatalogueSpec,
    reader: ShelfReader,
    history: ShelfHistory,
    visibility: Visibility = SEES_EVERYTHING,
) -> EditPlan:
    """Return the plan of a request or a batch, or refuse it with what would be valid."""
    _require_editable(spec)
    draft = Draft(spec, reader, history, visibility)
    if isinstance(edit, EditRequest) and edit.action is EditAction.UNDO:
        plan_undo(draft, edit)
    else:
        plan_changes(draft, [edit] if isinstance(edit, EditRequest) else edit.changes)
    return draft.plan()


def _require_editable(spec: CatalogueSpec) -> None:
    if not spec.editable:
        raise InputError(f"'{spec.name}' cannot be edited: its catalogue.toml does not say editable = true")
