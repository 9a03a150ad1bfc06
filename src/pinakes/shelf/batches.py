"""Reading all records of a view, some thousands at a time."""

from collections.abc import Iterator

from pinakes.model.record import Key
from pinakes.model.scope import WHOLE
from pinakes.shelf.port import ShelfReader

BATCH_ROWS = 4096


def iter_key_batches(reader: ShelfReader) -> Iterator[list[Key]]:
    """Yield the keys of all records in key order, which is the order in which the records came."""
    after = None
    while keys := reader.scan(scope=WHOLE, after=after, limit=BATCH_ROWS):
        yield keys
        after = keys[-1]
