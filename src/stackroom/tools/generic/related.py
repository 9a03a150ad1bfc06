"""The records that a record names, and those that name it: by the relations of its spec, and by their pages."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from stackroom.catalogue.spec import RelationSpec, texts_of
from stackroom.model.record import Record, RecordId
from stackroom.model.scope import KIND_FIELD, AnyOf, Scope
from stackroom.tools.catalogue import CatalogueView
from stackroom.tools.record_text import label_of

RELATED = "Related"
MOST_SHOWN = 60
PAGES_TRIED = 60
_ID_ENDINGS = ("_ids", "_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class RelatedRecords:
    """The records of one relation, and how many there are."""

    name: str
    records: tuple[Record, ...]
    total: int


def list_related(view: CatalogueView, record: Record, scope: Scope) -> list[RelatedRecords]:
    """Return the related records that the caller may see, one entry for each relation that has some."""
    found = [*_named(view, record, scope), *_naming(view, record, scope), _by_pages(view, record, scope)]
    return [one for one in found if one.records]


def fields_of_relations(view: CatalogueView, related: Iterable[RelatedRecords]) -> set[str]:
    """Return the fields that only have ids, names or pages of related records, which are shown themselves."""
    shown = {one.name for one in related}
    by_pages = view.spec.recommend.related.field if view.spec.recommend else ""
    copied = {relation.copies for relation in view.spec.relations if label_of(relation.copies) in shown}
    return {*(relation.field for relation in view.spec.relations), *copied, *([by_pages] if RELATED in shown else [])}


def _named(view: CatalogueView, record: Record, scope: Scope) -> Iterator[RelatedRecords]:
    """Yield the records that this one names by id, in its own order."""
    for relation in view.spec.relations:
        if relation.kind == record.kind:
            ids = dict.fromkeys(RecordId(one) for one in texts_of(record.get(relation.field)))
            keys = view.reader.find(list(ids), scope=scope)
            shown = [keys[one] for one in ids if one in keys][:MOST_SHOWN]
            records = view.reader.fetch(shown, scope=scope)
            name = relation.copies or _without_ending(relation.field)
            yield _related(name, [records[key] for key in shown if key in records], len(keys))


def _naming(view: CatalogueView, record: Record, scope: Scope) -> Iterator[RelatedRecords]:
    """Yield the records that name this one, in their declared order or by title."""
    for relation in view.spec.relations:
        if relation.to == record.kind and view.spec.fields[relation.field].needs_column:
            within = scope.narrowed(AnyOf(KIND_FIELD, (relation.kind,)), AnyOf(relation.field, (record.id,)))
            keys = view.reader.scan(scope=within, limit=MOST_SHOWN)
            records = sorted(view.reader.fetch(keys, scope=scope).values(), key=lambda one: _place(view, one, relation))
            yield _related(relation.inverse or relation.kind, records, view.reader.count(within))


def _by_pages(view: CatalogueView, record: Record, scope: Scope) -> RelatedRecords:
    """Return the records whose pages this one names, as sequels are named."""
    related = view.spec.recommend.related if view.spec.recommend else None
    pages = texts_of(record.get(related.field))[:PAGES_TRIED] if related and related.field else []
    found = [one for page in pages if (one := view.find_stated(page, scope=scope)) and one.id != record.id]
    records = list({one.id: one for one in found}.values())
    return _related(RELATED, records, len(records))


def _related(name: str, records: Iterable[Record], total: int) -> RelatedRecords:
    shown = tuple(records)[:MOST_SHOWN]
    return RelatedRecords(name=label_of(name), records=shown, total=max(total, len(shown)))


def _place(view: CatalogueView, record: Record, relation: RelationSpec) -> tuple[float, str]:
    number = record.get(relation.order) if relation.order else None
    return (float(number) if isinstance(number, int | float) else 0.0, view.spec.title_of(record))


def _without_ending(field: str) -> str:
    return next((field.removesuffix(ending) for ending in _ID_ENDINGS if field.endswith(ending)), field)
