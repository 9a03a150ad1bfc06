"""Three-way merge of a source's records with edits made by hand since it was last read (editable
catalogues only).

The ledger keeps the last record that each source gave. When the source is read again:
- an unchanged row changes nothing: edits and deletions by hand stand. If the row is asked for by
  name, its deleted record is restored;
- a changed row updates the fields that changed in it, even if they were edited by hand: the source
  wins. The other fields keep their edits. A record that was deleted by hand is restored, and so are
  those that it names by a relation;
- a row that names a record that was renamed by hand copies the current name;
- a removed row removes its record, edited or not;
- a record made by hand belongs to no source and is removed by none. A source with a record of the
  same id changes the fields that it has. All of these changes are in the shelf's history, and can
  be undone.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from stackroom.catalogue.codec import decode_record, encode_record
from stackroom.catalogue.spec import CatalogueSpec, texts_of
from stackroom.frozen import frozen
from stackroom.ingest.edits.relations import as_copied, ids_in, named_by, relations_of, with_value
from stackroom.ingest.ledger import Ledger, Origin
from stackroom.model.record import Record, RecordId
from stackroom.shelf.port import ShelfWriter

MOST_MATCHED = 10_000  # how many new rows, and how many former records without a row, are compared
MOST_ALIKE = 20  # a value that more former records have tells none of them
FEWEST_EQUAL = 3  # how many values are equal at least where the title is another
PLACE = ""
Placed = tuple[Record, Origin]  # a record and the row that it came from
Values = Mapping[str, str]  # the values of a record as texts, by field, and the place of its row


@frozen
class HandEdits:
    """Keeps a source from overwriting edits made by hand."""

    source: str
    spec: CatalogueSpec
    writer: ShelfWriter
    ledger: Ledger

    def reconciled(
        self, records: Sequence[Record], *, asked: Container[RecordId] = ()
    ) -> list[Record | None]:
        """Return the records to write, deleted ones that are asked for too; None for one that stays
        as it is.
        """
        if not self.spec.editable:
            return list(records)
        ids = [record.id for record in records]
        known = self.writer.current_or_deleted(ids)
        last = self.ledger.last_source_records(self.source, ids)
        current = {
            one: record for one, record in known.items() if record is not None or one not in asked
        }
        of_sources = self.ledger.ids_from_sources(one for one in current if one not in last)
        kept = [
            reconciled(record, self._base(record.id, last, of_sources), current[record.id])
            if record.id in current
            else record
            for record in records
        ]
        renamed = self._renamed(self._named_by([record for record in kept if record is not None]))
        return [record and self._with_current_titles(record, renamed) for record in kept]

    def note(self, records: Sequence[Record]) -> None:
        """Store the source's records as its last ones, after they were written."""
        if self.spec.editable:
            self.ledger.note_source_records(
                self.source, {record.id: encode_record(record) for record in records}
            )

    def deleted_but_named(self, records: Sequence[Record]) -> list[Record]:
        """Return the source's last records of those that were deleted by hand and that the given
        records name.
        """
        if not self.spec.editable:
            return []
        current = self.writer.current_or_deleted(
            sorted(self._named_by(records) - {record.id for record in records})
        )
        last = self.ledger.last_source_records(
            self.source, [one for one, record in current.items() if record is None]
        )
        return [decode_record(one, body, self.spec) for one, body in last.items()]

    def _named_by(self, records: Sequence[Record]) -> set[RecordId]:
        return {record_id for record in records for record_id in named_by(record, self.spec)}

    def _renamed(self, ids: Iterable[RecordId]) -> dict[tuple[RecordId, str], str]:
        """Return the current titles of renamed records, by id and the title that the source
        gave.
        """
        current = self.writer.current_or_deleted(sorted(ids))
        titles = {
            one: self.spec.title_of(record) for one, record in current.items() if record is not None
        }
        last = {
            one: self.spec.title_of(decode_record(one, body, self.spec))
            for one, body in self.ledger.last_source_records(self.source, titles).items()
        }
        return {(one, title): titles[one] for one, title in last.items() if title != titles[one]}

    def _with_current_titles(
        self, record: Record, renamed: Mapping[tuple[RecordId, str], str]
    ) -> Record:
        """Return a record with the current titles of records that were renamed by hand, if it
        copies them.
        """
        for relation in relations_of(record.kind, self.spec):
            ids, written = ids_in(record, relation), texts_of(record.get(relation.copies))
            titles = [renamed.get(named, named[1]) for named in zip(ids, written, strict=False)]
            if len(ids) == len(written) and titles != written:
                record = with_value(record, relation.copies, as_copied(titles, relation, self.spec))
        return record

    def _base(
        self, record_id: RecordId, last: Mapping[RecordId, bytes], of_sources: set[RecordId]
    ) -> Record | None:
        """Return the source's last record; an empty one for a record made by hand; None if
        unknown.
        """
        if record_id in last:
            return decode_record(record_id, last[record_id], self.spec)
        return None if record_id in of_sources else Record(id=record_id, fields={})


def reconciled(new: Record, last: Record | None, current: Record | None) -> Record | None:
    """Return the record to write, merged from the source's new and last records and the current
    one; None: none.
    """
    if last is None:
        return new
    if encode_record(new) == encode_record(last):
        is_untouched = current is not None and encode_record(current) == encode_record(new)
        return new if is_untouched else None
    if current is None or encode_record(current) == encode_record(last):
        return new
    names = {*new.fields, *current.fields}
    kept = {
        name: (current if _plain(new, name) == _plain(last, name) else new).get(name)
        for name in names
    }
    fields = {name: value for name, value in kept.items() if value is not None}
    return Record(id=new.id, kind=new.kind, fields=fields, audiences=new.audiences)


def _plain(record: Record, name: str) -> object:
    """Return a value in a form that compares equal whether it was decoded or comes from a
    source.
    """
    value = record.get(name)
    return list(value) if isinstance(value, tuple) else value


def _values_of(placed: Placed) -> Values:
    """Return the values of a record, and the place of its row."""
    record, origin = placed
    return {name: repr(value) for name, value in record.fields.items()} | {PLACE: origin.row}


def match_edited(
    new: Sequence[Placed], former: Sequence[Placed], *, title: str, is_named: bool
) -> dict[RecordId, RecordId]:
    """Return the ids of new records that are edits, each with the id of the former record.

    `title` is the field of the title, which is the same in both where `is_named` says that ids are
    made of it.
    """
    matched: dict[RecordId, RecordId] = {}
    taken: set[RecordId] = set()
    likeliest_first = sorted(
        _iter_matches(new, former, title=title, is_named=is_named), reverse=True
    )
    for *_, new_id, former_id in likeliest_first:
        if new_id not in matched and former_id not in taken:
            matched[new_id] = former_id
            taken.add(former_id)
    return matched


def _iter_matches(
    new: Sequence[Placed], former: Sequence[Placed], *, title: str, is_named: bool
) -> Iterator[tuple[int, bool, RecordId, RecordId]]:
    """Yield how many values are equal, whether the place is, and the ids, of new and former records
    that may be one.
    """
    known = list(map(_values_of, former))
    holders: dict[tuple[str, str], list[int]] = {}
    for number, values in enumerate(known):
        for value in values.items():
            holders.setdefault(value, []).append(number)
    for one in new:
        values = _values_of(one)
        few = (
            some for value in values.items() if len(some := holders.get(value, [])) <= MOST_ALIKE
        )
        for number in {number for some in few for number in some}:
            other = known[number]
            is_in_place = values[PLACE] == other[PLACE]
            is_same = values.get(title) == other.get(title)
            equal = len(values.items() & other.items()) - is_in_place
            fields = len(values.keys() | other.keys()) - 1
            fewest = (
                fields - fields // 2 if is_same else max(FEWEST_EQUAL, fields - max(1, fields // 5))
            )
            if equal >= fewest and (is_same or not is_named):
                yield equal, is_in_place, one[0].id, former[number][0].id
