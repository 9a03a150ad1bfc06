"""Bringing vectors that came later than their records into the index of a shelf."""

from collections.abc import Callable
from pathlib import Path

from pinakes.shelf.embedded.base_folder import BaseFolder
from pinakes.shelf.embedded.segment import DamagedIndexError, with_late_vectors
from pinakes.shelf.embedded.store import Store
from pinakes.shelf.embedded.stored_vectors import STORED_VECTORS

SwapIn = Callable[[Path, str, str], bool]
"""Makes a written segment of this name the base, if that of the second name still is it; tells whether it did."""


def publish_late(store: Store, bases: BaseFolder, swap_in: SwapIn) -> bool:
    """Write the base again with the vectors of now; False where another process has replaced it meanwhile."""
    vector_no, model, name = store.counter(STORED_VECTORS), store.model(), bases.name()
    if name is None or model is None:
        return False
    try:
        base = bases.open(name)
    except DamagedIndexError:
        return False
    if base.vector_no < vector_no:
        base = with_late_vectors(base, store.iter_vectors(), model=model, vector_no=vector_no)
        fresh = bases.write_late(base, like=name)
        if fresh is None or not swap_in(fresh, base.name, name):
            return False
    store.note_indexed(base.vector_no)
    return True
