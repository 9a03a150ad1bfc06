"""Columns whose numbers have a comma before decimals, so that `2.644` is 2644: told by the column, or by the table."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

FEWEST_TOLD = 2
"""How many numbers below a thousand, and how many that end in 0, tell that a dot is between thousands."""
FIGURE = re.compile(r"[^\d.,]{0,6}(\d[\d.,]*)[^\d]{0,20}")
COMMA = re.compile(r"\d{1,3}(\.\d{3})+,\d+|[1-9]\d{0,2}(\.\d{3}){2,}|\d+,(\d{1,2}|\d{4,})|(0\d*|\d{4,}),\d+")
"""A number that has a comma before its decimals, or two dots between thousands."""
POINT = re.compile(r"\d{1,3}(,\d{3})+\.\d+|[1-9]\d{0,2}(,\d{3}){2,}|\d+\.(\d{1,2}|\d{4,})|(0\d*|\d{4,})\.\d+")
DOTTED = re.compile(r"[1-9]\d{0,2}\.\d{3}")
"""A number that is one of thousands with a comma before decimals, and below a thousand with a point before them."""
THOUSANDS = re.compile(r"(?<=\d)\.(?=\d{3}(?!\d))")
COMMA_BEFORE_DECIMALS = re.compile(r"(?<=\d),(?=\d)")


class DecimalMarks(NamedTuple):
    """How a column writes its numbers."""

    has_comma: bool = False
    """Whether a comma comes before the decimals, and dots between thousands."""
    dotted: str = ""
    """A number such as `2.644`, which is another one with a comma before decimals than with a point."""


PLAIN_MARKS = DecimalMarks()


def with_point(text: str) -> str:
    """Return a number that is written with a comma before its decimals as one with a point."""
    return COMMA_BEFORE_DECIMALS.sub(".", THOUSANDS.sub("", text))


def find_decimal_marks(columns: Mapping[str, Sequence[str]]) -> dict[str, DecimalMarks]:
    """Return the columns of texts with numbers that depend on the decimal mark; others have none, or a point.

    A column that does not tell by itself has a comma where another one has, and none a point.
    """
    found = {name: _told_by(texts) for name, texts in columns.items()}
    commas, points, _ = map(any, zip(*found.values(), strict=True)) if found else (False, False, False)
    return {
        name: DecimalMarks(has_comma=has_comma or (commas and not points), dotted=dotted)
        for name, (has_comma, has_point, dotted) in found.items()
        if has_comma or (dotted and not has_point)
    }


def _told_by(texts: Sequence[str]) -> tuple[bool, bool, str]:
    """Return whether a column has a comma before decimals, or a point, and a number that is one of either."""
    figures = [figure[1] for text in texts if (figure := FIGURE.fullmatch(text))]
    figures = figures if 2 * len(figures) > len(texts) else []
    marked = [figure for figure in figures if "." in figure or "," in figure]
    dotted = [figure for figure in marked if DOTTED.fullmatch(figure)]
    has_point = any(map(POINT.fullmatch, marked))
    has_comma = not has_point and (any(map(COMMA.fullmatch, marked)) or _are_thousands(dotted, figures))
    return has_comma, has_point, next(iter(dotted), "")


def _are_thousands(dotted: Sequence[str], figures: Sequence[str]) -> bool:
    """Tell whether numbers with a dot are whole: decimals are cut after the last digit, or each number has three."""
    whole = [figure for figure in figures if figure.isdigit()]
    small = [figure for figure in whole if len(figure) <= 3]
    rounded = [figure for figure in dotted if figure.endswith("0")]
    return len(small) == len(whole) and min(len(small), len(rounded)) >= FEWEST_TOLD
