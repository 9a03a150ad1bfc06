"""What an edit would change: a request and a view of the catalogue → the records before and after. Nothing is written.

What the caller asks for is checked against the spec; then what follows from it by the spec's relations is worked out:
- a relation's ids name records that exist and are of its kind;
- a field that a relation `copies` to has their titles: it is set with the ids, and follows when one of them is renamed;
- a record that others name is not deleted, unless the caller asks for a cascade: then those that would name nothing any
  more go with it, and those that name others too only lose its id.

A plan's token is a digest of what it would write and of the versions of every record it read, so the same request makes
the same token as long as nothing that matters has moved.
"""

import hashlib
import unicodedata
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from typing import Any

import orjson

from pinakes.catalogue.codec import encode_record
from pinakes.catalogue.spec import CatalogueSpec, FieldSpec, FieldType, RelationSpec, texts_of
from pinakes.errors import ConflictError, InputError, NotFoundError, did_you_mean
from pinakes.ingest.edits.values import read_fields, require_id, require_new_id
from pinakes.ingest.mapping import encoded
from pinakes.model.record import Record, RecordId, Tag, Value
from pinakes.model.scope import KIND_FIELD, SEES_EVERYTHING, WHOLE, AnyOf, Scope, Visibility
from pinakes.shelf.port import Op, PastChange, ShelfHistory, ShelfReader
from pinakes.text.normalise import fold_name

MOST_RECORDS = 5_000
"""How many records one edit may change."""
LARGEST_RECORD_BYTES = 1_000_000
LONGEST_SLUG = 60
LONGEST_ID, LONGEST_SOURCE_ID = 200, 512
NUMBERS_TRIED = 100
NAMED_IN_REFUSALS = 5


class EditAction(StrEnum):
    """What can be done to records."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    UNDO = "undo"


@dataclass(frozen=True, slots=True, kw_only=True)
class EditRequest:
    """What somebody asks for. The id of an undo is that of the call, or the number of the change, to be undone."""

    action: EditAction
    id: str | None = None
    kind: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    cascade: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldChange:
    """A field's value before and after, as plain JSON; None where there is none."""

    field: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordChange:
    """A record before and after; None where there is none."""

    id: RecordId
    before: Record | None
    after: Record | None

    @property
    def op(self) -> Op:
        """What is done to the record."""
        if self.after is None:
            return Op.DELETE
        return Op.INSERT if self.before is None else Op.UPDATE

    @property
    def kind(self) -> str:
        """The record's kind."""
        record = self.after or self.before
        return record.kind if record else ""

    @property
    def fields(self) -> tuple[FieldChange, ...]:
        """What changes, field by field, in the order of their names."""
        before, after = _plain_fields(self.before), _plain_fields(self.after)
        return tuple(
            FieldChange(field=name, before=before.get(name), after=after.get(name))
            for name in sorted({*before, *after})
            if before.get(name) != after.get(name)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class EditPlan:
    """What would be changed, and the version of every record that this follows from."""

    changes: tuple[RecordChange, ...]
    versions: Mapping[RecordId, int]
    change_no: int
    """The last change of the view that was looked at."""
    digest: str

    @property
    def token(self) -> str:
        """What an apply is bound to this plan by."""
        return f"{self.change_no}-{self.digest}"


def plan_edit(
    request: EditRequest,
    *,
    spec: CatalogueSpec,
    reader: ShelfReader,
    history: ShelfHistory,
    visibility: Visibility = SEES_EVERYTHING,
) -> EditPlan:
    """Work out what a request would change, or refuse with what would be right."""
    _require_editable(spec)
    draft = _Draft(spec, reader, history, visibility)
    _PLANNERS[request.action](draft, request)
    return draft.plan()


class _Draft:
    """The catalogue as an edit would leave it: a view, and the changed records on top of it."""

    def __init__(self, spec: CatalogueSpec, reader: ShelfReader, history: ShelfHistory, visibility: Visibility) -> None:
        self.spec = spec
        self.history = history
        self._reader = reader
        self.visibility = visibility
        self._was: dict[RecordId, Record | None] = {}
        self._now: dict[RecordId, Record | None] = {}

    @property
    def change_no(self) -> int:
        """The last change of the view."""
        return self._reader.change_no

    def find(self, record_id: RecordId) -> Record | None:
        """Return a record as the edit would leave it."""
        if record_id in self._now:
            return self._now[record_id]
        return self.find_before(record_id)

    def get_visible(self, record_id: RecordId) -> Record:
        """Return a record that the caller may see, or refuse."""
        record = self.find(record_id)
        if record is None or not self.is_visible(record):
            raise NotFoundError(f"there is no record '{record_id[:80]}' in '{self.spec.name}'")
        return record

    def is_visible(self, record: Record) -> bool:
        """Tell whether the caller may see a record."""
        return self.visibility.sees(record.audiences)

    def find_before(self, record_id: RecordId) -> Record | None:
        """Return a record as it is, and remember that the edit depends on it."""
        if record_id not in self._was:
            key = self._reader.find([record_id], scope=WHOLE).get(record_id)
            found = None if key is None else self._reader.fetch([key], scope=WHOLE).get(key)
            self._was[record_id] = found
        return self._was[record_id]

    def put(self, record: Record) -> None:
        """Make the record what the edit leaves."""
        _require_keepable(record)
        self.find_before(record.id)
        self._now[record.id] = record
        self._require_few()

    def delete(self, record_id: RecordId) -> None:
        """Take the record out."""
        self.find_before(record_id)
        self._now[record_id] = None
        self._require_few()

    def naming(self, record_id: RecordId, kind: str) -> list[tuple[RelationSpec, Record]]:
        """Return the records that would name this one, which is of that kind, each with the relation."""
        return [
            (relation, record)
            for relation in self.spec.relations
            if relation.to == kind
            for record in self._naming_by(relation, record_id)
        ]

    def known_tags(self, field: FieldSpec, *, record: Record | None = None) -> list[Tag]:
        """Return the tags that are in use in a field, rare ones first, and after them those of the record itself."""
        has_counts = field.filter is not None or field.facet
        counts = self._reader.facets(field.name, scope=Scope(visibility=self.visibility)) if has_counts else []
        own = (record.get(field.name) or ()) if record else ()
        return [*(Tag(one.category, one.value) for one in reversed(counts)), *own]

    def free_id(self, kind: str, title: str) -> RecordId:
        """Return an id for a new record that no record has or ever had."""
        slug = "-".join(fold_name(title).split())[:LONGEST_SLUG].strip("-")
        bare = f"{kind}-{slug}" if slug else kind
        for start in range(1, MOST_RECORDS, NUMBERS_TRIED):
            numbers = range(start, start + NUMBERS_TRIED)
            tried = [RecordId(bare if number == 1 and slug else f"{bare}-{number}") for number in numbers]
            taken = self.history.versions(tried, as_of=self.change_no)
            free = next((one for one in tried if one not in taken and self.find_before(one) is None), None)
            if free is not None:
                return free
        raise InputError(f"there are too many records like '{bare}'; give an 'id'")

    def plan(self) -> EditPlan:
        """Return what all of it comes to; what ends as it began is no change."""
        changes = tuple(
            RecordChange(id=one, before=self._was[one], after=now)
            for one, now in self._now.items()
            if not _are_alike(self._was[one], now)
        )
        known = self.history.versions(list(self._was), as_of=self.change_no)
        versions = {one: known.get(one, 0) for one in self._was}
        return EditPlan(
            changes=changes, versions=versions, change_no=self.change_no, digest=_digest(self.spec, changes, versions)
        )

    def _naming_by(self, relation: RelationSpec, record_id: RecordId) -> Iterator[Record]:
        scope = Scope(conditions=(AnyOf(KIND_FIELD, (relation.kind,)), AnyOf(relation.field, (record_id,))))
        keys = self._reader.scan(scope=scope, limit=MOST_RECORDS + 1)
        stored = {record.id: record for record in self._reader.fetch(keys, scope=WHOLE).values()}
        candidates = {**stored, **self._now}  # what the edit has changed counts as it is left
        for one, record in candidates.items():
            if record is not None and record.kind == relation.kind and record_id in ids_in(record, relation):
                self._was.setdefault(one, stored.get(one))
                yield record

    def _require_few(self) -> None:
        if len(self._now) > MOST_RECORDS:
            raise InputError(f"more than {MOST_RECORDS} records would change; do it in parts")


def ids_in(record: Record, relation: RelationSpec) -> list[RecordId]:
    """Return the ids that a record has in a relation's field."""
    return [RecordId(one) for one in texts_of(record.get(relation.field))]


# What is asked for


def _plan_create(draft: _Draft, request: EditRequest) -> None:
    spec = draft.spec
    if not request.fields:
        raise InputError(f"'fields' is missing: a new record has at least '{spec.title_field.name}'")
    kind = _kind_of(request.kind, spec)
    values = read_fields(request.fields, kind, spec, draft.known_tags)
    title = values.get(spec.title_field.name)
    record_id = (
        RecordId(require_new_id(request.id, longest=LONGEST_ID))
        if request.id
        else draft.free_id(kind, str(title or ""))
    )
    if draft.find(record_id) is not None:
        raise ConflictError(f"there is a record '{record_id}' already; update it, or give another 'id'")
    record = Record(
        id=record_id, kind=kind, fields={name: value for name, value in values.items() if value is not None}
    )
    _settle_own(draft, record, given=values)


def _plan_update(draft: _Draft, request: EditRequest) -> None:
    old = draft.get_visible(_required_id(request))
    if not request.fields:
        raise InputError("'fields' is missing: what is to be set, with null for what is to be removed")
    if request.kind not in (None, old.kind):
        raise InputError(f"'{old.id}' is of kind {old.kind}, which cannot be changed; create another record")
    values = read_fields(request.fields, old.kind, draft.spec, partial(draft.known_tags, record=old))
    fields = {name: value for name, value in {**old.fields, **values}.items() if value is not None}
    _settle_own(draft, replace(old, fields=fields), given=values)
    _follow_rename(draft, old)


def _plan_delete(draft: _Draft, request: EditRequest) -> None:
    if request.fields:
        raise InputError("'fields' is not for a delete")
    record = draft.get_visible(_required_id(request))
    if request.kind not in (None, record.kind):
        raise NotFoundError(f"there is no {request.kind} '{record.id[:80]}'; it is of kind {record.kind}")
    _take_out(draft, [record], cascade=request.cascade)


def _plan_undo(draft: _Draft, request: EditRequest) -> None:
    """Return the records that a call changed to what they were before it, where they are still what it made of them."""
    if request.fields or request.kind:
        raise InputError("an undo has an 'id' alone: that of the call, or the number of the change, to be undone")
    group = _group_of(draft, str(_required_id(request)))
    ended = {change.id: change.after for change in reversed(group)}  # oldest first: the last after stays
    before_first = {change.id: change.before for change in group}
    started = {record_id: before_first[record_id] for record_id in ended}
    last = max(change.change_no for change in group)
    for record_id, end in ended.items():
        if not _are_alike(draft.find(record_id), end):
            raise ConflictError(f"{_tell_mover(draft, record_id, after=last)}; undo that first")
    restored = [start for start in started.values() if start is not None]
    for start in restored:
        draft.put(start)
    left = [end for end in ended.values() if end is not None]
    _take_out(draft, [end for end in left if started[end.id] is None], cascade=request.cascade)
    named = {one for start in restored for rel in relations_of(start.kind, draft.spec) for one in ids_in(start, rel)}
    renamed = {one for one in named - started.keys() if _is_renamed(draft, one, since=last)}
    for start in restored:
        _settle_restored(draft, start, renamed=renamed)
    for end in left:
        _follow_rename(draft, end, but=started)


_PLANNERS = {
    EditAction.CREATE: _plan_create,
    EditAction.UPDATE: _plan_update,
    EditAction.DELETE: _plan_delete,
    EditAction.UNDO: _plan_undo,
}


def _require_editable(spec: CatalogueSpec) -> None:
    if not spec.editable:
        raise InputError(f"'{spec.name}' cannot be edited: its catalogue.toml does not say editable = true")


def _required_id(request: EditRequest) -> RecordId:
    if not request.id:
        raise InputError(f"'id' is missing: {request.action} needs it")
    return RecordId(require_id(request.id, longest=LONGEST_SOURCE_ID))


def _kind_of(asked: str | None, spec: CatalogueSpec) -> str:
    known = list(spec.kinds)
    if asked is None and len(known) > 1:
        raise InputError(f"'kind' is missing; one of {', '.join(known)}")
    if asked is not None and asked not in known:
        raise InputError(f"no kind {asked[:60]!r}{did_you_mean(asked, known)}; one of {', '.join(known)}")
    return asked or known[0]


# What follows


def _settle_own(draft: _Draft, record: Record, *, given: Mapping[str, Value]) -> None:
    """Put a record whose given fields were changed: with what its relations' ids say, and nothing that is missing."""
    spec = draft.spec
    for relation in relations_of(record.kind, spec):
        if relation.field in given:
            _require_named(draft, record, relation)
        if relation.copies:
            record = _with_given_copies(draft, record, relation, given)
    draft.put(record)
    required = [one.name for one in spec.fields.values() if one.required and one.is_of(record.kind)]
    missing = [name for name in dict.fromkeys([spec.title_field.name, *required]) if record.get(name) is None]
    if missing:
        raise InputError(f"{record.kind} needs {', '.join(repr(name) for name in missing)}")


def _with_given_copies(draft: _Draft, record: Record, relation: RelationSpec, given: Mapping[str, Value]) -> Record:
    """Return a record with the titles that its ids call for; refuse others that are given for them."""
    has_ids = bool(ids_in(record, relation))
    if relation.field not in given and (relation.copies not in given or not has_ids):
        return record
    if relation.field in given and not has_ids:
        return record if relation.copies in given else with_value(record, relation.copies, None)
    copied = with_value(record, relation.copies, _titles(draft, record, relation))
    if relation.copies in given and _texts(copied.get(relation.copies)) != _texts(given[relation.copies]):
        raise InputError(
            f"'{relation.copies}' has the names of the records in '{relation.field}'; set that, or rename them"
        )
    return copied


def _texts(value: Value) -> list[str]:
    """Return texts as they compare, in whatever form their letters are."""
    return [unicodedata.normalize("NFC", text) for text in texts_of(value)]


def _require_named(draft: _Draft, record: Record, relation: RelationSpec) -> None:
    """Refuse ids of records that do not exist, or are of another kind."""
    for one in ids_in(record, relation):
        target = None if one == record.id else draft.find(one)
        if target is None or target.kind != relation.to or not draft.is_visible(target):
            raise InputError(f"'{relation.field}': there is no {relation.to} '{one[:80]}'")


def _take_out(draft: _Draft, records: Iterable[Record], *, cascade: bool) -> None:
    """Delete records, and what cannot be without them; refuse where others name one and no cascade is asked for."""
    waiting = list(records)
    for record in waiting:
        draft.delete(record.id)
    while waiting:
        gone = waiting.pop()
        naming = draft.naming(gone.id, gone.kind)
        if naming and not cascade:
            raise ConflictError(_tell_naming(draft, gone, [one for _, one in naming]))
        for relation, record in naming:
            waiting += _let_go(draft, gone.id, relation, record.id)


def _let_go(draft: _Draft, gone: RecordId, relation: RelationSpec, naming: RecordId) -> list[Record]:
    """Take an id out of a record that names it by a relation; delete and return one that would name nothing by it."""
    record = draft.find(naming)
    if record is None or gone not in ids_in(record, relation):
        return []  # it went, or let go, by another relation
    if not draft.is_visible(record):
        raise ConflictError(f"'{gone}' is named by records that you may not see; nothing was changed")
    left = tuple(one for one in ids_in(record, relation) if one != gone)
    if not left or draft.spec.fields[relation.field].type is not FieldType.TEXTS:
        draft.delete(record.id)
        return [record]
    kept = with_value(record, relation.field, left)
    draft.put(with_value(kept, relation.copies, _titles(draft, kept, relation)) if relation.copies else kept)
    return []


def _follow_rename(draft: _Draft, old: Record, *, but: Container[RecordId] = ()) -> None:
    """Give the records that name this one its new title, where they copy it; some have what they should already."""
    new = draft.find(old.id)
    if new is None or draft.spec.title_of(new) == draft.spec.title_of(old):
        return
    for relation, record in draft.naming(old.id, old.kind):
        if relation.copies and record.id not in but:
            draft.put(with_value(record, relation.copies, _titles(draft, record, relation, only=old.id)))


def _settle_restored(draft: _Draft, record: Record, *, renamed: Container[RecordId]) -> None:
    """See that what a restored record names is there, and give it the titles of what was renamed since."""
    before = draft.find_before(record.id)
    for relation in relations_of(record.kind, draft.spec):
        named = ids_in(record, relation)
        gone = [one for one in named if (target := draft.find(one)) is None or target.kind != relation.to]
        if gone and (before is None or ids_in(before, relation) != named):
            raise ConflictError(f"'{record.id}' cannot be as it was: there is no {relation.to} '{gone[0]}' any more")
        for one in named if relation.copies else ():
            if one in renamed:
                now = draft.find(record.id) or record
                draft.put(with_value(now, relation.copies, _titles(draft, now, relation, only=one)))


def _is_renamed(draft: _Draft, record_id: RecordId, *, since: int) -> bool:
    """Tell whether a record has another title than it had after a change."""
    now = draft.find(record_id)
    later = [change for change in _changes_of(draft, record_id) if change.change_no > since]
    was = later[-1].before if later else None
    return now is not None and was is not None and draft.spec.title_of(now) != draft.spec.title_of(was)


def _titles(draft: _Draft, record: Record, relation: RelationSpec, *, only: RecordId | None = None) -> Value:
    """Return the titles of the records that this one names, as the copying field has them.

    With `only`, the titles of the others stay as they are written here.
    """
    ids = ids_in(record, relation)
    written = texts_of(record.get(relation.copies))
    if len(written) != len(ids):
        only, written = None, [""] * len(ids)
    titles = [_title(draft, one, text) if only in (None, one) else text for one, text in zip(ids, written, strict=True)]
    return as_copied(titles, relation, draft.spec)


def as_copied(titles: Iterable[str], relation: RelationSpec, spec: CatalogueSpec) -> Value:
    """Return titles as the field has them that a relation copies them to."""
    found = tuple(title for title in titles if title)
    if spec.fields[relation.copies].type is FieldType.TEXTS:
        return found or None
    return ", ".join(found) or None


def _title(draft: _Draft, record_id: RecordId, written: str) -> str:
    record = draft.find(record_id)
    return draft.spec.title_of(record) if record else written


def relations_of(kind: str, spec: CatalogueSpec) -> list[RelationSpec]:
    """Return the relations by which records of a kind name others."""
    return [relation for relation in spec.relations if relation.kind == kind]


def with_value(record: Record, name: str, value: Value) -> Record:
    """Return a record with another value of a field; None: without it."""
    fields = {key: one for key, one in record.fields.items() if key != name}
    return replace(record, fields=fields if value is None else {**fields, name: value})


# What was changed before


def _group_of(draft: _Draft, asked: str) -> list[PastChange]:
    """Return the changes of a call, or the one of a number with those of its call; newest first."""
    history = draft.history
    group = history.list_changes(call_id=asked, limit=MOST_RECORDS + 1)
    if not group and asked.isdecimal() and len(asked) < 16:
        group = history.list_changes(before=int(asked) + 1, limit=1)
        if group and group[0].change_no != int(asked):
            group = []
        if group and group[0].author.call_id:
            group = history.list_changes(call_id=group[0].author.call_id, limit=MOST_RECORDS + 1)
    group = [change for change in group if change.change_no <= draft.change_no]
    hidden = [change for change in group if not is_visible(change, draft.visibility)]
    if len(hidden) == len(group) or not all(_is_of_names_alone(change, draft.spec) for change in hidden):
        raise NotFoundError(f"there is no change '{asked[:80]}'; changelog://recent has the calls and their changes")
    if len(group) > MOST_RECORDS:
        raise InputError(f"more than {MOST_RECORDS} changes were made by '{asked}'; they cannot be undone at once")
    return group


def record_change(change: PastChange) -> RecordChange:
    """Return what a past change did to its record."""
    return RecordChange(id=change.id, before=change.before, after=change.after)


def is_visible(change: RecordChange | PastChange, visibility: Visibility) -> bool:
    """Tell whether somebody may see a record both as it was and as it is."""
    return all(visibility.sees(record.audiences) for record in (change.before, change.after) if record is not None)


def _is_of_names_alone(change: PastChange, spec: CatalogueSpec) -> bool:
    """Tell whether a change gave a record new names of what it names and nothing else: it followed a rename."""
    if change.before is None or change.after is None:
        return False
    copying = {relation.copies for relation in relations_of(change.after.kind, spec)}
    changed = record_change(change).fields
    return change.before.audiences == change.after.audiences and all(one.field in copying for one in changed)


def _tell_mover(draft: _Draft, record_id: RecordId, *, after: int) -> str:
    """Say who changed a record after a change."""
    later = [one for one in _changes_of(draft, record_id) if one.change_no > after]
    if not all(is_visible(one, draft.visibility) for one in later):
        return "a record that you may not see has changed since"
    moved = [one for one in later if not _are_alike(one.before, one.after)]
    if not moved:
        return f"'{record_id}' has changed since"
    return tell_change(moved[0])


def _changes_of(draft: _Draft, record_id: RecordId) -> list[PastChange]:
    return draft.history.list_changes(ids=[record_id], before=draft.change_no + 1, limit=MOST_RECORDS)


def tell_change(change: PastChange) -> str:
    """Say who changed a record, and when."""
    done = "deleted" if change.op is Op.DELETE else "changed"
    return (
        f"'{change.id}' was {done} since by {change.author.principal} (change {change.change_no}, "
        f"{change.at:%Y-%m-%d %H:%M:%S} UTC)"
    )


def _tell_naming(draft: _Draft, gone: Record, naming: Sequence[Record]) -> str:
    """Say how many records name one that is to go, and which."""
    seen = list(dict.fromkeys(f"{one.kind} '{one.id}'" for one in naming if draft.is_visible(one)))
    hidden = len({one.id for one in naming if not draft.is_visible(one)})
    more = len(seen) - NAMED_IN_REFUSALS
    shown = [*seen[:NAMED_IN_REFUSALS], *([f"{more} more"] if more > 0 else [])]
    named = ", ".join([*shown, *([f"{hidden} that you may not see"] if hidden else [])])
    total = len(seen) + hidden
    return (
        f"{gone.kind} '{gone.id}' is named by {total} record{'s' if total > 1 else ''}: {named}; "
        "change them first, or give cascade: true, which deletes those that name nothing else"
    )


# Values


def _plain_fields(record: Record | None) -> dict[str, Any]:
    """Return a record's fields as plain JSON."""
    fields: dict[str, Any] = orjson.loads(encode_record(record))["fields"] if record else {}
    return fields


def _are_alike(one: Record | None, other: Record | None) -> bool:
    return _body(one) == _body(other)


def _body(record: Record | None) -> bytes | None:
    return None if record is None else encode_record(record)


def _require_keepable(record: Record) -> None:
    size = len(encoded(record))
    if size > LARGEST_RECORD_BYTES:
        raise InputError(f"the record has {size} bytes; {LARGEST_RECORD_BYTES} at the most are right")


def _digest(spec: CatalogueSpec, changes: Iterable[RecordChange], versions: Mapping[RecordId, int]) -> str:
    """Return what tells plans apart."""
    said = [
        spec.name,
        sorted([change.id, change.op, (_body(change.after) or b"").decode()] for change in changes),
        sorted(versions.items()),
    ]
    return hashlib.sha256(orjson.dumps(said)).hexdigest()[:32]
