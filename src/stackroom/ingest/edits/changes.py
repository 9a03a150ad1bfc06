"""Planning creations, updates and deletions together, so that their order does not matter.

Every record is drafted before names are resolved, and names before relations are checked: a record may name another of
the same request before or after it, by its id or by its name.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from stackroom.catalogue.spec import CatalogueSpec, FieldType, RelationSpec, texts_of
from stackroom.errors import ConflictError, InputError, NotFoundError, did_you_mean
from stackroom.ingest.edits.draft import Draft, EditAction, EditRequest, required_id
from stackroom.ingest.edits.names import RelatedNames, spelt_fields
from stackroom.ingest.edits.relations import follow_rename, relations_of, settle_own, take_out, with_value
from stackroom.ingest.edits.values import Place, read_fields, require_new_id, run_each
from stackroom.model.record import Record, RecordId, Value
from stackroom.text.normalise import meant

LONGEST_ID = 200
MOST_CHANGES = 100
"""The most records that one request may create, update or delete by name; what follows from it is not counted."""


@dataclass(slots=True, kw_only=True, eq=False)
class DraftedChange:
    """A change whose record is in the draft; relations are settled in `given` step by step."""

    request: EditRequest
    record: Record
    """The record as it was when it was drafted."""
    old: Record | None
    given: dict[str, Value]
    """The values to set, None for those to remove."""

    @property
    def id(self) -> RecordId:
        """The record's id."""
        return self.record.id

    @property
    def is_delete(self) -> bool:
        """Whether the record is deleted."""
        return self.request.action is EditAction.DELETE

    @property
    def place(self) -> Place:
        """The place of the request in the arguments."""
        return self.request.place


def plan_changes(draft: Draft, requests: Sequence[EditRequest]) -> None:
    """Draft the changes of requests and all that follows from them, or refuse with what would be valid."""
    if len(requests) > MOST_CHANGES:
        raise InputError(f"more than {MOST_CHANGES} records at once; give them in several calls")
    if not requests:
        raise InputError(f"'changes' is empty; give 1 to {MOST_CHANGES} changes")
    ChangePlanner(draft, requests).plan()


class ChangePlanner:
    """Plans the changes of one request."""

    def __init__(self, draft: Draft, requests: Sequence[EditRequest]) -> None:
        self._draft = draft
        self._spec = draft.spec
        self._requests = requests
        self._names = RelatedNames(draft)
        self._drafted: dict[RecordId, DraftedChange] = {}
        self._stated_ids = {request.id for request in requests if request.id}

    def plan(self) -> None:
        """Draft every record, and then its relations, the deletions and the renames."""
        run_each(self._requests, self._draft_change, place_of=lambda request: request.place, fields=self._spec.fields)
        written = [one for one in self._drafted.values() if not one.is_delete]
        for relation in _by_depth(self._spec):
            of_kind = [one for one in written if one.record.kind == relation.kind]
            self._each(of_kind, partial(self._relate, relation))
        self._each(written, lambda one: settle_own(self._draft, self._current(one), given=one.given))
        self._delete()
        for one in written:
            if one.old is not None:
                follow_rename(self._draft, one.old)
        self._each(written, self._require_kept)

    def _each(self, drafted: Sequence[DraftedChange], step: Callable[[DraftedChange], None]) -> None:
        run_each(drafted, step, place_of=lambda one: one.place, fields=self._spec.fields)

    def _draft_change(self, request: EditRequest) -> None:
        if request.action is EditAction.UNDO:
            raise InputError("an undo cannot be one of several changes; send it alone")
        drafted = {
            EditAction.CREATE: self._draft_create,
            EditAction.UPDATE: self._draft_update,
            EditAction.DELETE: self._draft_delete,
        }[request.action](request)
        if drafted.id in self._drafted:
            raise InputError(f"'{drafted.id}' is changed twice; put all of it into one change")
        self._drafted[drafted.id] = drafted

    def _draft_create(self, request: EditRequest) -> DraftedChange:
        draft, spec = self._draft, self._spec
        if not request.fields:
            raise InputError(f"'fields' is missing: a new record has at least '{spec.title_field.name}'")
        kind = _kind_of(request.kind, spec)
        values = read_fields(
            spelt_fields(request.fields, kind, spec), kind, spec, draft.known_tags, place=request.place
        )
        title = values.get(spec.title_field.name)
        record_id = (
            RecordId(require_new_id(request.id, longest=LONGEST_ID))
            if request.id
            else draft.free_id(kind, str(title or ""), but=self._stated_ids)
        )
        if draft.find(record_id) is not None:
            raise ConflictError(f"there is a record '{record_id}' already; update it, or give another 'id'")
        record = Record(id=record_id, kind=kind, fields=_present(values))
        draft.put(record)
        return DraftedChange(request=request, record=record, old=None, given=values)

    def _draft_update(self, request: EditRequest) -> DraftedChange:
        draft = self._draft
        old = draft.get_visible(required_id(request))
        if not request.fields:
            raise InputError("'fields' is missing: give the values to set, with null for those to remove")
        if request.kind is not None and meant(request.kind, self._spec.kinds) != old.kind:
            raise InputError(f"'{old.id}' is of kind {old.kind}, which cannot be changed; create another record")
        tags_of = partial(draft.known_tags, record=old)
        fields = spelt_fields(request.fields, old.kind, self._spec)
        values = read_fields(fields, old.kind, self._spec, tags_of, place=request.place)
        values = _without_echoes(values, old, self._spec)
        record = replace(old, fields=_present({**old.fields, **values}))
        draft.put(record)
        return DraftedChange(request=request, record=record, old=old, given=values)

    def _draft_delete(self, request: EditRequest) -> DraftedChange:
        if request.fields:
            raise InputError("a delete takes no 'fields'; to remove values, update the record with null for them")
        record = self._draft.get_visible(required_id(request))
        if request.kind is not None and meant(request.kind, self._spec.kinds) != record.kind:
            raise NotFoundError(f"there is no {request.kind} '{record.id[:80]}'; it is of kind {record.kind}")
        self._draft.delete(record.id)
        return DraftedChange(request=request, record=record, old=record, given={})

    def _relate(self, relation: RelationSpec, one: DraftedChange) -> None:
        """Replace the names of related records, given in either field of a relation, by their ids."""
        field = self._field_with_names(relation, one)
        if not field:
            return
        ids = self._names.find_ids(texts_of(one.given[field]), relation, self._current(one), field=field)
        if not ids:
            return
        if field != relation.field:
            one.given.pop(relation.copies, None)
        is_list = self._spec.fields[relation.field].type is FieldType.TEXTS
        value: Value = tuple(ids) if is_list else ids[0]
        one.given[relation.field] = value
        self._draft.put(with_value(self._current(one), relation.field, value))

    def _field_with_names(self, relation: RelationSpec, one: DraftedChange) -> str:
        """Return the field of a relation in which related records are given; empty where they are given in none."""
        if relation.field in one.given:
            return relation.field if one.given[relation.field] is not None else ""
        return relation.copies if one.given.get(relation.copies) is not None else ""

    def _current(self, one: DraftedChange) -> Record:
        return self._draft.find(one.id) or one.record

    def _delete(self) -> None:
        """Take out what is deleted; what a cascade deletes does not stand in the way of the others."""
        deleted = [one for one in self._drafted.values() if one.is_delete]
        for one in sorted(deleted, key=lambda one: not one.request.cascade):
            self._each([one], lambda one: take_out(self._draft, [one.record], cascade=one.request.cascade))

    def _require_kept(self, one: DraftedChange) -> None:
        if self._draft.find(one.id) is None:
            raise ConflictError(f"'{one.id}' would be deleted by the cascade of another change; leave one of them out")


def _present(values: Mapping[str, Value]) -> dict[str, Value]:
    return {name: value for name, value in values.items() if value is not None}


def _without_echoes(values: Mapping[str, Value], old: Record, spec: CatalogueSpec) -> dict[str, Value]:
    """Return the values without names of related records that are given as they are written there already."""
    copies = {relation.copies for relation in relations_of(old.kind, spec) if relation.field not in values}
    return {
        name: value
        for name, value in values.items()
        if name not in copies or value is None or texts_of(value) != texts_of(old.get(name))
    }


def _kind_of(asked: str | None, spec: CatalogueSpec) -> str:
    known = list(spec.kinds)
    if asked is None and len(known) > 1:
        raise InputError(f"'kind' is missing; one of {', '.join(known)}")
    kind = known[0] if asked is None else meant(asked, known)
    if kind not in known:
        raise InputError(f"no kind {kind[:60]!r}{did_you_mean(kind, known)}; one of {', '.join(known)}")
    return kind


def _by_depth(spec: CatalogueSpec) -> list[RelationSpec]:
    """Return relations in the order in which names are resolved: those to records that name no others first."""
    depths = {kind: _depth(kind, spec, ()) for kind in spec.kinds}
    return sorted(spec.relations, key=lambda relation: (depths[relation.to], depths[relation.kind]))


def _depth(kind: str, spec: CatalogueSpec, seen: tuple[str, ...]) -> int:
    """Return how many relations lead from a kind to one that names no others."""
    to = [relation.to for relation in relations_of(kind, spec) if relation.to not in (*seen, kind)]
    return max((1 + _depth(one, spec, (*seen, kind)) for one in to), default=0)
