"""Columns of a segment."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from stackroom.model.scope import AllOf, AnyOf, Condition, NoneOf, Range
from stackroom.shelf.columns import Columns, NumberColumn, TermColumn, TermColumnBuilder
from stackroom.shelf.terms import Entry


def build_term_column(entries_by_row: Sequence[Sequence[Entry]]) -> TermColumn:
    builder = TermColumnBuilder()
    for entries in entries_by_row:
        builder.add(entries)
    return builder.build()


ROCK, JAZZ, LOUD_JAZZ = ("rock", "", "Rock"), ("jazz", "genre", "Jazz"), ("jazz", "mood", "Jazz")
COLUMNS = Columns(
    size=4,
    terms={"genre": build_term_column([[ROCK], [JAZZ, LOUD_JAZZ], [ROCK, JAZZ], []])},
    numbers={"year": NumberColumn(values=np.array([1990.0, math.nan, 2000.0, 2010.0]))},
)


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        (AnyOf("genre", ("ROCK",)), [0, 2]),
        (AnyOf("genre", ("rock", "jazz")), [0, 1, 2]),
        (AnyOf("genre", ("polka",)), []),
        (AllOf("genre", ("rock", "jazz")), [2]),
        (AllOf("genre", ()), [0, 1, 2, 3]),
        (NoneOf("genre", ("rock",)), [1, 3]),
        (Range("year", 1990, 2000), [0, 2]),
        (Range("year", 1991), [2, 3]),
        (Range("year"), [0, 2, 3]),
    ],
)
def test_a_condition_marks_the_rows_that_meet_it(condition: Condition, rows: list[int]) -> None:
    mask = COLUMNS.mask([condition])
    assert mask is not None
    assert np.flatnonzero(mask).tolist() == rows


def test_no_conditions_mean_all_rows() -> None:
    assert COLUMNS.mask([]) is None


def test_several_conditions_hold_together() -> None:
    mask = COLUMNS.mask([AnyOf("genre", ("rock",)), Range("year", 1995)])
    assert mask is not None
    assert np.flatnonzero(mask).tolist() == [2]


def test_values_are_counted_over_all_rows_or_those_of_a_mask() -> None:
    column = COLUMNS.terms["genre"]
    assert dict(zip(column.entries, column.counts(None).tolist(), strict=True)) == {ROCK: 2, JAZZ: 2, LOUD_JAZZ: 1}
    mask = np.array([True, True, False, False])
    assert dict(zip(column.entries, column.counts(mask).tolist(), strict=True)) == {ROCK: 1, JAZZ: 1, LOUD_JAZZ: 1}


def test_a_column_without_values_counts_nothing() -> None:
    empty = build_term_column([[], []])
    assert empty.counts(None).tolist() == empty.counts(np.array([True, True])).tolist() == []
    assert empty.rows_with("rock").tolist() == []
