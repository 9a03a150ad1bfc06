"""Reading all records of a snapshot in batches."""

from collections.abc import Iterator

from stackroom.model.record import Key
from stackroom.model.scope import WHOLE
from stackroom.shelf.port import ShelfReader

BATCH_ROWS = 4096


def iter_key_batches(reader: ShelfReader) -> Iterator[list[Key]]:
    """Yield the keys of all records in key order, which is the order of their insertion."""
    after = None
    while keys := reader.scan(scope=WHOLE, after=after, limit=BATCH_ROWS):
        yield keys
        after = keys[-1]
