"""`catalog.mutate` of records that belong to the caller, such as likes and playlists."""

from collections.abc import Mapping, Sequence

from stackroom.errors import InputError
from stackroom.ingest.edits.draft import LONGEST_SOURCE_ID, EditAction, EditRequest
from stackroom.ingest.edits.values import require_id
from stackroom.model.principal import Principal
from stackroom.tools.edits.answer import CHANGES_SHOWN, shown_value
from stackroom.tools.edits.shapes import (
    ChangedField,
    ChangedRecord,
    MutateInCatalogueParams,
    MutateParams,
    MutateResult,
)
from stackroom.tools.own_kinds import OwnCall, OwnChange, OwnKinds, OwnOutcome, OwnRequest


class OwnEdits:
    """The kinds of all packages that belong to users."""

    def __init__(self, kinds: Sequence[OwnKinds]) -> None:
        self._kinds = tuple(kinds)
        self._by_name = {name: one for one in kinds for name in one.fields}

    @property
    def fields(self) -> Mapping[str, Sequence[str]]:
        """The names of the kinds, each with the names of its fields."""
        return {name: one.fields[name] for name, one in self._by_name.items()}

    def find(self, principal: Principal, requests: Sequence[EditRequest]) -> OwnKinds | None:
        """Return the kinds that a call is about; None where it is about records of a catalogue."""
        found = [self._find(principal, request) for request in requests]
        if any(one is not found[0] for one in found):
            own = ", ".join(self._by_name)
            raise InputError(f"'changes': {own} are kept apart from other records; change them in a call of their own")
        return found[0] if found else None

    def _find(self, principal: Principal, request: EditRequest) -> OwnKinds | None:
        if request.action is not EditAction.UNDO:
            return self._by_name.get(request.kind or "")
        return next((one for one in self._kinds if request.id and one.has_call(principal, request.id)), None)


def mutate_own(
    kinds: OwnKinds,
    principal: Principal,
    params: MutateParams,
    requests: Sequence[EditRequest],
    *,
    call_id: str | None,
) -> MutateResult:
    """Change records of the caller's own; without a call id, only tell what would change."""
    call = OwnCall(call_id=call_id, token=params.plan)
    undone = [one.id for one in requests if one.action is EditAction.UNDO]
    if undone and len(requests) > 1:
        raise InputError("an undo cannot be one of several changes; send it alone")
    if undone:
        outcome = kinds.undo(principal, undone[0] or "", call)
    else:
        catalogue = params.catalogue if isinstance(params, MutateInCatalogueParams) else None
        outcome = kinds.edit(principal, [_request_of(one, catalogue) for one in requests], call)
    return _result_of(outcome, call_id=call_id)


def _request_of(request: EditRequest, catalogue: str | None) -> OwnRequest:
    if request.id:
        require_id(request.id, longest=LONGEST_SOURCE_ID)
    if request.cascade:
        raise InputError(f"'cascade' is not for the kind '{request.kind}'; leave it out")
    return OwnRequest(
        action=request.action, kind=request.kind or "", id=request.id, fields=request.fields, catalogue=catalogue
    )


def _result_of(outcome: OwnOutcome, *, call_id: str | None) -> MutateResult:
    changes = outcome.changes
    said = [] if changes else ["nothing to change: it is so already"]
    return MutateResult(
        applied=call_id is not None and bool(changes),
        plan=outcome.token if call_id is None and changes else None,
        changes=[_changed(change) for change in changes[:CHANGES_SHOWN]],
        total=len(changes),
        has_more=len(changes) > CHANGES_SHOWN,
        call_id=call_id if changes else None,
        notes=[*outcome.notes, *said],
    )


def _changed(change: OwnChange) -> ChangedRecord:
    before, after = change.before or {}, change.after or {}
    fields = [
        ChangedField(field=name, before=shown_value(before.get(name)), after=shown_value(after.get(name)))
        for name in dict.fromkeys([*before, *after])
        if before.get(name) != after.get(name)
    ]
    return ChangedRecord(id=change.id, kind=change.kind, op=change.op, fields=fields)
