"""Records of one block on their way into the tables: their terms are numbered at once, and each table written once."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import psycopg

from stackroom.catalogue.spec import CatalogueSpec
from stackroom.model.record import Key
from stackroom.model.vectors import Vector, centre
from stackroom.shelf.embedded.segment import SegmentRow
from stackroom.shelf.postgres_search.copying import FALSE, TRUE, bytes_array, copy_rows, half_vectors, number_arrays
from stackroom.shelf.postgres_search.postings import (
    MOST_IN_A_BYTE,
    TERM_POSTING,
    Integers,
    Postings,
    length_code,
    merge_blocks,
    places_of,
)
from stackroom.shelf.postgres_search.terms import (
    ALL_WORDS,
    GRAMS,
    Numbers,
    TermParts,
    gram_sizes,
    name_number,
    text_groups,
)
from stackroom.shelf.terms import ColumnValues, term_fields, text_columns, text_tokens
from stackroom.text.titles import MAX_NAME_CHARS, name_spellings

FORMER = "DELETE FROM documents WHERE key = ANY(%s::bigint[]) RETURNING key, class, lengths, columns, posted"
BLOCKS = "SELECT entry, data FROM postings WHERE block = %s AND entry = ANY(%s::int[])"
DROP_BLOCKS = "DELETE FROM postings WHERE block = %s AND entry = ANY(%s::int[])"
ADD_COUNTS = """INSERT INTO counts SELECT * FROM unnest(%s::int[], %s::int[], %s::bigint[])
                ON CONFLICT (entry, class) DO UPDATE SET records = counts.records + excluded.records"""
ADD_LENGTHS = """UPDATE classes SET records = records + %s, lengths = ARRAY(
                 SELECT a + b FROM unnest(lengths, %s::bigint[]) WITH ORDINALITY AS t(a, b, n) ORDER BY n)
                 WHERE id = %s"""
CLASS_BITS = 31
"""The bits of a class's number, where a term and a class are one number."""


class FieldTerms(dict[Any, int]):
    """The terms of one field, by their text or entry: the place of each among the terms of a batch."""

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
        return np.where(values < 0, values, numbers[np.maximum(values, 0)]) if len(numbers) else values

    def spread(self, of_records: Sequence[int] | Integers) -> Integers:
        """Return a number of each record for each value in its list."""
        bounds = np.array([0, *self.ends], dtype=np.int64)
        return np.repeat(np.array(of_records, dtype=np.int64), bounds[1:] - bounds[:-1])


class PostedRows:
    """The records of one block as counts and postings have them, with the numbers of their terms."""

    def __init__(self) -> None:
        self.keys: list[Key] = []
        self.kinds: list[int] = []
        self.lengths: list[Sequence[int]] = []
        self.numbers: Numbers = np.empty(0, dtype=np.int32)
        """The numbers of the terms by their places; none where the lists have numbers already."""
        self._columns, self._posted = Lists(), Lists()
        self._often: list[int] = []
        self._sizes: list[int] = []

    def add_row(
        self, key: Key, kind: int, lengths: Sequence[int], columns: Iterable[int], posted: Iterable[int]
    ) -> None:
        """Add a record of a class."""
        self.keys.append(key)
        self.kinds.append(kind)
        self.lengths.append(lengths)
        self._columns.add(columns)
        self._posted.add(posted)

    @property
    def postings(self) -> Postings:
        """The postings of its terms; how often a record has them, and in which size, where that is known."""
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
        spelt = [one[:MAX_NAME_CHARS] for name in self._spec.names_of(record) for one in name_spellings(name)]
        names = list(dict.fromkeys(spelt))
        bags = {group: Counter(text_tokens(record, fields)) for group, fields in self._groups.items()}
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
        self._texts.append(bytes_array(["\n".join(names).encode(), *(read(record) for read in self._readers)]))
        self.add_row(row.key, kind, [bag.total() for bag in bags.values()], columns, posted)

    def save(self, db: "psycopg.Connection[Any]", mean: Vector | None) -> None:
        """Add the documents to their table; a mean is subtracted from their vectors."""
        found = [row.vector for row in self._rows if row.vector is not None]
        vectors = iter(
            half_vectors(np.stack(found) if mean is None else centre(np.stack(found), mean)) if found else ()
        )
        lists = self._columns, self._words, self._posted
        tables = np.array(self.lengths, dtype=np.int32), np.array(self._numbers, dtype=np.float64)
        copy_rows(
            db,
            "documents",
            (np.array(self.keys, dtype=np.int64), np.array(self.kinds, dtype=np.int32)),
            *(number_arrays(one.numbered(self.numbers), one.ends) for one in lists),
            *(
                number_arrays(rows.ravel(), [rows.shape[1] * place for place in range(1, len(rows) + 1)])
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


def save_postings(db: "psycopg.Connection[Any]", block: int, former: PostedRows | None, fresh: PostedRows) -> None:
    """Write the postings of a block that differ from before."""
    added, gone, before = fresh.postings, (former or PostedRows()).postings, dict[int, bytes]()
    if former is not None:
        with db.cursor(binary=True) as cursor:
            touched = np.union1d(gone["entry"], added["entry"]).tolist()
            before = dict(cursor.execute(BLOCKS, (block, touched)).fetchall())
    after = merge_blocks(before, gone, added)
    changed = {entry: data for entry, data in after.items() if before.get(entry) != data}
    if before:
        db.execute(DROP_BLOCKS, (block, [entry for entry in before if entry in changed or entry not in after]))
    entries = np.fromiter(changed, dtype=np.int32, count=len(changed))
    copy_rows(db, "postings", (entries, np.full(len(changed), block, dtype=np.int32)), list(changed.values()))


def save_counts(db: "psycopg.Connection[Any]", former: PostedRows | None, fresh: PostedRows) -> None:
    """Count terms in and out, in one order: several writers wait for each other's rows until they commit."""
    signed = [(fresh, 1), *([] if former is None else [(former, -1)])]
    counted = [(one.counted, sign) for one, sign in signed]
    codes, places = np.unique(np.concatenate([some for some, _ in counted]), return_inverse=True)
    signs = np.concatenate([np.full(len(some), sign) for some, sign in counted])
    records = np.bincount(places, signs, len(codes)).astype(np.int64)
    terms, kinds = (codes >> CLASS_BITS).astype(np.int32), (codes & ((1 << CLASS_BITS) - 1)).astype(np.int32)
    if former is None:  # added up when the build ends
        copy_rows(db, "counted", (terms, kinds, records))
    else:
        db.execute(ADD_COUNTS, [some[records != 0].tolist() for some in (terms, kinds, records)])
    rows = [(kind, sign, lengths) for one, sign in signed for kind, lengths in zip(one.kinds, one.lengths, strict=True)]
    for kind in sorted({kind for kind, _, _ in rows}):
        changes = np.array([(sign, *(sign * length for length in some)) for own, sign, some in rows if own == kind])
        records_more, *lengths_more = changes.sum(axis=0).tolist()
        db.execute(ADD_LENGTHS, (records_more, lengths_more, kind))
