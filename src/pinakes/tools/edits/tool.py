"""The tool `catalog.mutate` over editable catalogues."""

from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

from pinakes.catalogue.spec import CatalogueSpec
from pinakes.ingest.edits.apply import Edits
from pinakes.ingest.edits.draft import LONGEST_SOURCE_ID, EditAction
from pinakes.ingest.edits.values import require_id
from pinakes.model.principal import Action, Cost, Principal
from pinakes.model.scope import Scope
from pinakes.shelf.port import Author
from pinakes.tools.catalogue import OpenCatalogue, ask_each
from pinakes.tools.edits.answer import result_of, result_text
from pinakes.tools.edits.chosen import chosen_catalogue
from pinakes.tools.edits.own_kinds import OwnEdits, mutate_own
from pinakes.tools.edits.request import request_of
from pinakes.tools.edits.shapes import MutateInCatalogueParams, MutateParams, MutateResult
from pinakes.tools.own_kinds import OwnKinds
from pinakes.tools.spec import ToolSpec

LONGEST_GUIDE = 200
"""The most characters of the names of fields in the tool's description."""


class EditTools:
    """The edit tool over editable catalogues."""

    def __init__(self, catalogues: Sequence[OpenCatalogue], own_kinds: Sequence[OwnKinds] = ()) -> None:
        self.own = OwnEdits(own_kinds)
        self._edits = {one.name: Edits(shelf=one.shelf, embedder=one.searcher.embedder) for one in catalogues}

    def mutate(self, principal: Principal, params: MutateParams, call_id: str) -> MutateResult:
        """Plan an edit, and apply it unless only a preview is asked for."""
        own = self._find_own(principal, params)
        if own is not None:
            return mutate_own(own, principal, params, call_id=None if params.preview else call_id)
        name = chosen_catalogue(self._edits, principal, params)
        edits = self._edits[name]
        request, notes = request_of(params, name, edits.shelf, Scope(visibility=principal.visibility))
        if params.preview:
            plan = edits.plan(request, visibility=principal.visibility)
            return result_of(principal, plan, token=plan.token if plan.changes else None, notes=notes)
        author = Author(principal=principal.name, call_id=call_id)
        applied = edits.apply(request, author=author, token=params.plan, visibility=principal.visibility)
        made = call_id if applied.plan.changes else None
        return result_of(principal, applied.plan, call_id=made, notes=[*notes, *applied.notes])

    def _find_own(self, principal: Principal, params: MutateParams) -> OwnKinds | None:
        """Return the kinds of the caller's own that a call is about; a change of a catalogue is undone there."""
        if not self.own.fields:
            return None
        if params.action is EditAction.UNDO and (not params.id or self._has_change(params.id)):
            return None
        return self.own.find(principal, params)

    def _has_change(self, call_id: str) -> bool:
        """Tell whether a catalogue was changed by this call."""
        require_id(call_id, longest=LONGEST_SOURCE_ID)
        asked = ask_each(self._edits, lambda edits: edits.shelf.history().list_changes(call_id=call_id, limit=1))
        return any(asked.found.values())


def edit_tools(catalogues: Sequence[OpenCatalogue], own_kinds: Sequence[OwnKinds] = ()) -> list[ToolSpec]:
    """Declare the edit tool; none where no catalogue is editable."""
    editable = [one for one in catalogues if one.spec.editable]
    if not editable:
        return []
    tools = EditTools(editable, own_kinds)
    kinds = dict.fromkeys([*(kind for one in editable for kind in one.spec.kinds), *tools.own.fields])
    several = len(editable) > 1
    properties: dict[str, Any] = {
        "kind": {"type": "string", "enum": list(kinds)},
        "fields": {"type": "object", "description": f"Values to set; null removes. {_field_guide(editable)}"},
    }
    if several:
        properties["catalogue"] = {"type": "string", "enum": [one.name for one in editable]}
    return [
        ToolSpec(
            name="catalog.mutate",
            description="Create, update or delete records, or undo a change; preview first.",
            params=MutateInCatalogueParams if several else MutateParams,
            result=MutateResult,
            action=Action.EDIT_CATALOG,
            cost=Cost.WRITE,
            costs=_cost_of,
            read_only=False,
            wants_call_id=True,
            run=tools.mutate,
            text=result_text,
            properties=properties,
            count_of=attrgetter("total"),
        )
    ]


def _cost_of(arguments: Mapping[str, Any]) -> Cost:
    """Return the cost of a call: a preview changes nothing, and so counts as a read."""
    return Cost.READ if arguments.get("preview") is True else Cost.WRITE


def _field_guide(editable: Sequence[OpenCatalogue]) -> str:
    """Return the fields that each kind has, in a bounded length: those of every kind first."""
    specs = list({one.spec.name: one.spec for one in editable}.values())
    guide = "; ".join(part for spec in specs for part in _field_names(spec))
    return guide if len(guide) <= LONGEST_GUIDE else f"{guide[:LONGEST_GUIDE].rsplit(', ', 1)[0]}, …"


def _field_names(spec: CatalogueSpec) -> Iterator[str]:
    """Yield the fields of every kind, and then those of each kind alone."""
    shown = [field for field in spec.fields.values() if field.shown]
    yield ", ".join(field.name for field in shown if all(field.is_of(kind) for kind in spec.kinds))
    for kind in spec.kinds:
        own = [field.name for field in shown if field.kinds and field.is_of(kind)]
        if own:
            yield f"{kind}: {', '.join(own)}"
