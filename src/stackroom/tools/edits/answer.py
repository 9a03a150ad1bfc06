"""The answer of `catalog.mutate`, made from a plan, and its text."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import orjson

from stackroom.ingest.edits.draft import EditPlan, FieldChange, RecordChange
from stackroom.ingest.edits.undo import is_visible
from stackroom.model.principal import Principal
from stackroom.shelf.port import Op
from stackroom.tools.edits.shapes import ChangedField, ChangedRecord, MutateResult
from stackroom.tools.plain_text import json_text

CHANGES_SHOWN = 50
LONGEST_VALUE = 500
LONGEST_LIST = 2_000
"""The most characters shown of a text, and of a list as JSON."""


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
    return {"field": change.field, "before": shown_value(change.before), "after": shown_value(change.after)}


def shown_value(value: Any) -> Any:
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


def result_text(result: MutateResult) -> str:
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
