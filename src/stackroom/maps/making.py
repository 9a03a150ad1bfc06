"""The map of a catalogue: made from its vectors, with the words that are typical of a place, and as
it follows them.

Up to `MOST_LAID_OUT` records are laid out all together. Of more, a sample is, and the others are
placed beside the nearest records of the sample. Words are of the texts that were embedded, without
the values of fields that are counted as they are; forms of a word are one word, written as most
records write it.

Records that are new are placed beside their neighbours, and the map is made anew when they are more
than `MOST_CHANGED` of all; a build never fails for one. A few finished maps are kept: labels,
colours and lists of ids take half a second of a core for 20,000 records.
"""

import logging
import re
import threading
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray

from stackroom.catalogue.spec import CatalogueSpec, texts_of
from stackroom.errors import ExpectedError, StorageError
from stackroom.frozen import frozen
from stackroom.maps.labels import SIDES, MappedValues, find_typical, squares_of
from stackroom.maps.layout import SEED, Points, build_projection, lay_out, nearest_among
from stackroom.maps.map_file import MAP_FILE, REACH, Keys, Places, StoredMap, find_map, save_map
from stackroom.model.hits import Occurrences
from stackroom.model.record import Key, Record
from stackroom.model.scope import WHOLE
from stackroom.model.vectors import Vector
from stackroom.shelf.lock import CatalogueLock
from stackroom.shelf.port import Shelf, ShelfReader
from stackroom.text.analyser import FUNCTION_TOKENS, stem
from stackroom.text.normalise import fold

MOST_LAID_OUT = 100_000
SAMPLE = 20_000
BLOCK_ROWS = 10_000
EVERYTHING = 1 << 40
BESIDE = 5
"""A record is placed at the median of so many neighbours: the mean lies between clusters, where
nothing is alike.
"""
# a new layout begins with the former one where it has at least this share of the records
LEAST_KNOWN = 0.5


def make_map(reader: ShelfReader, *, former: StoredMap | None = None) -> StoredMap | None:
    """Lay out the records that have a vector; None where there are none."""
    if reader.model is None:
        return None
    keys, points = _read_embedded(reader)
    if not len(keys):
        return None
    start = (
        _find_start(keys, points, former)
        if former is not None and former.model == reader.model
        else None
    )
    layout = _laid_out(points, start)
    low, high = layout.min(axis=0), layout.max(axis=0)
    # whole numbers that fill the map in its longer direction
    reach = float((high - low).max()) / 2 or 1.0
    places: Places = np.rint((layout - (low + high) / 2) / reach * REACH).astype(np.int16)
    sample = _sample_of(len(keys))
    words = find_words(reader, keys[sample], places[sample])
    return StoredMap(model=reader.model, keys=keys, places=places, words=words)


def place_beside(neighbours: NDArray[np.float32]) -> Points:
    """Return the place of each record with so many neighbours: n × neighbours × 2 places."""
    placed: Points = np.median(neighbours, axis=1).astype(np.float32)
    return placed


def all_keys(reader: ShelfReader) -> Keys:
    """Return the keys of all records, in order."""
    return np.array(reader.scan(scope=WHOLE, limit=EVERYTHING), dtype=np.int64)


def find_present(vectors: Vector) -> NDArray[np.bool_]:
    """Tell which records have a vector that a place can be found by: one of zeros or of no numbers
    is none.
    """
    return np.asarray(vectors.any(axis=1) & np.isfinite(vectors).all(axis=1), dtype=np.bool_)


def iter_vectors(reader: ShelfReader, keys: Keys, rows: int = BLOCK_ROWS) -> Iterator[Vector]:
    """Yield the vectors of these records in blocks, zeros where there is none."""
    for start in range(0, len(keys), rows):
        yield reader.vectors([Key(key) for key in keys[start : start + rows].tolist()])


def _read_embedded(reader: ShelfReader) -> tuple[Keys, Points]:
    """Return the records with a vector, in key order, and their points."""
    keys = all_keys(reader)
    if not len(keys):
        return keys, np.empty((0, 2), np.float32)
    sampled = next(iter_vectors(reader, keys[_sample_of(len(keys))], rows=SAMPLE))
    sample = sampled[find_present(sampled)]
    projection = build_projection(sample if len(sample) else np.zeros_like(sampled[:1]))
    points, present = [], []
    for vectors in iter_vectors(reader, keys):
        has_vector = find_present(vectors)
        present.append(has_vector)
        points.append(projection.of(vectors[has_vector]))
    return keys[np.concatenate(present)], np.concatenate(points)


def _sample_of(count: int) -> NDArray[np.int64]:
    """Return the rows of a sample, in order; all where they are few."""
    if count <= SAMPLE:
        return np.arange(count)
    return np.sort(np.random.default_rng(SEED).choice(count, SAMPLE, replace=False))


def _laid_out(points: Points, start: Points | None) -> Points:
    if len(points) <= MOST_LAID_OUT:
        return lay_out(points, start=start)
    sample = _sample_of(len(points))
    layout = np.empty((len(points), 2), dtype=np.float32)
    layout[sample] = lay_out(points[sample], start=None if start is None else start[sample])
    others = np.setdiff1d(np.arange(len(points)), sample)
    layout[others] = place_beside(
        layout[sample][nearest_among(points[others], points[sample], BESIDE)]
    )
    return layout


def _find_start(keys: Keys, points: Points, former: StoredMap) -> Points | None:
    """Return where a layout begins that resembles the former one; None where too much is new."""
    rows, is_known = find_rows(former.keys, keys)
    if is_known.mean() < LEAST_KNOWN:
        return None
    start = np.zeros((len(keys), 2), dtype=np.float32)
    start[is_known] = former.places[rows[is_known]]
    if not is_known.all():
        near = nearest_among(points[~is_known], points[is_known], BESIDE)
        start[~is_known] = place_beside(start[is_known][near])
    return start


def find_rows(keys: Keys, wanted: Keys) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the row of each wanted key among sorted ones, and whether it is there."""
    if not len(keys):
        return np.zeros(len(wanted), dtype=np.int64), np.zeros(len(wanted), dtype=bool)
    rows = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return rows, keys[rows] == wanted


WORD = re.compile(r"[^\W\d_]{3,24}")
BLOCK = 2_000
MOST_WORDS = 1_500


def find_words(reader: ShelfReader, keys: Keys, places: Places) -> Occurrences:
    """Return the words of these records that are most typical of some place."""
    written: list[set[str]] = []
    for start in range(0, len(keys), BLOCK):
        block = keys[start : start + BLOCK].tolist()
        found = reader.fetch(block, scope=WHOLE)
        written += (_words_of(found[key], reader.spec) if key in found else set() for key in block)
    counts = Counter(word for words in written for word in words)
    stems = _stems({word: count for word, count in counts.items() if count > 1})
    values = sorted(set(stems.values()))
    numbers = {value: number for number, value in enumerate(values)}
    each = [sorted({numbers[stems[word]] for word in words if word in stems}) for words in written]
    rows = np.repeat(np.arange(len(each)), list(map(len, each)))
    indexes = np.array([index for one in each for index in one], dtype=np.int64)
    clarity: dict[str, float] = {}
    for side in SIDES:
        for one in find_typical(
            MappedValues(values, indexes, rows), places, squares_of(places, side)
        ):
            clarity[one.text] = clarity.get(one.text, 0.0) + one.score
    clearest = sorted(clarity, key=lambda word: (-clarity[word], word))[:MOST_WORDS]
    chosen = sorted(numbers[word] for word in clearest)
    is_kept = np.isin(indexes, chosen)
    return Occurrences(
        values=[values[one] for one in chosen],
        indexes=np.searchsorted(chosen, indexes[is_kept]),
        keys=keys[rows[is_kept]],
    )


def _words_of(record: Record, spec: CatalogueSpec) -> set[str]:
    names = [part.column for part in spec.embed.parts] if spec.embed else []
    fields = [name for name in names if name in spec.fields and not spec.fields[name].facet]
    texts = [
        text for name in fields or [spec.title_field.name] for text in texts_of(record.get(name))
    ]
    return set(WORD.findall(" ".join(texts).lower()))


def _stems(counts: dict[str, int]) -> dict[str, str]:
    """Return the usual form of each word; function words have none."""
    stems = {word: stem(fold(word)) for word in counts}
    usual: dict[str, str] = {}
    for word in sorted(counts, key=lambda word: (counts[word], word)):
        usual[stems[word]] = word
    return {word: usual[token] for word, token in stems.items() if token not in FUNCTION_TOKENS}


MOST_KEPT = 6

Finished = Mapping[str, Any]
logger = logging.getLogger(__name__)
MOST_CHANGED = 0.05
MOST_PLACED = 1_000  # so many new records are placed at once; more wait until the map is made anew
SMALL = 1_500
"""The map of so many records is made when it is first asked for, where there is none: it takes less
than a second.
"""
ASKED = 3 * BESIDE


@frozen
class PlacedMap:
    """The places of the records of a catalogue at one moment, in key order."""

    keys: Keys
    places: Places
    # the words of their texts, of those that were laid out; of a sample where these were many
    words: Occurrences
    changed: int  # how many records are new or gone since it was laid out
    laid_out: int  # how many records were laid out
    finished: deque[tuple[Hashable, Finished]] = field(
        default_factory=lambda: deque(maxlen=MOST_KEPT)
    )
    """The last forms that were made of it, by what they follow from beside it: kept as long as
    records and map are the same.
    """

    def find_or_make(self, key: Hashable, make: Callable[[], Finished]) -> Finished:
        """Return the form of this key, made where it is not kept; two callers at once may both make
        it.
        """
        made = next((form for known, form in list(self.finished) if known == key), None)
        if made is None:
            made = make()
            self.finished.append((key, made))
        return made

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


def _placed(
    reader: ShelfReader, keys: Keys, known_keys: Keys, known_places: Places
) -> tuple[Keys, Places]:
    """Return the places of new records; those without a neighbour on the map have none."""
    if not len(keys) or not len(known_keys):
        return keys[:0], known_places[:0]
    rankings = reader.nearest(
        reader.vectors([Key(one) for one in keys.tolist()]), scope=WHOLE, limit=ASKED
    )
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
            logger.warning(
                "catalogue '%s' has no map: %s",
                self._path.parent.name if self._path else "",
                error.message,
            )
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


def find_good(path: Path, reader: ShelfReader) -> PlacedMap | None:
    """Return the stored map of a catalogue as of now; None where there is none for its vectors, or
    it is damaged or due to be made anew.
    """
    try:
        stored = find_map(path)
    except StorageError:
        return None
    if stored is None or stored.model != reader.model:
        return None
    placed = follow(stored, reader)
    return None if placed.is_due else placed


LOCK_FILE = "map.lock"
WAIT_S = 300.0  # how long one that lays out a map waits for another that does
NO_VECTORS = "it has no vectors, so it has no map"
NOT_MADE = "the map could not be kept: {}"


@frozen
class MapReport:
    """A map as it was left: how many records it has, and whether it was made anew."""

    records: int
    is_made: bool
    changed: int = 0  # how many records are new, changed or gone since it was laid out

    def __str__(self) -> str:
        if not self.records:
            return NO_VECTORS
        if self.is_made:
            return f"{self.records:,} records laid out"
        return (
            f"up to date; {self.changed:,} of {self.records:,} records changed since it was"
            " laid out"
        )


def refresh_map(folder: Path, shelf: Shelf, *, is_forced: bool = False) -> MapReport:
    """Make the map of the catalogue in a folder, where that is due or forced; one process at a time
    lays it out.
    """
    if shelf.reader().model is None and not (folder / MAP_FILE).exists():
        return MapReport(records=0, is_made=False)
    path = folder / MAP_FILE
    known = None if is_forced else find_good(path, shelf.reader())
    if known is None:
        with CatalogueLock(folder, folder.name, file=LOCK_FILE).held(WAIT_S):
            # another process may have made it meanwhile
            known = None if is_forced else find_good(path, shelf.reader())
            if known is None:
                return _make(path, shelf.reader(), is_forced=is_forced)
    return MapReport(records=len(known.keys), is_made=False, changed=known.changed)


def _make(path: Path, reader: ShelfReader, *, is_forced: bool) -> MapReport:
    try:
        former = None if is_forced else find_map(path)
    except StorageError:
        former = None
    if (made := make_map(reader, former=former)) is None:
        path.unlink(missing_ok=True)
        return MapReport(records=0, is_made=False)
    save_map(made, path)
    return MapReport(records=len(made.keys), is_made=True)


def is_due(folder: Path, reader: ShelfReader) -> bool:
    """Tell whether a map should be made; that of a small catalogue is made when it is asked for."""
    if reader.model is None or reader.count(WHOLE) <= SMALL:
        return False
    return find_good(folder / MAP_FILE, reader) is None


def keep_map(folder: Path, shelf: Shelf) -> str | None:
    """Make the map of a catalogue that was built, if it is not too large for that; return why it
    could not be kept.
    """
    try:
        reader = shelf.reader()
        if reader.model is not None and reader.count(WHOLE) <= MOST_LAID_OUT:
            refresh_map(folder, shelf)
    except ExpectedError as error:
        return NOT_MADE.format(error.message)
    except (OSError, LinAlgError, MemoryError) as error:
        return NOT_MADE.format(str(error) or type(error).__name__)
    return None
