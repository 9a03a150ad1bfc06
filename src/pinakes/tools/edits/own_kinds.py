"""`catalog.mutate` of records that belong to the caller, such as likes and playlists."""

from collections.abc import Mapping, Sequence

from pinakes.errors import InputError
from pinakes.ingest.edits.draft import LONGEST_SOURCE_ID, EditAction
from pinakes.ingest.edits.values import require_id
from pinakes.model.principal import Principal
from pinakes.tools.edits.answer import CHANGES_SHOWN, shown_value
from pinakes.tools.edits.shapes import ChangedField, ChangedRecord, MutateInCatalogueParams, MutateParams, MutateResult
from pinakes.tools.own_kinds import OwnCall, OwnChange, OwnKinds, OwnOutcome, OwnRequest


class OwnEdits:
    """The kinds of all packages that belong to users."""

    def __init__(self, kinds: Sequence[OwnKinds]) -> None:
        self._kinds = tuple(kinds)
        self._by_name = {name: one for one in kinds for name in one.fields}

    @property
    def fields(self) -> Mapping[str, Sequence[str]]:
        """The names of the kinds, each with the names of its fields."""
        return {name: one.fields[name] for name, one in self._by_name.items()}

    def find(self, principal: Principal, params: MutateParams) -> OwnKinds | None:
        """Return the kinds that a call is about; None where it is about records of a catalogue."""
        if params.action is not EditAction.UNDO:
            return self._by_name.get(params.kind or "")
        return next((one for one in self._kinds if params.id and one.has_call(principal, params.id)), None)


def mutate_own(kinds: OwnKinds, principal: Principal, params: MutateParams, *, call_id: str | None) -> MutateResult:
    """Change records of the caller's own; without a call id, only tell what would change."""
    call = OwnCall(call_id=call_id, token=params.plan)
    if params.action is EditAction.UNDO:
        outcome = kinds.undo(principal, params.id or "", call)
    else:
        outcome = kinds.edit(principal, [_request_of(params)], call)
    return _result_of(outcome, call_id=call_id)


def _request_of(params: MutateParams) -> OwnRequest:
    if params.id:
        require_id(params.id, longest=LONGEST_SOURCE_ID)
    if params.cascade:
        raise InputError(f"'cascade' is not for the kind '{params.kind}'; leave it out")
    return OwnRequest(
        action=params.action,
        kind=params.kind or "",
        id=params.id,
        fields=params.fields or {},
        catalogue=params.catalogue if isinstance(params, MutateInCatalogueParams) else None,
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
