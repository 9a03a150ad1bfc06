"""The process that builds the first indexes of a shelf: see `index_process`."""

import pickle
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing

from stackroom.model.record import Key
from stackroom.shelf.embedded.index_process import ALL, DONE
from stackroom.shelf.embedded.segment import SegmentRow
from stackroom.shelf.embedded.shelf import EmbeddedShelf
from stackroom.shelf.embedded.store import Store


def main() -> None:
    """Build the indexes of the shelf that standard input names, from the records that are announced there."""
    folder, spec = pickle.load(sys.stdin.buffer)
    with closing(EmbeddedShelf(folder, spec)) as shelf:
        shelf.index.build_first(_iter_rows(shelf.store, sys.stdin.buffer))
    sys.stdout.buffer.write(DONE)


def _iter_rows(store: Store, announced: Iterable[bytes]) -> Iterator[SegmentRow]:
    """Yield records as they are stored, until all are; raise EOFError where whoever stores them is gone."""
    last = Key(0)
    for line in announced:
        for row in store.iter_rows(after=last):
            last = row.key
            yield row
        if line == ALL:
            return
    raise EOFError


if __name__ == "__main__":
    main()
