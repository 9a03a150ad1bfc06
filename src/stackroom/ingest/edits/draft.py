"""The draft of an edit: the request, the records as it would leave them, and the plan it results
in.

A plan's token is a digest of its changes and of the versions of every record that was read, so the
same request has the same token as long as none of these records has changed.
"""

import hashlib
from collections.abc import Container, Iterator, Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any

import orjson

from stackroom.catalogue.codec import encode_record
from stackroom.catalogue.spec import CatalogueSpec, FieldSpec, RelationSpec, texts_of
from stackroom.errors import InputError, NotFoundError
from stackroom.frozen import frozen
from stackroom.ingest.edits.values import WHOLE_REQUEST, Place, require_id
from stackroom.ingest.mapping import encoded
from stackroom.model.record import Record, RecordId, Tag
from stackroom.model.scope import KIND_FIELD, WHOLE, AnyOf, Scope, Visibility
from stackroom.shelf.port import Op, ShelfHistory, ShelfReader
from stackroom.text.normalise import fold_name

MOST_RECORDS = 5_000  # the limit on records that one edit may change
LARGEST_RECORD_BYTES = 1_000_000
LONGEST_SLUG = 60
NUMBERS_TRIED = 100
LONGEST_SOURCE_ID = 512


class EditAction(StrEnum):
    """The action to perform on a record."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    UNDO = "undo"


@frozen
class EditRequest:
    """A requested edit. The id of an undo is a call id or a change number."""

    action: EditAction
    id: str | None = None
    kind: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    cascade: bool = False
    place: Place = WHOLE_REQUEST

    def get_id(self) -> RecordId:
        """Return the id of the request, or refuse a request without one."""
        if not self.id:
            raise InputError(f"'id' is missing: {self.action} needs it")
        return RecordId(require_id(self.id, longest=LONGEST_SOURCE_ID))


@frozen
class FieldChange:
    """A field's value before and after, as plain JSON; None if it has none."""

    field: str
    before: Any
    after: Any


@frozen
class RecordChange:
    """A record before and after; None if it does not exist."""

    id: RecordId
    before: Record | None
    after: Record | None

    @property
    def op(self) -> Op:
        """The operation on the record."""
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
        """The changed fields, ordered by name."""
        before, after = _plain_fields(self.before), _plain_fields(self.after)
        return tuple(
            FieldChange(field=name, before=before.get(name), after=after.get(name))
            for name in sorted({*before, *after})
            if before.get(name) != after.get(name)
        )


@frozen
class EditPlan:
    """The changes of an edit, and the version of every record that they depend on."""

    changes: tuple[RecordChange, ...]
    versions: Mapping[RecordId, int]
    change_no: int  # the last change in the snapshot that the plan was made on
    digest: str

    @property
    def token(self) -> str:
        """The token that binds an apply to this plan."""
        return f"{self.change_no}-{self.digest}"


class Draft:
    """The catalogue as an edit would leave it: a snapshot with the changed records on top."""

    def __init__(
        self,
        spec: CatalogueSpec,
        reader: ShelfReader,
        history: ShelfHistory,
        visibility: Visibility,
    ) -> None:
        self.spec = spec
        self.history = history
        self.reader = reader
        self.visibility = visibility
        self._was: dict[RecordId, Record | None] = {}
        self._now: dict[RecordId, Record | None] = {}
        self._tags: dict[str, list[Tag]] = {}

    def find(self, record_id: RecordId) -> Record | None:
        """Return a record as the edit would leave it."""
        return self._now[record_id] if record_id in self._now else self.find_before(record_id)

    def get_visible(self, record_id: RecordId) -> Record:
        """Return a record that the caller may see, or refuse."""
        record = self.find(record_id)
        if record is None or not self.is_visible(record):
            raise NotFoundError(
                f"there is no record '{record_id[:80]}' in '{self.spec.name}'; search finds ids"
            )
        return record

    def is_visible(self, record: Record) -> bool:
        """Tell whether the caller may see a record."""
        return self.visibility.sees(record.audiences)

    def find_before(self, record_id: RecordId) -> Record | None:
        """Return a record as stored, and record that the edit depends on it."""
        if record_id not in self._was:
            key = self.reader.find([record_id], scope=WHOLE).get(record_id)
            self._was[record_id] = (
                None if key is None else self.reader.fetch([key], scope=WHOLE).get(key)
            )
        return self._was[record_id]

    def put(self, record: Record) -> None:
        """Set the record to what the edit leaves."""
        size = len(encoded(record))
        if size > LARGEST_RECORD_BYTES:
            raise InputError(f"the record has {size} bytes; the limit is {LARGEST_RECORD_BYTES}")
        self._set(record.id, record)

    def delete(self, record_id: RecordId) -> None:
        """Delete the record."""
        self._set(record_id, None)

    def _set(self, record_id: RecordId, record: Record | None) -> None:
        self.find_before(record_id)
        self._now[record_id] = record
        if len(self._now) > MOST_RECORDS:
            raise InputError(f"more than {MOST_RECORDS} records would change; split the edit")

    def changed(self) -> list[Record]:
        """Return the records that the edit has put, as it leaves them."""
        return [record for record in self._now.values() if record is not None]

    def naming(self, record_id: RecordId, kind: str) -> list[tuple[RelationSpec, Record]]:
        """Return the records that name this one (of the given kind) after the edit, each with its
        relation.
        """
        return [
            (relation, record)
            for relation in self.spec.relations
            if relation.to == kind
            for record in self._naming_by(relation, record_id)
        ]

    def known_tags(self, field: FieldSpec, *, record: Record | None = None) -> list[Tag]:
        """Return the tags in use in a field, rare ones first, followed by those of the record
        itself.
        """
        if field.name not in self._tags:
            has_counts = field.filter is not None or field.facet
            counts = (
                self.reader.facets(field.name, scope=Scope(visibility=self.visibility))
                if has_counts
                else []
            )
            self._tags[field.name] = [
                Tag(count.category, count.value) for count in reversed(counts)
            ]
        own = (record.get(field.name) or ()) if record else ()
        return [*self._tags[field.name], *own]

    def free_id(self, kind: str, title: str, *, but: Container[str] = ()) -> RecordId:
        """Return an id for a new record that was never in use, other than those of `but`."""
        slug = "-".join(fold_name(title).split())[:LONGEST_SLUG].strip("-")
        bare = f"{kind}-{slug}" if slug else kind
        for start in range(1, MOST_RECORDS, NUMBERS_TRIED):
            tried = [
                RecordId(bare if number == 1 and slug else f"{bare}-{number}")
                for number in range(start, start + NUMBERS_TRIED)
            ]
            taken = {*self.history.versions(tried, as_of=self.reader.change_no), *self._now}
            for one in tried:
                if one not in taken and one not in but and self.find_before(one) is None:
                    return one
        raise InputError(f"too many records have ids like '{bare}'; give an 'id'")

    def plan(self) -> EditPlan:
        """Return the plan; records that end as they began are left out."""
        changes = tuple(
            RecordChange(id=one, before=self._was[one], after=now)
            for one, now in self._now.items()
            if not are_alike(self._was[one], now)
        )
        known = self.history.versions(list(self._was), as_of=self.reader.change_no)
        versions = {one: known.get(one, 0) for one in self._was}
        afters = sorted(
            [change.id, change.op, (_body(change.after) or b"").decode()] for change in changes
        )
        content = orjson.dumps([self.spec.name, afters, sorted(versions.items())])
        digest = hashlib.sha256(content).hexdigest()[:32]
        return EditPlan(
            changes=changes, versions=versions, change_no=self.reader.change_no, digest=digest
        )

    def _naming_by(self, relation: RelationSpec, record_id: RecordId) -> Iterator[Record]:
        scope = Scope(
            conditions=(AnyOf(KIND_FIELD, (relation.kind,)), AnyOf(relation.field, (record_id,)))
        )
        keys = self.reader.scan(scope=scope, limit=MOST_RECORDS + 1)
        stored = {record.id: record for record in self.reader.fetch(keys, scope=WHOLE).values()}
        candidates = {**stored, **self._now}  # changed records count as the edit leaves them
        for one, record in candidates.items():
            if record is None or record.kind != relation.kind:
                continue
            if record_id in texts_of(record.get(relation.field)):
                self._was.setdefault(one, stored.get(one))
                yield record


def _plain_fields(record: Record | None) -> dict[str, Any]:
    fields: dict[str, Any] = orjson.loads(encode_record(record))["fields"] if record else {}
    return fields


def are_alike(one: Record | None, other: Record | None) -> bool:
    """Tell whether two records are stored as the same bytes."""
    return _body(one) == _body(other)


def _body(record: Record | None) -> bytes | None:
    return None if record is None else encode_record(record)
