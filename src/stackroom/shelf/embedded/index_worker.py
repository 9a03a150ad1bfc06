"""The process that builds the first indexes of a shelf: see `index_process`."""

import pickle
import sys
from collections.abc import Iterator
from contextlib import closing
from typing import BinaryIO

from stackroom.errors import StorageError
from stackroom.model.record import Key, Record
from stackroom.shelf.embedded.index_process import DONE, TEXT_ALONE, SentRow
from stackroom.shelf.embedded.segment import SegmentRow
from stackroom.shelf.embedded.shelf import EmbeddedShelf
from stackroom.shelf.embedded.store import Store


def main() -> None:
    """Build the indexes of the shelf that standard input names, or its base, from the records that come there."""
    folder, spec, is_of_base = pickle.load(sys.stdin.buffer)  # ends with EOFError where there is nothing to index
    with closing(EmbeddedShelf(folder, spec)) as shelf:
        records = NewRecords(shelf.store, sys.stdin.buffer)
        if is_of_base:
            shelf.index.build_base(records, change_no=shelf.store.change_no)
        else:
            shelf.index.build_first(records, has_base=lambda: not records.are_for_text)
    sys.stdout.buffer.write(DONE)


class NewRecords:
    """The records as they are stored, until all are."""

    def __init__(self, store: Store, sent: BinaryIO) -> None:
        self._store = store
        self._sent = sent
        self.are_for_text = False
        """Whether another process builds the base."""

    def __iter__(self) -> Iterator[SegmentRow]:
        """Yield each record; raise EOFError where whoever stores them is gone."""
        last = Key(0)
        while (rows := pickle.load(self._sent)) is not None:
            if rows == TEXT_ALONE:
                self.are_for_text = True
                continue
            is_next = rows and rows[0][0] == last + 1
            for row in map(_received, rows) if is_next else self._store.iter_rows(after=last):
                last = row.key
                yield row
        if last != self._store.count():
            raise StorageError("records were stored that were not indexed")


def _received(row: SentRow) -> SegmentRow:
    key, record_id, kind, fields, audiences, awaits_vector, texts = row
    record = Record(id=record_id, kind=kind, fields=fields, audiences=audiences)
    return SegmentRow(key=key, record=record, vector=None, awaits_vector=awaits_vector, texts=texts)


if __name__ == "__main__":
    main()
