"""Maps of catalogues: made where they are missing, damaged or out of date; a build never fails for
one.
"""

from dataclasses import dataclass
from pathlib import Path

from numpy.linalg import LinAlgError

from stackroom.errors import ExpectedError, StorageError
from stackroom.maps.making import MOST_LAID_OUT, SMALL, PlacedMap, find_placed, make_map
from stackroom.maps.map_file import MAP_FILE, find_map, save_map
from stackroom.model.scope import WHOLE
from stackroom.shelf.lock import CatalogueLock
from stackroom.shelf.port import Shelf, ShelfReader

LOCK_FILE = "map.lock"
WAIT_S = 300.0  # how long one that lays out a map waits for another that does
NO_VECTORS = "it has no vectors, so it has no map"
NOT_MADE = "the map could not be kept: {}"


@dataclass(frozen=True, slots=True, kw_only=True)
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
    if (known := _find_good(folder, shelf, is_forced=is_forced)) is None:
        with CatalogueLock(folder, folder.name, file=LOCK_FILE).held(WAIT_S):
            if (known := _find_good(folder, shelf, is_forced=is_forced)) is None:
                return _make(folder / MAP_FILE, shelf.reader(), is_forced=is_forced)
    return MapReport(records=len(known.keys), is_made=False, changed=known.changed)


def _find_good(folder: Path, shelf: Shelf, *, is_forced: bool) -> PlacedMap | None:
    """Return the map that there is, unless another is due or forced."""
    placed = None if is_forced else find_placed(folder / MAP_FILE, shelf.reader())
    return None if placed is None or placed.is_due else placed


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
    placed = find_placed(folder / MAP_FILE, reader)
    return placed is None or placed.is_due


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
