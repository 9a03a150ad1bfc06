"""Writing to the store of a shelf: records under the lock of the catalogue, and vectors, which may come later."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from stackroom.model.record import Key, Record, RecordId
from stackroom.model.vectors import ModelId, Vector
from stackroom.shelf.embedded.index_files import BaseFolder
from stackroom.shelf.embedded.segment import DamagedIndexError, with_late_vectors
from stackroom.shelf.embedded.store import Store
from stackroom.shelf.embedded.stored_vectors import STORED_VECTORS
from stackroom.shelf.lock import CatalogueLock, EmbeddingElsewhereError
from stackroom.shelf.port import EVERY_KEY, KeyRange, Put

EMBEDDING_LOCK_FILE = "vectors.lock"
WRITER_LOCK_TIMEOUT_S = 10.0
SwapIn = Callable[[Path, str, str], bool]
"""Makes a written segment of this name the base, if that of the second name still is it; tells whether it did."""


class StoreWriter:
    """Reads and writes a store for whoever changes it; writes are under the lock of the catalogue."""

    def __init__(self, store: Store, lock: CatalogueLock, embedding: CatalogueLock) -> None:
        self.store = store
        self._lock = lock
        self._embedding = embedding

    def missing_embeddings(self, digests: Iterable[bytes], model: ModelId | None = None) -> set[bytes]:
        """Return the digests without a stored vector of a model; of the present one where none is given."""
        wanted = set(digests)
        return wanted - self.store.find_embedded(list(wanted), model)

    def keep_vectors(self, model: ModelId, vectors: Mapping[bytes, Vector]) -> None:
        """Store vectors of another model than the present one; readers see none of it until `create` switches."""
        with self._lock.held(WRITER_LOCK_TIMEOUT_S):
            self.store.keep_vectors(model, vectors)

    def unchanged(self, puts: Sequence[Put]) -> set[RecordId]:
        """Return the ids of the puts that would change nothing; a vector that is still to come is no change."""
        return self.store.unchanged(puts)

    def count_unembedded(self) -> int:
        """Return how many different texts have no vector yet."""
        return self.store.count_unembedded()

    def list_unembedded(self, *, within: KeyRange = EVERY_KEY, limit: int) -> list[tuple[Key, Record]]:
        """Return records of these keys without a vector, in key order; some may have no text."""
        return self.store.list_unembedded(within=within, limit=limit)

    def add_vectors(self, digests: Mapping[RecordId, bytes], vectors: Mapping[bytes, Vector]) -> int:
        """Store vectors of texts durably, and return how many of these records still have that text."""
        with self._lock.held(WRITER_LOCK_TIMEOUT_S):
            return self.store.add_vectors(digests, vectors)

    @contextmanager
    def sole_embedder(self, *, wait_s: float) -> Iterator[None]:
        """Hold the right to add vectors, which keeps no reader or writer waiting."""
        held = self._embedding.held(wait_s, error_type=EmbeddingElsewhereError)
        with held, self.store.sole_embedder(wait_s=wait_s):
            yield

    @contextmanager
    def embedding_parts(self, *, wait_s: float) -> Iterator[Iterable[KeyRange]]:
        """Hold the right to embed the texts of some keys, one part after the other; others may have the rest."""
        held = self._embedding.held(wait_s, error_type=EmbeddingElsewhereError)
        with held, self.store.embedding_parts(wait_s=wait_s) as parts:
            yield parts

    def find_progress(self) -> Mapping[str, Any]:
        """Return how far the machines are that share work on this catalogue; nothing where there is only this one."""
        return self.store.find_progress()

    def join_build(self) -> None:
        """Take part in the build of an index that several machines share; one in a folder is not shared."""

    def current_or_deleted(self, ids: Sequence[RecordId]) -> Mapping[RecordId, Record | None]:
        """Return the present record of each id, None for a deleted one."""
        return self.store.current_or_deleted(ids)


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
        base = with_late_vectors(base, store.iter_vectors(), model=model, vector_no=vector_no, folder=bases.folder)
        fresh = bases.write_late(base, like=name)
        if fresh is None or not swap_in(fresh, base.name, name):
            return False
    store.note_indexed(base.vector_no)
    return True
