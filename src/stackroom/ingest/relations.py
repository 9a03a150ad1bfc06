"""Dangling ids: references to a record that does not exist, or is of another kind."""

from collections.abc import Iterable, Iterator, Sequence

from stackroom.catalogue.spec import CatalogueSpec, RelationSpec, texts_of
from stackroom.frozen import frozen
from stackroom.model.record import RecordId
from stackroom.model.scope import KIND_FIELD, WHOLE, AnyOf, Scope
from stackroom.shelf.port import ShelfReader
from stackroom.shelf.terms import term_of

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
        shown = ", ".join(f"'{one}'" for one in sorted(ids)[:SHOWN_IDS])
        more = f" and {len(ids) - SHOWN_IDS} more" if len(ids) > SHOWN_IDS else ""
        problems.append(f"{place} names records that do not exist: {shown}{more}")
    return problems


def _iter_dangling(
    reader: ShelfReader, spec: CatalogueSpec, relation: RelationSpec
) -> Iterator[Dangling]:
    scope = _find_scope(reader, spec, relation)
    keys = reader.scan(scope=scope, limit=CHUNK_RECORDS) if scope else []
    while scope and keys:
        records = reader.fetch(keys, scope=scope).values()
        named = [
            (record.id, RecordId(one))
            for record in records
            for one in texts_of(record.get(relation.field))
        ]
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
