"""Areas of a map: boxes and polygons, against a plain reference."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stackroom.maps.map_file import find_within

CORNER = st.tuples(st.integers(-20, 20), st.integers(-20, 20))


def is_within(x: int, y: int, corners: list[tuple[int, int]]) -> bool:
    crossed = 0
    for (x1, y1), (x2, y2) in zip(corners, corners[1:] + corners[:1], strict=True):
        if (y1 <= y) != (y2 <= y):
            crossed += x < x1 + Fraction((y - y1) * (x2 - x1), y2 - y1)
    return crossed % 2 == 1


@given(st.lists(CORNER, min_size=3, max_size=8), st.lists(CORNER, min_size=1, max_size=30))
def test_the_places_in_a_polygon_are_those_of_the_plain_reference(
    corners: list[tuple[int, int]], points: list[tuple[int, int]]
) -> None:
    found = find_within(np.array(points, dtype=np.int16), corners).tolist()
    assert found == [is_within(x, y, corners) for x, y in points]
