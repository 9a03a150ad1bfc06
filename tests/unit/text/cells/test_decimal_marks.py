"""Whether `2.644` is 2644 or less than three is told by the column, or by the other columns of its
table.
"""

import pytest

from stackroom.text.cells.values import find_decimal_marks, with_point

pytestmark = pytest.mark.row("N1")


@pytest.mark.parametrize(
    ("texts", "has_comma"),
    [
        (["2.644", "1.234.567"], True),
        (["2.644", "3,5"], True),
        (["2.644", "0,125"], True),
        (["2.640", "850", "12.300", "71"], True),
        (["2.644", "850", "12.345", "71"], False),
        (["2.644", "2.6"], None),
        (["2.644", "0.125"], None),
        (["2.640", "850", "12.300", "7100"], False),
        (["12", "850"], None),
        (["about 3,5", "soon", "never", "in 2019 or 2020"], None),
    ],
)
def test_a_column_tells_by_its_numbers_whether_a_comma_is_before_decimals(
    texts: list[str], has_comma: bool | None
) -> None:
    marks = find_decimal_marks({"n": texts})
    assert (marks["n"].has_comma if marks else None) is has_comma


def test_a_column_that_does_not_tell_is_written_as_the_others_of_its_table() -> None:
    dotted = ["2.644", "12.345"]
    assert find_decimal_marks({"n": dotted, "price": ["1,50"]})["n"] == (True, "2.644")
    assert find_decimal_marks({"n": dotted, "price": ["1,50"], "rate": ["1.5"]})["n"] == (
        False,
        "2.644",
    )
    assert find_decimal_marks({"n": dotted})["n"] == (False, "2.644")


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("2.644", "2644"),
        ("1.234.567,8 km", "1234567.8 km"),
        ("0,125", "0.125"),
        ("12,345", "12.345"),
        ("ca. 5", "ca. 5"),
    ],
)
def test_a_number_is_rewritten_with_a_point_before_decimals(text: str, read: str) -> None:
    assert with_point(text) == read
