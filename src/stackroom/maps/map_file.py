"""The file of a map, `map.bin` in the catalogue's folder: a line of JSON with checksums and words,
then four arrays.

The arrays are the keys of the records (int64), their places (two int16 each), how many words each
has (uint16), and the numbers of these words (uint16), little-endian. It is written anew as a whole,
and can always be made again from the vectors. An area of a map is a box or a polygon, as an address
has it.
"""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from stackroom.checksums import dump_checked, load_checked, sum_of
from stackroom.errors import InputError, StorageError
from stackroom.frozen import frozen
from stackroom.library import replace_file
from stackroom.model.hits import Occurrences
from stackroom.model.vectors import ModelId

MAP_FILE = "map.bin"
FORMAT = 3
MEMBERS = ("format", "model", "count", "words", "sum")
REACH = 32_767  # places are from −REACH to REACH in both directions
BYTES_EACH = 14

Keys = NDArray[np.int64]
Places = NDArray[np.int16]


@frozen
class StoredMap:
    """The places of records, in key order, and the words of their texts."""

    model: ModelId
    keys: Keys
    places: Places
    words: Occurrences


def save_map(made: StoredMap, path: Path) -> None:
    """Write a map, which readers find as it was or whole; raise StorageError where it cannot be
    written.
    """
    rows = np.searchsorted(made.keys, made.words.keys)
    counts = np.bincount(rows, minlength=len(made.keys))
    indexes = made.words.indexes[np.argsort(rows, kind="stable")]
    arrays = ((made.keys, "<i8"), (made.places, "<i2"), (counts, "<u2"), (indexes, "<u2"))
    body = b"".join(array.astype(form).tobytes() for array, form in arrays)
    about = {"model": asdict(made.model), "count": len(made.keys), "words": list(made.words.values)}
    known = {"format": FORMAT, **about, "sum": sum_of(body)}
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
        if known["sum"] != sum_of(body) or len(body) < known["count"] * BYTES_EACH:
            raise _damaged(path)
        count = int(known["count"])
        keys = np.frombuffer(body, "<i8", count)
        counts = np.frombuffer(body, "<u2", count, offset=12 * count)
        indexes = np.frombuffer(body, "<u2", offset=BYTES_EACH * count).astype(np.int64)
        return StoredMap(
            model=ModelId(**known["model"]),
            keys=keys,
            places=np.frombuffer(body, "<i2", 2 * count, offset=8 * count).reshape(count, 2),
            words=Occurrences(values=known["words"], indexes=indexes, keys=np.repeat(keys, counts)),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged(path) from error


def _damaged(path: Path) -> StorageError:
    return StorageError(
        f"{path.name} is damaged; make it anew with: stackroom map {path.parent.name}"
    )


MOST_CORNERS = 100


def parse_area(text: str) -> list[tuple[int, int]]:
    """Return the corners of an area; raise InputError where a text is none."""
    try:
        numbers = [int(number) for number in text.split("_")]
    except ValueError:
        numbers = []
    if (
        len(numbers) % 2
        or not 4 <= len(numbers) <= 2 * MOST_CORNERS
        or max(map(abs, numbers)) > REACH
    ):
        raise InputError(
            f"'area': '{text[:60]}' is not an area; right are x_y_x_y, two corners of a box, or x_y"
            f" of each of 3 to {MOST_CORNERS} corners, in whole numbers from -{REACH} to {REACH}"
        )
    if len(numbers) == 4:
        left, top, right, bottom = numbers
        numbers = [left, top, right, top, right, bottom, left, bottom]
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def find_within(places: Places, corners: Sequence[tuple[int, int]]) -> NDArray[np.bool_]:
    """Tell which places lie in a polygon: those from which a ray to the right crosses its edges an
    odd number of times.

    A place on a left or upper edge is within.
    """
    x, y = places[:, 0].astype(np.int64), places[:, 1].astype(np.int64)
    is_within = np.zeros(len(places), dtype=bool)
    for (x1, y1), (x2, y2) in zip(corners, [*corners[1:], corners[0]], strict=True):
        is_left = (x - x1) * abs(y2 - y1) < (x2 - x1) * (y - y1) * (1 if y2 > y1 else -1)
        is_within ^= ((y1 <= y) != (y2 <= y)) & is_left
    return is_within
