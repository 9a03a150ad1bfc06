"""A snapshot of the embedded shelf: the base segment, the tail of later changes, and the text index
of that moment.
"""

import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from stackroom.catalogue.spec import CatalogueSpec
from stackroom.model.hits import FacetCount, Occurrences, Ranking, TitleMatch, build_ranking
from stackroom.model.record import Key, Record, RecordId
from stackroom.model.scope import (
    AUDIENCE_FIELD,
    KEY_FIELD,
    WHOLE,
    WORDS_FIELD,
    Condition,
    Scope,
    Visibility,
)
from stackroom.model.vectors import ModelId, Vector
from stackroom.shelf.columns import Mask
from stackroom.shelf.embedded.segment import Segment
from stackroom.shelf.embedded.store import Store, StoreState
from stackroom.shelf.embedded.text_index import SeenTexts, TextReads
from stackroom.shelf.embedded.vectors import Rows, Scores
from stackroom.shelf.series import Work, decode_work, work_of
from stackroom.shelf.terms import (
    ID_TEXT,
    NAMES_TEXT,
    WORK_TEXT,
    Entry,
    require_countable,
    require_filterable,
    text_columns,
)

CACHED_MASKS = 8
CACHED_RECORDS = 1_000  # searches often find the same records; one takes some kilobytes
# documents of the text index that are not records: the one that holds the change number
MARKER_DOCUMENTS = 1

Integers = NDArray[np.int64]
ValueT = TypeVar("ValueT")


@dataclass(frozen=True, kw_only=True)
class StoreView(ABC):
    """The part of `ShelfReader` that reads a store as of a change."""

    spec: CatalogueSpec
    store: Store
    model: ModelId | None
    change_no: int
    vector_no: int = 0
    history: str = ""  # a token of the history of the store that this snapshot is of
    stale: str | None = None
    _last_records: dict[Key, Record] = field(default_factory=dict, repr=False)
    _record_guard: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @cached_property
    def state(self) -> StoreState:
        """The state of the store in this snapshot."""
        return StoreState(self.change_no, self.vector_no, self.history)

    def as_stale(self, reason: str) -> Self:
        """Return the same snapshot, marked as one that lags behind the store."""
        return replace(self, stale=reason)

    def fetch(self, keys: Sequence[Key], *, scope: Scope) -> Mapping[Key, Record]:
        """Return the records of these keys that exist and are visible, in key order."""
        known = {key: record for key in keys if (record := self._last_records.get(key)) is not None}
        if missing := [key for key in keys if key not in known]:
            found = self.store.fetch(missing, as_of=self.change_no)
            known |= found
            if len(found) <= CACHED_RECORDS:
                with self._record_guard:
                    self._last_records.update(found)
                    for key in list(
                        islice(self._last_records, max(0, len(self._last_records) - CACHED_RECORDS))
                    ):
                        del self._last_records[key]
        sees = scope.visibility.sees
        return {key: known[key] for key in sorted(known) if sees(known[key].audiences)}

    def find(self, ids: Sequence[RecordId], *, scope: Scope) -> Mapping[RecordId, Key]:
        """Return the keys of these ids, where the records exist and are visible."""
        found = self.store.find(ids, as_of=self.change_no)
        if scope.visibility.audiences is None:
            return found
        visible = self.fetch(list(found.values()), scope=scope)
        return {record_id: key for record_id, key in found.items() if key in visible}

    def ids(self, keys: Sequence[Key]) -> list[RecordId]:
        """Return the ids of keys that come from this snapshot."""
        return [RecordId(text.decode()) for text in self._texts(ID_TEXT, keys)]

    def works(self, keys: Sequence[Key]) -> list[Work]:
        """Return the evidence of the series of keys that come from this snapshot: kept, or made of
        the records.
        """
        if WORK_TEXT in self._text_names:
            return list(map(decode_work, self._texts(WORK_TEXT, keys)))
        records = self.fetch(keys, scope=WHOLE)
        return [work_of(records[key], self.spec) for key in keys]

    def name_lines(self, keys: Sequence[Key]) -> list[list[str]]:
        """Return the names of keys that come from this snapshot, with their tokens."""
        return [text.decode().split("\n") for text in self._texts(NAMES_TEXT, keys)]

    def stored_vectors(self, digests: Sequence[bytes]) -> Mapping[bytes, Vector]:
        """Return the vectors of texts as the model made them."""
        return self.store.vectors_of(digests, self.model) if self.model else {}

    @cached_property
    def _text_names(self) -> list[str]:
        return list(text_columns(self.spec))

    @abstractmethod
    def _texts(self, name: str, keys: Sequence[Key]) -> list[bytes]:
        """Return the texts of a column of the index, one per key."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EntryOccurrences:
    """The occurrences in one segment: record `keys[i]` has the entry `names[entries[i]]`."""

    names: Sequence[Entry]
    entries: Integers
    keys: Integers


def join_occurrences(parts: Sequence[EntryOccurrences]) -> Occurrences:
    """Join the occurrences of several segments, which have different records."""
    spellings: dict[str, Counter[str]] = {}
    for part in parts:
        counts = np.bincount(part.entries, minlength=len(part.names)).tolist()
        for (term, _, value), count in zip(part.names, counts, strict=True):
            if count:
                spellings.setdefault(term, Counter())[value] += count
    places = {term: place for place, term in enumerate(sorted(spellings))}
    joined = [_of_terms(part, places) for part in parts]
    return Occurrences(
        values=[
            min(some, key=lambda value: (-some[value], value))
            for some in map(spellings.__getitem__, places)
        ],
        indexes=np.concatenate([indexes for indexes, _ in joined] or [np.empty(0, np.int64)]),
        keys=np.concatenate([keys for _, keys in joined] or [np.empty(0, np.int64)]),
    )


def _of_terms(part: EntryOccurrences, places: Mapping[str, int]) -> tuple[Integers, Integers]:
    """Return the occurrences by the places of terms, each once."""
    of_entry = np.array([places.get(term, -1) for term, _, _ in part.names], dtype=np.int64)
    indexes, keys = of_entry[part.entries], part.keys
    shared = np.bincount(of_entry[of_entry >= 0], minlength=len(places)) > 1
    doubtful = shared[indexes] if len(indexes) else np.zeros(0, dtype=bool)
    if not doubtful.any():
        return indexes, keys
    once = np.unique(np.stack([indexes[doubtful], keys[doubtful]]), axis=1)
    return np.concatenate([indexes[~doubtful], once[0]]), np.concatenate([keys[~doubtful], once[1]])


@dataclass(frozen=True, kw_only=True)
class EmbeddedView(StoreView, TextReads):
    """Implements `ShelfReader`; the rows of a segment override those of the segments before it.

    The masks leave out rows that were changed since. Of a snapshot for a caller who may not see
    every record, they leave out the others too, and the text index is one without them.
    """

    segments: tuple[Segment, ...]  # the base, then those of later changes
    alive: tuple[Mask | None, ...]
    seen: SeenTexts
    promises: None = None
    _seen_by: dict[frozenset[str], "EmbeddedView"] = field(default_factory=dict, repr=False)
    _last_masks: dict[tuple[Condition, ...], list[Mask | None]] = field(
        default_factory=dict, repr=False
    )
    _mask_guard: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @cached_property
    def mean(self) -> Vector | None:
        """The mean that was subtracted from the vectors, if their model asks for it."""
        return next((segment.mean for segment in self.segments if segment.mean is not None), None)

    @cached_property
    def awaiting_vectors(self) -> int:
        """The number of records whose text has no vector yet."""
        if self.model is None:
            return 0
        pairs = zip(self.segments, self.alive, strict=True)
        awaiting = [(one.awaiting, alive) for one, alive in pairs if one.awaiting is not None]
        return sum(
            int(np.count_nonzero(one if alive is None else one & alive)) for one, alive in awaiting
        )

    def seen_by(self, visibility: Visibility) -> "EmbeddedView":
        """Return the snapshot as if only the records that the caller may see existed; itself if
        they see everything.
        """
        if visibility.audiences is None:
            return self
        audiences = visibility.audiences & self._audiences
        if (known := self._seen_by.get(audiences)) is None:
            known = self._seen_by[audiences] = self._limited_to(
                Scope(visibility=Visibility(audiences))
            )
        return known if known.stale == self.stale else replace(known, stale=self.stale)

    @cached_property
    def _audiences(self) -> frozenset[str]:
        """The audiences of the records."""
        columns = [segment.columns.terms[AUDIENCE_FIELD] for segment in self.segments]
        return frozenset(value for column in columns for _, _, value in column.entries)

    def _limited_to(self, scope: Scope) -> "EmbeddedView":
        if self.count(scope) == self.count(WHOLE):
            return self
        keys = self.scan(scope=scope, limit=self.count(WHOLE))
        text = self.seen.open_text(scope, keys, self.store, self.change_no)
        return replace(
            self,
            alive=tuple(self._masks(scope)),
            text=text,
            searcher=text.searcher,
            _seen_by={},
            _last_masks={},
            _last_records={},
            _mask_guard=threading.Lock(),
        )

    def nearest(self, vectors: Vector, *, scope: Scope, limit: int) -> list[Ranking]:
        """Rank the records in scope by cosine to each of the vectors."""
        found: list[list[tuple[Rows, Scores]]] = [[] for _ in vectors]
        for segment, mask in self._masked(scope):
            if segment.vectors is None:
                continue
            each = segment.vectors.nearest_each(vectors, mask=mask, limit=limit)
            for parts, (rows, cosines) in zip(found, each, strict=True):
                parts.append((segment.keys[rows], cosines))
        return [_merged(parts, limit) for parts in found]

    def vectors(self, keys: Sequence[Key]) -> Vector:
        """Return the vectors of these keys as rows."""
        vectors = np.zeros((len(keys), self.model.dimension if self.model else 0), dtype=np.float32)
        for segment, here, rows in self._placed(keys):
            if segment.vectors is not None and len(self.segments) == 1 and len(here) == len(keys):
                return segment.vectors.exact.take(rows, axis=0)
            vectors[here] = (
                0 if segment.vectors is None else segment.vectors.exact.take(rows, axis=0)
            )
        return vectors

    def counters(self) -> dict[str, int]:
        """Return the sizes and change numbers of the indexes."""
        return {
            "base_rows": self.segments[0].columns.size,
            "tail_rows": sum(segment.columns.size for segment in self.segments[1:]),
            "replaced_rows": 0 if self.alive[0] is None else int(np.count_nonzero(~self.alive[0])),
            "base_change_no": self.segments[0].change_no,
            "text_change_no": self.text.change_no(),
            "text_documents": max(0, self.searcher.num_docs - MARKER_DOCUMENTS),
            "text_segments": self.searcher.num_segments,
        }

    def titles(self, keys: Sequence[Key]) -> list[str]:
        """Return the folded title of each key."""
        return self._each(keys, lambda segment, rows: segment.titles.first_names(rows), missing="")

    def _texts(self, name: str, keys: Sequence[Key]) -> list[bytes]:
        return self._each(
            keys, lambda segment, rows: segment.columns.texts[name].texts_at(rows), missing=b""
        )

    def terms(self, field: str, keys: Sequence[Key]) -> list[frozenset[str]]:
        """Return the terms of a column for each of these keys."""
        return self._each(
            keys,
            lambda segment, rows: segment.columns.terms[field].terms_at(rows),
            missing=frozenset(),
        )

    def _each(
        self,
        keys: Sequence[Key],
        read: Callable[[Segment, Integers], list[ValueT]],
        *,
        missing: ValueT,
    ) -> list[ValueT]:
        """Return a value for each of these keys, read from the segments, in the order
        of the keys.
        """
        values = [missing] * len(keys)
        for segment, here, rows in self._placed(keys):
            for place, value in zip(here.tolist(), read(segment, rows), strict=True):
                values[place] = value
        return values

    def count_terms(
        self, field: str, terms: Iterable[str], keys: Sequence[Key]
    ) -> NDArray[np.int64]:
        """Return how many of the terms each of these keys has in a column."""
        wanted, counts = list(terms), np.zeros(len(keys), dtype=np.int64)
        for segment, here, rows in self._placed(keys):
            counts[here] = segment.columns.terms[field].count_at(wanted, rows)
        return counts

    def numbers(self, field: str, keys: Sequence[Key]) -> NDArray[np.float64]:
        """Return the number of a column for each of these keys."""
        values = np.full(len(keys), np.nan)
        for segment, here, rows in self._placed(keys):
            values[here] = segment.columns.numbers[field][rows]
        return values

    def _placed(self, keys: Sequence[Key]) -> list[tuple[Segment, Integers, Integers]]:
        """Return each segment with the places of the keys that it has, and their rows."""
        placed = []
        for segment in self.segments:
            rows = segment.rows_of(keys)
            (here,) = (rows >= 0).nonzero()
            placed.append((segment, here, rows[here]))
        return placed

    def titles_like(self, text: str, *, scope: Scope, limit: int) -> list[TitleMatch]:
        """Return the records in scope with the names most similar to the text."""
        found = [
            (-likeness, Key(int(segment.keys[row])))
            for segment, mask in self._masked(scope)
            for row, likeness in segment.titles.find_like(text, limit=limit, allowed=mask)
        ]
        return [TitleMatch(key, -unlikeness) for unlikeness, key in sorted(found)[:limit]]

    def has_name(self, text: str, *, scope: Scope) -> bool:
        """Tell whether a record in scope has this name."""
        return any(
            segment.titles.has_name(text, allowed=mask) for segment, mask in self._masked(scope)
        )

    def facets(self, field: str, *, scope: Scope) -> list[FacetCount]:
        """Count the values of a field over the records in scope, most frequent first."""
        require_countable(field, self.spec)
        totals = Counter[tuple[str, str]]()
        for segment, mask in self._masked(scope):
            column = segment.columns.terms[field]
            counts = column.counts(mask).tolist()
            for (_, *named), count in zip(column.entries, counts, strict=True):
                totals[named[0], named[1]] += count
        found = [FacetCount(*named, count) for named, count in totals.items() if count]
        return sorted(found, key=lambda facet: (-facet.count, facet.category, facet.value))

    def occurrences(self, field: str, *, scope: Scope) -> Occurrences:
        """Return which records in scope have which values of a field."""
        require_countable(field, self.spec)
        parts = []
        for segment, mask in self._masked(scope):
            column = segment.columns.terms[field]
            entries, rows = column.occurrences(mask)
            parts.append(
                EntryOccurrences(names=column.entries, entries=entries, keys=segment.keys[rows])
            )
        return join_occurrences(parts)

    def count(self, scope: Scope) -> int:
        """Return how many records are in scope."""
        sizes = [
            segment.columns.size if mask is None else int(np.count_nonzero(mask))
            for segment, mask in self._masked(scope)
        ]
        return sum(sizes)

    def scan(self, *, scope: Scope, after: Key | None = None, limit: int) -> list[Key]:
        """Return the keys in scope that follow `after`, in key order."""
        keys = [
            segment.keys if mask is None else segment.keys[mask]
            for segment, mask in self._masked(scope)
        ]
        ordered = np.sort(np.concatenate(keys))
        start = 0 if after is None else int(np.searchsorted(ordered, after, side="right"))
        return cast("list[Key]", ordered[start : start + limit].tolist())

    def _masked(self, scope: Scope) -> Iterator[tuple[Segment, Mask | None]]:
        return zip(self.segments, self._masks(scope), strict=True)

    def _masks(self, scope: Scope) -> list[Mask | None]:
        """Return the rows of each segment that are alive and in scope; None means all.

        The last few masks are cached: the reads of one search, and often of the next, have the same
        scope.
        """
        conditions = scope.all_conditions()
        if (known := self._last_masks.get(conditions)) is not None:
            return known
        require_filterable(conditions, self.spec)
        with self._mask_guard:
            if conditions not in self._last_masks:
                if len(self._last_masks) >= CACHED_MASKS:
                    self._last_masks.clear()
                self._last_masks[conditions] = self._alive(self._masks_of(conditions))
            return self._last_masks[conditions]

    def _masks_of(self, conditions: tuple[Condition, ...]) -> list[Mask | None]:
        """Return the rows of each segment that meet the conditions, replaced rows included."""
        of_index = tuple(one for one in conditions if one.field in (KEY_FIELD, WORDS_FIELD))
        of_columns = tuple(condition for condition in conditions if condition not in of_index)
        masks = [segment.columns.mask(of_columns) for segment in self.segments]
        if not of_index:
            return masks
        keys = self.keys_meeting(of_index)
        having = [np.isin(segment.keys, keys) for segment in self.segments]
        return [
            one if mask is None else one & mask for one, mask in zip(having, masks, strict=True)
        ]

    def _alive(self, masks: list[Mask | None]) -> list[Mask | None]:
        pairs = zip(masks, self.alive, strict=True)
        return [mask if one is None else one if mask is None else mask & one for mask, one in pairs]


def alive_rows(segment: Segment, changed: Sequence[Key]) -> Mask | None:
    """Return the rows of a segment that later segments do not replace; None means all."""
    rows = segment.rows_of(changed)
    dead = rows[rows >= 0]
    if not len(dead):
        return None
    alive = np.ones(segment.columns.size, dtype=bool)
    alive[dead] = False
    return alive


def _merged(parts: list[tuple[Rows, Scores]], limit: int) -> Ranking:
    """Merge the rankings of the segments; that of one is in order already."""
    if len(parts) == 1:
        return Ranking(
            keys=parts[0][0], scores=parts[0][1].astype(np.float64), total=len(parts[0][0])
        )
    keys = np.concatenate([keys for keys, _ in parts]) if parts else np.empty(0, np.int64)
    scores = np.concatenate([scores for _, scores in parts]) if parts else np.empty(0)
    return build_ranking(keys, scores, limit=limit)
