"""Planning creations, updates and deletions together, so that their order does not matter.

Every record is drafted before names are resolved, and names before relations are checked: a record
may name another of the same request before or after it, by its id or by its name. A name means the
record of the request that has it, else the only stored one. Where several have it, those remain
that have a relation to the same records as the record that names them: of two books of a name, the
one by the author of the chapter.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from stackroom.catalogue.spec import CatalogueSpec, FieldType, RelationSpec, texts_of
from stackroom.errors import ConflictError, InputError, NotFoundError, did_you_mean
from stackroom.ingest.edits.draft import Draft, EditAction, EditRequest
from stackroom.ingest.edits.relations import (
    follow_rename,
    named_by,
    relations_of,
    settle_own,
    take_out,
    with_value,
)
from stackroom.ingest.edits.values import read_fields, require_new_id, run_each
from stackroom.model.record import Record, RecordId, Value
from stackroom.model.scope import KIND_FIELD, AnyOf, Scope
from stackroom.search.names import describe, find_namesakes, id_forms, resolve_name
from stackroom.shelf.port import ShelfReader
from stackroom.text.normalise import meant
from stackroom.text.titles import MatchedBy, name_spellings

LISTS = (FieldType.TEXTS, FieldType.TAGS)
TITLES = ("title", "name")
NAMES_LISTED = 5
SHOWN = 80
MOST_CHANGES = 100
"""The most records that one request may create, update or delete by name; what follows from it is
not counted.
"""


@dataclass(slots=True, kw_only=True, eq=False)
class DraftedChange:
    """A change whose record is in the draft; relations are settled in `given` step by step."""

    request: EditRequest
    record: Record  # the record as it was when it was drafted
    old: Record | None
    given: dict[str, Value]  # the values to set, None for those to remove

    @property
    def id(self) -> RecordId:
        """The record's id."""
        return self.record.id


def plan_changes(draft: Draft, requests: Sequence[EditRequest]) -> None:
    """Draft the changes of requests and all that follows from them, or refuse with what would be
    valid.
    """
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
        self._names = _RelatedNames(draft)
        self._drafted: dict[RecordId, DraftedChange] = {}
        self._stated_ids = {request.id for request in requests if request.id}

    def plan(self) -> None:
        """Draft every record, and then its relations, the deletions and the renames."""
        run_each(
            self._requests,
            self._draft_change,
            place_of=lambda request: request.place,
            fields=self._spec.fields,
        )
        written = [
            one for one in self._drafted.values() if one.request.action is not EditAction.DELETE
        ]
        for relation in _by_depth(self._spec):
            of_kind = [one for one in written if one.record.kind == relation.kind]
            self._each(of_kind, partial(self._relate, relation))
        self._each(
            written, lambda one: settle_own(self._draft, self._current(one), given=one.given)
        )
        self._delete()
        for one in written:
            if one.old is not None:
                follow_rename(self._draft, one.old)
        self._each(written, self._require_kept)

    def _each(
        self, drafted: Sequence[DraftedChange], step: Callable[[DraftedChange], None]
    ) -> None:
        run_each(drafted, step, place_of=lambda one: one.request.place, fields=self._spec.fields)

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
            raise InputError(
                f"'fields' is missing: a new record has at least '{spec.title_field.name}'"
            )
        kind = _kind_of(request.kind, spec)
        fields = _spelt_fields(request.fields, kind, spec)
        values = read_fields(fields, kind, spec, draft.known_tags, place=request.place)
        if request.id:
            record_id = RecordId(require_new_id(request.id))
        else:
            title = str(values.get(spec.title_field.name) or "")
            record_id = draft.free_id(kind, title, but=self._stated_ids)
        if draft.find(record_id) is not None:
            raise ConflictError(
                f"there is a record '{record_id}' already; update it, or give another 'id'"
            )
        record = Record(id=record_id, kind=kind, fields=_present(values))
        draft.put(record)
        return DraftedChange(request=request, record=record, old=None, given=values)

    def _draft_update(self, request: EditRequest) -> DraftedChange:
        draft = self._draft
        old = draft.get_visible(request.get_id())
        if not request.fields:
            raise InputError(
                "'fields' is missing: give the values to set, with null for those to remove"
            )
        if request.kind is not None and meant(request.kind, self._spec.kinds) != old.kind:
            raise InputError(
                f"'{old.id}' is of kind {old.kind}, which cannot be changed; create another record"
            )
        tags_of = partial(draft.known_tags, record=old)
        fields = _spelt_fields(request.fields, old.kind, self._spec)
        values = read_fields(fields, old.kind, self._spec, tags_of, place=request.place)
        values = _without_echoes(values, old, self._spec)
        record = replace(old, fields=_present({**old.fields, **values}))
        draft.put(record)
        return DraftedChange(request=request, record=record, old=old, given=values)

    def _draft_delete(self, request: EditRequest) -> DraftedChange:
        if request.fields:
            raise InputError(
                "a delete takes no 'fields'; to remove values, update the record with null for them"
            )
        record = self._draft.get_visible(request.get_id())
        if request.kind is not None and meant(request.kind, self._spec.kinds) != record.kind:
            raise NotFoundError(
                f"there is no {request.kind} '{record.id[:80]}'; it is of kind {record.kind}"
            )
        self._draft.delete(record.id)
        return DraftedChange(request=request, record=record, old=record, given={})

    def _relate(self, relation: RelationSpec, one: DraftedChange) -> None:
        """Replace the names of related records, given in either field of a relation, by their
        ids.
        """
        field = relation.field if relation.field in one.given else relation.copies
        if one.given.get(field) is None:
            return
        texts, record = texts_of(one.given[field]), self._current(one)
        ids = list(
            dict.fromkeys(
                self._names.find_id(text, relation, record, field=field) for text in texts
            )
        )
        if not ids:
            return
        if field != relation.field:
            one.given.pop(relation.copies, None)
        is_list = self._spec.fields[relation.field].type is FieldType.TEXTS
        value: Value = tuple(ids) if is_list else ids[0]
        one.given[relation.field] = value
        self._draft.put(with_value(self._current(one), relation.field, value))

    def _current(self, one: DraftedChange) -> Record:
        return self._draft.find(one.id) or one.record

    def _delete(self) -> None:
        """Take out what is deleted; what a cascade deletes does not stand in the way of the
        others.
        """
        deleted = [one for one in self._drafted.values() if one.request.action is EditAction.DELETE]
        for one in sorted(deleted, key=lambda one: not one.request.cascade):
            self._each(
                [one], lambda one: take_out(self._draft, [one.record], cascade=one.request.cascade)
            )

    def _require_kept(self, one: DraftedChange) -> None:
        if self._draft.find(one.id) is None:
            raise ConflictError(
                f"'{one.id}' would be deleted by the cascade of another change; leave one of"
                " them out"
            )


def _present(values: Mapping[str, Value]) -> dict[str, Value]:
    return {name: value for name, value in values.items() if value is not None}


def _without_echoes(
    values: Mapping[str, Value], old: Record, spec: CatalogueSpec
) -> dict[str, Value]:
    """Return the values without names of related records that are given as they are written there
    already.
    """
    copies = {
        relation.copies for relation in relations_of(old.kind, spec) if relation.field not in values
    }
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
        raise InputError(
            f"no kind {kind[:60]!r}{did_you_mean(kind, known)}; one of {', '.join(known)}"
        )
    return kind


def _by_depth(spec: CatalogueSpec) -> list[RelationSpec]:
    """Return relations in the order in which names are resolved: those to records that name no
    others first.
    """
    depths = {kind: _depth(kind, spec, ()) for kind in spec.kinds}
    return sorted(spec.relations, key=lambda relation: (depths[relation.to], depths[relation.kind]))


def _depth(kind: str, spec: CatalogueSpec, seen: tuple[str, ...]) -> int:
    """Return how many relations lead from a kind to one that names no others."""
    to = [relation.to for relation in relations_of(kind, spec) if relation.to not in (*seen, kind)]
    return max((1 + _depth(one, spec, (*seen, kind)) for one in to), default=0)


def _spelt_fields(given: Mapping[str, Any], kind: str, spec: CatalogueSpec) -> dict[str, Any]:
    """Return the given values by the names of the kind's fields; a name that means none, or one
    given too, stays.
    """
    own = [field.name for field in spec.fields.values() if field.is_of(kind)]
    spelt: dict[str, Any] = {}
    for name, value in given.items():
        field = _field_meant(name, own, spec)
        if field in given and field != name:
            field = name
        spelt[field] = _as_list(value, name, field, kind, spec) if field in own else value
    return spelt


def _field_meant(name: str, own: list[str], spec: CatalogueSpec) -> str:
    found = meant(name, own)
    if found in own:
        return found
    plural = meant(f"{name}s", own)
    if plural in own and spec.fields[plural].type in LISTS:
        return plural
    return spec.title_field.name if name.lower() in TITLES else name


def _as_list(value: Any, name: str, field: str, kind: str, spec: CatalogueSpec) -> Any:
    """Return a value as the field holds it: one text given for a list, where one may be meant, and
    the reverse.
    """
    related = {
        one for relation in relations_of(kind, spec) for one in (relation.field, relation.copies)
    }
    is_list = spec.fields[field].type in LISTS
    if is_list and isinstance(value, str) and (field in related or name != field):
        return [value]
    if not is_list and field in related and isinstance(value, list) and len(value) == 1:
        return value[0]
    return value


def scope_of(scope: Scope, kind: str | None) -> Scope:
    """Return a scope narrowed to a kind, if one is given."""
    return scope.narrowed(AnyOf(KIND_FIELD, (kind,))) if kind else scope


def nearest_labels(
    reader: ShelfReader, spec: CatalogueSpec, name: str, *, scope: Scope
) -> list[str]:
    """Return the records whose names are most like a name that none has."""
    like = resolve_name(reader, spec, name, scope=scope)
    return [*([like.label] if like.label else []), *like.suggestions][:NAMES_LISTED]


class _RelatedNames:
    """Finds the records that an edit names, among those of the catalogue as the edit would leave
    it.
    """

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._stored: dict[tuple[str, str], list[Record]] = {}

    def find_id(self, text: str, relation: RelationSpec, record: Record, *, field: str) -> RecordId:
        """Return the id of the record that an id or a name given in a field means; refuse a text
        that means none.
        """
        by_id = self._by_id(text, relation.to)
        if by_id is not None and field == relation.field:
            return by_id
        named, own = self._named(text, relation.to), named_by(record, self._draft.spec)
        if len(named) > 1:  # those that name the same others as this one does; all where none does
            named = [one for one in named if own & named_by(one, self._draft.spec)] or named
        if len(named) == 1:
            return named[0].id
        if by_id is not None:
            return by_id
        raise InputError(self._describe_refusal(text, named, relation, field))

    def _by_id(self, text: str, kind: str) -> RecordId | None:
        """Return the id that a text is, as it is stored or as a tool has shown it."""
        for form in id_forms(text, catalogue=self._draft.spec.name):
            found = self._draft.find(form)
            if found is not None and found.kind == kind and self._draft.is_visible(found):
                return form
        return None

    def _named(self, text: str, kind: str) -> list[Record]:
        """Return the records of a kind with a name: those that the edit puts, else the stored
        ones.
        """
        spec, spelt = self._draft.spec, set(name_spellings(text))
        put = [
            one for one in self._draft.changed() if one.kind == kind and self._draft.is_visible(one)
        ]
        mine = [one for one in put if spelt.intersection(name_spellings(spec.title_of(one)))]
        if mine:
            return mine
        stored = [self._draft.find(one.id) for one in self._stored_with(text, kind)]
        names = [(one, spec.names_of(one)) for one in stored if one is not None]
        return [
            one
            for one, own in names
            if any(spelt.intersection(name_spellings(name)) for name in own)
        ]

    def _stored_with(self, text: str, kind: str) -> list[Record]:
        """Return the stored records of a name; those that have it as their title, where there are
        any.
        """
        if (text, kind) not in self._stored:
            scope = scope_of(Scope(visibility=self._draft.visibility), kind)
            found = find_namesakes(self._draft.reader, self._draft.spec, text, scope=scope)
            titled = [one.record for one in found if one.by is MatchedBy.TITLE]
            self._stored[text, kind] = titled or [one.record for one in found]
        return self._stored[text, kind]

    def _describe_refusal(
        self, text: str, named: Sequence[Record], relation: RelationSpec, field: str
    ) -> str:
        draft, shown = self._draft, text[:SHOWN]
        if named:
            listed = "; ".join(describe(draft.spec, one) for one in named[:NAMES_LISTED])
            return (
                f"'{field}': several are called '{shown}'; give the id of one in"
                f" '{relation.field}': {listed}"
            )
        scope = scope_of(Scope(visibility=draft.visibility), relation.to)
        near = nearest_labels(draft.reader, draft.spec, text, scope=scope)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        title = draft.spec.title_field.name
        how = (
            f'add {{"action": "create", "kind": "{relation.to}", "fields": {{"{title}": "…"}}}} to'
            " 'changes'"
        )
        return (
            f"'{field}': there is no {relation.to} '{shown}'{hint}; to create it in the same call,"
            f" {how}"
        )
