"""What a source may change of records that were edited by hand since it was last read. For editable catalogues only.

The ledger keeps what each source said of each record. When the source is read again:
- a row that says what it said before changes nothing: edits and deletions by hand stand. Where somebody asks for that
  row by name, a record of it that was deleted comes back;
- a row that says something else changes the fields in which it does, even where they were edited by hand: the source
  wins. The other fields stay as they were edited. A record that was deleted by hand comes back with it, and so do
  those that it names by a relation;
- a row that names a record that was renamed by hand copies the name that it has now;
- a row that is gone takes its record with it, edited or not;
- a record that was made by hand is no source's: none removes it. One that makes a record of the same id changes
  the fields that it has.
All of it is in the shelf's history, and can be undone.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pinakes.catalogue.codec import decode_record, encode_record
from pinakes.catalogue.spec import CatalogueSpec, texts_of
from pinakes.ingest.edits.relations import as_copied, ids_in, relations_of, with_value
from pinakes.ingest.ledger import Ledger
from pinakes.model.record import Record, RecordId
from pinakes.shelf.port import ShelfWriter


@dataclass(frozen=True, slots=True, kw_only=True)
class HandEdits:
    """Keeps a source from undoing what was edited by hand."""

    source: str
    spec: CatalogueSpec
    writer: ShelfWriter
    ledger: Ledger

    def reconciled(self, records: Sequence[Record], *, asked: Container[RecordId] = ()) -> list[Record | None]:
        """Return what is to be written of a source's records, None for one that is to stay as it is.

        Those that are asked for do not stay deleted.
        """
        if not self.spec.editable:
            return list(records)
        ids = [record.id for record in records]
        known, said = self.writer.current_or_deleted(ids), self.ledger.last_source_records(self.source, ids)
        current_or_deleted = {one: record for one, record in known.items() if record is not None or one not in asked}
        of_sources = self.ledger.ids_from_sources(one for one in current_or_deleted if one not in said)
        kept = [
            reconciled(record, self._base(record.id, said, of_sources), current_or_deleted[record.id])
            if record.id in current_or_deleted
            else record
            for record in records
        ]
        renamed = self._renamed(self._named_by([record for record in kept if record is not None]))
        return [record and self._with_present_names(record, renamed) for record in kept]

    def note(self, records: Sequence[Record]) -> None:
        """Remember what the source said, of records that are written now."""
        if self.spec.editable:
            self.ledger.note_source_records(self.source, {record.id: encode_record(record) for record in records})

    def deleted_but_named(self, records: Sequence[Record]) -> list[Record]:
        """Return what the source said of records that were deleted by hand, and that these, written now, name."""
        if not self.spec.editable:
            return []
        current_or_deleted = self.writer.current_or_deleted(
            sorted(self._named_by(records) - {record.id for record in records})
        )
        said = self.ledger.last_source_records(
            self.source, [one for one, record in current_or_deleted.items() if record is None]
        )
        return [decode_record(one, body, self.spec) for one, body in said.items()]

    def _named_by(self, records: Sequence[Record]) -> set[RecordId]:
        return {
            one
            for record in records
            for relation in relations_of(record.kind, self.spec)
            for one in ids_in(record, relation)
        }

    def _renamed(self, ids: Iterable[RecordId]) -> dict[tuple[RecordId, str], str]:
        """Return the titles of those records that have another than the source said, by their ids and what it said."""
        current_or_deleted = self.writer.current_or_deleted(sorted(ids))
        titles = {one: self.spec.title_of(record) for one, record in current_or_deleted.items() if record is not None}
        said = {
            one: self.spec.title_of(decode_record(one, body, self.spec))
            for one, body in self.ledger.last_source_records(self.source, titles).items()
        }
        return {(one, title): titles[one] for one, title in said.items() if title != titles[one]}

    def _with_present_names(self, record: Record, renamed: Mapping[tuple[RecordId, str], str]) -> Record:
        """Return a record with the present names of records that were renamed by hand, where it copies them."""
        for relation in relations_of(record.kind, self.spec):
            ids, written = ids_in(record, relation), texts_of(record.get(relation.copies))
            titles = [renamed.get(named, named[1]) for named in zip(ids, written, strict=False)]
            if len(ids) == len(written) and titles != written:
                record = with_value(record, relation.copies, as_copied(titles, relation, self.spec))
        return record

    def _base(self, record_id: RecordId, said: Mapping[RecordId, bytes], of_sources: set[RecordId]) -> Record | None:
        """Return what the source said before; nothing at all of a record by hand; None where that is not known."""
        if record_id in said:
            return decode_record(record_id, said[record_id], self.spec)
        return None if record_id in of_sources else Record(id=record_id, fields={})


def reconciled(new: Record, said: Record | None, current_or_deleted: Record | None) -> Record | None:
    """Return what is to be written of a record that a source makes now, given what it said and what stands."""
    if said is None:
        return new
    if encode_record(new) == encode_record(said):
        is_untouched = current_or_deleted is not None and encode_record(current_or_deleted) == encode_record(new)
        return new if is_untouched else None
    if current_or_deleted is None or encode_record(current_or_deleted) == encode_record(said):
        return new
    names = {*new.fields, *current_or_deleted.fields}
    kept = {name: (current_or_deleted if _plain(new, name) == _plain(said, name) else new).get(name) for name in names}
    fields = {name: value for name, value in kept.items() if value is not None}
    return Record(id=new.id, kind=new.kind, fields=fields, audiences=new.audiences)


def _plain(record: Record, name: str) -> object:
    """Return a value as it compares, whether it came from a file or from a source."""
    value = record.get(name)
    return list(value) if isinstance(value, tuple) else value
