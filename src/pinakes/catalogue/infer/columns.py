"""Predicates on columns, by the words in their names and the form of their cells."""

import re

from pinakes.catalogue.profile import ColumnProfile, Form

ID_WORD = re.compile(r"ids?|key|uuid|guid|isbn(10|13)?|issn|sku|asin|ean|gtin|upc|mpn|doi|slug|handle|barcode")
LINK_WORD = re.compile(r"ids?|uuid|guid")
"""The last word of the names of columns with row ids; other codes are meaningful to people."""
YEAR_WORD = re.compile(
    r"years?|yr|released?|published|publication|vintage|premiered|founded|date|jahr|annee|ano|год|年"
)
GROUP_WORD = re.compile(
    r"(authors?|artists?|directors?|actors?|cast|starring|writers?|composers?|creators?|publishers?|brands?|developers?"
    r"|manufacturers?|vendors?|studios?|designers?|illustrators?|translators?|narrators?|albums?|series|country|language)"
)
"""A word in the names of columns whose values group records, even if each has few."""


def has_word(column: ColumnProfile, pattern: re.Pattern[str]) -> bool:
    """Tell whether a word of the column's name fits the pattern."""
    return any(pattern.fullmatch(word) for word in column.words)


def is_code(column: ColumnProfile) -> bool:
    """Tell whether the column is named like ids or other codes."""
    return bool(column.words) and bool(ID_WORD.fullmatch(column.words[-1]))


def is_link(column: ColumnProfile) -> bool:
    """Tell whether the column is named like ids of rows."""
    return bool(column.words) and bool(LINK_WORD.fullmatch(column.words[-1]))


def is_year(column: ColumnProfile) -> bool:
    """Tell whether the column has years and is named as such."""
    in_form = column.form in (Form.YEAR, Form.WHOLE) and column.share_of(Form.YEAR) >= 0.9
    return in_form and has_word(column, YEAR_WORD)


def gaps(column: ColumnProfile) -> str:
    """Return the share of rows with a value, as the end of a reason; empty if nearly all have one."""
    return f", in {percent(column.filled_share)} of the rows" if column.filled_share < 0.95 else ""


def percent(share: float) -> str:
    """Return a share for people to read."""
    return f"{share:.0%}".replace("%", " %") if share >= 0.01 or not share else "under 1 %"
