"""The tool `catalog.mutate` over editable catalogues."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any

from stackroom.catalogue.spec import CatalogueSpec
from stackroom.errors import ExpectedError
from stackroom.ingest.edits.apply import Edits
from stackroom.ingest.edits.draft import Edit, EditAction, EditBatch
from stackroom.ingest.edits.relations import listings
from stackroom.ingest.edits.undo import record_change
from stackroom.model.principal import Action, Cost, Principal
from stackroom.model.scope import Scope
from stackroom.shelf.port import Author
from stackroom.tools.catalogue import OpenCatalogue
from stackroom.tools.edits.answer import (
    MutateInCatalogueParams,
    MutateParams,
    MutateResult,
    result_of,
    result_text,
)
from stackroom.tools.edits.doubles import find_repeated, namesake_notes
from stackroom.tools.edits.request import BY_NAME, chosen_catalogue, edit_of, requests_of, with_ids
from stackroom.tools.spec import ToolSpec

EDIT_TOOL = "catalog.mutate"
LONGEST_GUIDE = 220
"""The most characters of the names of fields in the tool's description."""


class EditTools:
    """The edit tool over editable catalogues."""

    def __init__(self, catalogues: Sequence[OpenCatalogue], *, now: Callable[[], datetime]) -> None:
        self._edits = {one.name: Edits(shelf=one.shelf, embedder=one.searcher.embedder) for one in catalogues}
        self._now = now

    def mutate(self, principal: Principal, params: MutateParams, call_id: str) -> MutateResult:
        """Plan an edit, and apply it unless only a preview is asked for."""
        requests = requests_of(params)
        stated = params.catalogue if isinstance(params, MutateInCatalogueParams) else None
        name = chosen_catalogue(self._edits, principal, stated, requests)
        edits, scope = self._edits[name], Scope(visibility=principal.visibility)
        meant, notes = with_ids(requests, name, edits.shelf, scope, is_planned=params.plan is not None)
        edit = edit_of(params, meant)
        if params.preview:
            plan = edits.plan(edit, visibility=principal.visibility)
            notes += namesake_notes(plan, edits.shelf.reader(), edits.shelf.spec, scope)
            return result_of(principal, plan, token=plan.token if plan.changes else None, notes=notes)
        repeated = self._find_repeated(edits, edit, principal)
        return repeated or _applied(edits, edit, principal, notes, call_id=call_id, token=params.plan)

    def _find_repeated(self, edits: Edits, edit: Edit, principal: Principal) -> MutateResult | None:
        """Return the answer of the call that a request without ids of its own repeats, if it repeats one."""
        requests = edit.changes if isinstance(edit, EditBatch) else [edit]
        if any(one.id or one.action is EditAction.UNDO for one in requests if one.action not in BY_NAME):
            return None
        try:
            plan = edits.plan(edit, visibility=principal.visibility)
        except ExpectedError:
            return None  # applying it says what is wrong
        scope = Scope(visibility=principal.visibility)
        changes = find_repeated(plan, edits.shelf, principal=principal.name, scope=scope, now=self._now())
        if changes is None:
            return None
        done = replace(plan, changes=tuple(record_change(change) for change in changes))
        when = f"{changes[0].at:%H:%M:%S} UTC"
        note = f"made by you at {when} already, and not made again; to have it twice, give the second an 'id'"
        return result_of(principal, done, call_id=changes[0].author.call_id, notes=[note])


def _applied(
    edits: Edits, edit: Edit, principal: Principal, notes: Sequence[str], *, call_id: str, token: str | None
) -> MutateResult:
    """Apply an edit, and return the answer with notes on it."""
    before, scope = edits.shelf.reader(), Scope(visibility=principal.visibility)
    author = Author(principal=principal.name, call_id=call_id)
    applied = edits.apply(edit, author=author, token=token, visibility=principal.visibility)
    named = namesake_notes(applied.plan, before, edits.shelf.spec, scope)
    made = call_id if applied.plan.changes else None
    return result_of(principal, applied.plan, call_id=made, notes=[*notes, *named, *applied.notes])


def _utc_now() -> datetime:
    return datetime.now(UTC)


def edit_tools(catalogues: Sequence[OpenCatalogue], *, now: Callable[[], datetime] = _utc_now) -> list[ToolSpec]:
    """Declare the edit tool; none where no catalogue is editable."""
    editable = [one for one in catalogues if one.spec.editable]
    if not editable:
        return []
    tools = EditTools(editable, now=now)
    kinds = dict.fromkeys(kind for catalogue in editable for kind in catalogue.spec.kinds)
    several = len(editable) > 1
    properties: dict[str, Any] = {
        "kind": {"type": "string", "enum": list(kinds)},
        "fields": {"type": "object", "description": f"Values to set; null removes. {_field_guide(editable)}"},
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
    """Yield the fields of every kind, and then those of each kind alone: related records by name, and its parts."""
    ids = {relation.field for relation in spec.relations if relation.copies}
    shown = [field for field in spec.fields.values() if field.shown and field.name not in ids]
    yield ", ".join(field.name for field in shown if all(field.is_of(kind) for kind in spec.kinds))
    for kind in spec.kinds:
        own = [field.name for field in shown if field.kinds and field.is_of(kind)]
        parts = [name for name, relation in listings(kind, spec).items() if relation.order]
        if own or parts:
            yield f"{kind}: {', '.join([*own, *parts])}"
