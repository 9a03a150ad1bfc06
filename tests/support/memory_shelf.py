"""The reference shelf: plain Python in memory, no indexes, every answer computed from the records.

Other shelves are compared with it, so it prefers the obvious to the quick.
"""

import math
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz

from stackroom.catalogue.codec import encode_record
from stackroom.catalogue.spec import CatalogueSpec, FieldSpec
from stackroom.model.hits import FacetCount, Occurrences, Ranking, TitleMatch, build_ranking
from stackroom.model.record import Key, Record, RecordId
from stackroom.model.scope import WHOLE, Scope, Visibility
from stackroom.model.vectors import ModelId, Vector
from stackroom.shelf.embedded.store import require_unmoved
from stackroom.shelf.port import (
    EVERY_KEY,
    LOCAL,
    Author,
    Change,
    Checkpoint,
    Delete,
    KeyRange,
    Op,
    PastChange,
    Problem,
    Put,
    ShelfDescription,
    ShelfReader,
    accept_any,
    never_stop,
)
from stackroom.shelf.series import Work, work_of
from stackroom.shelf.terms import (
    column_number,
    entries_of,
    meets,
    name_lines,
    require_countable,
    require_filterable,
    text_tokens,
)
from stackroom.text.analyser import TextQuery
from stackroom.text.titles import name_spellings

K1 = 1.2
B = 0.75


class MemoryView:
    """Implements `ShelfReader` over a copy of the records."""

    stale: str | None = None
    promises: None = None
    mean: Vector | None = None

    def __init__(
        self,
        spec: CatalogueSpec,
        records: Mapping[Key, Record],
        vectors: Mapping[Key, Vector],
        *,
        model: ModelId | None,
        change_no: int,
        vector_no: int = 0,
        awaiting_vectors: int = 0,
        by_digest: Mapping[bytes, Vector] | None = None,
        digests: Mapping[Key, bytes] | None = None,
    ) -> None:
        self.spec = spec
        self.model = model
        self.change_no = change_no
        self.vector_no = vector_no
        self.awaiting_vectors = awaiting_vectors if model else 0
        self._records = dict(sorted(records.items()))
        self._vectors = dict(vectors)
        self._by_digest = dict(by_digest or {})
        self._digests = dict(digests or {})

    def seen_by(self, visibility: Visibility) -> "MemoryView":
        """Return the snapshot with the records that the caller may see, and no others."""
        keys = set(self._in_scope(Scope(visibility=visibility)))
        if len(keys) == len(self._records):
            return self
        return MemoryView(
            self.spec,
            {key: record for key, record in self._records.items() if key in keys},
            {key: vector for key, vector in self._vectors.items() if key in keys},
            model=self.model,
            change_no=self.change_no,
            vector_no=self.vector_no,
            by_digest=self._by_digest,
            digests={key: digest for key, digest in self._digests.items() if key in keys},
        )

    def fetch(self, keys: Sequence[Key], *, scope: Scope) -> Mapping[Key, Record]:
        found = {key: self._records[key] for key in sorted(set(keys)) if key in self._records}
        return {
            key: record for key, record in found.items() if scope.visibility.sees(record.audiences)
        }

    def find(self, ids: Sequence[RecordId], *, scope: Scope) -> Mapping[RecordId, Key]:
        wanted = set(ids)
        return {
            record.id: key
            for key, record in self._records.items()
            if record.id in wanted and scope.visibility.sees(record.audiences)
        }

    def titles(self, keys: Sequence[Key]) -> list[str]:
        names = (self.spec.names_of(self._records[key]) for key in keys)
        return [name_spellings(some[0])[0][:200] if some else "" for some in names]

    def works(self, keys: Sequence[Key]) -> list[Work]:
        return [work_of(self._records[key], self.spec) for key in keys]

    def name_lines(self, keys: Sequence[Key]) -> list[list[str]]:
        return [name_lines(self._records[key], self.spec) for key in keys]

    def ids(self, keys: Sequence[Key]) -> list[RecordId]:
        return [self._records[key].id for key in keys]

    def lexical(
        self,
        query: TextQuery,
        *,
        scope: Scope,
        limit: int,
        counted: bool = True,
        in_names: bool = False,
    ) -> Ranking:
        """Rank by BM25 over the catch-all and the boosted fields, or over the fields that are
        searched as names.

        Statistics are of the whole catalogue.
        """
        groups: list[tuple[float, Sequence[FieldSpec]]] = [
            (1.0, (one,)) for one in self.spec.fields_searched_as_names
        ]
        if not in_names:
            boosted = [(field.boost, (field,)) for field in self.spec.boosted_fields]
            groups = [(1.0, self.spec.searched_fields), *boosted]
        totals: Counter[Key] = Counter()
        for boost, fields in groups:
            totals.update({key: boost * score for key, score in self._bm25(query, fields).items()})
        in_scope = set(self._in_scope(scope))
        matching = {key: score for key, score in totals.items() if key in in_scope}
        total = len(matching) if counted else None
        return build_ranking(list(matching), list(matching.values()), limit=limit, total=total)

    def having_words(self, words: TextQuery, *, scope: Scope, limit: int) -> Ranking:
        keys = self._in_scope(scope)
        texts = [set(text_tokens(self._records[key], self.spec.searched_fields)) for key in keys]
        sums = {
            key: sum(w for word, w in words.terms if word in text)
            for key, text in zip(keys, texts, strict=True)
        }
        some = {key: total for key, total in sums.items() if total}
        return build_ranking(list(some), list(some.values()), limit=limit)

    def frequencies(self, tokens: Sequence[str]) -> list[int]:
        texts = [
            set(text_tokens(record, self.spec.searched_fields)) for record in self._records.values()
        ]
        return [sum(token in text for text in texts) for token in tokens]

    def term_scores(self, query: TextQuery, keys: Sequence[Key]) -> NDArray[np.float64]:
        """Return what each term adds to the score of each record."""
        scores = np.zeros((len(keys), len(query.terms)))
        for column, term in enumerate(query.terms):
            found = self.lexical(TextQuery(terms=(term,)), scope=WHOLE, limit=len(self._records))
            of_key = dict(zip(found.keys.tolist(), found.scores.tolist(), strict=True))
            scores[:, column] = [of_key.get(key, 0.0) for key in keys]
        return scores

    def nearest(self, vectors: Vector, *, scope: Scope, limit: int) -> list[Ranking]:
        keys = [key for key in self._in_scope(scope) if key in self._vectors]
        return [self._nearest_one(vector, keys, limit) for vector in vectors]

    def vectors(self, keys: Sequence[Key]) -> Vector:
        nothing = np.zeros(self.model.dimension if self.model else 0, dtype=np.float32)
        return np.array([self._vectors.get(key, nothing) for key in keys]).reshape(
            len(keys), len(nothing)
        )

    def stored_vectors(self, digests: Sequence[bytes]) -> Mapping[bytes, Vector]:
        return {
            one: self._by_digest[one] for one in digests if one in self._by_digest and self.model
        }

    def terms(self, field: str, keys: Sequence[Key]) -> list[frozenset[str]]:
        return [
            frozenset(term for term, _, _ in entries_of(self._records[key], field)) for key in keys
        ]

    def count_terms(
        self, field: str, terms: Iterable[str], keys: Sequence[Key]
    ) -> NDArray[np.int64]:
        return np.array(
            [len(set(terms) & there) for there in self.terms(field, keys)], dtype=np.int64
        )

    def numbers(self, field: str, keys: Sequence[Key]) -> NDArray[np.float64]:
        return np.array([column_number(self._records[key], field, self.spec) for key in keys])

    def titles_like(self, text: str, *, scope: Scope, limit: int) -> list[TitleMatch]:
        """Return the records in scope with the names most like the text."""
        spellings = name_spellings(text)
        matches = []
        for key in self._in_scope(scope) if spellings else ():
            names = [
                spelling
                for name in self.spec.names_of(self._records[key])
                for spelling in name_spellings(name)
            ]
            alike = [fuzz.ratio(wanted, name) / 100 for wanted in spellings for name in names]
            matches.append(TitleMatch(key, max(alike, default=0.0)))
        return sorted(matches, key=lambda match: (-match.likeness, match.key))[:limit]

    def has_name(self, text: str, *, scope: Scope) -> bool:
        return any(match.likeness == 1.0 for match in self.titles_like(text, scope=scope, limit=1))

    def facets(self, field: str, *, scope: Scope) -> list[FacetCount]:
        require_countable(field, self.spec)
        counts: Counter[tuple[str, str]] = Counter()
        for key in self._in_scope(scope):
            counts.update(
                (category, value) for _, category, value in entries_of(self._records[key], field)
            )
        found = [FacetCount(category, value, count) for (category, value), count in counts.items()]
        return sorted(found, key=lambda facet: (-facet.count, facet.category, facet.value))

    def occurrences(self, field: str, *, scope: Scope) -> Occurrences:
        """Return which records in scope have which values of a field."""
        require_countable(field, self.spec)
        spellings: dict[str, Counter[str]] = {}
        having: set[tuple[str, Key]] = set()
        for key in self._in_scope(scope):
            for term, _, value in entries_of(self._records[key], field):
                spellings.setdefault(term, Counter())[value] += 1
                having.add((term, key))
        terms = sorted(spellings)
        return Occurrences(
            values=[
                min(spellings[term].items(), key=lambda one: (-one[1], one[0]))[0] for term in terms
            ],
            indexes=np.array([terms.index(term) for term, _ in having], dtype=np.int64),
            keys=np.array([key for _, key in having], dtype=np.int64),
        )

    def count(self, scope: Scope) -> int:
        return len(self._in_scope(scope))

    def scan(self, *, scope: Scope, after: Key | None = None, limit: int) -> list[Key]:
        return [key for key in self._in_scope(scope) if after is None or key > after][:limit]

    def _in_scope(self, scope: Scope) -> list[Key]:
        conditions = scope.all_conditions()
        require_filterable(conditions, self.spec)
        return [
            key
            for key, record in self._records.items()
            if all(meets(record, condition, self.spec, key=key) for condition in conditions)
        ]

    def _bm25(self, query: TextQuery, fields: Sequence[FieldSpec]) -> dict[Key, float]:
        bags = {key: Counter(text_tokens(record, fields)) for key, record in self._records.items()}
        average = sum(bag.total() for bag in bags.values()) / max(len(bags), 1) or 1.0
        scores: dict[Key, float] = {}
        for token, weight in query.terms:
            having = [key for key, bag in bags.items() if bag[token]]
            rarity = math.log(1 + (len(bags) - len(having) + 0.5) / (len(having) + 0.5))
            for key in having:
                often, length = bags[key][token], bags[key].total()
                saturated = often * (K1 + 1) / (often + K1 * (1 - B + B * length / average))
                scores[key] = scores.get(key, 0.0) + weight * rarity * saturated
        return scores

    def _nearest_one(self, vector: Vector, keys: Sequence[Key], limit: int) -> Ranking:
        return build_ranking(
            keys, [float(self._vectors[key] @ vector) for key in keys], limit=limit
        )


class MemoryShelf:
    """Implements `Shelf`, `ShelfWriter` and `ShelfHistory`."""

    def __init__(self, spec: CatalogueSpec, *, model: ModelId | None = None) -> None:
        self.spec = spec
        self.model = model
        self._records: dict[Key, Record] = {}
        self._keys: dict[RecordId, Key] = {}
        self._digests: dict[Key, bytes] = {}
        self._embeddings: dict[bytes, Vector] = {}
        self._changes: list[PastChange] = []
        self._last_key = 0
        self._vector_no = 0
        self._lock = threading.RLock()

    def reader(self) -> MemoryView:
        with self._lock:
            given = {key: self._embeddings.get(digest) for key, digest in self._digests.items()}
            vectors = {key: vector for key, vector in given.items() if vector is not None}
            return MemoryView(
                self.spec,
                self._records,
                vectors,
                model=self.model,
                change_no=len(self._changes),
                vector_no=self._vector_no,
                awaiting_vectors=len(given) - len(vectors),
                by_digest=self._embeddings,
                digests=self._digests,
            )

    def find_reader(self) -> MemoryView:
        return self.reader()

    def writer(self) -> "MemoryShelf":
        return self

    def history(self) -> "MemoryShelf":
        return self

    def apply(
        self,
        changes: Sequence[Change],
        *,
        author: Author = LOCAL,
        expected: Mapping[RecordId, int] | None = None,
    ) -> int:
        with self._lock:
            self._require_keepable(changes)
            require_unmoved(expected or {}, self.versions(list(expected or ())))
            for change in changes:
                if isinstance(change, Put):
                    self._put(change, author)
                else:
                    self._delete(change, author)
            return len(self._changes)

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        with self._lock:
            yield

    def list_changes(
        self,
        *,
        limit: int,
        before: int | None = None,
        call_id: str | None = None,
        ids: Sequence[RecordId] | None = None,
    ) -> list[PastChange]:
        with self._lock:
            newest_first = self._changes[::-1]
        found = [
            change
            for change in newest_first
            if (before is None or change.change_no < before)
            and (call_id is None or change.author.call_id == call_id)
            and (ids is None or change.id in ids)
        ]
        return found[:limit]

    def versions(
        self, ids: Sequence[RecordId], *, as_of: int | None = None
    ) -> Mapping[RecordId, int]:
        wanted = set(ids)
        return {
            change.id: change.change_no for change in self._changes[:as_of] if change.id in wanted
        }

    def current_or_deleted(self, ids: Sequence[RecordId]) -> Mapping[RecordId, Record | None]:
        known = self.versions(ids)
        return {
            one: self._records[self._keys[one]] if one in self._keys else None
            for one in ids
            if one in known
        }

    def publish(self) -> None:
        """Do nothing: there are no indexes."""

    def missing_embeddings(self, digests: Iterable[bytes]) -> set[bytes]:
        return {digest for digest in digests if digest not in self._embeddings}

    def unchanged(self, puts: Sequence[Put]) -> set[RecordId]:
        return {put.record.id for put in puts if self._is_unchanged(put)}

    def count_unembedded(self) -> int:
        return len(set(self._digests.values()) - set(self._embeddings))

    def list_unembedded(
        self, *, within: KeyRange = EVERY_KEY, limit: int
    ) -> list[tuple[Key, Record]]:
        with self._lock:
            bare = [
                key
                for key in sorted(self._records)
                if within.after < key <= within.until
                and self._digests.get(key) not in self._embeddings
            ]
            return [(key, self._records[key]) for key in bare[:limit]]

    def add_vectors(
        self, digests: Mapping[RecordId, bytes], vectors: Mapping[bytes, Vector]
    ) -> int:
        with self._lock:
            self._embeddings.update(
                {one: vector for one, vector in vectors.items() if one not in self._embeddings}
            )
            keys = {self._keys[one]: digest for one, digest in digests.items() if one in self._keys}
            same = {
                key: digest
                for key, digest in keys.items()
                if self._digests.get(key, digest) == digest
            }
            self._digests |= same
            self._vector_no += 1
            return len(same)

    @contextmanager
    def sole_embedder(self, *, wait_s: float) -> Iterator[None]:
        yield

    @contextmanager
    def embedding_parts(self, *, wait_s: float) -> Iterator[Iterable[KeyRange]]:
        yield (EVERY_KEY,)

    def publish_vectors(self) -> None:
        """Do nothing: there are no indexes."""

    def check(
        self, *, checkpoint: Checkpoint = never_stop, thorough: bool = True
    ) -> Iterator[Problem]:
        checkpoint()
        return iter(())

    def mend(self, *, checkpoint: Checkpoint = never_stop) -> list[str]:
        checkpoint()
        return []

    def rebuild(self, *, accept: Callable[[ShelfReader], None] = accept_any) -> int:
        accept(self.reader())
        with self._lock:
            return len(self._records)

    def describe(self) -> ShelfDescription:
        return ShelfDescription(
            kind="memory",
            records=len(self._records),
            change_no=len(self._changes),
            model=self.model,
        )

    def close(self) -> None:
        """Do nothing: there is nothing to let go of."""

    def _require_keepable(self, changes: Sequence[Change]) -> None:
        """Refuse the whole batch for one record or vector that other shelves could not keep."""
        for change in changes:
            if isinstance(change, Put):
                encode_record(change.record)
                if change.embedding is not None:
                    change.embedding.require_fits(self.model)

    def _put(self, put: Put, author: Author) -> None:
        if self._is_unchanged(put):
            return
        if (
            put.embedding is not None
            and put.embedding.vector is not None
            and self.model is not None
        ):
            self._embeddings.setdefault(put.embedding.digest, put.embedding.vector)
        key = self._keys.get(put.record.id)
        before = self._records[key] if key is not None else None
        if key is None:
            self._last_key += 1
            key = self._keys[put.record.id] = Key(self._last_key)
        self._records[key] = put.record
        self._digests.pop(key, None)
        if put.embedding is not None:
            self._digests[key] = put.embedding.digest
        self._log(put.record.id, author, before=before, after=put.record)

    def _delete(self, change: Delete, author: Author) -> None:
        key = self._keys.pop(change.id, None)
        if key is None:
            return
        before = self._records.pop(key)
        self._digests.pop(key, None)
        self._log(change.id, author, before=before, after=None)

    def _log(
        self, record_id: RecordId, author: Author, *, before: Record | None, after: Record | None
    ) -> None:
        op = Op.INSERT if before is None else Op.UPDATE
        self._changes.append(
            PastChange(
                change_no=len(self._changes) + 1,
                id=record_id,
                op=op if after is not None else Op.DELETE,
                author=author,
                at=datetime.now(UTC),
                before=before,
                after=after,
            )
        )

    def _is_unchanged(self, put: Put) -> bool:
        key = self._keys.get(put.record.id)
        if key is None or encode_record(self._records[key]) != encode_record(put.record):
            return False
        stored, given = self._digests.get(key), put.embedding
        if given is None:
            return stored is None
        if given.vector is None:
            return stored in (None, given.digest)
        return stored == given.digest and (self.model is None or stored in self._embeddings)
