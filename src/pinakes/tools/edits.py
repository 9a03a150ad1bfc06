"""Edits by conversation: `catalog.mutate` over every catalogue that may be edited."""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from operator import attrgetter
from typing import Annotated, Any, ClassVar, Self

import orjson
from pydantic import Field

from pinakes.catalogue.spec import CatalogueSpec
from pinakes.errors import InputError, NotFoundError, did_you_mean
from pinakes.ingest.edits.apply import Edits
from pinakes.ingest.edits.draft import (
    LONGEST_SOURCE_ID,
    EditAction,
    EditPlan,
    EditRequest,
    FieldChange,
    RecordChange,
)
from pinakes.ingest.edits.undo import is_visible
from pinakes.ingest.edits.values import require_id
from pinakes.model.principal import Action, Cost, Principal
from pinakes.model.scope import KIND_FIELD, AnyOf, Scope
from pinakes.search.ids import example_id, find_by_id
from pinakes.search.names import find_namesakes, resolve_name
from pinakes.shelf.port import Author, Op, Shelf
from pinakes.tools.admin.row_text import shorten_value
from pinakes.tools.budget import Continuation, PricedParams, PricedResult
from pinakes.tools.catalogue import OpenCatalogue, ask_each
from pinakes.tools.plain_text import json_text
from pinakes.tools.spec import GenericParams, GenericResult, ToolSpec, one_of
from pinakes.tools.spelling import meant

CHANGES_SHOWN = 50
NAMESAKES_LISTED = 5
BY_NAME = (EditAction.UPDATE, EditAction.DELETE)
"""The actions on a record, which may be given by its name."""
LONGEST_VALUE = 500
LONGEST_LIST = 2_000
"""The most characters shown of a text, and of a list as JSON."""
LONGEST_GUIDE = 200
"""The most characters of the names of fields in the tool's description."""


class MutateParams(PricedParams, GenericParams):
    """The arguments of `catalog.mutate`."""

    action: Annotated[EditAction, one_of(EditAction)]
    kind: str | None = Field(default=None, description="Of a new record")
    id: str | None = Field(default=None, description="Or a name; for undo a call_id or change number")
    fields: dict[str, Any] | None = Field(default=None, description="Values to set; null removes")
    preview: bool = Field(default=False, description="Only tell what would change, with a plan")
    plan: str | None = Field(default=None, description="Of a preview: refuse if anything moved since")
    cascade: bool = Field(default=False, description="Delete what names it too")

    def after(self, count: int) -> Continuation:
        """Return how to get the changes after the first ones: once made, from the changelog."""
        return super().after(count) if self.preview else Continuation("changelog://recent has the others")


class MutateInCatalogueParams(MutateParams):
    """The arguments of `catalog.mutate` where several catalogues may be edited."""

    catalogue: str | None = None


class ChangedField(GenericResult):
    """A field before and after."""

    field: str
    before: Any
    after: Any


class ChangedRecord(GenericResult):
    """A record that changed."""

    id: str
    kind: str
    op: Op
    fields: list[ChangedField]


class MutateResult(PricedResult, GenericResult):
    """The answer of `catalog.mutate`."""

    paged: ClassVar[str] = "changes"

    applied: bool
    plan: str | None
    changes: list[ChangedRecord]
    total: int
    has_more: bool
    call_id: str | None
    notes: list[str]

    def shortened(self, chars: int) -> Self:
        """Return the answer with long values cut."""
        return self.model_copy(update={"changes": [_shorter(one, chars) for one in self.changes]})


def _shorter(change: ChangedRecord, chars: int) -> ChangedRecord:
    values = ("before", "after")
    fields = [
        one.model_copy(update={name: shorten_value(getattr(one, name), chars) for name in values})
        for one in change.fields
    ]
    return change.model_copy(update={"fields": fields})


class EditTools:
    """The edit tool over editable catalogues."""

    def __init__(self, catalogues: Sequence[OpenCatalogue]) -> None:
        self._edits = {one.name: Edits(shelf=one.shelf, embedder=one.searcher.embedder) for one in catalogues}

    def mutate(self, principal: Principal, params: MutateParams, call_id: str) -> MutateResult:
        """Plan an edit, and apply it unless only a preview is asked for."""
        name = self._chosen(principal, params)
        edits = self._edits[name]
        request, notes = _request_of(params, name, edits.shelf, Scope(visibility=principal.visibility))
        if params.preview:
            plan = edits.plan(request, visibility=principal.visibility)
            return _result(principal, plan, token=plan.token if plan.changes else None, notes=notes)
        author = Author(principal=principal.name, call_id=call_id)
        applied = edits.apply(request, author=author, token=params.plan, visibility=principal.visibility)
        made = call_id if applied.plan.changes else None
        return _result(principal, applied.plan, call_id=made, notes=[*notes, *applied.notes])

    def _chosen(self, principal: Principal, params: MutateParams) -> str:
        """Return the catalogue that is meant: the named one, or the only one that the request can be about."""
        known = list(self._edits)
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
        asked_of = ask_each(self._edits, lambda edits: _is_about(params, edits.shelf, scope))
        able = [name for name, is_about in asked_of.found.items() if is_about]
        if not able and params.id and params.action in BY_NAME:
            asked_of = ask_each(self._edits, lambda edits: _is_named(params, edits.shelf, scope))
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
    return bool(find_namesakes(shelf.reader(), shelf.spec, params.id or "", scope=_of_kind(scope, params.kind)))


def edit_tools(catalogues: Sequence[OpenCatalogue]) -> list[ToolSpec]:
    """Declare the edit tool; none where no catalogue is editable."""
    editable = [one for one in catalogues if one.spec.editable]
    if not editable:
        return []
    kinds = dict.fromkeys(kind for one in editable for kind in one.spec.kinds)
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
            read_only=False,
            wants_call_id=True,
            run=EditTools(editable).mutate,
            text=_text,
            properties=properties,
            count_of=attrgetter("total"),
        )
    ]


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


def _request_of(params: MutateParams, catalogue: str, shelf: Shelf, scope: Scope) -> tuple[EditRequest, list[str]]:
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
    named = find_namesakes(reader, spec, stated, scope=_of_kind(scope, params.kind))
    if len(named) == 1:
        return named[0].record.id, [f"'{stated[:80]}' was taken for {named[0].label}"]
    if params.plan:  # the planner says what is wrong with it
        return stated, []
    if named:
        listed = "; ".join(one.label for one in named[:NAMESAKES_LISTED])
        raise InputError(f"'id': several are called '{stated[:80]}'; give the id of one: {listed}")
    like = resolve_name(reader, spec, stated, scope=_of_kind(scope, params.kind))
    near = ([like.label] if like.label else list(like.suggestions))[:NAMESAKES_LISTED]
    hint = f"; did you mean {' or '.join(near)}?" if near else f"; an id looks like '{example_id(reader, scope=scope)}'"
    raise NotFoundError(f"there is no record '{stated[:80]}' in '{catalogue}'{hint}")


def _namesake_notes(params: MutateParams, shelf: Shelf, scope: Scope) -> list[str]:
    """Return a note on the records that have the name of a new one."""
    title = (params.fields or {}).get(shelf.spec.title_field.name)
    if not isinstance(title, str):
        return []
    named = find_namesakes(shelf.reader(), shelf.spec, title, scope=_of_kind(scope, params.kind))
    listed = "; ".join(one.label for one in named[:NAMESAKES_LISTED])
    return [f"there is one of this name already: {listed}"] if named else []


def _of_kind(scope: Scope, kind: str | None) -> Scope:
    return scope.narrowed(AnyOf(KIND_FIELD, (kind,))) if kind else scope


def _result(
    principal: Principal,
    plan: EditPlan,
    *,
    token: str | None = None,
    call_id: str | None = None,
    notes: Sequence[str] = (),
) -> MutateResult:
    seen = [change for change in plan.changes if is_visible(change, principal.visibility)]
    hidden = len(plan.changes) - len(seen)
    said = [f"{_counted(hidden)} that you may not see follow too"] if hidden else []
    if not plan.changes:
        said.append("nothing to change: it is so already")
    return MutateResult(
        applied=call_id is not None,
        plan=token,
        changes=[_changed(change) for change in seen[:CHANGES_SHOWN]],
        total=len(seen),
        has_more=len(seen) > CHANGES_SHOWN,
        call_id=call_id,
        notes=[*notes, *said],
    )


def _changed(change: RecordChange) -> ChangedRecord:
    fields = [ChangedField(**_field(one)) for one in change.fields]
    return ChangedRecord(id=change.id, kind=change.kind, op=change.op, fields=fields)


def _field(change: FieldChange) -> dict[str, Any]:
    return {"field": change.field, "before": _shown(change.before), "after": _shown(change.after)}


def _shown(value: Any) -> Any:
    """Return a value for display: a long text or list is truncated, and marked so."""
    if isinstance(value, str):
        return _cut(value, LONGEST_VALUE)
    text = orjson.dumps(value).decode()
    if len(text) <= LONGEST_LIST:
        return value
    if not isinstance(value, list):
        return _cut(text, LONGEST_LIST)
    lengths = accumulate(len(orjson.dumps(item)) for item in value)
    fitting = sum(length <= LONGEST_LIST for length in lengths)
    return [*value[:fitting], f"… ({len(value)} items)"]


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]}… ({len(text)} characters)"


def _counted(number: int) -> str:
    return "1 record" if number == 1 else f"{number} records"


def _text(result: MutateResult) -> str:
    """Return what changed, or would change, one line for each record."""
    done = (
        f"applied to {_counted(result.total)} (call {result.call_id})"
        if result.applied
        else "nothing was changed: 0 records"
    )
    head = f"preview: {_counted(result.total)} would change (plan {result.plan})" if result.plan else done
    lines = [
        f"{one.op} {one.kind} {one.id}: {'; '.join(_field_text(field, one.op) for field in one.fields)}"
        for one in result.changes
    ]
    more = [f"has more: {len(result.changes)} of {result.total} records are shown"] if result.has_more else []
    return "\n".join([head, *lines, *more, *result.notes])


def _field_text(change: ChangedField, op: Op) -> str:
    """Return a field's old and new value; of a created or deleted record, the only one."""
    before, after = json_text(change.before), json_text(change.after)
    match op:
        case Op.INSERT:
            return f"{change.field} {after}"
        case Op.DELETE:
            return f"{change.field} {before}"
        case Op.UPDATE:
            return f"{change.field} {before} → {after}"
