"""The file of a map, `map.bin` in the catalogue's folder: a line of JSON with checksums, then two arrays.

The arrays are the keys of the records (int64) and their places (two int16 each), little-endian.
It is written anew as a whole, and can always be made again from the vectors.
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stackroom.checksums import dump_checked, load_checked, sum_of
from stackroom.errors import StorageError
from stackroom.library import replace_file
from stackroom.model.vectors import ModelId

MAP_FILE = "map.bin"
FORMAT = 2
MEMBERS = ("format", "model", "count", "sum")
REACH = 32_767
"""Places are from −REACH to REACH in both directions."""
BYTES_EACH = 12

Keys = NDArray[np.int64]
Places = NDArray[np.int16]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StoredMap:
    """The places of records, in key order."""

    model: ModelId
    keys: Keys
    places: Places


def save_map(made: StoredMap, path: Path) -> None:
    """Write a map, which readers find as it was or whole; raise StorageError where it cannot be written."""
    body = made.keys.astype("<i8").tobytes() + made.places.astype("<i2").tobytes()
    known = {"format": FORMAT, "model": asdict(made.model), "count": len(made.keys), "sum": sum_of(body)}
    try:
        replace_file(path, dump_checked(known) + b"\n" + body)  # commit point
    except OSError as error:
        raise StorageError(f"{path.name} cannot be written: {error.strerror}") from error


def find_map(path: Path) -> StoredMap | None:
    """Read a map, where there is one; raise StorageError where it is damaged."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _damaged(path) from error
    head, _, body = content.partition(b"\n")
    try:
        known = load_checked(head, MEMBERS, is_required=True)
        if known["format"] != FORMAT:
            return None  # of another version, which makes its own
        if known["sum"] != sum_of(body) or len(body) != known["count"] * BYTES_EACH:
            raise _damaged(path)
        return _parse(known, body)
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged(path) from error


def _parse(known: dict[str, Any], body: bytes) -> StoredMap:
    count = int(known["count"])
    return StoredMap(
        model=ModelId(**known["model"]),
        keys=np.frombuffer(body, "<i8", count),
        places=np.frombuffer(body, "<i2", 2 * count, offset=8 * count).reshape(count, 2),
    )


def _damaged(path: Path) -> StorageError:
    return StorageError(f"{path.name} is damaged; make it anew with: stackroom map {path.parent.name}")
