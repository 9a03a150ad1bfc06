"""Maps of the catalogues of a library: made where they are missing, damaged or out of date, beside the records.

A map is never the reason why something else fails: a build whose map cannot be written says so in a note.
"""

import logging
from dataclasses import dataclass
from pathlib import Path

from pinakes.errors import ExpectedError, StorageError
from pinakes.library import Installed
from pinakes.maps.following import SMALL, find_placed
from pinakes.maps.making import MOST_LAID_OUT, make_map
from pinakes.maps.map_file import MAP_FILE, StoredMap, find_map, save_map
from pinakes.model.scope import WHOLE
from pinakes.shelf.port import Checkpoint, Shelf, ShelfReader, never_stop

logger = logging.getLogger(__name__)

NO_VECTORS = "it has no vectors, so it has no map"
NOT_MADE = "the map could not be kept: {}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MapReport:
    """How a map was left: how many records it has, and whether it was made anew."""

    records: int
    is_made: bool
    changed: int = 0
    """How many records are new, changed or gone since it was laid out."""

    def __str__(self) -> str:
        if not self.records:
            return NO_VECTORS
        if self.is_made:
            return f"{self.records:,} records laid out"
        return f"up to date; {self.changed:,} of {self.records:,} records changed since it was laid out"


def refresh_map(
    folder: Path, reader: ShelfReader, *, is_forced: bool = False, checkpoint: Checkpoint = never_stop
) -> MapReport:
    """Make the map of the catalogue in a folder, where that is due or forced; raise where it cannot be written."""
    path = folder / MAP_FILE
    placed = None if is_forced else find_placed(path, reader)
    if placed is not None and not placed.is_due:
        return MapReport(records=len(placed.keys), is_made=False, changed=placed.changed)
    made = make_map(reader, former=None if is_forced else _find_former(path), checkpoint=checkpoint)
    if made is None:
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


def keep_map(place: Installed, shelf: Shelf) -> str | None:
    """Make the map of a catalogue that was built, if it is not too large for that; return why it could not be kept."""
    try:
        reader = shelf.reader()
        if reader.model is not None and reader.count(WHOLE) <= MOST_LAID_OUT:
            refresh_map(place.folder, reader)
    except ExpectedError as error:
        return NOT_MADE.format(error.message)
    return None


def _find_former(path: Path) -> StoredMap | None:
    try:
        return find_map(path)
    except StorageError:
        return None
