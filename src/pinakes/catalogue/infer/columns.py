"""Predicates on columns, by the words in their names and the form of their cells."""

import re

from pinakes.catalogue.cell_forms import Form
from pinakes.catalogue.profile import ColumnProfile

ID_WORD = re.compile(
    r"ids?|identifier|key|uuid|guid|isbn(10|13)?|issn|sku|asin|ean|gtin|upc|mpn|doi|slug|handle|barcode"
)
LINK_WORD = re.compile(r"ids?|identifier|uuid|guid")
"""The last word of the names of columns with row ids; other codes are meaningful to people."""
YEAR_WORD = re.compile(
    r"years?|yr|released?|published|publication|vintage|premiered|founded|built|born|date|jahr|annee|ano|год|年"
)
GROUP_WORD = re.compile(
    r"(authors?|artists?|directors?|actors?|cast|starring|writers?|composers?|creators?|publishers?|brands?|developers?"
    r"|manufacturers?|vendors?|studios?|designers?|illustrators?|translators?|narrators?|albums?|series|country|language)"
)
"""A word in the names of columns whose values group records, even if each has few."""
KIND_WORD = re.compile(
    r"species|types?|kind|category|class|breed|model|variety|varietal|genre|discipline|event|family|style|make|colou?r|brand"
)
REGION_WORD = re.compile(
    r"countr(y|ies)|cit(y|ies)|towns?|regions?|provinces?|states?|count(y|ies)|districts?|continents?|nationality|origins?"
    r"|places?|locations?|venues?|winery|brewery|distillery|compan(y|ies)|teams?|clubs?|schools?|departments?|publisher"
)
QUESTION = re.compile(
    r"\s*(have|has|do|does|did|are|is|was|were|which|what|how|who|whom|why|when|where|would|could|should|can|will|please)\b.*",
    re.IGNORECASE | re.DOTALL,
)
QUESTION_WORDS = 5
UNNAMED = re.compile(r"(column|unnamed|field|var|v|x|f|col)?[\s_:.]*\d*|unnamed.*|index|_c\d+|\.\.\.\d+", re.IGNORECASE)
"""The name of a column that has none: as files, pandas, R and Spark write it."""


def has_word(column: ColumnProfile, pattern: re.Pattern[str]) -> bool:
    """Tell whether a word of the column's name fits the pattern."""
    return any(pattern.fullmatch(word) for word in column.words)


def is_code(column: ColumnProfile) -> bool:
    """Tell whether the column is named like ids or other codes."""
    return bool(column.words) and bool(ID_WORD.fullmatch(column.words[-1]))


def is_link(column: ColumnProfile) -> bool:
    """Tell whether the column is named like ids of rows: `id`, `book_id`, `id_drink`."""
    ends = column.words[-1:] + (column.words[:1] if len(column.words) == 2 else ())
    return any(LINK_WORD.fullmatch(word) for word in ends)


def is_year(column: ColumnProfile) -> bool:
    """Tell whether the column has years and is named as such."""
    in_form = column.form in (Form.YEAR, Form.WHOLE) and column.share_of(Form.YEAR) >= 0.9
    return in_form and has_word(column, YEAR_WORD)


def is_question(column: ColumnProfile) -> bool:
    """Tell whether a column is named by a question, as in a survey."""
    name = column.name.strip()
    asks = len(column.words) >= QUESTION_WORDS and QUESTION.fullmatch(name)
    return (name.endswith("?") and len(column.words) > 2) or bool(asks)


def is_unnamed(column: ColumnProfile) -> bool:
    """Tell whether a column has no name of its own."""
    return bool(UNNAMED.fullmatch(column.name.strip()))


def gaps(column: ColumnProfile) -> str:
    """Return the share of rows with a value, as the end of a reason; empty if nearly all have one."""
    return f", in {percent(column.filled_share)} of the rows" if column.filled_share < 0.95 else ""


def percent(share: float) -> str:
    """Return a share for people to read."""
    if 0.995 <= share < 1:
        return "over 99 %"
    return f"{share:.0%}".replace("%", " %") if share >= 0.01 or not share else "under 1 %"
