"""A map as it follows its catalogue: records that are new are placed beside their neighbours.

When more than `MOST_CHANGED` of the records are, the map is due to be made anew. A few finished maps are kept: labels,
colours and lists of ids take half a second of a core for 20,000 records.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from stackroom.errors import StorageError
from stackroom.maps.making import BESIDE, all_keys, find_present, find_rows, iter_vectors, make_map, place_beside
from stackroom.maps.map_file import Keys, Places, StoredMap, find_map
from stackroom.model.hits import Occurrences
from stackroom.model.record import Key
from stackroom.model.scope import WHOLE
from stackroom.shelf.port import ShelfReader

MOST_KEPT = 6

Finished = Mapping[str, Any]
logger = logging.getLogger(__name__)
MOST_CHANGED = 0.05
MOST_PLACED = 1_000
"""So many new records are placed at once; more wait until the map is made anew."""
SMALL = 1_500
"""The map of so many records is made when it is first asked for, where there is none: it takes less than a second."""
ASKED = 3 * BESIDE


class FinishedMaps:
    """The last finished forms of one map, by what they follow from beside it. Thread-safe."""

    def __init__(self) -> None:
        self._kept: deque[tuple[Hashable, Finished]] = deque(maxlen=MOST_KEPT)

    def find_or_make(self, key: Hashable, make: Callable[[], Finished]) -> Finished:
        """Return the form of this key, made where it is not kept; two callers at once may both make it."""
        made = next((form for known, form in list(self._kept) if known == key), None)
        if made is None:
            made = make()
            self._kept.append((key, made))
        return made


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlacedMap:
    """The places of the records of a catalogue at one moment, in key order."""

    keys: Keys
    places: Places
    words: Occurrences
    """The words of their texts, of those that were laid out; of a sample where these were many."""
    changed: int
    """How many records are new or gone since it was laid out."""
    laid_out: int
    """How many records were laid out."""
    finished: FinishedMaps = field(default_factory=FinishedMaps)
    """What was made of it: it is kept as long as records and map are the same."""

    @property
    def is_due(self) -> bool:
        """Whether it is time to make it anew."""
        return self.changed > MOST_CHANGED * self.laid_out


def follow(stored: StoredMap, reader: ShelfReader) -> PlacedMap:
    """Return a map that has the records of now."""
    keys = all_keys(reader)
    rows, is_known = find_rows(stored.keys, keys)
    known_keys, known_places = keys[is_known], stored.places[rows[is_known]]
    new_keys = keys[~is_known]
    present = [find_present(vectors) for vectors in iter_vectors(reader, new_keys)]
    new_keys = new_keys[np.concatenate(present)] if present else new_keys
    gone = len(stored.keys) - int(np.count_nonzero(is_known))
    placed_keys, placed = _placed(reader, new_keys[:MOST_PLACED], known_keys, known_places)
    joined = np.concatenate([known_keys, placed_keys])
    order = np.argsort(joined)
    return PlacedMap(
        keys=joined[order],
        places=np.concatenate([known_places, placed])[order],
        words=stored.words,
        changed=len(new_keys) + gone,
        laid_out=len(stored.keys),
    )


def _placed(reader: ShelfReader, keys: Keys, known_keys: Keys, known_places: Places) -> tuple[Keys, Places]:
    """Return the places of new records; those without a neighbour on the map have none."""
    if not len(keys) or not len(known_keys):
        return keys[:0], known_places[:0]
    rankings = reader.nearest(reader.vectors([Key(one) for one in keys.tolist()]), scope=WHOLE, limit=ASKED)
    kept, places = [], []
    for key, ranking in zip(keys.tolist(), rankings, strict=True):
        rows, is_known = find_rows(known_keys, ranking.keys)
        near = known_places[rows[is_known][:BESIDE]]
        if len(near):
            kept.append(key)
            places.append(place_beside(near[None].astype(np.float32))[0])
    if not kept:
        return keys[:0], known_places[:0]
    return np.array(kept, dtype=np.int64), np.rint(np.array(places)).astype(np.int16)


class CatalogueMap:
    """The map of a catalogue that is being served, read again when it was made anew."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._guard = threading.Lock()
        self._stamp: int | None = -1
        self._stored: StoredMap | None = None
        self._state: tuple[int, int] | None = None
        self._placed: PlacedMap | None = None

    def find(self, reader: ShelfReader) -> PlacedMap | None:
        """Return the map of a snapshot; None where none was made yet, or there are no vectors."""
        with self._guard:
            try:
                stamp = self._path.stat().st_mtime_ns if self._path else None
            except OSError:
                stamp = None
            if stamp != self._stamp:
                self._stored, self._stamp, self._state = self._load(), stamp, None
            state = (reader.change_no, reader.vector_no)
            if state != self._state:
                self._placed, self._state = self._place(reader), state
            return self._placed

    def _load(self) -> StoredMap | None:
        try:
            return find_map(self._path) if self._path else None
        except StorageError as error:
            logger.warning("catalogue '%s' has no map: %s", self._path.parent.name if self._path else "", error.message)
            return None

    def _place(self, reader: ShelfReader) -> PlacedMap | None:
        if reader.model is None:
            return None
        is_small = reader.count(WHOLE) <= SMALL
        stored = self._stored
        if stored is None or stored.model != reader.model:
            stored = make_map(reader) if is_small else None
        placed = follow(stored, reader) if stored is not None else None
        if placed is not None and placed.is_due and is_small:
            stored = make_map(reader, former=stored)
            placed = follow(stored, reader) if stored is not None else None
        self._stored = stored
        return placed


def find_placed(path: Path, reader: ShelfReader) -> PlacedMap | None:
    """Return the stored map of a catalogue as of now; None where there is none for its vectors, or it is damaged."""
    try:
        stored = find_map(path)
    except StorageError:
        return None
    return follow(stored, reader) if stored is not None and stored.model == reader.model else None
