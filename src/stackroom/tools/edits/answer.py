"""The arguments and the answer of `catalog.mutate`."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

import orjson
from pydantic import BeforeValidator, Field

from stackroom.ingest.edits.changes import MOST_CHANGES
from stackroom.ingest.edits.draft import EditAction, EditPlan
from stackroom.ingest.edits.undo import is_visible
from stackroom.model.principal import Principal
from stackroom.shelf.port import Op
from stackroom.tools.budget import Continuation, PricedParams, PricedResult, json_text
from stackroom.tools.own_storage import OwnChange
from stackroom.tools.spec import BARE_LIST, GenericParams, GenericResult, one_of


def _parsed(value: Any) -> Any:
    """Return an object or a list that a client has sent as JSON text; anything else as it is."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "["):
        return value
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        return value


UNCHANGED = "nothing to change: it is so already"

Fields = Annotated[dict[str, Any] | None, BeforeValidator(_parsed)]


class ChangeParams(GenericParams):
    """One of several changes."""

    action: EditAction | None = None
    kind: str | None = None
    id: str | None = None
    fields: Fields = None
    cascade: bool = False


class MutateParams(PricedParams, GenericParams):
    """The arguments of `catalog.mutate`: one change, or several that take what they lack from it."""

    action: Annotated[EditAction | None, one_of(EditAction)] = None
    kind: str | None = None
    id: str | None = Field(default=None, description="Id or name of the record; for undo the call_id")
    fields: Fields = None
    changes: Annotated[list[ChangeParams] | None, BeforeValidator(_parsed), BARE_LIST] = Field(
        default=None,
        max_length=MOST_CHANGES,
        description="Several, all or none: [{action, kind, id, fields}]",
    )
    preview: bool = Field(default=False, description="Show what would change")
    plan: str | None = Field(default=None, description="From a preview, to apply exactly it")
    cascade: bool = Field(default=False, description="Also delete records that refer to it")

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
    long_texts: ClassVar[tuple[str, ...]] = ("fields.before", "fields.after")

    applied: bool
    plan: str | None
    changes: list[ChangedRecord]
    total: int
    has_more: bool
    call_id: str | None
    notes: list[str]


def result_of(
    principal: Principal,
    plan: EditPlan,
    *,
    token: str | None = None,
    call_id: str | None = None,
    notes: Sequence[str] = (),
) -> MutateResult:
    """Return the answer of a plan that was applied (with a call id) or previewed (with a token)."""
    seen = [change for change in plan.changes if is_visible(change, principal.visibility)]
    hidden = len(plan.changes) - len(seen)
    said = [f"{_counted(hidden)} that you may not see follow too"] if hidden else []
    if not plan.changes:
        said.append(UNCHANGED)
    changed = [ChangedRecord.model_validate(change, from_attributes=True) for change in seen]
    return _answer(changed, plan=token, call_id=call_id, notes=[*notes, *said])


def result_of_own(kind: str, change: OwnChange | None, call_id: str) -> MutateResult:
    """Return the answer of a change of something that belongs to the caller; None: it was so already."""
    if change is None:
        return _answer([], notes=[UNCHANGED])
    before, after = change.before, change.after
    fields = [
        ChangedField(field=name, before=before.get(name), after=after.get(name))
        for name in dict.fromkeys([*before, *after])
    ]
    changed = ChangedRecord(id=change.id, kind=kind, op=change.op, fields=fields)
    return _answer([changed], call_id=call_id, notes=change.notes)


def _answer(
    changes: list[ChangedRecord], *, plan: str | None = None, call_id: str | None = None, notes: Sequence[str]
) -> MutateResult:
    return MutateResult(
        applied=call_id is not None,
        plan=plan,
        changes=changes,
        total=len(changes),
        has_more=False,
        call_id=call_id,
        notes=list(notes),
    )


def _counted(number: int) -> str:
    return "1 record" if number == 1 else f"{number} records"


def result_text(result: MutateResult) -> str:
    """Return what changed, or would change, one line for each record."""
    done = (
        f"applied to {_counted(result.total)} (call {result.call_id})"
        if result.applied
        else "nothing was changed: 0 records"
    )
    head = f"preview: {_counted(result.total)} would change (plan {result.plan})" if result.plan else done
    lines = [
        f"{change.op} {change.kind} {change.id}: {'; '.join(_field_text(field, change.op) for field in change.fields)}"
        for change in result.changes
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
