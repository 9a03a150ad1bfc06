"""Relations between records: the changes that follow from them when a record is edited, and
dangling ids, which name a record that does not exist or is of another kind.

- a relation's ids must name existing records of its kind;
- the field that a relation `copies` to holds their titles: it is set with the ids and updated when
  one is renamed;
- a record that others name is deleted only with `cascade`: records that name nothing else are
  deleted with it, the others lose its id.
"""

import unicodedata
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from stackroom.catalogue.spec import CatalogueSpec, FieldType, RelationSpec, texts_of
from stackroom.errors import ConflictError, InputError, list_some
from stackroom.frozen import frozen
from stackroom.ingest.edits.draft import Draft
from stackroom.model.record import Record, RecordId, Value
from stackroom.model.scope import KIND_FIELD, WHOLE, AnyOf, Scope
from stackroom.shelf.port import ShelfReader
from stackroom.shelf.terms import term_of

NAMED_IN_REFUSALS = 5


def relations_of(kind: str, spec: CatalogueSpec) -> list[RelationSpec]:
    """Return the relations by which records of a kind name others."""
    return [relation for relation in spec.relations if relation.kind == kind]


def ids_in(record: Record, relation: RelationSpec) -> list[RecordId]:
    """Return the ids that a record has in a relation's field."""
    return [RecordId(one) for one in texts_of(record.get(relation.field))]


def named_by(record: Record, spec: CatalogueSpec) -> set[RecordId]:
    """Return the ids of all records that this one names."""
    return {one for relation in relations_of(record.kind, spec) for one in ids_in(record, relation)}


def with_value(record: Record, name: str, value: Value) -> Record:
    """Return a record with a field set to a value, or without the field for None."""
    fields = {key: one for key, one in record.fields.items() if key != name}
    return replace(record, fields=fields if value is None else {**fields, name: value})


def as_copied(titles: Iterable[str], relation: RelationSpec, spec: CatalogueSpec) -> Value:
    """Return titles as a value of the field that a relation copies them to."""
    found = tuple(title for title in titles if title)
    if spec.fields[relation.copies].type is FieldType.TEXTS:
        return found or None
    return ", ".join(found) or None


def settle_own(draft: Draft, record: Record, *, given: Mapping[str, Value]) -> None:
    """Put a record whose given fields were changed, with its copied titles; refuse missing fields
    and dangling ids.
    """
    spec = draft.spec
    for relation in relations_of(record.kind, spec):
        if relation.field in given:
            _require_named(draft, record, relation)
        if relation.copies:
            record = _with_given_copies(draft, record, relation, given)
    draft.put(record)
    required = [
        field.name for field in spec.fields.values() if field.required and field.is_of(record.kind)
    ]
    missing = [
        name
        for name in dict.fromkeys([spec.title_field.name, *required])
        if record.get(name) is None
    ]
    if missing:
        raise InputError(f"{record.kind} needs {', '.join(repr(name) for name in missing)}")


def _with_given_copies(
    draft: Draft, record: Record, relation: RelationSpec, given: Mapping[str, Value]
) -> Record:
    """Return a record with the titles of the records it names; refuse different titles given by the
    caller.
    """
    has_ids = bool(ids_in(record, relation))
    if relation.field not in given and (relation.copies not in given or not has_ids):
        return record
    if relation.field in given and not has_ids:
        return record if relation.copies in given else with_value(record, relation.copies, None)
    copied = with_value(record, relation.copies, titles_of(draft, record, relation))
    if relation.copies in given and _texts(copied.get(relation.copies)) != _texts(
        given[relation.copies]
    ):
        raise InputError(
            f"'{relation.copies}' has the names of the records in '{relation.field}'; set that, or"
            " rename them"
        )
    return copied


def _texts(value: Value) -> list[str]:
    """Return texts in Unicode normal form, to compare them."""
    return [unicodedata.normalize("NFC", text) for text in texts_of(value)]


def _require_named(draft: Draft, record: Record, relation: RelationSpec) -> None:
    """Refuse ids of records that do not exist, or are of another kind."""
    for one in ids_in(record, relation):
        target = None if one == record.id else draft.find(one)
        if target is None or target.kind != relation.to or not draft.is_visible(target):
            raise InputError(
                f"'{relation.field}': there is no {relation.to} '{one[:80]}'; create it first"
            )


def take_out(draft: Draft, records: Iterable[Record], *, cascade: bool) -> None:
    """Delete records, cascading to those that name nothing else; refuse if others name one and
    `cascade` is off.
    """
    waiting = list(records)
    for record in waiting:
        draft.delete(record.id)
    while waiting:
        gone = waiting.pop()
        naming = draft.naming(gone.id, gone.kind)
        if naming and not cascade:
            raise ConflictError(_describe_naming(draft, gone, [one for _, one in naming]))
        for relation, record in naming:
            waiting += _remove_id(draft, gone.id, relation, record.id)


def _remove_id(
    draft: Draft, gone: RecordId, relation: RelationSpec, naming: RecordId
) -> list[Record]:
    """Remove an id from a record's relation; delete and return the record if it would name nothing
    by it.
    """
    record = draft.find(naming)
    if record is None or gone not in ids_in(record, relation):
        return []  # another relation has removed the id or the record
    if not draft.is_visible(record):
        raise ConflictError(
            f"'{gone}' is named by records that you may not see; nothing was changed"
        )
    left = tuple(one for one in ids_in(record, relation) if one != gone)
    if not left or draft.spec.fields[relation.field].type is not FieldType.TEXTS:
        draft.delete(record.id)
        return [record]
    kept = with_value(record, relation.field, left)
    draft.put(
        with_value(kept, relation.copies, titles_of(draft, kept, relation))
        if relation.copies
        else kept
    )
    return []


def _describe_naming(draft: Draft, gone: Record, naming: Sequence[Record]) -> str:
    """Return the refusal to delete a record that others name, with those that the caller may
    see.
    """
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


def follow_rename(draft: Draft, old: Record, *, but: Container[RecordId] = ()) -> None:
    """Update the copied title of this record in those that name it, except in those of `but`."""
    new = draft.find(old.id)
    if new is None or draft.spec.title_of(new) == draft.spec.title_of(old):
        return
    for relation, record in draft.naming(old.id, old.kind):
        if relation.copies and record.id not in but:
            draft.put(
                with_value(record, relation.copies, titles_of(draft, record, relation, only=old.id))
            )


def titles_of(
    draft: Draft, record: Record, relation: RelationSpec, *, only: RecordId | None = None
) -> Value:
    """Return the titles of the records that this one names (or only one anew), as the value of the
    copying field.
    """
    ids = ids_in(record, relation)
    written = texts_of(record.get(relation.copies))
    if len(written) != len(ids):
        only, written = None, [""] * len(ids)
    titles = [
        draft.spec.title_of(named) if only in (None, one) and (named := draft.find(one)) else text
        for one, text in zip(ids, written, strict=True)
    ]
    return as_copied(titles, relation, draft.spec)


SHOWN_IDS = 5
CHUNK_RECORDS = 1_000


@frozen
class Dangling:
    """An id in a record's field that names no record of the relation's kind."""

    relation: RelationSpec
    record_id: RecordId
    missing: RecordId

    @property
    def reason(self) -> str:
        """The problem in a sentence."""
        return (
            f"'{self.relation.field}' names the {self.relation.to} '{self.missing}', which does not"
            " exist"
        )


def find_dangling(reader: ShelfReader, spec: CatalogueSpec) -> list[Dangling]:
    """Return the ids of all relations that name no record of the relation's kind."""
    return [one for relation in spec.relations for one in _iter_dangling(reader, spec, relation)]


def check_relations(reader: ShelfReader, spec: CatalogueSpec) -> list[str]:
    """Return the dangling ids of an editable catalogue, one problem for each relation."""
    return describe_dangling(find_dangling(reader, spec)) if spec.editable else []


def describe_dangling(dangling: Iterable[Dangling]) -> list[str]:
    """Return a sentence for each relation that has dangling ids, with the first of them."""
    missing: dict[str, set[RecordId]] = {}
    for one in dangling:
        place = f"'{one.relation.field}' of {one.relation.kind} records"
        missing.setdefault(place, set()).add(one.missing)
    problems = []
    for place, ids in missing.items():
        shown = list_some([f"'{one}'" for one in sorted(ids)], SHOWN_IDS)
        problems.append(f"{place} names records that do not exist: {shown}")
    return problems


def _iter_dangling(
    reader: ShelfReader, spec: CatalogueSpec, relation: RelationSpec
) -> Iterator[Dangling]:
    scope = _find_scope(reader, spec, relation)
    keys = reader.scan(scope=scope, limit=CHUNK_RECORDS) if scope else []
    while scope and keys:
        records = reader.fetch(keys, scope=scope).values()
        named = [(record.id, one) for record in records for one in ids_in(record, relation)]
        missing = _find_missing(reader, relation, [one for _, one in named])
        yield from (
            Dangling(relation=relation, record_id=by, missing=one)
            for by, one in named
            if one in missing
        )
        keys = reader.scan(scope=scope, after=keys[-1], limit=CHUNK_RECORDS)


def _find_scope(reader: ShelfReader, spec: CatalogueSpec, relation: RelationSpec) -> Scope | None:
    """Return where the records with dangling ids are; None where the field's column shows that
    there are none.
    """
    of_kind = Scope(conditions=(AnyOf(KIND_FIELD, (relation.kind,)),))
    if not spec.fields[relation.field].needs_column:
        return of_kind
    named = [RecordId(facet.value) for facet in reader.facets(relation.field, scope=of_kind)]
    missing = _find_missing(reader, relation, named)
    return of_kind.narrowed(AnyOf(relation.field, tuple(sorted(missing)))) if missing else None


def _find_missing(
    reader: ShelfReader, relation: RelationSpec, ids: Sequence[RecordId]
) -> set[RecordId]:
    found = reader.find(ids, scope=WHOLE)
    kinds = reader.terms(KIND_FIELD, list(found.values()))
    return set(ids).difference(
        one for one, kind in zip(found, kinds, strict=True) if term_of(relation.to) in kind
    )
