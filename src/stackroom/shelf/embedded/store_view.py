"""The reads of a snapshot that are answered by the records themselves, whichever index they are found by."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from stackroom.catalogue.spec import CatalogueSpec
from stackroom.model.record import Key, Record, RecordId
from stackroom.model.scope import WHOLE, Scope
from stackroom.model.vectors import ModelId, Vector
from stackroom.shelf.embedded.store import Store, StoreState
from stackroom.shelf.series import Work, decode_work, work_of
from stackroom.shelf.terms import ID_TEXT, NAMES_TEXT, WORK_TEXT, text_columns

CACHED_RECORDS = 1_000
"""Searches often find the same records; one takes some kilobytes."""


@dataclass(frozen=True, kw_only=True)
class StoreView(ABC):
    """The part of `ShelfReader` that reads a store as of a change."""

    spec: CatalogueSpec
    store: Store
    model: ModelId | None
    change_no: int
    vector_no: int = 0
    history: str = ""
    """A token of the history of the store that this snapshot is of."""
    stale: str | None = None
    _last_records: dict[Key, Record] = field(default_factory=dict, repr=False)
    _record_guard: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def state(self) -> StoreState:
        """The state of the store that this snapshot is of."""
        return StoreState(self.change_no, self.vector_no, self.history)

    def fetch(self, keys: Sequence[Key], *, scope: Scope) -> Mapping[Key, Record]:
        """Return the records of these keys that exist and are visible, in key order."""
        known = {key: record for key in keys if (record := self._last_records.get(key)) is not None}
        missing = [key for key in keys if key not in known]
        if missing:
            known |= self._fetch_missing(missing)
        sees = scope.visibility.sees
        return {key: known[key] for key in sorted(known) if sees(known[key].audiences)}

    def _fetch_missing(self, keys: Sequence[Key]) -> Mapping[Key, Record]:
        found = self.store.fetch(keys, as_of=self.change_no)
        if len(found) <= CACHED_RECORDS:
            with self._record_guard:
                self._last_records.update(found)
                for key in list(islice(self._last_records, max(0, len(self._last_records) - CACHED_RECORDS))):
                    del self._last_records[key]
        return found

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
        """Return the evidence of the series of keys that come from this snapshot: kept, or made of the records."""
        if WORK_TEXT in text_columns(self.spec):
            return list(map(decode_work, self._texts(WORK_TEXT, keys)))
        records = self.fetch(keys, scope=WHOLE)
        return [work_of(records[key], self.spec) for key in keys]

    def name_lines(self, keys: Sequence[Key]) -> list[list[str]]:
        """Return the names of keys that come from this snapshot, with their tokens."""
        return [text.decode().split("\n") for text in self._texts(NAMES_TEXT, keys)]

    def stored_vectors(self, digests: Sequence[bytes]) -> Mapping[bytes, Vector]:
        """Return the vectors of texts as the model made them."""
        return self.store.vectors_of(digests, self.model) if self.model else {}

    @abstractmethod
    def _texts(self, name: str, keys: Sequence[Key]) -> list[bytes]:
        """Return the texts of a column of the index, one per key."""
