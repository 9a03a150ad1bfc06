"""The part of the embedded shelf's writing side that is about its store alone, not about its indexes."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager

from pinakes.model.record import Key, Record, RecordId
from pinakes.model.vectors import ModelId, Vector
from pinakes.shelf.embedded.store import Store
from pinakes.shelf.lock import CatalogueLock, EmbeddingElsewhereError
from pinakes.shelf.port import Put

WRITER_LOCK_TIMEOUT_S = 10.0


class StoreWriter:
    """Reads and writes a store for whoever changes it; writes are under the lock of the catalogue."""

    def __init__(self, store: Store, lock: CatalogueLock, embedding: CatalogueLock) -> None:
        self.store = store
        self._lock = lock
        self._embedding = embedding

    def missing_embeddings(self, digests: Iterable[bytes]) -> set[bytes]:
        """Return the digests without a stored vector."""
        return {digest for digest in digests if not self.store.has_embedding(digest)}

    def missing_vectors(self, digests: Iterable[bytes], model: ModelId) -> set[bytes]:
        """Return the digests without a stored vector of a model, which need not be the present one."""
        return {digest for digest in digests if not self.store.has_embedding(digest, model)}

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

    def list_unembedded(self, *, after: Key | None = None, limit: int) -> list[tuple[Key, Record]]:
        """Return records without a vector that follow a key, in key order; some may have no text."""
        return self.store.list_unembedded(after=after, limit=limit)

    def add_vectors(self, digests: Mapping[RecordId, bytes], vectors: Mapping[bytes, Vector]) -> int:
        """Store vectors of texts durably, and return how many of these records still have that text."""
        with self._lock.held(WRITER_LOCK_TIMEOUT_S):
            return self.store.add_vectors(digests, vectors)

    def sole_embedder(self, *, wait_s: float) -> AbstractContextManager[None]:
        """Hold the right to add vectors, which keeps no reader or writer waiting."""
        return self._embedding.held(wait_s, error_type=EmbeddingElsewhereError)

    def current_or_deleted(self, ids: Sequence[RecordId]) -> Mapping[RecordId, Record | None]:
        """Return the present record of each id, None for a deleted one."""
        return self.store.current_or_deleted(ids)
