"""The tool `catalog.mutate` over editable catalogues."""

from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

from stackroom.catalogue.spec import CatalogueSpec
from stackroom.errors import InputError
from stackroom.ingest.edits.apply import Edits
from stackroom.ingest.edits.draft import EditAction, EditRequest
from stackroom.model.principal import Action, Cost, Principal
from stackroom.model.scope import Scope
from stackroom.shelf.port import Author
from stackroom.tools.catalogue import OpenCatalogue
from stackroom.tools.edits.answer import (
    MutateInCatalogueParams,
    MutateParams,
    MutateResult,
    result_of,
    result_of_own,
    result_text,
)
from stackroom.tools.edits.request import chosen_catalogue, requests_of, with_ids
from stackroom.tools.own_storage import OwnKinds
from stackroom.tools.spec import ToolSpec

EDIT_TOOL = "catalog.mutate"
LONGEST_GUIDE = 220
"""The most characters of the names of fields in the tool's description."""


class EditTools:
    """The edit tool over editable catalogues."""

    def __init__(self, catalogues: Sequence[OpenCatalogue], own_kinds: Sequence[OwnKinds] = ()) -> None:
        self._edits = {
            catalogue.name: Edits(shelf=catalogue.shelf, embedder=catalogue.searcher.embedder)
            for catalogue in catalogues
        }
        self._own = {kind: kinds for kinds in own_kinds for kind in kinds.fields}

    def mutate(self, principal: Principal, params: MutateParams, call_id: str) -> MutateResult:
        """Plan an edit, and apply it unless only a preview is asked for."""
        requests = requests_of(params)
        if any(request.kind in self._own for request in requests):
            return self._change_own(principal, params, requests, call_id)
        stated = params.catalogue if isinstance(params, MutateInCatalogueParams) else None
        name = chosen_catalogue(self._edits, principal, stated, requests)
        edits, scope = self._edits[name], Scope(visibility=principal.visibility)
        meant, notes = with_ids(requests, name, edits.shelf, scope, is_planned=params.plan is not None)
        if params.preview:
            plan = edits.plan(*meant, visibility=principal.visibility)
            return result_of(principal, plan, token=plan.token if plan.changes else None, notes=notes)
        author = Author(principal=principal.name, call_id=call_id)
        applied = edits.apply(*meant, author=author, token=params.plan, visibility=principal.visibility)
        made = call_id if applied.plan.changes else None
        return result_of(principal, applied.plan, call_id=made, notes=[*notes, *applied.notes])

    def _change_own(
        self, principal: Principal, params: MutateParams, requests: Sequence[EditRequest], call_id: str
    ) -> MutateResult:
        """Change something that belongs to the caller, at once."""
        request = requests[0]
        if params.preview or params.plan or params.changes or request.action is EditAction.UNDO:
            raise InputError(
                f"a {request.kind} is changed alone and at once: give 'action' (create, update, delete), 'kind', 'id' "
                "and 'fields'; delete takes a creation back"
            )
        return result_of_own(str(request.kind), self._own[str(request.kind)].change(principal, request), call_id)


def edit_tools(catalogues: Sequence[OpenCatalogue], own_kinds: Sequence[OwnKinds] = ()) -> list[ToolSpec]:
    """Declare the edit tool; none where no catalogue is editable."""
    editable = [one for one in catalogues if one.spec.editable]
    if not editable:
        return []
    tools = EditTools(editable, own_kinds)
    of_users = {kind: names for kinds in own_kinds for kind, names in kinds.fields.items()}
    kinds = dict.fromkeys([*(kind for catalogue in editable for kind in catalogue.spec.kinds), *of_users])
    several = len(editable) > 1
    properties: dict[str, Any] = {
        "kind": {"type": "string", "enum": list(kinds)},
        "fields": {"type": "object", "description": f"Values to set; null removes. {_field_guide(editable, of_users)}"},
    }
    if several:
        properties["catalogue"] = {"type": "string", "enum": [one.name for one in editable]}
    return [
        ToolSpec(
            name=EDIT_TOOL,
            description="Create, update, delete records; undo; preview first.",
            params=MutateInCatalogueParams if several else MutateParams,
            result=MutateResult,
            action=Action.EDIT_CATALOG,
            cost=Cost.WRITE,
            costs=lambda given: Cost.READ if given.get("preview") is True else Cost.WRITE,  # a preview changes nothing
            read_only=False,
            wants_call_id=True,
            run=tools.mutate,
            text=result_text,
            properties=properties,
            count_of=attrgetter("total"),
        )
    ]


def _field_guide(editable: Sequence[OpenCatalogue], of_users: Mapping[str, Sequence[str]]) -> str:
    """Return the fields that each kind has, in a bounded length: those of every kind first."""
    specs = list({one.spec.name: one.spec for one in editable}.values())
    own = [f"{kind}: {', '.join(names)}" for kind, names in of_users.items() if names]
    guide = "; ".join([*(part for spec in specs for part in _field_names(spec)), *own])
    return guide if len(guide) <= LONGEST_GUIDE else f"{guide[:LONGEST_GUIDE].rsplit(', ', 1)[0]}, …"


def _field_names(spec: CatalogueSpec) -> Iterator[str]:
    """Yield the fields of every kind, and then those of each kind alone, with related records by name."""
    ids = {relation.field for relation in spec.relations if relation.copies}
    shown = [field for field in spec.fields.values() if field.shown and field.name not in ids]
    yield ", ".join(field.name for field in shown if all(field.is_of(kind) for kind in spec.kinds))
    for kind in spec.kinds:
        own = [field.name for field in shown if field.kinds and field.is_of(kind)]
        if own:
            yield f"{kind}: {', '.join(own)}"
