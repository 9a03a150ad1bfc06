"""Building an index, and bringing it up to its store: the records changed since, and the vectors that came later.

A build is cut into ranges of keys, then into the parts of its tables; any number of servers take them from the
database, each in one transaction, and one of them publishes it. An update is one transaction, in which the former terms
of its records are counted out and the new ones in. Only one server does it at a time, under a lock of the database.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from typing import Any

import numpy as np
import psycopg

from stackroom.background.threads import new_pool
from stackroom.catalogue.spec import CatalogueSpec
from stackroom.model.record import Key
from stackroom.model.scope import PUBLIC
from stackroom.model.vectors import FEW, Vector, centre
from stackroom.shelf.embedded.store import STORED_VECTORS, Store
from stackroom.shelf.postgres.shared_work import SharedWork, count_left
from stackroom.shelf.postgres_search.batches import Batch, remove_documents, save_counts, save_postings
from stackroom.shelf.postgres_search.database import (
    COMPLETION,
    INDEXES,
    INDEXING,
    INDEXING_PARTS,
    Connections,
    Generations,
    Reached,
    vector_text,
)
from stackroom.shelf.postgres_search.postings import BLOCK_KEYS, block_of
from stackroom.shelf.postgres_search.remote_store import RemoteStore
from stackroom.shelf.postgres_search.terms import Dictionary, text_groups
from stackroom.shelf.terms import number_fields

INDEX_FORMAT = 4
PARTS_AT_ONCE, PUBLISH_WAIT_S = 4, 600
"""How many connections of one server make indexes at once, and how long it waits for the one that publishes them."""
GROWN = 2
"""The mean is measured again when there are this many times as many vectors."""
MOST_DIMENSIONS = 4_000
"""The most that pgvector's graph takes of half-precision vectors."""
ALONE, TRY_ALONE = "SELECT pg_advisory_xact_lock(hashtext(%s))", "SELECT pg_try_advisory_xact_lock(hashtext(%s))"
REACHED = "UPDATE reached SET change_no = %s, vector_no = %s, token = %s"


class SearchIndex:
    """Builds the index of a catalogue, and brings it up to the store."""

    def __init__(self, generations: Generations, spec: CatalogueSpec, store: RemoteStore, *, parts: int = 0) -> None:
        self._connections = generations.connections
        self._generations = generations
        self._spec = spec
        self._store = store
        self._parts = parts
        self._writers: dict[tuple[int, str], RecordWriter] = {}
        """The one of the generation and the history of the store that the numbers of terms it keeps are of."""

    def digest(self) -> str:
        """Return what an index is made by; one that is made by another is of no use."""
        return f"{INDEX_FORMAT} {self._spec.digest} {self._store.model()}"

    @contextmanager
    def alone(self, *, wait_s: float) -> Iterator[None]:
        """Keep other servers from writing the index; raise BusyError where one does so for longer than the wait."""
        with self._connections.writing() as db:
            db.execute(f"SET LOCAL lock_timeout = {max(1, round(1_000 * wait_s)):d}")
            db.execute(ALONE, (self._generations.schema(0),))
            yield

    def catch_up(self, *, wait_s: float) -> None:
        """Index every change and every vector that the store has; build the index where there is none of this spec.

        It is built anew too where the store was put back to an earlier state: that has not the write it has reached.
        """
        with self.alone(wait_s=wait_s):
            with self._connections.writing() as db:
                found = self._generations.find(db)
            if found is None or found[1] != self.digest() or not self._follow(found[0]):
                self.publish(self.build())
            else:
                self._generations.drop_former()

    def _follow(self, generation: int) -> bool:
        """Index what has changed since; False where the index is of another history of the store."""
        with self._connections.writing(self._generations.schema(generation)) as db, self._store.snapshot():
            self._store.require_settled()
            ((reached, vectors, token),) = db.execute("SELECT change_no, vector_no, token FROM reached").fetchall()
            stored, (wanted, last, is_known) = self._store.counter(STORED_VECTORS), self._store.last_write(token)
            if not is_known:
                return False
            if reached < wanted or vectors < stored:
                known = generation, self._store.history()
                writer = self._writers.get(known) or self._writer_of(generation)
                self._writers = {known: writer}
                for _, keys in groupby(self._store.changed_since(reached), key=block_of):
                    writer.write(db, list(keys), is_new=False)
                if vectors < stored or self._mean_is_old(db):
                    self._index_vectors(db)
                db.execute(REACHED, (wanted, max(vectors, stored), last))
        self._store.note_indexed(stored)
        return True

    def build(self) -> int:
        """Build a generation from all records, which readers do not see before it is published; alone.

        Other servers may take part by `join_build`. A build that was broken off is continued.
        """
        generation = self._find_unfinished() or self._plan()
        self._work_on(generation)
        with self._connections.writing(self._generations.schema(generation)) as db:
            db.execute(COMPLETION)
        return generation

    def join_build(self) -> None:
        """Take part in the build that another server has begun, if there is one, until it is published."""
        with self._connections.writing() as db:
            is_free = db.execute(TRY_ALONE, (self._generations.schema(0),)).fetchone() == (True,)
        if not is_free and (generation := self._find_unfinished()) is not None:
            self._work_on(generation)
            with self.alone(wait_s=PUBLISH_WAIT_S):
                pass

    def publish(self, generation: int) -> None:
        """Make a generation that was built the present one, and bring it up to the store."""
        self._generations.publish(generation, self.digest())
        self._follow(generation)
        self._generations.drop_former()

    def _plan(self) -> int:
        """Create a generation whose build has not begun."""
        model = self._store.model()
        stored, (wanted, last, _) = self._store.counter(STORED_VECTORS), self._store.last_write("")
        reached = Reached(wanted, stored, last, *self._measure_mean(), self.digest())
        return self._generations.create(reached, dimension=model.dimension if model else None, parts=self._parts)

    def _find_unfinished(self) -> int | None:
        """Return the generation that is being built from what this store has."""
        found = self._generations.find_unpublished()
        if found is None:
            return None
        generation, planned = found
        last, _, is_known = self._store.last_write(planned.token)
        has_vectors = planned.vector_no <= self._store.counter(STORED_VECTORS)
        is_reached = is_known and has_vectors and planned.change_no <= last
        return generation if is_reached and planned.digest == self.digest() else None

    def _work_on(self, generation: int) -> None:
        """Do what is left of a build, with any other server that does so."""
        schema, writer = self._generations.schema(generation), self._writer_of(generation)
        with self._connections.working(schema) as db:
            with SharedWork(db, INDEXING) as ranges:
                for after, until in ranges:
                    ranges.items = writer.write(db, [Key(key) for key in range(after + 1, until + 1)], is_new=True)
            left = count_left(db, INDEXING_PARTS)
        with new_pool("parts of the index", PARTS_AT_ONCE) as pool:
            list(pool.map(self._index_parts, [schema] * min(left, PARTS_AT_ONCE)))

    def _index_parts(self, schema: str) -> None:
        """Make the indexes of parts that no other worker has taken."""
        with self._connections.working(schema) as db, SharedWork(db, INDEXING_PARTS) as parts:
            for part, _ in parts:
                self._create_indexes(db, part)

    def _writer_of(self, generation: int) -> "RecordWriter":
        return RecordWriter(self._connections, self._generations.schema(generation), self._spec, self._store)

    def _create_indexes(self, db: "psycopg.Connection[Any]", part: int) -> None:
        db.execute(INDEXES.format(part=part))
        for place in range(1, len(number_fields(self._spec)) + 1):
            db.execute(f"CREATE INDEX ON documents_{part} ((numbers[{place}]))")
        model = self._store.model()
        if model is not None and model.dimension <= MOST_DIMENSIONS:
            db.execute(f"CREATE INDEX ON documents_{part} USING hnsw (vector halfvec_l2_ops)")

    def _index_vectors(self, db: "psycopg.Connection[Any]") -> None:
        """Store the vectors that came later than their records; all of them again where their mean has moved."""
        has_moved = self._mean_is_old(db)
        if has_moved:
            db.execute("UPDATE reached SET mean = %s, mean_of = %s", self._measure_mean())
        after, which = Key(0), "" if has_moved else "AND vector IS NULL"
        query = f"SELECT key FROM documents WHERE key > %s {which} ORDER BY key LIMIT {BLOCK_KEYS}"
        update = "UPDATE documents SET digest = %s, awaits = false, vector = %s::halfvec WHERE key = %s"
        while keys := [Key(key) for (key,) in db.execute(query, (after,))]:
            vectors = vectors_of(db, self._store, keys)
            with db.cursor() as cursor:
                cursor.executemany(update, [(*embedded, key) for key, embedded in vectors.items()])
            after = keys[-1]

    def _mean_is_old(self, db: "psycopg.Connection[Any]") -> bool:
        """Tell whether there are many more vectors than their mean was measured of."""
        model = self._store.model()
        if model is None or not model.is_centred:
            return False
        query = "SELECT mean_of, (SELECT count(*) FROM documents WHERE digest IS NOT NULL) FROM reached"
        ((measured, present),) = db.execute(query).fetchall()
        return bool(present > GROWN * measured)

    def _measure_mean(self) -> tuple[bytes | None, int]:
        """Return the mean of all vectors, where their model asks for it, and their number."""
        model = self._store.model()
        if model is None or not model.is_centred:
            return None, 0
        total, present = np.zeros(model.dimension), 0
        for _, vector in self._store.iter_vectors():
            if vector is not None:
                total += vector
                present += 1
        mean = (total / (present + FEW)).astype(np.float32)
        return mean.tobytes() if present else None, present


class RecordWriter:
    """Writes records into the tables of one generation."""

    def __init__(self, connections: Connections, schema: str, spec: CatalogueSpec, store: Store) -> None:
        self._spec = spec
        self._store = store
        self._dictionary = Dictionary(connections, schema)

    def write(self, db: "psycopg.Connection[Any]", keys: Sequence[Key], *, is_new: bool) -> int:
        """Replace what the index has of these keys, of one block, by what the store has; return how many that is."""
        former = None if is_new else remove_documents(db, keys)
        batch, groups = Batch(self._spec), len(text_groups(self._spec))
        for row in list(self._store.iter_rows(keys)):
            audiences = tuple(sorted(set(row.record.audiences or (PUBLIC,))))
            batch.add(row, self._dictionary.class_of(audiences, groups=groups))
        if batch.keys:
            batch.numbers = self._dictionary.numbers_of(db, batch.terms)
            batch.save(db, mean_of(db))
        if batch.keys or former:
            save_postings(db, block_of(keys[0]), former, batch)
            save_counts(db, former, batch)  # last: other writers wait for these rows
        return len(batch.keys)


def mean_of(db: "psycopg.Connection[Any]") -> Vector | None:
    """Return the mean that is subtracted from the vectors, where their model asks for it."""
    ((stored,),) = db.execute("SELECT mean FROM reached").fetchall()
    return None if stored is None else np.frombuffer(stored, dtype=np.float32)


def vectors_of(db: "psycopg.Connection[Any]", store: Store, keys: Sequence[Key]) -> dict[Key, tuple[bytes, str]]:
    """Return the digests of the texts of these records with their vectors, less the mean."""
    model, mean = store.model(), mean_of(db)
    found = {} if model is None else store.embeddings_of(keys, model)
    return {
        key: (one.digest, vector_text(one.vector if mean is None else centre(one.vector, mean)))
        for key, one in found.items()
        if one.vector is not None
    }
