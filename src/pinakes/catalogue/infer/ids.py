"""The column that identifies a row."""

import re
from collections.abc import Sequence

from pinakes.catalogue.cell_forms import Form
from pinakes.catalogue.infer.columns import is_code, is_link, percent
from pinakes.catalogue.infer.title_words import is_title_name
from pinakes.catalogue.profile import ColumnProfile, distinct_together

LONGEST_ID = 100
LONGEST_CODE = 24
FEWEST_CODES = 5
"""The fewest rows in which different codes are no accident."""
MOST_MISSING, MOST_REPEATED = 0.02, 0.005
"""The shares of rows that may lack an id, or repeat one: a few bad rows do not keep the others from having theirs."""
FEWEST_ROWS = 20
"""The fewest rows of which one may lack an id."""
FIRST_ID_WORD = re.compile(r"\w*(const|code|number|nummer|numero)|no|nr|num")
"""The last word of the name of a column that identifies rows, if its values are unique."""
ID_FORMS = (Form.WHOLE, Form.YEAR, Form.CODE, Form.TEXT)


def choose_id(columns: Sequence[ColumnProfile], stated: str | None) -> tuple[ColumnProfile | None, list[str]]:
    """Return the column that identifies a row, or None, and notes on the choice.

    `stated` is the key that the source declares.
    """
    candidates = [
        column
        for place, column in enumerate(columns)
        if column.name == stated or _may_be_id(column, is_first=not place)
    ]
    notes: list[str] = []
    for column in sorted(candidates, key=lambda one: _id_rank(one, stated)):
        problem = id_problem(column)
        if problem is None or _names_equal_rows(column, columns):
            return column, [*notes, *_remarks(column)]
        notes.append(f"'{column.name}' cannot be the id: {problem}")
    code = next((column for column in columns if _is_unique_code(column)), None)
    if code is not None:
        return code, []
    notes.append("no column identifies a row; ids are made of what the row says")
    return None, notes


def chosen_id(columns: Sequence[ColumnProfile], stated: str) -> tuple[ColumnProfile | None, list[str]]:
    """Return the column that the user chose as the id, None for `none`, and notes on what it costs."""
    column = next((one for one in columns if one.name == stated), None)
    problem = id_problem(column) if column is not None else None
    return column, [f"'{stated}' is the id by your choice, although {problem}"] if problem else []


def id_problem(column: ColumnProfile) -> str | None:
    """Return why a column cannot be the id, or None."""
    one_missing = column.rows - column.filled == 1 and column.rows >= FEWEST_ROWS
    if column.filled < (1 - MOST_MISSING) * column.rows and not one_missing:
        return f"{percent(1 - column.filled_share)} of the rows have none"
    if column.filled - column.distinct > MOST_REPEATED * column.filled:
        return f"{column.filled - column.distinct:,} of {column.filled:,} rows repeat an earlier one"
    if column.form not in ID_FORMS or (column.form is Form.TEXT and column.longest > LONGEST_ID):
        return "its values are not names"
    return None


def _names_equal_rows(column: ColumnProfile, columns: Sequence[ColumnProfile]) -> bool:
    """Tell whether rows with the same id are the same in every column, so that nothing is lost with one of them."""
    if column.filled < column.rows or column.form not in ID_FORMS or column.longest > LONGEST_ID:
        return False
    return column.distinct > column.rows / 2 and distinct_together(columns) == column.distinct


def is_bare_id(column: ColumnProfile, id_column: ColumnProfile | None) -> bool:
    """Tell whether a column is the id and of no interest to people."""
    return column is id_column and is_link(column)


def _remarks(column: ColumnProfile) -> list[str]:
    missing, repeated = column.rows - column.filled, column.filled - column.distinct
    notes = []
    if missing:
        rows = "1 row has" if missing == 1 else f"{missing:,} rows have"
        notes.append(f"{rows} no '{column.name}'; their ids are made of what the row says")
    if repeated:
        rows = "1 row repeats" if repeated == 1 else f"{repeated:,} rows repeat"
        notes.append(f"{rows} the '{column.name}' of an earlier one")
    return notes


def _may_be_id(column: ColumnProfile, *, is_first: bool) -> bool:
    """Tell whether a column is named like an id; repeated ids in later columns refer to another table."""
    is_own = column.is_unique or is_first or column.words == ("id",) or id_problem(column) is None
    if column.is_unique and column.words and FIRST_ID_WORD.fullmatch(column.words[-1]) and column.form in ID_FORMS:
        return is_first or column.rows >= FEWEST_CODES
    return (is_code(column) or is_link(column)) and (is_own or not is_link(column))


def _id_rank(column: ColumnProfile, stated: str | None) -> int:
    if column.name == stated:
        return 0
    if column.words == ("id",):
        return 1
    return 2 if is_link(column) else 3


def _is_unique_code(column: ColumnProfile) -> bool:
    """Tell whether a column has short codes of equal length or with digits, another in each row: `cca3`, `W00009`."""
    if not column.is_unique or column.rows < FEWEST_CODES or column.form not in (Form.TEXT, Form.CODE):
        return False
    if column.is_list or is_title_name(column) or not column.is_spaceless or column.longest > LONGEST_CODE:
        return False
    has_digits = sum(any(sign.isdigit() for sign in text) for text in column.texts) >= 0.9 * column.rows
    return column.longest == column.shortest > 1 or has_digits
