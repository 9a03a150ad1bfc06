"""The columns that become fields, those that get none and why, and the column that identifies a row."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from stackroom.catalogue.infer.choices import Choices
from stackroom.catalogue.infer.words import is_alternative, is_code, is_link, is_title_name, is_unnamed, percent
from stackroom.catalogue.profile import PLAIN_NUMBERS, ColumnProfile, Form, distinct_together

WIDE_TABLE, KEPT_OF_WIDE = 80, 60
MANY_CONSTANTS = 3
FEWEST_ROWS = 20
"""The fewest rows in which a column with one value says nothing, and of which one may lack an id."""
TRANSLATION = re.compile(r"translations?|translated|i18n|localized|locales?|native|transliterations?")
LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Z]{2})?")
MANY_LANGUAGES = 8
ROUNDED = re.compile(r"\d[.,]\d+[eE]\+\d+")
"""A long code as spreadsheets show it: `9.78E+12`."""

LONGEST_ID, LONGEST_CODE = 100, 24
FEWEST_CODES = 5
"""The fewest rows in which different codes are no accident."""
MOST_MISSING, MOST_REPEATED = 0.02, 0.005
"""The shares of rows that may lack an id, or repeat one: a few bad rows do not keep the others from having theirs."""
FIRST_ID_WORD = re.compile(r"\w*(const|code|number|nummer|numero)|no|nr|num")
"""The last word of the name of a column that identifies rows, if its values are unique."""
ID_FORMS = (Form.WHOLE, Form.YEAR, Form.CODE, Form.TEXT)

Reasons = Iterator[tuple[str, str]]


def choose_columns(
    columns: Sequence[ColumnProfile], choices: Choices, *, id_column: str | None = None
) -> tuple[list[ColumnProfile], dict[str, str]]:
    """Return the columns that can become fields, and the others with the reason why not.

    `id_column` is the key that the source declares, if it does.
    """
    reasons: dict[str, str] = {}
    for find in FINDERS:
        rest = [column for column in columns if column.name not in reasons]
        reasons |= dict(find(rest))
    kept = choices.named_columns | {id_column}
    reasons = {name: reason for name, reason in reasons.items() if name not in kept}
    reasons |= dict.fromkeys(choices.drop, "you left it out")
    ordered = {column.name: reasons[column.name] for column in columns if column.name in reasons}
    return [column for column in columns if column.name not in reasons], ordered


def _unusable(columns: Sequence[ColumnProfile]) -> Reasons:
    for column in columns:
        if not column.filled:
            yield column.name, "it is empty"
        elif not column.name.strip() or column.name.encode(errors="replace").decode() != column.name:
            yield column.name, "its name is empty or cannot be encoded"
        elif column.form is Form.BYTES:
            yield column.name, "it holds bytes, not text"


def _counts_of_rows(columns: Sequence[ColumnProfile]) -> Reasons:
    """Yield the columns without a name that number the rows, as exports of data frames have them."""
    for column in columns:
        is_number = column.is_unique and column.form in PLAIN_NUMBERS and column.rows > 1
        counts = is_number and column.least in (0.0, 1.0) and np.all(np.diff(column.numbers[column.codes]) > 0)
        if counts and is_unnamed(column):
            yield column.name, "it only counts the rows"


def _repeated(columns: Sequence[ColumnProfile]) -> Reasons:
    first_with: dict[str, str] = {}
    for column in sorted(columns, key=is_alternative):
        twin = first_with.setdefault(column.fingerprint, column.name)
        if twin != column.name and (column.distinct >= 10 or (column.distinct > 2 and column.rows >= 50)):
            yield column.name, f"it holds the same as '{twin}'"


def _constant(columns: Sequence[ColumnProfile]) -> Reasons:
    """Yield the columns with the same value in every row, where there are several."""
    constants = [column for column in columns if column.distinct == 1 and column.filled == column.rows >= FEWEST_ROWS]
    if len(constants) >= MANY_CONSTANTS or len(columns) > KEPT_OF_WIDE:
        for column in constants:
            yield column.name, f"it is '{column.texts[0][:40]}' in every row"


def _translations(columns: Sequence[ColumnProfile]) -> Reasons:
    """Yield the columns that say the same in other languages, named by a word or by many language codes."""
    by_language = Counter(name for column in columns for name in _without_language(column.name))
    for column in columns:
        by_word = any(TRANSLATION.fullmatch(step.lower()) for step in column.name.split(".")[:-1])
        by_code = any(by_language[name] >= MANY_LANGUAGES for name in _without_language(column.name))
        if column.form in (Form.TEXT, Form.OBJECT) and (by_word or by_code):
            yield column.name, "it is a translation"


def _without_language(name: str) -> Iterable[str]:
    """Yield the name of a column with each step that may be a language replaced."""
    steps = name.split(".")
    for place, step in enumerate(steps):
        if place and LANGUAGE.fullmatch(step):
            yield ".".join([*steps[:place], "*", *steps[place + 1 :]])


def _rounded(columns: Sequence[ColumnProfile]) -> Reasons:
    """Yield the columns with codes that a spreadsheet rounded, so that they tell nothing apart."""
    for column in columns:
        rounded = sum(bool(ROUNDED.fullmatch(text)) for text in column.texts) if is_code(column) else 0
        if 2 * rounded > column.distinct:
            yield column.name, f"its codes were rounded by a spreadsheet, as '{column.texts[0][:30]}'"


def _keys_of_names(columns: Sequence[ColumnProfile]) -> Reasons:
    """Yield the columns with ids of other tables, beside the columns with the names that they stand for.

    A single one may be the id of what several rows are.
    """
    by_words = {"".join(column.words): column for column in columns if column.form is Form.TEXT and not column.is_list}
    keys = [column for column in columns if is_link(column) and 2 * column.distinct <= column.filled]
    pairs = [(key, by_words.get("".join(key.words[:-1]))) for key in keys]
    named = [(key, name) for key, name in pairs if name and distinct_together([key, name]) == key.distinct]
    if len(named) > 1:
        yield from ((key.name, f"it stands for '{name.name}'") for key, name in named)


def _other_numbers(columns: Sequence[ColumnProfile]) -> Reasons:
    """Yield all but the first of several columns that number the rows each in its own way, as other sites do."""
    numbers = [column for column in columns if is_link(column) and column.is_unique and column.form in PLAIN_NUMBERS]
    first = next((column for column in numbers if column.words == ("id",)), numbers[0] if numbers else None)
    for column in numbers:
        if column is not first and first is not None:
            yield column.name, f"it numbers the rows, as '{first.name}' does"


FINDERS: tuple[Callable[[Sequence[ColumnProfile]], Reasons], ...] = (
    _unusable,
    _counts_of_rows,
    _repeated,
    _constant,
    _translations,
    _rounded,
    _keys_of_names,
    _other_numbers,
)


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
    for column in sorted(candidates, key=lambda column: _id_rank(column, stated)):
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
    column = next((column for column in columns if column.name == stated), None)
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
    if column.is_unique and column.words and FIRST_ID_WORD.fullmatch(column.words[-1]) and column.form in ID_FORMS:
        return is_first or column.rows >= FEWEST_CODES
    is_of_row = column.is_unique or is_first or column.words == ("id",) or id_problem(column) is None
    return is_of_row if is_link(column) else is_code(column)


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
