"""Making the map of a catalogue from its vectors.

Up to `MOST_LAID_OUT` records are laid out all together. Of more, a sample is, and the others are placed beside the
nearest records of the sample.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stackroom.maps.layout import SEED, Points, Projection, build_projection, lay_out, nearest_among
from stackroom.maps.map_file import REACH, Keys, Places, StoredMap
from stackroom.maps.words import find_words
from stackroom.model.record import Key
from stackroom.model.scope import WHOLE
from stackroom.model.vectors import Vector
from stackroom.shelf.port import ShelfReader

MOST_LAID_OUT = 100_000
SAMPLE = 20_000
BLOCK_ROWS = 10_000
EVERYTHING = 1 << 40
BESIDE = 5
"""A record is placed at the median of so many neighbours: the mean lies between clusters, where nothing is alike."""
LEAST_KNOWN = 0.5
"""A new layout begins with the former one where it has at least this share of the records."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Embedded:
    """The records with a vector, in key order."""

    keys: Keys
    points: Points


def make_map(reader: ShelfReader, *, former: StoredMap | None = None) -> StoredMap | None:
    """Lay out the records that have a vector; None where there are none."""
    if reader.model is None:
        return None
    embedded = _read_embedded(reader)
    if not len(embedded.keys):
        return None
    start = _find_start(embedded, former) if former is not None and former.model == reader.model else None
    keys, places = embedded.keys, to_places(_laid_out(embedded.points, start))
    sample = _sample_of(len(keys))
    words = find_words(reader, keys[sample], places[sample])
    return StoredMap(model=reader.model, keys=keys, places=places, words=words)


def to_places(layout: Points) -> Places:
    """Return a layout as whole numbers that fill the map in its longer direction."""
    low, high = layout.min(axis=0), layout.max(axis=0)
    reach = float((high - low).max()) / 2 or 1.0
    places: Places = np.rint((layout - (low + high) / 2) / reach * REACH).astype(np.int16)
    return places


def place_beside(neighbours: NDArray[np.float32]) -> Points:
    """Return the place of each record with so many neighbours: n × neighbours × 2 places."""
    placed: Points = np.median(neighbours, axis=1).astype(np.float32)
    return placed


def all_keys(reader: ShelfReader) -> Keys:
    """Return the keys of all records, in order."""
    return np.array(reader.scan(scope=WHOLE, limit=EVERYTHING), dtype=np.int64)


def find_present(vectors: Vector) -> NDArray[np.bool_]:
    """Tell which records have a vector that a place can be found by: one of zeros or of no numbers is none."""
    return np.asarray(vectors.any(axis=1) & np.isfinite(vectors).all(axis=1), dtype=np.bool_)


def iter_vectors(reader: ShelfReader, keys: Keys) -> Iterator[Vector]:
    """Yield the vectors of these records in blocks, zeros where there is none."""
    for start in range(0, len(keys), BLOCK_ROWS):
        yield reader.vectors(_as_keys(keys[start : start + BLOCK_ROWS]))


def _read_embedded(reader: ShelfReader) -> _Embedded:
    keys = all_keys(reader)
    if not len(keys):
        return _Embedded(keys=keys, points=np.empty((0, 2), np.float32))
    projection = _measure(reader, keys)
    points, present = [], []
    for vectors in iter_vectors(reader, keys):
        has_vector = find_present(vectors)
        present.append(has_vector)
        points.append(projection.of(vectors[has_vector]))
    return _Embedded(keys=keys[np.concatenate(present)], points=np.concatenate(points))


def _measure(reader: ShelfReader, keys: Keys) -> Projection:
    """Return the principal components, of a sample where there are many records."""
    vectors = reader.vectors(_as_keys(keys[_sample_of(len(keys))]))
    present = vectors[find_present(vectors)]
    return build_projection(present if len(present) else np.zeros_like(vectors[:1]))


def _sample_of(count: int) -> NDArray[np.int64]:
    """Return the rows of a sample, in order; all where they are few."""
    if count <= SAMPLE:
        return np.arange(count)
    return np.sort(np.random.default_rng(SEED).choice(count, SAMPLE, replace=False))


def _laid_out(points: Points, start: Points | None) -> Points:
    if len(points) <= MOST_LAID_OUT:
        return lay_out(points, start=start)
    sample = _sample_of(len(points))
    begun = None if start is None else start[sample]
    layout = np.empty((len(points), 2), dtype=np.float32)
    layout[sample] = lay_out(points[sample], start=begun)
    others = np.setdiff1d(np.arange(len(points)), sample)
    near = nearest_among(points[others], points[sample], BESIDE)
    layout[others] = place_beside(layout[sample][near])
    return layout


def _find_start(embedded: _Embedded, former: StoredMap) -> Points | None:
    """Return where a layout begins that resembles the former one; None where too much is new."""
    rows, is_known = find_rows(former.keys, embedded.keys)
    if is_known.mean() < LEAST_KNOWN:
        return None
    start = np.zeros((len(embedded.keys), 2), dtype=np.float32)
    start[is_known] = former.places[rows[is_known]]
    if not is_known.all():
        near = nearest_among(embedded.points[~is_known], embedded.points[is_known], BESIDE)
        start[~is_known] = place_beside(start[is_known][near])
    return start


def find_rows(keys: Keys, wanted: Keys) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the row of each wanted key among sorted ones, and whether it is there."""
    if not len(keys):
        return np.zeros(len(wanted), dtype=np.int64), np.zeros(len(wanted), dtype=bool)
    rows = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return rows, keys[rows] == wanted


def _as_keys(keys: Keys) -> list[Key]:
    return [Key(key) for key in keys.tolist()]
