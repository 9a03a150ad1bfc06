"""The forms of table cells: a number, a date, a list, a text and so on, as far as the cell alone tells."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from enum import StrEnum
from typing import Any, NamedTuple

import orjson

from stackroom.text.cells.dates import ISO_DAY, date_order_of, find_date
from stackroom.text.cells.values import find_literal, find_written_list, has_name, number_and_unit, read_number, text_of

LONGEST_NUMBER = 40
LARGEST_WHOLE = 2**53
YES_AND_NO = "yes no true false y n t f ja nein oui non sí sì sim não x ✓ ✔ ✗ ✘"
BOOLEANS = frozenset(YES_AND_NO.split())
DIGIT = re.compile(r"\d")
PLAIN_NUMBER = re.compile(r"-?([1-9]\d{0,14}|0)(\.\d{1,15})?")
"""A number as programs write it, which most cells with digits are."""
PLAIN_NUMBERS = re.compile(rf"({PLAIN_NUMBER.pattern}\n)*({PLAIN_NUMBER.pattern})")
DATE_MARK = re.compile(r"\d\s?[-/.]\s?\w|[^\W\d_]{3}.{0,3}\d|\d{8}|\d.{0,3}[^\W\d_]{3}")
URL = re.compile(r"(https?|ftp)://\S+", re.IGNORECASE)
CODE = re.compile(r"0\d+")
YEAR = re.compile(r"[12]\d{3}(\.0)?")
DECIMALS = re.compile(r"[.,]\d\d\D*$")
DATE_LIKE = re.compile(r"[\w .,:/+'’~-]{4,40}")
STRUCTURE = ("[", "{", "array(")
"""The beginnings of lists and objects, as JSON, Python and numpy write them."""
WRITTEN_STRUCTURE = re.compile(r"(array\(|\[|\{)\s*(array\(|\[|\{)?\s*['\"]")
PREFIXED = re.compile(r"([A-Z][A-Za-z]{1,2}\.?)\s(\d{1,3}(?:,\d{3})*(?:\.\d+)?|\d+(?:\.\d+)?)")
"""A number after a short word, as prices in a currency have it: `SR 1,385`; a text, unless the column has prices."""
DATES_LOOKED_FOR = 300
LONGEST_READ = 20_000
"""The longest written structure that is read; of a longer one, the beginning tells the form."""


class Form(StrEnum):
    """The form of a cell."""

    TEXT = "text"
    WHOLE = "whole number"
    YEAR = "year"
    NUMBER = "number"
    QUANTITY = "number with a unit"
    BRACKET = "range of numbers"
    """A text that stands for several numbers, as `18–24`, `under 18` or `150+`."""
    CODE = "code"
    """Digits that start with 0, which a number would lose."""
    DATE = "date"
    URL = "link"
    BOOLEAN = "yes or no"
    LIST = "list"
    OBJECT = "object"
    BYTES = "bytes"


class Cell(NamedTuple):
    """The form of a cell, with its number and unit, or the order of day and month of a date such as `3/4/2019`."""

    form: Form
    number: float | None = None
    unit: str = ""
    date_order: str = ""


def as_named(cell: Cell, *, is_money: bool) -> Cell:
    """Return a cell of a column of money, where a number after a word is an amount, or of another: `IS 695` is text."""
    if cell.form is not Form.TEXT or not cell.unit:
        return cell
    return cell._replace(form=Form.QUANTITY) if is_money else TEXT_CELL


TEXT_CELL, URL_CELL, DATE_CELL, BOOLEAN_CELL, CODE_CELL = (
    Cell(form) for form in (Form.TEXT, Form.URL, Form.DATE, Form.BOOLEAN, Form.CODE)
)


def read_cell(raw: Any) -> Cell:
    """Return the form of a cell that is not empty, with its number."""
    if isinstance(raw, str):
        return read_text_cell(text_of(raw))
    return next((read(raw) for kind, read in CELL_READERS if isinstance(raw, kind)), TEXT_CELL)


def read_text_cells(texts: Sequence[str]) -> list[Cell]:
    """Return the cells of a column of text, as `read_text_cell` does of each; quicker where all are plain numbers."""
    lines = "\n".join(texts)
    if not PLAIN_NUMBERS.fullmatch(lines) or lines.count("\n") != len(texts) - 1:
        some = texts[:: max(1, len(texts) // DATES_LOOKED_FOR)]  # a few dates beyond these make no column of dates
        has_dates = any(read_text_cell(text).form is Form.DATE for text in some)
        return [
            DATE_CELL if has_dates and ISO_DAY.fullmatch(text) else read_text_cell(text, has_dates=has_dates)
            for text in texts
        ]
    return [_read_plain_number(text) for text in texts]


def read_text_cell(text: str, *, has_dates: bool = True) -> Cell:
    """Return the form of a cell of text that is not empty and has no space around it, with its number."""
    if PLAIN_NUMBER.fullmatch(text):
        return _read_plain_number(text)
    if text.startswith(STRUCTURE):
        return Cell(_form_of_structure(text))
    if "://" in text and URL.fullmatch(text):
        return URL_CELL
    if len(text) > LONGEST_NUMBER:
        return TEXT_CELL
    if not DIGIT.search(text):
        return BOOLEAN_CELL if text.lower() in BOOLEANS else TEXT_CELL
    return _read_figures(text, has_dates=has_dates)


def _read_plain_number(text: str) -> Cell:
    number = float(text)
    if text[0] in "12" and YEAR.fullmatch(text):
        return Cell(Form.YEAR, number)
    is_whole = number == int(number) and (len(text) < 4 or text[-3] != ".")  # $25.00 is no whole number
    return Cell(Form.WHOLE if is_whole else Form.NUMBER, number)


def _read_figures(text: str, *, has_dates: bool) -> Cell:
    """Return the form of a short text with digits."""
    if CODE.fullmatch(text):
        return CODE_CELL
    quantity = number_and_unit(text)
    is_bracket = quantity is not None and quantity.is_bracket
    if quantity is not None and not is_bracket and (not quantity.unit or quantity.is_money):
        is_year = YEAR.fullmatch(text)
        form = Form.YEAR if is_year else _form_of_number(quantity.number, is_exact=bool(DECIMALS.search(text)))
        return Cell(form, quantity.number, quantity.unit)
    if has_dates and DATE_LIKE.fullmatch(text) and DATE_MARK.search(text):
        order = date_order_of(text) or ""
        if find_date(text, month_first=order == "mdy"):
            return Cell(Form.DATE, None, "", order)
    if quantity is None:
        prefixed = PREFIXED.fullmatch(text)
        return Cell(Form.TEXT, read_number(prefixed[2]), prefixed[1]) if prefixed else TEXT_CELL
    return Cell(Form.BRACKET if is_bracket else Form.QUANTITY, None if is_bracket else quantity.number, quantity.unit)


def _form_of_structure(text: str) -> Form:
    """Return the form of a text that starts like a list or an object."""
    if len(text) > LONGEST_READ:
        return Form.OBJECT if WRITTEN_STRUCTURE.match(text) else Form.TEXT
    items = find_written_list(text)
    if items is not None:
        return _form_of_list(items)
    try:
        return Form.OBJECT if isinstance(orjson.loads(text), dict) else Form.TEXT
    except orjson.JSONDecodeError:
        return Form.OBJECT if isinstance(find_literal(text), dict | list) else Form.TEXT


def _read_number(number: float) -> Cell:
    is_year = 1000 <= number <= 2999 and float(number).is_integer()
    return Cell(Form.YEAR if is_year else _form_of_number(float(number), is_exact=False), read_number(number))


def _form_of_number(number: float, *, is_exact: bool) -> Form:
    """Return WHOLE or NUMBER; a number written with two decimals, as `$25.00`, is a NUMBER."""
    if math.isinf(number):
        return Form.TEXT
    is_whole = float(number).is_integer() and abs(number) <= LARGEST_WHOLE and not is_exact
    return Form.WHOLE if is_whole else Form.NUMBER


def _form_of_list(items: Sequence[Any]) -> Form:
    """Return LIST for a list of texts or named objects, else OBJECT."""
    plain = all(has_name(item) if isinstance(item, dict) else not isinstance(item, list) for item in items)
    return Form.LIST if plain else Form.OBJECT


CELL_READERS: tuple[tuple[Any, Callable[[Any], Cell]], ...] = (
    (bool, lambda _raw: BOOLEAN_CELL),
    (int | float, _read_number),
    (date | datetime, lambda _raw: DATE_CELL),
    (list | tuple, lambda raw: Cell(_form_of_list(raw))),
    (Mapping, lambda _raw: Cell(Form.OBJECT)),
    (bytes | bytearray | memoryview, lambda _raw: Cell(Form.BYTES)),
)
"""Type of a cell that is no text → function that reads it; the first match applies, since True is also an int."""
