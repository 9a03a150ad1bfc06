"""An area of a map, as an address has it: the numbers of two opposite corners, or of all corners of a polygon."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stackroom.errors import InputError
from stackroom.maps.map_file import REACH, Places

MOST_CORNERS = 100


def parse_area(text: str) -> list[tuple[int, int]]:
    """Return the corners of an area; raise InputError where a text is none."""
    try:
        numbers = [int(number) for number in text.split("_")]
    except ValueError:
        numbers = []
    if len(numbers) % 2 or not 4 <= len(numbers) <= 2 * MOST_CORNERS or max(map(abs, numbers)) > REACH:
        raise InputError(
            f"'area': '{text[:60]}' is not an area; right are x_y_x_y, two corners of a box, or x_y of each of 3 to "
            f"{MOST_CORNERS} corners, in whole numbers from -{REACH} to {REACH}"
        )
    if len(numbers) == 4:
        left, top, right, bottom = numbers
        numbers = [left, top, right, top, right, bottom, left, bottom]
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def find_within(places: Places, corners: Sequence[tuple[int, int]]) -> NDArray[np.bool_]:
    """Tell which places lie in a polygon: those from which a ray to the right crosses its edges an odd number of times.

    A place on a left or upper edge is within.
    """
    x, y = places[:, 0].astype(np.int64), places[:, 1].astype(np.int64)
    is_within = np.zeros(len(places), dtype=bool)
    for (x1, y1), (x2, y2) in zip(corners, [*corners[1:], corners[0]], strict=True):
        is_left = (x - x1) * abs(y2 - y1) < (x2 - x1) * (y - y1) * (1 if y2 > y1 else -1)
        is_within ^= ((y1 <= y) != (y2 <= y)) & is_left
    return is_within
