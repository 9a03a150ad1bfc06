"""The process that builds the first indexes of a shelf: see `index_process`."""

import pickle
import sys
from collections.abc import Iterator
from contextlib import closing
from typing import BinaryIO

from stackroom.errors import StorageError
from stackroom.model.record import Key, Record
from stackroom.shelf.embedded.index_process import DONE, SentRow
from stackroom.shelf.embedded.segment import SegmentRow
from stackroom.shelf.embedded.shelf_index import ShelfIndex
from stackroom.shelf.embedded.store import Store
from stackroom.shelf.opening import open_store


def main() -> None:
    """Build the indexes of the shelf that standard input names, from the records that
    follow there.
    """
    # ends with EOFError where there is nothing to index
    folder, spec = pickle.load(sys.stdin.buffer)
    with closing(open_store(folder, spec)) as store:
        index = ShelfIndex.in_folder(folder, spec, store)
        index.build_first(_iter_rows(store, sys.stdin.buffer))
    sys.stdout.buffer.write(DONE)


def _iter_rows(store: Store, sent: BinaryIO) -> Iterator[SegmentRow]:
    """Yield records as they are stored; raise EOFError if the storing process has ended early."""
    last = Key(0)
    while (rows := pickle.load(sent)) is not None:
        for row in (
            map(_received, rows) if rows and rows[0][0] == last + 1 else store.iter_rows(after=last)
        ):
            last = row.key
            yield row
    if last != store.count():
        raise StorageError("records were stored that were not indexed")


def _received(row: SentRow) -> SegmentRow:
    key, record_id, kind, fields, audiences, awaits_vector, texts = row
    record = Record(id=record_id, kind=kind, fields=fields, audiences=audiences)
    return SegmentRow(key=key, record=record, vector=None, awaits_vector=awaits_vector, texts=texts)


if __name__ == "__main__":
    main()
