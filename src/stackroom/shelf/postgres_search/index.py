"""Building an index, and bringing it up to its store: the records changed since, and the vectors
that came later.

A build is cut into ranges of keys, then into the parts of its tables; any number of servers take
them from the database, each in one transaction, and one of them publishes it. An update is one
transaction, in which the former terms of its records are counted out and the new ones in. Only one
server does it at a time, under a lock of the database.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
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
from stackroom.shelf.embedded.segment import SegmentRow
from stackroom.shelf.embedded.store import STORED_VECTORS
from stackroom.shelf.postgres.store_database import SharedWork, count_left
from stackroom.shelf.postgres_search.copying import (
    FALSE,
    TRUE,
    bytes_array,
    copy_rows,
    half_vectors,
    number_arrays,
)
from stackroom.shelf.postgres_search.database import (
    INDEXING,
    INDEXING_PARTS,
    STATEMENTS,
    Generations,
    Reached,
    vector_text,
)
from stackroom.shelf.postgres_search.postings import (
    BLOCK_KEYS,
    MOST_IN_A_BYTE,
    TERM_POSTING,
    Integers,
    Postings,
    block_of,
    length_code,
    merge_blocks,
    places_of,
)
from stackroom.shelf.postgres_search.remote_store import RemoteStore
from stackroom.shelf.postgres_search.terms import (
    ALL_WORDS,
    GRAMS,
    Dictionary,
    Numbers,
    TermParts,
    gram_sizes,
    name_number,
    text_groups,
)
from stackroom.shelf.terms import (
    ColumnValues,
    number_fields,
    term_fields,
    text_columns,
    text_tokens,
)
from stackroom.text.titles import MAX_NAME_CHARS, name_spellings

INDEX_FORMAT = 4
PARTS_AT_ONCE, PUBLISH_WAIT_S = 4, 600
"""How many connections of one server make indexes at once, and how long it waits for the one that
publishes them.
"""
GROWN = 2  # the mean is measured again when there are this many times as many vectors
MOST_DIMENSIONS = 4_000  # the most that pgvector's graph takes of half-precision vectors
ALONE = "SELECT pg_advisory_xact_lock(hashtext(%s))"
TRY_ALONE = "SELECT pg_try_advisory_xact_lock(hashtext(%s))"
REACHED = "UPDATE reached SET change_no = %s, vector_no = %s, token = %s"
FORMER = (
    "DELETE FROM documents WHERE key = ANY(%s::bigint[]) RETURNING key, class, lengths, columns,"
    " posted"
)
BLOCKS = "SELECT entry, data FROM postings WHERE block = %s AND entry = ANY(%s::int[])"
DROP_BLOCKS = "DELETE FROM postings WHERE block = %s AND entry = ANY(%s::int[])"
CLASS_BITS = 31  # the bits of a class's number, where a term and a class are one number


class SearchIndex:
    """Builds the index of a catalogue, and brings it up to the store."""

    def __init__(
        self, generations: Generations, spec: CatalogueSpec, store: RemoteStore, *, parts: int = 0
    ) -> None:
        self._connections = generations.connections
        self._generations = generations
        self._spec = spec
        self._store = store
        self._parts = parts
        self._dictionaries: dict[tuple[int, str], Dictionary] = {}
        """The one of the generation and the history of the store that the numbers it keeps are
        of.
        """

    def digest(self) -> str:
        """Return what an index is made by; one that is made by another is of no use."""
        return f"{INDEX_FORMAT} {self._spec.digest} {self._store.model()}"

    @contextmanager
    def alone(self, *, wait_s: float) -> Iterator[None]:
        """Keep other servers from writing the index; raise BusyError if one does so for longer than
        the wait.
        """
        with self._connections.writing() as db:
            db.execute(f"SET LOCAL lock_timeout = {max(1, round(1_000 * wait_s)):d}")
            db.execute(ALONE, (self._generations.schema(0),))
            yield

    def catch_up(self, *, wait_s: float) -> None:
        """Index every change and every vector that the store has; build the index if there is none
        of this spec.

        It is rebuilt too where the store was put back to an earlier state: that has not the write
        it has reached.
        """
        with self.alone(wait_s=wait_s):
            with self._connections.writing() as db:
                found = self._generations.find(db)
            if found is None or found[1] != self.digest() or not self._follow(found[0]):
                self.publish(self.build())
            else:
                self._generations.drop_former()

    def _follow(self, generation: int) -> bool:
        """Index what has changed since; False if the index is of another history of the store."""
        with (
            self._connections.writing(self._generations.schema(generation)) as db,
            self._store.snapshot(),
        ):
            self._store.require_settled()
            ((reached, vectors, token),) = db.execute(
                "SELECT change_no, vector_no, token FROM reached"
            ).fetchall()
            stored, (wanted, last, is_known) = (
                self._store.counter(STORED_VECTORS),
                self._store.last_write(token),
            )
            if not is_known:
                return False
            if reached < wanted or vectors < stored:
                known = generation, self._store.history()
                dictionary = self._dictionaries.pop(known, None) or self._dictionary_of(generation)
                for _, keys in groupby(self._store.changed_since(reached), key=block_of):
                    self._write(db, dictionary, list(keys), is_new=False)
                if vectors < stored or self._mean_is_old(db):
                    self._index_vectors(db)
                db.execute(REACHED, (wanted, max(vectors, stored), last))
                # not where this failed: its numbers may be lost
                self._dictionaries = {known: dictionary}
        self._store.note_indexed(stored)
        return True

    def build(self) -> int:
        """Build a generation from all records, which readers do not see before it is published;
        alone.

        Other servers may take part by `join_build`. A build that was broken off is continued.
        """
        generation = self._find_unfinished() or self._plan()
        self._work_on(generation)
        with self._connections.writing(self._generations.schema(generation)) as db:
            db.execute(STATEMENTS["completion"])
        return generation

    def join_build(self) -> None:
        """Take part in the build that another server has begun, if there is one, until it is
        published.
        """
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
        return self._generations.create(
            reached, dimension=model.dimension if model else None, parts=self._parts
        )

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
        schema, dictionary = self._generations.schema(generation), self._dictionary_of(generation)
        with self._connections.working(schema) as db:
            with SharedWork(db, INDEXING) as ranges:
                for after, until in ranges:
                    keys = [Key(key) for key in range(after + 1, until + 1)]
                    ranges.items = self._write(db, dictionary, keys, is_new=True)
            left = count_left(db, INDEXING_PARTS)
        with new_pool("parts of the index", PARTS_AT_ONCE) as pool:
            list(pool.map(self._index_parts, [schema] * min(left, PARTS_AT_ONCE)))

    def _index_parts(self, schema: str) -> None:
        """Make the indexes of parts that no other worker has taken."""
        with self._connections.working(schema) as db, SharedWork(db, INDEXING_PARTS) as parts:
            for part, _ in parts:
                self._create_indexes(db, part)

    def _create_indexes(self, db: "psycopg.Connection[Any]", part: int) -> None:
        db.execute(STATEMENTS["indexes"].format(part=part))
        for place in range(1, len(number_fields(self._spec)) + 1):
            db.execute(f"CREATE INDEX ON documents_{part} ((numbers[{place}]))")
        model = self._store.model()
        if model is not None and model.dimension <= MOST_DIMENSIONS:
            db.execute(f"CREATE INDEX ON documents_{part} USING hnsw (vector halfvec_l2_ops)")

    def _dictionary_of(self, generation: int) -> Dictionary:
        return Dictionary(self._connections, self._generations.schema(generation))

    def _write(
        self,
        db: "psycopg.Connection[Any]",
        dictionary: Dictionary,
        keys: Sequence[Key],
        *,
        is_new: bool,
    ) -> int:
        """Replace what the index has of these keys, of one block, by what the store has; return how
        many that is.
        """
        former = None if is_new else remove_documents(db, keys)
        batch, groups = Batch(self._spec), len(text_groups(self._spec))
        for row in list(self._store.iter_rows(keys)):
            audiences = tuple(sorted(set(row.record.audiences or (PUBLIC,))))
            batch.add(row, dictionary.class_of(audiences, groups=groups))
        if batch.keys:
            batch.numbers = dictionary.numbers_of(db, batch.terms)
            batch.save(db, mean_of(db))
        if batch.keys or former:
            save_postings(db, block_of(keys[0]), former, batch)
            save_counts(db, former, batch)  # last: other writers wait for these rows
        return len(batch.keys)

    def _index_vectors(self, db: "psycopg.Connection[Any]") -> None:
        """Store the vectors that came later than their records; all of them again where their mean
        has moved.
        """
        has_moved = self._mean_is_old(db)
        if has_moved:
            db.execute("UPDATE reached SET mean = %s, mean_of = %s", self._measure_mean())
        mean, after = mean_of(db), Key(0)
        which = "" if has_moved else "AND vector IS NULL"
        query = f"SELECT key FROM documents WHERE key > %s {which} ORDER BY key LIMIT {BLOCK_KEYS}"
        update = (
            "UPDATE documents SET digest = %s, awaits = false, vector = %s::halfvec WHERE key = %s"
        )
        while keys := [Key(key) for (key,) in db.execute(query, (after,))]:
            changed = [
                (
                    row.digest,
                    vector_text(row.vector if mean is None else centre(row.vector, mean)),
                    row.key,
                )
                for row in self._store.iter_rows(keys)
                if row.vector is not None
            ]
            with db.cursor() as cursor:
                cursor.executemany(update, changed)
            after = keys[-1]

    def _mean_is_old(self, db: "psycopg.Connection[Any]") -> bool:
        """Tell whether there are many more vectors than their mean was measured of."""
        model = self._store.model()
        if model is None or not model.is_centred:
            return False
        query = (
            "SELECT mean_of, (SELECT count(*) FROM documents WHERE digest IS NOT NULL) FROM reached"
        )
        ((measured, present),) = db.execute(query).fetchall()
        return bool(present > GROWN * measured)

    def _measure_mean(self) -> tuple[bytes | None, int]:
        """Return the mean of all vectors, if their model asks for it, and their number."""
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


class FieldTerms(dict[Any, int]):
    """The terms of one field, by their text or entry: the place of each among the terms of a
    batch.
    """

    def __init__(self, field: int, terms: list[TermParts]) -> None:
        super().__init__()
        self._field = field
        self._terms = terms

    def __missing__(self, entry: Any) -> int:
        self[entry] = place = len(self._terms)
        self._terms.append((self._field, *((entry, "", "") if isinstance(entry, str) else entry)))
        return place


class Lists:
    """A list of numbers for each record, one after the other."""

    def __init__(self) -> None:
        self._values: list[int] = []
        self.ends: list[int] = []

    def add(self, values: Iterable[int]) -> None:
        """Add the list of the next record."""
        self._values += values
        self.ends.append(len(self._values))

    def numbered(self, numbers: Numbers) -> Numbers:
        """Return the numbers of terms by their places; those below 0 are numbers already."""
        values = np.array(self._values, dtype=np.int32)
        return (
            np.where(values < 0, values, numbers[np.maximum(values, 0)]) if len(numbers) else values
        )

    def spread(self, of_records: Sequence[int] | Integers) -> Integers:
        """Return a number of each record for each value in its list."""
        bounds = np.array([0, *self.ends], dtype=np.int64)
        return np.repeat(np.array(of_records, dtype=np.int64), bounds[1:] - bounds[:-1])


class PostedRows:
    """The records of one block as counts and postings have them, with the numbers of their
    terms.
    """

    def __init__(self) -> None:
        self.keys: list[Key] = []
        self.kinds: list[int] = []
        self.lengths: list[Sequence[int]] = []
        self.numbers: Numbers = np.empty(0, dtype=np.int32)
        """The numbers of the terms by their places; none if the lists have numbers already."""
        self._columns, self._posted = Lists(), Lists()
        self._often: list[int] = []
        self._sizes: list[int] = []

    def add_row(
        self,
        key: Key,
        kind: int,
        lengths: Sequence[int],
        columns: Iterable[int],
        posted: Iterable[int],
    ) -> None:
        """Add a record of a class."""
        self.keys.append(key)
        self.kinds.append(kind)
        self.lengths.append(lengths)
        self._columns.add(columns)
        self._posted.add(posted)

    @property
    def postings(self) -> Postings:
        """The postings of its terms; how often a record has them, and in which size, where that is
        known.
        """
        postings = np.zeros(self._posted.ends[-1] if self.keys else 0, dtype=TERM_POSTING)
        postings["entry"] = self._posted.numbered(self.numbers)
        postings["posting"]["place"] = self._posted.spread(places_of(self.keys))
        if self._often:
            postings["posting"]["often"] = np.minimum(self._often, MOST_IN_A_BYTE)
            postings["posting"]["size"] = self._sizes
        return postings

    @property
    def counted(self) -> Integers:
        """The term and the class of each record that has it, in one number."""
        lists = self._columns, self._posted
        terms = np.concatenate([one.numbered(self.numbers) for one in lists]).astype(np.int64)
        kinds = np.concatenate([one.spread(self.kinds) for one in lists])
        counted: Integers = (terms << CLASS_BITS) + kinds
        return counted


class Batch(PostedRows):
    """Records of one block by a spec, with the places of their terms among all that they have."""

    def __init__(self, spec: CatalogueSpec) -> None:
        super().__init__()
        self.terms: list[TermParts] = []
        self._spec, self._values = spec, ColumnValues(spec)
        self._readers, self._groups = text_columns(spec).values(), text_groups(spec)
        fields = [*range(len(term_fields(spec))), *self._groups, GRAMS]
        self._of = {field: FieldTerms(field, self.terms) for field in fields}
        self._words = Lists()
        self._rows: list[SegmentRow] = []
        self._numbers: list[list[float]] = []
        self._texts: list[bytes] = []

    def add(self, row: SegmentRow, kind: int) -> None:
        """Add a record of a class."""
        record, (values, numbers) = row.record, self._values.of(row.record)
        spelt = [
            one[:MAX_NAME_CHARS]
            for name in self._spec.names_of(record)
            for one in name_spellings(name)
        ]
        names = list(dict.fromkeys(spelt))
        bags = {
            group: Counter(text_tokens(record, fields)) for group, fields in self._groups.items()
        }
        columns = [self._of[field][entry] for field, some in enumerate(values) for entry in some]
        words = map(self._of[ALL_WORDS].__getitem__, bags[ALL_WORDS])
        self._words.add([*words, *map(name_number, names)])
        posted = list[int]()
        for field, bag in bags.items():
            posted += map(self._of[field].__getitem__, bag)
            self._often += bag.values()
            self._sizes += [length_code(bag.total())] * len(bag)
        shortest, longest = gram_sizes(names)
        posted += map(self._of[GRAMS].__getitem__, shortest)
        self._often += shortest.values()
        self._sizes += map(longest.__getitem__, shortest)
        self._rows.append(row)
        self._numbers.append(numbers)
        self._texts.append(
            bytes_array(["\n".join(names).encode(), *(read(record) for read in self._readers)])
        )
        self.add_row(row.key, kind, [bag.total() for bag in bags.values()], columns, posted)

    def save(self, db: "psycopg.Connection[Any]", mean: Vector | None) -> None:
        """Add the documents to their table; a mean is subtracted from their vectors."""
        found = [row.vector for row in self._rows if row.vector is not None]
        vectors = iter(
            half_vectors(np.stack(found) if mean is None else centre(np.stack(found), mean))
            if found
            else ()
        )
        lists = self._columns, self._words, self._posted
        tables = np.array(self.lengths, dtype=np.int32), np.array(self._numbers, dtype=np.float64)
        copy_rows(
            db,
            "documents",
            (np.array(self.keys, dtype=np.int64), np.array(self.kinds, dtype=np.int32)),
            *(number_arrays(one.numbered(self.numbers), one.ends) for one in lists),
            *(
                number_arrays(
                    rows.ravel(), [rows.shape[1] * place for place in range(1, len(rows) + 1)]
                )
                for rows in tables
            ),
            self._texts,
            [None if row.vector is None else row.digest for row in self._rows],
            [TRUE if row.awaits_vector else FALSE for row in self._rows],
            [None if row.vector is None else next(vectors) for row in self._rows],
        )


def remove_documents(db: "psycopg.Connection[Any]", keys: Sequence[Key]) -> PostedRows:
    """Remove documents, and return what counts and postings have of them."""
    former = PostedRows()
    with db.cursor(binary=True) as cursor:
        for row in cursor.execute(FORMER, (list(keys),)):
            former.add_row(*row)
    return former


def save_postings(
    db: "psycopg.Connection[Any]", block: int, former: PostedRows | None, fresh: PostedRows
) -> None:
    """Write the postings of a block that differ from before."""
    added, gone, before = fresh.postings, (former or PostedRows()).postings, dict[int, bytes]()
    if former is not None:
        with db.cursor(binary=True) as cursor:
            touched = np.union1d(gone["entry"], added["entry"]).tolist()
            before = dict(cursor.execute(BLOCKS, (block, touched)).fetchall())
    after = merge_blocks(before, gone, added)
    changed = {entry: data for entry, data in after.items() if before.get(entry) != data}
    if before:
        db.execute(
            DROP_BLOCKS,
            (block, [entry for entry in before if entry in changed or entry not in after]),
        )
    entries = np.fromiter(changed, dtype=np.int32, count=len(changed))
    copy_rows(
        db,
        "postings",
        (entries, np.full(len(changed), block, dtype=np.int32)),
        list(changed.values()),
    )


def save_counts(
    db: "psycopg.Connection[Any]", former: PostedRows | None, fresh: PostedRows
) -> None:
    """Count terms in and out, in one order: several writers wait for each other's rows until they
    commit.
    """
    signed = [(fresh, 1), *([] if former is None else [(former, -1)])]
    counted = [(one.counted, sign) for one, sign in signed]
    codes, places = np.unique(np.concatenate([some for some, _ in counted]), return_inverse=True)
    signs = np.concatenate([np.full(len(some), sign) for some, sign in counted])
    records = np.bincount(places, signs, len(codes)).astype(np.int64)
    terms = (codes >> CLASS_BITS).astype(np.int32)
    kinds = (codes & ((1 << CLASS_BITS) - 1)).astype(np.int32)
    if former is None:  # added up when the build ends
        copy_rows(db, "counted", (terms, kinds, records))
    else:
        db.execute(
            STATEMENTS["add_counts"],
            [some[records != 0].tolist() for some in (terms, kinds, records)],
        )
    rows = [
        (kind, sign, lengths)
        for one, sign in signed
        for kind, lengths in zip(one.kinds, one.lengths, strict=True)
    ]
    for kind in sorted({kind for kind, _, _ in rows}):
        changes = np.array(
            [(sign, *(sign * length for length in some)) for own, sign, some in rows if own == kind]
        )
        records_more, *lengths_more = changes.sum(axis=0).tolist()
        db.execute(STATEMENTS["add_lengths"], (records_more, lengths_more, kind))


def mean_of(db: "psycopg.Connection[Any]") -> Vector | None:
    """Return the mean that is subtracted from the vectors, if their model asks for it."""
    ((stored,),) = db.execute("SELECT mean FROM reached").fetchall()
    return None if stored is None else np.frombuffer(stored, dtype=np.float32)
