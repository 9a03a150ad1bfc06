"""Bars of numbers and dates: all are counted once, and the edges are round."""

from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackroom.catalogue.spec import FieldSpec, FieldType
from stackroom.generic.result_set import draw_histogram

YEAR = FieldSpec(name="year", type=FieldType.INT)
PRICE = FieldSpec(name="price", type=FieldType.FLOAT)
DAY = FieldSpec(name="day", type=FieldType.DATE)


@given(st.lists(st.integers(-3_000, 10**7), min_size=1, max_size=60))
def test_each_whole_number_is_within_the_one_bar_that_counts_it(numbers: list[int]) -> None:
    found = draw_histogram(np.array(numbers, dtype=float), YEAR)
    assert found is not None
    assert (found["min"], found["max"]) == (min(numbers), max(numbers))
    for bar in found["bars"]:
        assert bar.count == sum(bar.first <= number <= bar.last for number in numbers)
    assert sum(bar.count for bar in found["bars"]) == len(numbers)
    assert len(found["bars"]) <= 62


@given(
    st.floats(-1e9, 1e9, allow_subnormal=False),
    st.sampled_from([1e-7, 0.003, 1.0, 12_345.6]),
    st.integers(2, 40),
)
def test_each_decimal_is_within_the_bar_that_counts_it_however_small(
    least: float, step: float, count: int
) -> None:
    numbers = np.unique(least + step * np.arange(count))
    found = draw_histogram(numbers, PRICE)
    assert found is not None
    assert (found["min"], found["max"]) == (numbers[0], numbers[-1])
    for bar in found["bars"][:-1]:
        assert bar.count == np.count_nonzero((bar.first <= numbers) & (numbers < bar.last))
    last = found["bars"][-1]
    assert last.count == np.count_nonzero((last.first <= numbers) & (numbers <= last.last))
    assert sum(bar.count for bar in found["bars"]) == len(numbers)


def test_a_few_that_are_far_away_are_one_bar() -> None:
    found = draw_histogram(np.array([*range(1, 60)] * 4 + [1_818.0]), YEAR)
    assert found is not None
    assert (found["bars"][-1].last, len(found["bars"]) > 20) == (1_818, True)


def test_dates_have_a_bar_for_each_year_or_month() -> None:
    days = [date(2019, 3, 4), date(2020, 1, 1), date(2023, 12, 31)]
    found = draw_histogram(np.array([float(day.toordinal()) for day in days]), DAY)
    assert found is not None
    assert [(bar.first, bar.count) for bar in found["bars"]] == [
        ("2019-03-04", 1),
        ("2020-01-01", 1),
        ("2021-01-01", 0),
        ("2022-01-01", 0),
        ("2023-01-01", 1),
    ]
    few = draw_histogram(np.array([float(day.toordinal()) for day in days[:2]]), DAY)
    assert few is not None
    assert few["bars"][1].first == "2019-04-01"


@pytest.mark.parametrize("numbers", [[], [np.nan, np.inf]])
def test_no_number_has_no_bars(numbers: list[float]) -> None:
    assert draw_histogram(np.array(numbers), PRICE) is None
