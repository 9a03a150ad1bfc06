"""The vectors of a store: keyed by model and digest of their text, so that no text is embedded twice.

Vectors may come later than their records. They are no changes, and have counters of their own.
"""

from collections.abc import Iterator, Mapping, Sequence

import apsw
import numpy as np

from stackroom.errors import StorageError
from stackroom.model.record import Key, RecordId
from stackroom.model.vectors import ModelId, Vector
from stackroom.shelf.embedded.store_file import INSERT_VECTOR, PUT_BACK, TOUCH_EMBEDDED, StoreFile, row_sum
from stackroom.shelf.port import Author, Embedding, KeyRange

STORED_VECTORS, INDEXED_VECTORS = "vectors_stored", "vectors_indexed"
"""Counters in `meta`: how often vectors were added apart from changes, and the last of these that the index has."""
HAS_NO_VECTOR = """NOT EXISTS (SELECT 1 FROM embeddings WHERE embeddings.digest = records.digest
                    AND model = (SELECT value FROM meta WHERE name = 'model'))"""
WITH_VECTORS = """FROM records LEFT JOIN embeddings
    ON embeddings.digest = records.digest AND model = (SELECT value FROM meta WHERE name = 'model')"""

VECTOR_COLUMNS = "model, records.digest, vector, embeddings.sum"
"""The columns that `sound_vector` takes."""


class StoredVectors(StoreFile):
    """The vectors of one catalogue's texts, by its present model and by others."""

    def model(self) -> ModelId | None:
        """Return the embedding model of the vectors, or None."""
        rows = self._rows("SELECT name, value FROM meta WHERE name IN ('model', 'dimension', 'centred')")
        meta = {str(name): str(value) for name, value in rows}
        if "model" not in meta:
            return None
        is_centred = meta.get("centred") == "1"
        try:
            return ModelId(name=meta["model"], dimension=int(meta["dimension"]), is_centred=is_centred)
        except (KeyError, ValueError) as error:
            raise StorageError(f"{self.label}: the size of its vectors is damaged; {PUT_BACK}") from error

    def keep_vectors(self, model: ModelId, vectors: Mapping[bytes, Vector]) -> None:
        """Store vectors of another model than the present one, which `create` switches to."""
        with self._writing() as db:
            rows = [(model.name, digest, vector.tobytes()) for digest, vector in vectors.items()]
            db.executemany(INSERT_VECTOR, rows)

    def add_vectors(self, digests: Mapping[RecordId, bytes], vectors: Mapping[bytes, Vector]) -> int:
        """Store vectors of texts, and return how many of these records still have that text."""
        with self._writing() as db:
            for digest, vector in vectors.items():
                self._insert_vector(db, Embedding(digest=digest, vector=vector))
            query = """UPDATE records SET digest = ?1, sum = row_sum(id, body, ?1) WHERE id = ?2
                       AND ifnull(digest, ?1) = ?1 AND sum = row_sum(id, body, digest)"""
            embedded = 0
            for record_id, digest in digests.items():
                db.execute(query, (digest, record_id))
                embedded += db.changes()
            db.execute(
                "INSERT OR REPLACE INTO meta VALUES (?, ?)", (STORED_VECTORS, str(self.counter(STORED_VECTORS) + 1))
            )
        return embedded

    def has_vectors(self) -> bool:
        """Tell whether there is any vector, by whatever model."""
        return self._find_row("SELECT 1 FROM embeddings LIMIT 1") is not None

    def count_unembedded(self) -> int:
        """Return how many different texts lack a vector of the present model."""
        return int(self._find_row(f"SELECT count(DISTINCT digest) FROM records WHERE {HAS_NO_VECTOR}")[0])

    def unembedded_range(self) -> KeyRange | None:
        """Return the keys that records without a vector of the present model have; None where all have one."""
        first, last = self._find_row(f"SELECT min(key), max(key) FROM records WHERE {HAS_NO_VECTOR}")
        return None if first is None else KeyRange(Key(first - 1), Key(last))

    def counter(self, name: str) -> int:
        """Return one of the counters of vectors."""
        row = self._find_row("SELECT CAST(value AS INTEGER) FROM meta WHERE name = ?", (name,))
        return int(row[0]) if row else 0

    def note_indexed(self, vector_no: int) -> None:
        """Store that the index has the vectors of this number, so that readers open it."""
        if self.counter(INDEXED_VECTORS) == vector_no or self.is_read_only:
            return
        with self._writing_file() as db:
            db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (INDEXED_VECTORS, str(vector_no)))

    def iter_vectors(self) -> Iterator[tuple[Key, Vector | None]]:
        """Yield the key of each record that has a text, with its vector if there is one."""
        query = f"SELECT key, {VECTOR_COLUMNS} {WITH_VECTORS} WHERE records.digest IS NOT NULL"
        for key, *row in self._rows(query):
            yield Key(key), sound_vector(*row)

    def embeddings_of(self, keys: Sequence[Key], model: ModelId) -> dict[Key, Embedding]:
        """Return the vectors of records by a model, with the digests of their texts; those that have their checksum."""
        query = """SELECT key, records.digest, vector, embeddings.sum FROM records
                   JOIN embeddings ON embeddings.digest = records.digest AND model = ? WHERE key IN ({})"""
        found: dict[Key, Embedding] = {}
        for key, digest, *row in self._select(query, keys, model.name):
            vector = sound_vector(model.name, digest, *row)
            if vector is not None:
                found[Key(key)] = Embedding(digest=digest, vector=vector)
        return found

    def vectors_of(self, digests: Sequence[bytes], model: ModelId) -> dict[bytes, Vector]:
        """Return the stored vectors of texts by a model, those that have their checksum."""
        query = "SELECT digest, vector, sum FROM embeddings WHERE model = ? AND digest IN ({})"
        rows = self._select(query, digests, model.name)
        found = {digest: sound_vector(model.name, digest, *row) for digest, *row in rows}
        return {digest: vector for digest, vector in found.items() if vector is not None}

    def find_embedded(self, digests: Sequence[bytes], model: ModelId | None = None) -> set[bytes]:
        """Return the digests whose vector is stored, by this store's model where none is given."""
        model = model or self.model()
        query = "SELECT digest FROM embeddings WHERE model = ? AND digest IN ({})"
        return {digest for (digest,) in self._select(query, digests, model.name)} if model else set()

    def _switch_model(self, db: apsw.Connection, model: ModelId, author: Author) -> None:
        """Use the vectors of another model, in the caller's transaction."""
        before = self.model()
        pairs = [("model", model.name), ("dimension", str(model.dimension)), ("centred", str(int(model.is_centred)))]
        db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", pairs)
        # Vectors are keyed by the model's name alone; older ones may have another length.
        size_bytes = model.dimension * np.dtype(np.float32).itemsize
        db.execute("DELETE FROM embeddings WHERE model = ? AND length(vector) <> ?", (model.name, size_bytes))
        if before is not None:
            self._touch_embedded(db, model, author)

    def _touch_embedded(self, db: apsw.Connection, model: ModelId, author: Author) -> None:
        db.execute(TOUCH_EMBEDDED, (author.principal, author.call_id, model.name))

    def renumber_vectors(self) -> None:
        """Give the vectors the next number, so that readers take an index that was built anew for another."""
        self.add_vectors({}, {})

    def remove_vectors(self, rows: Sequence[int]) -> None:
        """Remove stored vectors, so that their texts are embedded again."""
        with self._writing() as db:
            db.executemany("DELETE FROM embeddings WHERE rowid = ?", ((row,) for row in rows))

    def _insert_vectors(self, db: apsw.Connection, embeddings: Sequence[Embedding]) -> None:
        """Store the vectors of many texts, of those that have one; without a model there is none."""
        model = self.model()
        if model is None:
            return
        for embedding in embeddings:
            embedding.require_fits(model)
        rows = [(model.name, one.digest, _as_bytes(one.vector)) for one in embeddings if one.vector is not None]
        db.executemany(INSERT_VECTOR, rows)

    def _insert_vector(self, db: apsw.Connection, embedding: Embedding) -> bool:
        """Store the vector of a text, and tell whether it is new; without a model there is none."""
        embedding.require_fits(self.model())
        db.execute(
            """INSERT OR IGNORE INTO embeddings
               SELECT value, ?1, ?2, row_sum(value, ?1, ?2) FROM meta WHERE name = 'model'""",
            (embedding.digest, _as_bytes(embedding.vector)),
        )
        return db.changes() > 0


def _as_bytes(vector: Vector | None) -> bytes:
    return np.ascontiguousarray(vector, dtype=np.float32).tobytes()


def sound_vector(model: str, digest: bytes, vector: bytes | None, told: int | None) -> Vector | None:
    """Return a stored vector; None where there is none, or it does not have its checksum."""
    if vector is None or told != row_sum(model, digest, vector):
        return None
    return np.frombuffer(vector, dtype=np.float32)
