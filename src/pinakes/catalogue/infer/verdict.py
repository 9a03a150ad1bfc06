"""The judgement whether a table is a catalogue at all, and what would make it one."""

import re
from collections.abc import Sequence

from pinakes.catalogue.cell_forms import Form
from pinakes.catalogue.infer.survey import is_survey
from pinakes.catalogue.profile import PLAIN_NUMBERS, ColumnProfile

WIDE_GRID = 6
KEY_WORD = re.compile(r"keys?|property|properties|field|attribute|parameter|setting|variable|item|name", re.IGNORECASE)
VALUE_WORD = re.compile(r"values?|setting|content|data", re.IGNORECASE)


def judge(columns: Sequence[ColumnProfile]) -> str:
    """Return why a table is no catalogue and what would make it one; empty if it is one."""
    filled = [column for column in columns if column.filled]
    return next((found for find in JUDGES if (found := find(filled))), "")


def _single_column(columns: Sequence[ColumnProfile]) -> str:
    if len(columns) != 1:
        return ""
    return f"it has one column, '{columns[0].name}': a list to search in, with nothing to filter by"


def _survey(columns: Sequence[ColumnProfile]) -> str:
    if not is_survey(columns):
        return ""
    return (
        f"it looks like a survey: a row has one respondent's answers in {len(columns)} columns, and nothing names it. "
        "It can be filtered and counted, hardly searched; a row for each thing that was asked about would make it a "
        "catalogue"
    )


def _grid(columns: Sequence[ColumnProfile]) -> str:
    """Find a matrix: numbers under columns that are themselves values, as years or the names of the rows."""
    numbers = [column for column in columns if column.form in PLAIN_NUMBERS]
    labels = {text for column in columns if column.form is Form.TEXT for text in column.texts}
    named_by_values = [column for column in numbers if column.name in labels or column.name.strip().isdigit()]
    if len(numbers) < WIDE_GRID or len(named_by_values) < 0.6 * len(columns):
        return ""
    return (
        f"it looks like a matrix: {len(named_by_values)} columns of numbers are named by values, as "
        f"'{named_by_values[0].name}'. One row for each number, with its row, its column and its value, would make it "
        "a catalogue (in pandas: melt)"
    )


def _key_and_value(columns: Sequence[ColumnProfile]) -> str:
    if len(columns) != 2 or columns[0].rows > 200 or not columns[0].is_unique:
        return ""
    key, value = columns
    named = any(map(KEY_WORD.fullmatch, key.words)) and any(map(VALUE_WORD.fullmatch, value.words))
    if not (named and len(value.forms) > 1):
        return ""
    return (
        f"it looks like one thing described by keys and values ('{key.name}', '{value.name}'): each row is one fact "
        "about it. One row for each thing, with a column for each key, would make it a catalogue (in pandas: pivot)"
    )


def _no_words(columns: Sequence[ColumnProfile]) -> str:
    wordless = PLAIN_NUMBERS | {Form.DATE, Form.CODE, Form.QUANTITY, Form.BOOLEAN}
    if not columns or any(column.form not in wordless for column in columns):
        return ""
    return (
        "it has numbers and dates alone, so there are no words to search: its records can be filtered and counted. "
        "A column that names each row would make it a catalogue; give it with --title"
    )


JUDGES = (_survey, _grid, _key_and_value, _no_words, _single_column)
