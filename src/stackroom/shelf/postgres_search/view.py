"""A snapshot of a catalogue whose index is in PostgreSQL: candidates are found there, and scored
here.
"""

import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz

from stackroom.model.hits import (
    FacetCount,
    Occurrences,
    Promises,
    Ranking,
    TitleMatch,
    build_ranking,
)
from stackroom.model.record import Key
from stackroom.model.scope import WHOLE, Condition, Scope, Visibility
from stackroom.model.vectors import Vector, centre
from stackroom.shelf.embedded.store import StoreState
from stackroom.shelf.embedded.vectors import row_dots
from stackroom.shelf.embedded.view import EntryOccurrences, StoreView, join_occurrences
from stackroom.shelf.postgres_search.database import Snapshot, vector_text
from stackroom.shelf.postgres_search.filters import AudienceClass, Selection, find_numbers, select
from stackroom.shelf.postgres_search.postings import (
    Integers,
    PostingList,
    WeighedTerm,
    add_up,
    block_of,
    count_keys,
    count_shared,
    join_blocks,
)
from stackroom.shelf.postgres_search.terms import (
    ALL_WORDS,
    GRAMS,
    Term,
    column_number,
    decoded,
    encoded,
    grams_of,
    name_number,
    name_weights,
    term_of_row,
    text_groups,
    text_weights,
)
from stackroom.shelf.terms import (
    Entry,
    number_fields,
    require_countable,
    require_filterable,
)
from stackroom.text.analyser import TextQuery
from stackroom.text.titles import GRAMS_READ, MAX_NAME_CHARS, name_spellings

SPARE = 50  # how many more vectors than wanted are compared exactly
WIDE, MOST_COMPARED, FOUND = 0.3, 300_000, 1_000
"""The share and the number of records above which a graph searches, and how many it finds: of fewer
it misses some.
"""
DEEPER = 4
NAMED_CANDIDATES = 200  # how many records with the grams of a name are compared by edit distance
READ_AT_ONCE = 500_000
"""The postings of a query that are read before the bounds of its more frequent terms decide what
else is.
"""
KEPT_POSTINGS = 2_000_000
KEPT_ROWS = 20_000
CACHED_SELECTIONS = 16
GRAM_RECORDS = 50_000  # a gram that more records have is not read, unless there is no rarer one
FURTHEST_OFF = 1_000  # above any difference in the sizes of names
COUNTED_TERMS = "SELECT entry, class, records FROM counts WHERE entry = ANY(%s::int[])"
BLOCKS = (
    "SELECT entry, block, data FROM postings WHERE entry = ANY(%s::int[]) {} ORDER BY entry, block"
)


class Row(NamedTuple):
    """The columns of a document that the reads by key ask for."""

    columns: Sequence[int]
    numbers: Sequence[float]
    texts: Sequence[bytes]
    digest: bytes | None


@dataclass(frozen=True, kw_only=True)
class PostgresqlView(StoreView):
    """Implements `ShelfReader`; `classes` are those that the caller may see."""

    snapshot: Snapshot
    promises: Promises
    records: int  # how many there are, of all classes
    classes: Sequence[AudienceClass]
    is_limited: bool = False  # whether there are records of other classes
    _seen_by: dict[frozenset[int], "PostgresqlView"] = field(default_factory=dict, repr=False)
    _selections: dict[tuple[Condition, ...], Selection] = field(default_factory=dict, repr=False)
    _postings: dict[int, PostingList] = field(default_factory=dict, repr=False)
    _rows: dict[Key, Row] = field(default_factory=dict, repr=False)
    _terms: dict[int, Term] = field(default_factory=dict, repr=False)
    _vectors: dict[bytes, Vector] = field(default_factory=dict, repr=False)
    _guard: threading.RLock = field(default_factory=threading.RLock, repr=False)

    @cached_property
    def mean(self) -> Vector | None:
        """The mean that was subtracted from the vectors, if their model asks for it."""
        mean = self.snapshot.reached.mean
        return None if mean is None else np.frombuffer(mean, dtype=np.float32)

    @property
    def state(self) -> StoreState:
        """The state of the store that this snapshot is of; of no history, once it can be read no
        more.
        """
        return super().state._replace(history="over") if self.snapshot.is_over else super().state

    @cached_property
    def awaiting_vectors(self) -> int:
        """How many records have a text without a vector yet."""
        if self.model is None:
            return 0
        selection = self._select(WHOLE)
        query = f"SELECT count(*) FROM documents WHERE awaits AND vector IS NULL {selection.also}"
        return int(self.snapshot.rows(query, *selection.values)[0][0])

    def seen_by(self, visibility: Visibility) -> "PostgresqlView":
        """Return the snapshot as if there were nothing but what the caller may see; itself if that
        is everything.
        """
        classes = [one for one in self.classes if visibility.sees(one.audiences)]
        if sum(one.records for one in classes) == self._total:
            return self
        numbers = frozenset(one.number for one in classes)
        if numbers not in self._seen_by:
            self._seen_by[numbers] = replace(
                self, classes=classes, is_limited=True, _seen_by={}, _selections={}
            )
        known = self._seen_by[numbers]
        return known if known.stale == self.stale else replace(known, stale=self.stale)

    def titles(self, keys: Sequence[Key]) -> list[str]:
        """Return the folded title of each key."""
        return [names[0] if names else "" for names in self._names(keys)]

    def terms(self, field: str, keys: Sequence[Key]) -> list[frozenset[str]]:
        """Return the terms of a column for each of these keys."""
        number, rows = column_number(self.spec, field), self._rows_of(keys)
        known = self._terms_of({entry for row in rows.values() for entry in row.columns})
        each = [
            [known[entry] for entry in rows[key].columns] if key in rows else [] for key in keys
        ]
        return [frozenset(term.text for term in some if term.field == number) for some in each]

    def count_terms(
        self, field: str, terms: Iterable[str], keys: Sequence[Key]
    ) -> NDArray[np.int64]:
        """Return how many of the terms each of these keys has in a column."""
        number, rows = column_number(self.spec, field), self._rows_of(keys)
        asked = find_numbers(self.snapshot, [Term(number, term) for term in terms])
        each = [set(numbers) for numbers in asked.values() if numbers]
        having = [set(rows[key].columns) if key in rows else set() for key in keys]
        return np.array(
            [sum(not one.isdisjoint(here) for one in each) for here in having], dtype=np.int64
        )

    def numbers(self, field: str, keys: Sequence[Key]) -> NDArray[np.float64]:
        """Return the number of a column for each of these keys."""
        place, rows = number_fields(self.spec).index(field), self._rows_of(keys)
        return np.array(
            [rows[key].numbers[place] if key in rows else np.nan for key in keys], dtype=np.float64
        )

    def vectors(self, keys: Sequence[Key]) -> Vector:
        """Return the vectors of these keys as rows, zeros for a record without a vector."""
        rows = np.zeros((len(keys), self.model.dimension if self.model else 0), dtype=np.float32)
        known = self._rows_of(keys)
        digests = [known[key].digest if key in known else None for key in keys]
        with self._guard:  # the vector of a text never changes, so that the last ones are kept
            if len(self._vectors) > KEPT_ROWS:
                self._vectors.clear()
            missing = {one for one in digests if one is not None and one not in self._vectors}
            self._vectors.update(self.stored_vectors(list(missing)))
            for place, digest in enumerate(digests):
                if digest is not None and digest in self._vectors:
                    rows[place] = self._vectors[digest]
        return rows if self.mean is None else centre(rows, self.mean)

    def _names(self, keys: Sequence[Key]) -> list[list[str]]:
        rows = self._rows_of(keys)
        return [rows[key].texts[0].decode().split("\n") if key in rows else [] for key in keys]

    def _texts(self, name: str, keys: Sequence[Key]) -> list[bytes]:
        place, rows = 1 + self._text_names.index(name), self._rows_of(keys)
        return [rows[key].texts[place] for key in keys]

    def _rows_of(self, keys: Sequence[Key]) -> Mapping[Key, Row]:
        """Return the rows of these keys; the last ones are kept, since the reads of a search ask
        for the same.
        """
        with self._guard:
            missing = [key for key in dict.fromkeys(keys) if key not in self._rows]
            if len(self._rows) + len(missing) > KEPT_ROWS:
                self._rows.clear()
                missing = list(dict.fromkeys(keys))
            query = (
                "SELECT key, columns, numbers, texts, digest FROM documents WHERE key ="
                " ANY(%s::bigint[])"
            )
            for key, *row in self.snapshot.rows(query, missing) if missing else ():
                self._rows[Key(key)] = Row(*row)
            return {key: self._rows[key] for key in keys if key in self._rows}

    def _terms_of(self, entries: set[int]) -> Mapping[int, Term]:
        """Return the terms of their numbers."""
        with self._guard:
            missing = [entry for entry in entries if entry not in self._terms]
            query = "SELECT id, field, term, category, value FROM entries WHERE id = ANY(%s::int[])"
            for number, *row in self.snapshot.rows(query, missing) if missing else ():
                self._terms[number] = term_of_row(row)
            return self._terms

    def lexical(
        self,
        query: TextQuery,
        *,
        scope: Scope,
        limit: int,
        counted: bool = True,
        in_names: bool = False,
    ) -> Ranking:
        """Rank the records in scope that have any of the terms."""
        selection = self._select(scope)
        weighed = self._weigh(
            query, name_weights(self.spec) if in_names else text_weights(self.spec)
        )
        keys, scores = self._best(weighed, selection, limit)
        total = self._count_matches(weighed, selection) if counted else None
        return build_ranking(keys, scores, limit=limit, total=total)

    def having_words(self, words: TextQuery, *, scope: Scope, limit: int) -> Ranking:
        """Rank the records in scope by the sum of the weights of the words that they have."""
        selection = self._select(scope)
        weighed = self._weigh(words, [(ALL_WORDS, 1.0)])
        lists = self._postings_of([one.entry for one in weighed])
        parts = [
            (lists[one.entry].keys, np.full(len(lists[one.entry].keys), one.weight))
            for one in weighed
        ]
        keys, scores = self._first_selected(*add_up(parts), selection, limit)
        return build_ranking(keys, scores, limit=limit)

    def frequencies(self, tokens: Sequence[str]) -> list[int]:
        """Return how many records have each of these tokens."""
        return [
            sum(count for _, count in some)
            for some in self._counted([Term(ALL_WORDS, one) for one in tokens])
        ]

    def count_with_terms(self, query: TextQuery, keys: Sequence[Key]) -> int:
        """Return how many of these records have any of the terms."""
        return int(np.count_nonzero(self.term_scores(query, keys).any(axis=1)))

    def term_scores(self, query: TextQuery, keys: Sequence[Key]) -> NDArray[np.float64]:
        """Return what each term adds to the score of each record."""
        scores = np.zeros((len(keys), len(query.terms)))
        order = np.argsort(np.asarray(keys, dtype=np.int64), kind="stable")
        wanted = np.asarray(keys, dtype=np.int64)[order]
        weighed = self._weigh(query, text_weights(self.spec)) if len(wanted) else []
        for one, postings in zip(weighed, self._postings_at(weighed, wanted), strict=True):
            scores[order[np.searchsorted(wanted, postings.keys)], one.column] += one.scores(
                postings
            )
        return scores

    def _best(
        self, weighed: Sequence[WeighedTerm], selection: Selection, limit: int
    ) -> tuple[Integers, Any]:
        """Return the best selected records by words with their scores, in no order; there may be
        more than wanted.
        """
        if not weighed or not limit:
            return add_up(())
        if selection.keys is not None:
            lists = self._postings_at(weighed, selection.keys)
            return add_up(
                [(one.keys, term.scores(one)) for term, one in zip(weighed, lists, strict=True)]
            )
        depth = limit
        while True:
            keys, scores, is_whole = self._ranked(weighed, depth)
            kept, of_kept = self._first_selected(keys, scores, selection, limit)
            if is_whole or len(kept) >= limit:
                return kept, of_kept
            depth *= DEEPER

    def _first_selected(
        self, keys: Integers, scores: Any, selection: Selection, limit: int
    ) -> tuple[Integers, Any]:
        """Return the first records of a ranking that are selected: as many as wanted, where there
        are so many.
        """
        chosen, most = np.empty(0, np.int64), 0
        while most < len(keys) and len(chosen) < limit:
            most = DEEPER * max(most, limit, 1)
            # ordering all takes longer
            least = np.partition(scores, -most)[-most] if most < len(keys) else -np.inf
            near = np.flatnonzero(scores >= least)
            order = near[np.lexsort((keys[near], -scores[near]))]
            chosen = order[np.isin(keys[order], selection.only(keys[order]))]
        return keys[chosen], scores[chosen]

    def _ranked(self, weighed: Sequence[WeighedTerm], depth: int) -> tuple[Integers, Any, bool]:
        """Return at least the best records of all that have the terms, and whether these are all
        that have them.

        The postings of rare terms are read first. Those of frequent ones are read for the records
        alone that can be among the best by their bounds, as in MaxScore (Turtle and Flood, 1995):
        the result is exact.
        """
        ordered, read = sorted(weighed, key=lambda one: (one.records, one.entry)), 0
        while read < len(ordered):
            size = 0
            while read < len(ordered) and (
                not size or size + ordered[read].records <= READ_AT_ONCE
            ):
                size += ordered[read].records
                read += 1
            rest = ordered[read:]
            lists = self._postings_of([one.entry for one in ordered[:read]])
            keys, scores = add_up(
                [(lists[one.entry].keys, one.scores(lists[one.entry])) for one in ordered[:read]]
            )
            if not rest or len(keys) <= depth:
                continue
            bound, least = sum(one.most for one in rest), np.partition(scores, -depth)[-depth]
            if least > bound:
                near = scores + bound >= least
                found = self._postings_at(rest, keys[near])
                parts = [
                    (one.keys, term.scores(one)) for term, one in zip(rest, found, strict=True)
                ]
                return *add_up([(keys[near], scores[near]), *parts]), False
        return keys, scores, True

    def _count_matches(self, weighed: Sequence[WeighedTerm], selection: Selection) -> int:
        """Return how many selected records have any of the terms, exactly up to the promised
        number.
        """
        if not weighed:
            return 0
        entries = [one.entry for one in weighed]
        if selection.keys is not None:
            return count_keys(self._postings_at(weighed, selection.keys))
        most = max(one.records for one in weighed)
        if not selection.clause and most >= self.promises.totals_up_to:
            return most
        if not selection.clause and sum(one.records for one in weighed) <= READ_AT_ONCE:
            return count_keys(self._postings_of(entries).values())
        # The words of boosted fields are among those of all text.
        counted = f"""SELECT count(*) FROM (
                        SELECT 1 FROM documents WHERE words && %s::int[] {selection.also}
                        LIMIT {self.promises.totals_up_to}) AS counted"""
        return int(self.snapshot.rows(counted, entries, *selection.values)[0][0])

    def _weigh(self, query: TextQuery, fields: Sequence[tuple[int, float]]) -> list[WeighedTerm]:
        """Return the terms of a query that there are, in each of the fields."""
        asked = [
            (column, weight * boost, Term(group, token))
            for column, (token, weight) in enumerate(query.terms)
            for group, boost in fields
        ]
        total = self._total
        averages = {
            group: sum(one.lengths[place] for one in self.classes) / max(total, 1) or 1.0
            for place, group in enumerate(text_groups(self.spec))
        }
        counted = self._counted([term for _, _, term in asked])
        return [
            WeighedTerm(
                entry=entry,
                column=column,
                records=records,
                weight=weight,
                average=averages[term.field],
                total=total,
            )
            for (column, weight, term), some in zip(asked, counted, strict=True)
            for entry, records in some
            if records
        ]

    def _counted(self, terms: Sequence[Term]) -> list[list[tuple[int, int]]]:
        """Return the numbers of each term with how many records the caller sees that have it."""
        numbers = find_numbers(self.snapshot, terms)
        visible, counts = {one.number for one in self.classes}, Counter[int]()
        every = [entry for some in numbers.values() for entry in some]
        for entry, kind, records in self.snapshot.rows(COUNTED_TERMS, every) if every else ():
            counts[entry] += records if kind in visible else 0
        return [[(entry, counts[entry]) for entry in numbers[term]] for term in terms]

    @property
    def _total(self) -> int:
        return sum(one.records for one in self.classes)

    def _postings_of(self, entries: Sequence[int]) -> dict[int, PostingList]:
        """Return whole postings; the last ones are kept, since the reads of a search have the same
        terms.
        """
        with self._guard:
            missing = [entry for entry in entries if entry not in self._postings]
            if missing and sum(len(one.keys) for one in self._postings.values()) > KEPT_POSTINGS:
                self._postings.clear()
                missing = list(entries)
            self._postings.update(self._read_postings(missing, "") if missing else {})
            return {entry: self._postings[entry] for entry in entries}

    def _postings_at(self, weighed: Sequence[WeighedTerm], keys: Integers) -> list[PostingList]:
        """Return the postings of terms for these keys alone, which are in order."""
        entries = [one.entry for one in weighed]
        with self._guard:
            known = {entry: self._postings[entry] for entry in entries if entry in self._postings}
        missing = [entry for entry in entries if entry not in known]
        blocks = sorted({block_of(key) for key in keys.tolist()})
        read = self._read_postings(missing, "AND block = ANY(%s::int[])", blocks) if missing else {}
        return [(known.get(entry) or read[entry]).only(keys) for entry in entries]

    def _read_postings(
        self, entries: Sequence[int], which: str, *values: Any
    ) -> dict[int, PostingList]:
        blocks: dict[int, list[tuple[int, bytes]]] = {entry: [] for entry in entries}
        for entry, block, data in self.snapshot.rows(BLOCKS.format(which), list(entries), *values):
            blocks[entry].append((block, data))
        return {entry: join_blocks(some) for entry, some in blocks.items()}

    def nearest(self, vectors: Vector, *, scope: Scope, limit: int) -> list[Ranking]:
        """Rank the records in scope by cosine to each of the vectors."""
        selection = self._select(scope)
        rankings = []
        # by exact cosines: those of the index are of numbers with half the digits
        for vector in vectors:
            keys = self._near(vector, selection, limit + SPARE) if limit and self.model else []
            rankings.append(
                build_ranking(
                    keys, row_dots(self.vectors(keys), vector) if keys else (), limit=limit
                )
            )
        return rankings

    def _near(self, vector: Vector, selection: Selection, count: int) -> list[Key]:
        """Return the records nearest to a vector: of all that are selected or, of many, of those
        that a graph finds.
        """
        found, asked = list[tuple[Key]](), vector_text(vector)
        selected = f"SELECT key, vector FROM documents WHERE vector IS NOT NULL {selection.also}"
        nearest = (
            "SELECT key FROM ({}) AS compared ORDER BY l2_distance(vector, %s::halfvec), key"
            f" LIMIT {count}"
        )
        if selection.size > min(WIDE * self.records, MOST_COMPARED):
            by_graph = f"{selected} ORDER BY vector <-> %s::halfvec LIMIT {max(FOUND, count)}"
            found = self.snapshot.rows(nearest.format(by_graph), *selection.values, asked, asked)
        if len(found) < count and selection.clause:
            found = self.snapshot.rows(nearest.format(selected), *selection.values, asked)
        return [Key(key) for (key,) in found]

    def titles_like(self, text: str, *, scope: Scope, limit: int) -> list[TitleMatch]:
        """Return the records in scope with the names most like the text."""
        selection = self._select(scope)
        best: dict[Key, float] = {}
        for spelling in name_spellings(text):
            wanted = spelling[:MAX_NAME_CHARS]
            keys = self._alike(wanted, selection)
            for key, names in zip(keys, self._names(keys), strict=True):
                likeness = max(fuzz.ratio(wanted, name) / 100 for name in names)
                best[key] = max(likeness, best.get(key, 0.0))
        matches = [TitleMatch(key, likeness) for key, likeness in best.items()]
        return sorted(matches, key=lambda match: (-match.likeness, match.key))[:limit]

    def has_name(self, text: str, *, scope: Scope) -> bool:
        """Tell whether a record in scope has this name."""
        selection = self._select(scope)
        spellings = [spelling[:MAX_NAME_CHARS] for spelling in name_spellings(text)]
        query = f"""SELECT EXISTS (SELECT 1 FROM documents, unnest(%s::bytea[]) AS name
                    WHERE words && %s::int[] {selection.also}
                    AND position(name IN '\\x0a'::bytea || texts[1] || '\\x0a') > 0)"""
        lines = [encoded(f"\n{spelling}\n") for spelling in spellings]
        values = lines, [name_number(spelling) for spelling in spellings]
        return bool(spellings) and bool(self.snapshot.rows(query, *values, *selection.values)[0][0])

    def _alike(self, wanted: str, selection: Selection) -> list[Key]:
        """Return the selected records that share most of a name's rarest grams, those of similar
        length first.
        """
        counted = self._counted([Term(GRAMS, gram) for gram in sorted(grams_of(wanted))])
        grams = sorted((records, entry) for some in counted for entry, records in some if records)[
            :GRAMS_READ
        ]
        if not grams:
            return []
        read = [
            entry
            for place, (records, entry) in enumerate(grams)
            if not place or records <= GRAM_RECORDS
        ]
        size = len(wanted.encode("utf-8", "surrogatepass"))
        keys, shared, off = count_shared(self._postings_of(read), size=size)
        kept, _ = self._first_selected(
            keys, shared - off / FURTHEST_OFF, selection, NAMED_CANDIDATES
        )
        return [Key(key) for key in kept[:NAMED_CANDIDATES].tolist()]

    def facets(self, field: str, *, scope: Scope) -> list[FacetCount]:
        """Count the values of a field over the records in scope, most frequent first; of many
        records, of a sample.
        """
        require_countable(field, self.spec)
        selection = self._select(scope)
        number = column_number(self.spec, field)
        if selection.is_of_classes:
            kept = [one.number for one in selection.classes]
            query = """SELECT category, value, sum(records) FROM counts JOIN entries ON id = entry
                       WHERE field = %s AND class = ANY(%s::int[]) GROUP BY category, value"""
            rows, share = self.snapshot.rows(query, number, kept), 1.0
        else:
            sample, share = self._sample(selection)
            query = f"""SELECT category, value, count(*)
                        FROM documents {sample}, unnest(columns) AS entry
                        JOIN entries ON id = entry WHERE field = %s {selection.also}
                        GROUP BY category, value"""
            rows = self.snapshot.rows(query, number, *selection.values)
        found = [
            FacetCount(decoded(category), decoded(value), round(int(count) / share))
            for category, value, count in rows
            if count
        ]
        return sorted(found, key=lambda facet: (-facet.count, facet.category, facet.value))

    def occurrences(self, field: str, *, scope: Scope) -> Occurrences:
        """Return which records in scope have which values of a field; of many records, those of a
        sample.
        """
        require_countable(field, self.spec)
        selection = self._select(scope)
        sample, _ = self._sample(selection)
        query = f"""SELECT key, entry FROM documents {sample}, unnest(columns) AS entry
                    JOIN entries ON id = entry WHERE field = %s {selection.also}"""
        rows = self.snapshot.rows(query, column_number(self.spec, field), *selection.values)
        entries = sorted({entry for _, entry in rows})
        places = {entry: place for place, entry in enumerate(entries)}
        known = self._terms_of(set(entries))
        names: list[Entry] = [known[entry][1:] for entry in entries]
        found = np.array([places[entry] for _, entry in rows], dtype=np.int64)
        keys = np.array([key for key, _ in rows], dtype=np.int64)
        return join_occurrences([EntryOccurrences(names=names, entries=found, keys=keys)])

    def count(self, scope: Scope) -> int:
        """Return how many records are in scope; of more than are counted, one more than are
        counted.
        """
        selection = self._select(scope)
        return (
            selection.size
            if selection.is_of_classes
            else selection.count(most=self.promises.facets_up_to + 1)
        )

    def scan(self, *, scope: Scope, after: Key | None = None, limit: int) -> list[Key]:
        """Return the keys in scope that follow `after`, in key order; of more than are counted,
        those of a sample.
        """
        selection = self._select(scope)
        is_sample = (
            after is None and limit > self.promises.facets_up_to and not selection.is_of_classes
        )
        query = f"""SELECT key FROM documents WHERE key > %s::bigint {selection.also}
                    ORDER BY {"hashint8(key)," if is_sample else ""} key LIMIT %s::bigint"""
        values = (-1 if after is None else after, *selection.values, limit)
        return sorted(Key(key) for (key,) in self.snapshot.rows(query, *values))

    def counters(self) -> dict[str, int]:
        """Return the sizes and change numbers of the index."""
        ((documents,),) = self.snapshot.rows("SELECT count(*) FROM documents")
        return {
            "generation": self.snapshot.generation,
            "text_change_no": self.change_no,
            "text_documents": documents,
        }

    def _sample(self, selection: Selection) -> tuple[str, float]:
        """Return the sample of documents that is read for counts, and its share; an empty one means
        all.
        """
        most = self.promises.facets_up_to
        if self._total <= most or selection.count(most=most + 1) <= most:
            return "", 1.0
        share = most / self._total
        return f"TABLESAMPLE SYSTEM ({100 * share:f}) REPEATABLE (1)", share

    def _select(self, scope: Scope) -> Selection:
        """Return the documents in scope; the last selections are kept: the reads of one search have
        the same scope.
        """
        conditions = scope.all_conditions()
        require_filterable(conditions, self.spec)
        with self._guard:
            if conditions not in self._selections:
                if len(self._selections) >= CACHED_SELECTIONS:
                    self._selections.clear()
                self._selections[conditions] = select(
                    conditions,
                    snapshot=self.snapshot,
                    spec=self.spec,
                    classes=self.classes,
                    is_limited=self.is_limited,
                )
            return self._selections[conditions]
