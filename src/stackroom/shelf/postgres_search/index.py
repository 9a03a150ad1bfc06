"""Bringing an index up to its store: the records changed since, and the vectors that came later.

An update is one transaction, in which the former terms of its records are counted out and the new ones in. Only one
server does it at a time, under a lock of the database.
"""

import logging
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, groupby
from typing import Any

import numpy as np
import psycopg

from stackroom.catalogue.spec import CatalogueSpec
from stackroom.errors import BusyError
from stackroom.model.record import Key
from stackroom.model.vectors import FEW, ModelId, Vector, centre
from stackroom.shelf.embedded.segment import SegmentRow
from stackroom.shelf.embedded.store import Store
from stackroom.shelf.embedded.stored_vectors import STORED_VECTORS
from stackroom.shelf.port import Embedding
from stackroom.shelf.postgres_search.database import INDEXES, Connections, Generations, vector_text
from stackroom.shelf.postgres_search.documents import Document, DocumentBuilder
from stackroom.shelf.postgres_search.postings import BLOCK_KEYS, block_of, changed_block
from stackroom.shelf.postgres_search.terms import Classes, CountChanges, Dictionary
from stackroom.shelf.terms import number_fields

INDEX_FORMAT = 1
BATCH_KEYS = BLOCK_KEYS
GROWN = 2
"""The mean is measured again when there are this many times as many vectors."""
MOST_DIMENSIONS = 4_000
"""The most that pgvector's graph takes of half-precision vectors."""
DOCUMENT = """INSERT INTO documents VALUES (%s, %s, %s::int[], %s::int[], %s::int[], %s::int[], %s::float8[],
              %s::bytea[], %s, %s, %s::halfvec)"""
FORMER = """DELETE FROM documents WHERE key = ANY(%s::bigint[])
            RETURNING key, class, columns, words, posted, lengths"""
BLOCKS = """SELECT entry, block, data FROM postings JOIN unnest(%s::int[], %s::int[]) AS wanted(entry, block)
            USING (entry, block)"""
PUT_BLOCKS = """INSERT INTO postings SELECT * FROM unnest(%s::int[], %s::int[], %s::bytea[])
                ON CONFLICT (entry, block) DO UPDATE SET data = excluded.data"""
DROP_BLOCKS = """DELETE FROM postings USING unnest(%s::int[], %s::int[]) AS gone(entry, block)
                 WHERE postings.entry = gone.entry AND postings.block = gone.block"""
REACHED = "UPDATE reached SET change_no = %s, vector_no = %s, token = %s"

logger = logging.getLogger(__name__)

Place = tuple[int, int]
"""A block of postings: the number of the term, and that of the block."""


class SearchIndex:
    """Writes the index of a catalogue."""

    def __init__(self, connections: Connections, generations: Generations, spec: CatalogueSpec, store: Store) -> None:
        self._connections = connections
        self._generations = generations
        self._spec = spec
        self._store = store
        self._documents = DocumentBuilder(spec)
        self._dictionary = Dictionary()
        self._dictionary_of = 0

    def digest(self) -> str:
        """Return what an index is made by; one that is made by another is of no use."""
        return f"{INDEX_FORMAT} {self._spec.digest} {self._store.model()}"

    @contextmanager
    def alone(self, *, wait_s: float) -> Iterator[None]:
        """Keep other servers from writing the index; raise BusyError where one does so for longer than the wait."""
        with self._connections.writing() as db:
            db.execute(f"SET LOCAL lock_timeout = {max(1, round(1_000 * wait_s)):d}")
            db.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", (self._generations.schema(0),))
            yield

    def catch_up(self, *, wait_s: float) -> None:
        """Index every change and every vector that the store has; build the index where there is none of this spec.

        It is built anew too where the store was put back to an earlier state: that has not the write it has reached.
        """
        with self.alone(wait_s=wait_s):
            self._store.state()  # a copy follows: it is not behind an index that another server has written
            with self._connections.writing() as db:
                found = self._generations.find(db)
            if found is None or found[1] != self.digest() or not self._follow(found[0]):
                self.publish(self.build())
                return
        self._generations.drop_former()

    def _follow(self, generation: int) -> bool:
        """Index what has changed since; False where the index is of another history of the store."""
        with self._connections.writing(self._generations.schema(generation)) as db:
            ((reached, vectors, token),) = db.execute("SELECT change_no, vector_no, token FROM reached").fetchall()
            last, is_known = self._generations.find_write(token)
            wanted, stored = self._store.change_no(), self._store.counter(STORED_VECTORS)
            if not is_known:
                return False
            if reached > wanted:
                raise BusyError(self._store.why_stale() or "another server has just changed the catalogue; ask again")
            if reached < wanted or vectors < stored:
                self._use_dictionary(generation)
                self._index_all(db, self._store.changed_since(reached) if reached < wanted else [])
                if vectors < stored or self._mean_is_old(db):
                    self._index_vectors(db)
                db.execute(REACHED, (wanted, max(vectors, stored), last))
        self._store.note_indexed(stored)
        return True

    def build(self) -> int:
        """Build a generation from all records, which readers do not see before it is published; alone."""
        model = self._store.model()
        generation = self._generations.create(model.dimension if model else None)
        self._use_dictionary(generation)
        schema = self._generations.schema(generation)
        wanted, stored = self._store.change_no(), self._store.counter(STORED_VECTORS)
        last, _ = self._generations.find_write("")
        with self._connections.writing(schema) as db:
            self._save_mean(db)
        for keys in _by_block(sorted(self._store.list_keys())):
            with self._connections.writing(schema) as db:
                self._index_batch(db, keys, is_new=True)
        with self._connections.writing(schema) as db:
            self._create_indexes(db, model)
            db.execute(REACHED, (wanted, stored, last))
        with self._connections.writing(schema) as db:
            db.execute("ANALYZE documents")
        return generation

    def publish(self, generation: int) -> None:
        """Make a generation that was built the present one."""
        self._generations.publish(generation, self.digest())
        self._store.note_indexed(self._store.counter(STORED_VECTORS))
        self._generations.drop_former()

    def _use_dictionary(self, generation: int) -> None:
        if self._dictionary_of != generation:
            self._dictionary.forget()
            self._dictionary_of = generation

    def _create_indexes(self, db: "psycopg.Connection[Any]", model: ModelId | None) -> None:
        db.execute(INDEXES)
        for place in range(1, len(number_fields(self._spec)) + 1):
            db.execute(f"CREATE INDEX ON documents ((numbers[{place}]))")
        if model is not None and model.dimension <= MOST_DIMENSIONS:
            db.execute("CREATE INDEX ON documents USING hnsw (vector halfvec_l2_ops)")

    def _index_all(self, db: "psycopg.Connection[Any]", keys: Sequence[Key]) -> None:
        try:
            for batch in _by_block(keys):
                self._index_batch(db, batch, is_new=False)
        except BaseException:
            self._dictionary.forget()  # the numbers of new terms are rolled back
            raise

    def _index_batch(self, db: "psycopg.Connection[Any]", keys: Sequence[Key], *, is_new: bool) -> None:
        """Replace what the index has of these keys, which are of one block, by what the store has."""
        groups = len(self._documents.groups)
        counts, classes, blocks = CountChanges(groups), Classes(db, groups), BlockChanges()
        if not is_new:
            with db.cursor(binary=True) as cursor:
                for key, kind, columns, words, posted, lengths in cursor.execute(FORMER, (list(keys),)):
                    counts.add(-1, kind, {*columns, *words, *posted}, lengths)
                    blocks.remove(key, posted)
        rows = {row.key: row for row in self._store.iter_rows(keys)}
        documents = [self._documents.build(row.key, row.record) for row in rows.values()]
        terms = chain.from_iterable((*one.columns, *one.words, *one.postings) for one in documents)
        numbers = self._dictionary.numbers_of(db, terms)
        vectors = self._vectors_of(db, list(rows))
        written = []
        for document in documents:
            columns, words = [numbers[one] for one in document.columns], [numbers[one] for one in document.words]
            posted, kind = [numbers[one] for one in document.postings], classes.number_of(document.audiences)
            counts.add(1, kind, {*columns, *words, *posted}, document.lengths)
            blocks.add(document, numbers)
            terms_of = columns, words, posted
            written.append(_document_row(document, kind, terms_of, rows[document.key], vectors.get(document.key)))
        with db.cursor() as cursor:
            cursor.executemany(DOCUMENT, written)
        counts.save(db)
        blocks.save(db, is_new=is_new)

    def _vectors_of(self, db: "psycopg.Connection[Any]", keys: Sequence[Key]) -> Mapping[Key, Embedding]:
        """Return the vectors of these records, centred where their model asks for it."""
        model = self._store.model()
        if model is None:
            return {}
        found = self._store.embeddings_of(keys, model)
        mean = _mean_of(db)
        return {
            key: one
            if mean is None or one.vector is None
            else Embedding(digest=one.digest, vector=centre(one.vector, mean))
            for key, one in found.items()
        }

    def _index_vectors(self, db: "psycopg.Connection[Any]") -> None:
        """Store the vectors that came later than their records; all of them again where their mean has moved."""
        has_moved = self._mean_is_old(db)
        if has_moved:
            self._save_mean(db)
        after, which = Key(0), "" if has_moved else "AND vector IS NULL"
        query = f"SELECT key FROM documents WHERE key > %s {which} ORDER BY key LIMIT {BATCH_KEYS}"
        update = "UPDATE documents SET digest = %s, awaits = %s, vector = %s::halfvec WHERE key = %s"
        while keys := [Key(key) for (key,) in db.execute(query, (after,))]:
            vectors = self._vectors_of(db, keys)
            values = [
                (one.digest, False, vector_text(one.vector), key)
                for key, one in vectors.items()
                if one.vector is not None
            ]
            with db.cursor() as cursor:
                cursor.executemany(update, values)
            after = keys[-1]

    def _mean_is_old(self, db: "psycopg.Connection[Any]") -> bool:
        """Tell whether there are many more vectors than their mean was measured of."""
        model = self._store.model()
        if model is None or not model.is_centred:
            return False
        query = "SELECT mean_of, (SELECT count(*) FROM documents WHERE digest IS NOT NULL) FROM reached"
        ((measured, present),) = db.execute(query).fetchall()
        return bool(present > GROWN * measured)

    def _save_mean(self, db: "psycopg.Connection[Any]") -> None:
        model = self._store.model()
        if model is None or not model.is_centred:
            return
        total, present = np.zeros(model.dimension), 0
        for _, vector in self._store.iter_vectors():
            if vector is not None:
                total += vector
                present += 1
        mean = (total / (present + FEW)).astype(np.float32)
        db.execute("UPDATE reached SET mean = %s, mean_of = %s", (mean.tobytes() if present else None, present))


class BlockChanges:
    """Changes of postings, collected over a batch."""

    def __init__(self) -> None:
        self._removed: defaultdict[Place, list[int]] = defaultdict(list)
        self._added: defaultdict[Place, list[tuple[int, int, int]]] = defaultdict(list)

    def remove(self, key: Key, entries: Sequence[int]) -> None:
        """Remove a record from the postings of its terms."""
        for entry in entries:
            self._removed[entry, block_of(key)].append(key % BLOCK_KEYS)

    def add(self, document: Document, numbers: Mapping[Any, int]) -> None:
        """Add a record to the postings of its terms."""
        block, place = block_of(document.key), document.key % BLOCK_KEYS
        for term, (often, size) in document.postings.items():
            self._added[numbers[term], block].append((place, often, size))

    def save(self, db: "psycopg.Connection[Any]", *, is_new: bool) -> None:
        """Write the blocks that differ from before."""
        places = sorted({*self._removed, *self._added})
        former = {} if is_new or not places else _read_blocks(db, places)
        put, gone = [], []
        for place in places:
            before = former.get(place, b"")
            data = changed_block(before, self._removed.get(place, ()), self._added.get(place, ()))
            if not data:
                gone.append(place)
            elif data != before:
                put.append((*place, data))
        if put:
            db.execute(PUT_BLOCKS, [list(column) for column in zip(*put, strict=True)])
        if gone:
            db.execute(DROP_BLOCKS, [list(column) for column in zip(*gone, strict=True)])


def _read_blocks(db: "psycopg.Connection[Any]", places: Sequence[Place]) -> dict[Place, bytes]:
    with db.cursor(binary=True) as cursor:
        rows = cursor.execute(BLOCKS, [list(column) for column in zip(*places, strict=True)])
        return {(entry, block): data for entry, block, data in rows}


def _document_row(
    document: Document,
    kind: int,
    terms: tuple[Sequence[int], Sequence[int], Sequence[int]],
    row: SegmentRow,
    embedding: Embedding | None,
) -> tuple[Any, ...]:
    vector = embedding.vector if embedding else None
    return (
        document.key,
        kind,
        *terms,
        list(document.lengths),
        list(document.numbers),
        list(document.texts),
        embedding.digest if embedding else None,
        row.awaits_vector,
        None if vector is None else vector_text(vector),
    )


def _centred(embedding: Embedding, mean: Vector) -> Embedding:
    vector = embedding.vector
    return Embedding(digest=embedding.digest, vector=None if vector is None else centre(vector, mean))


def _mean_of(db: "psycopg.Connection[Any]") -> Vector | None:
    ((mean,),) = db.execute("SELECT mean FROM reached").fetchall()
    return None if mean is None else np.frombuffer(mean, dtype=np.float32)


def _by_block(keys: Sequence[Key]) -> Iterator[list[Key]]:
    """Yield the keys, which are in order, block by block."""
    for _, some in groupby(keys, key=block_of):
        yield list(some)
