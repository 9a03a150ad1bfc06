"""The relatives of a record by the catalogue's own relations: records that name the same, and parts of one series."""

from dataclasses import dataclass
from functools import cached_property

from stackroom.catalogue.spec import CatalogueSpec, RelationSpec, texts_of
from stackroom.model.record import Record, RecordId
from stackroom.model.scope import WHOLE, AnyOf
from stackroom.shelf.port import ShelfReader

MOST_RELATIVES = 40
"""A group of more records than this says little of how alike two of them are."""
MOST_PAGED = 50_000
"""In a larger catalogue, the pages of only so many records are known."""
AT_ONCE = 1_000


@dataclass(frozen=True, kw_only=True)
class Relatives:
    """The relations of one catalogue at one moment."""

    reader: ShelfReader
    spec: CatalogueSpec

    @property
    def are_declared(self) -> bool:
        """Whether the spec says how records are related."""
        return bool(self.spec.relations) or self._has_series

    def find(self, record: Record) -> tuple[tuple[RecordId, ...], tuple[str, ...]]:
        """Return the records related to one, and the fields that say so; none where it has none, or very many.

        By the first relation that has any: the siblings that name the same record, such as the works of one author.
        """
        for relation in self.spec.relations:
            if relation.kind == record.kind and (siblings := self._siblings(record, relation)):
                return siblings, (relation.field,)
        return self._same_series(record)

    def _siblings(self, record: Record, relation: RelationSpec) -> tuple[RecordId, ...]:
        named = texts_of(record.get(relation.field))
        if not named or self.spec.fields[relation.field].filter is None:
            return ()
        scope = WHOLE.narrowed(AnyOf(relation.field, tuple(named)))
        others = set(self.reader.ids(self.reader.scan(scope=scope, limit=MOST_RELATIVES + 2))) - {record.id}
        return tuple(sorted(others)) if len(others) <= MOST_RELATIVES else ()

    @property
    def _has_series(self) -> bool:
        return self.spec.recommend is not None and bool(self.spec.recommend.related.field)

    def _same_series(self, record: Record) -> tuple[tuple[RecordId, ...], tuple[str, ...]]:
        """Return the records of one series, where the spec says by which pages records name each other."""
        if self.spec.recommend is None or not self._has_series:
            return (), ()
        related = self.spec.recommend.related
        others = {self._pages[page] for page in texts_of(record.get(related.field)) if page in self._pages}
        return tuple(sorted(others - {record.id}))[:MOST_RELATIVES], (related.field, related.pages)

    @cached_property
    def _pages(self) -> dict[str, RecordId]:
        """The record of each page."""
        field = self.spec.recommend.related.pages if self.spec.recommend else ""
        keys = self.reader.scan(scope=WHOLE, limit=MOST_PAGED)
        pages: dict[str, RecordId] = {}
        for start in range(0, len(keys), AT_ONCE):
            for record in self.reader.fetch(keys[start : start + AT_ONCE], scope=WHOLE).values():
                pages.update(dict.fromkeys(texts_of(record.get(field)), record.id))
        return pages
