"""Labels and colours of a map."""

import numpy as np

from stackroom.maps.labels import (
    MappedValues,
    colour_by_numbers,
    colour_by_values,
    find_labels,
    find_steps,
)

WEST, EAST = -20_000, 20_000


def two_groups(each: int = 30) -> np.ndarray:
    chooser = np.random.default_rng(2)
    middles = np.repeat([[WEST, 0], [EAST, 0]], each, axis=0)
    return (middles + chooser.integers(-2_000, 2_000, size=(2 * each, 2))).astype(np.int16)


def values_of(each: int = 30) -> MappedValues:
    """Films in the west, books in the east, and both are old or new at random."""
    rows = np.arange(2 * each)
    kinds, ages = (
        np.where(rows < each, 0, 1),
        2 + np.random.default_rng(4).integers(0, 2, size=2 * each),
    )
    return MappedValues(
        ["film", "book", "old", "new"], np.concatenate([kinds, ages]), np.concatenate([rows] * 2)
    )


def test_a_label_is_what_is_typical_of_its_place() -> None:
    coarse = {one.text: one for one in find_labels(two_groups(), [values_of()]) if one.level == 0}
    assert abs(coarse["film"].x - WEST) < 2_000
    assert abs(coarse["book"].x - EAST) < 2_000


def test_a_label_has_a_second_value_where_it_says_as_much_of_the_place() -> None:
    rows = np.arange(60)
    words = MappedValues(
        ["cinema", "paper", "films"], np.concatenate([rows // 30, np.full(30, 2)]), np.r_[rows, :30]
    )
    texts = {one.text for one in find_labels(two_groups(), [values_of(), words]) if one.level == 0}
    assert texts == {"film · cinema", "book · paper"}


def test_values_that_were_read_of_some_records_only_count_among_these() -> None:
    words = MappedValues(
        ["cinema"], np.zeros(5, np.int64), np.arange(0, 200, 40), known=np.arange(0, 400, 40)
    )
    places = two_groups(200)
    assert [one.text for one in find_labels(places, [words]) if one.level == 0] == ["cinema"]
    assert find_labels(places, [words._replace(known=None)]) == []


def test_a_map_without_values_has_no_labels_and_no_colours() -> None:
    none = MappedValues([], np.empty(0, np.int64), np.empty(0, np.int64))
    assert find_labels(two_groups(), [none]) == []
    assert not colour_by_values(two_groups(), none).codes.any()


def test_a_record_has_the_colour_of_its_value_that_lies_together() -> None:
    colours = colour_by_values(two_groups(), values_of())
    shown = [colours.values[code - 1] for code in colours.codes.tolist()]
    assert set(shown[:30]) == {"film"}
    assert set(shown[30:]) == {"book"}
    assert dict(zip(colours.values, colours.counts, strict=True))["film"] == 30


def test_numbers_are_coloured_by_steps_with_about_as_many_records_each() -> None:
    numbers = np.array([*range(100), np.nan])
    steps = find_steps(numbers, most=4)
    colours = colour_by_numbers(numbers, ["a", "b", "c", "d"], steps)
    assert colours.codes[-1] == 0
    assert colours.is_ordered
    assert sum(colours.counts) == 100
    assert max(colours.counts) - min(colours.counts) <= 2
