"""Profiles of a table's columns: the forms of their cells, how many are filled and differ, and
which row has which.
"""

import math
import operator
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from functools import cached_property
from itertools import chain, repeat
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import orjson

from stackroom.catalogue.column_words import is_about, name_words
from stackroom.frozen import frozen
from stackroom.text.cells import values
from stackroom.text.cells.dates import ISO_DAY, date_order_of, find_date

LONGEST_NUMBER = 40
LARGEST_WHOLE = 2**53
YES_AND_NO = "yes no true false y n t f ja nein oui non sí sì sim não x ✓ ✔ ✗ ✘"
BOOLEANS = frozenset(YES_AND_NO.split())
DIGIT = re.compile(r"\d")
PLAIN_NUMBER = re.compile(r"-?([1-9]\d{0,14}|0)(\.\d{1,15})?")
"""A number as programs write it, which most cells with digits are."""
DATE_MARK = re.compile(r"\d\s?[-/.]\s?\w|[^\W\d_]{3}.{0,3}\d|\d{8}|\d.{0,3}[^\W\d_]{3}")
URL = re.compile(r"(https?|ftp)://\S+", re.IGNORECASE)
CODE = re.compile(r"0\d+")
YEAR = re.compile(r"[12]\d{3}(\.0)?")
DECIMALS = re.compile(r"[.,]\d\d\D*$")
DATE_LIKE = re.compile(r"[\w .,:/+'’~-]{4,40}")
# the beginnings of lists and objects, as JSON, Python and numpy write them
STRUCTURE = ("[", "{", "array(")
WRITTEN_STRUCTURE = re.compile(r"(array\(|\[|\{)\s*(array\(|\[|\{)?\s*['\"]")
PREFIXED = re.compile(r"([A-Z][A-Za-z]{1,2}\.?)\s(\d{1,3}(?:,\d{3})*(?:\.\d+)?|\d+(?:\.\d+)?)")
"""A number after a short word, as prices in a currency have it: `SR 1,385`; a text, unless the
column has prices.
"""
DATES_LOOKED_FOR = 300
# the longest written structure that is read; of a longer one, the beginning tells the form
LONGEST_READ = 20_000


class Form(StrEnum):
    """The form of a cell."""

    TEXT = "text"
    WHOLE = "whole number"
    YEAR = "year"
    NUMBER = "number"
    QUANTITY = "number with a unit"
    # a text that stands for several numbers, as `18–24`, `under 18` or `150+`
    BRACKET = "range of numbers"
    CODE = "code"  # digits that start with 0, which a number would lose
    DATE = "date"
    URL = "link"
    BOOLEAN = "yes or no"
    LIST = "list"
    OBJECT = "object"
    BYTES = "bytes"


class Cell(NamedTuple):
    """The form of a cell, with its number and unit, or the order of day and month of a date such as
    `3/4/2019`.
    """

    form: Form
    number: float | None = None
    unit: str = ""
    date_order: str = ""


TEXT_CELL, URL_CELL, DATE_CELL, BOOLEAN_CELL, CODE_CELL = (
    Cell(form) for form in (Form.TEXT, Form.URL, Form.DATE, Form.BOOLEAN, Form.CODE)
)


def read_cell(raw: Any) -> Cell:
    """Return the form of a cell that is not empty, with its number."""
    if isinstance(raw, str):
        return read_text_cell(values.text_of(raw))
    return next((read(raw) for kind, read in CELL_READERS if isinstance(raw, kind)), TEXT_CELL)


def read_text_cells(texts: Sequence[str]) -> list[Cell]:
    """Return the cells of a column of text, as `read_text_cell` does of each."""
    # a few dates beyond these make no column of dates
    some = texts[:: max(1, len(texts) // DATES_LOOKED_FOR)]
    has_dates = any(read_text_cell(text).form is Form.DATE for text in some)
    return [
        DATE_CELL
        if has_dates and ISO_DAY.fullmatch(text)
        else read_text_cell(text, has_dates=has_dates)
        for text in texts
    ]


def read_text_cell(text: str, *, has_dates: bool = True) -> Cell:
    """Return the form of a cell of text that is not empty and has no space around it, with its
    number.
    """
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
    # $25.00 is no whole number
    is_whole = number == int(number) and (len(text) < 4 or text[-3] != ".")
    return Cell(Form.WHOLE if is_whole else Form.NUMBER, number)


def _read_figures(text: str, *, has_dates: bool) -> Cell:
    """Return the form of a short text with digits."""
    if CODE.fullmatch(text):
        return CODE_CELL
    quantity = values.number_and_unit(text)
    is_bracket = quantity is not None and quantity.is_bracket
    if quantity is not None and not is_bracket and (not quantity.unit or quantity.is_money):
        is_year = YEAR.fullmatch(text)
        form = (
            Form.YEAR
            if is_year
            else _form_of_number(quantity.number, is_exact=bool(DECIMALS.search(text)))
        )
        return Cell(form, quantity.number, quantity.unit)
    if has_dates and DATE_LIKE.fullmatch(text) and DATE_MARK.search(text):
        order = date_order_of(text) or ""
        if find_date(text, month_first=order == "mdy"):
            return Cell(Form.DATE, None, "", order)
    if quantity is None:
        prefixed = PREFIXED.fullmatch(text)
        return (
            Cell(Form.TEXT, values.read_number(prefixed[2]), prefixed[1]) if prefixed else TEXT_CELL
        )
    return Cell(
        Form.BRACKET if is_bracket else Form.QUANTITY,
        None if is_bracket else quantity.number,
        quantity.unit,
    )


def _form_of_structure(text: str) -> Form:
    """Return the form of a text that starts like a list or an object."""
    if len(text) > LONGEST_READ:
        return Form.OBJECT if WRITTEN_STRUCTURE.match(text) else Form.TEXT
    if (items := values.find_written_list(text)) is not None:
        return _form_of_list(items)
    try:
        return Form.OBJECT if isinstance(orjson.loads(text), dict) else Form.TEXT
    except orjson.JSONDecodeError:
        return Form.OBJECT if isinstance(values.find_literal(text), dict | list) else Form.TEXT


def _read_number(number: float) -> Cell:
    is_year = 1000 <= number <= 2999 and float(number).is_integer()
    return Cell(
        Form.YEAR if is_year else _form_of_number(float(number), is_exact=False),
        values.read_number(number),
    )


def _form_of_number(number: float, *, is_exact: bool) -> Form:
    """Return WHOLE or NUMBER; a number written with two decimals, as `$25.00`, is a NUMBER."""
    if math.isinf(number):
        return Form.TEXT
    is_whole = float(number).is_integer() and abs(number) <= LARGEST_WHOLE and not is_exact
    return Form.WHOLE if is_whole else Form.NUMBER


def _form_of_list(items: Sequence[Any]) -> Form:
    """Return LIST for a list of texts or named objects, else OBJECT."""
    plain = all(
        values.has_name(item) if isinstance(item, dict) else not isinstance(item, list)
        for item in items
    )
    return Form.LIST if plain else Form.OBJECT


CELL_READERS: tuple[tuple[Any, Callable[[Any], Cell]], ...] = (
    (bool, lambda _raw: BOOLEAN_CELL),
    (int | float, _read_number),
    (date | datetime, lambda _raw: DATE_CELL),
    (list | tuple, lambda raw: Cell(_form_of_list(raw))),
    (Mapping, lambda _raw: Cell(Form.OBJECT)),
    (bytes | bytearray | memoryview, lambda _raw: Cell(Form.BYTES)),
)
"""Type of a cell that is no text → function that reads it; the first match applies, since True is
also an int.
"""


FEW_VALUES = 40
NONE = -1  # the code of an empty cell
# the share of cells that make a column one of numbers, dates or links, whatever the others are
MOSTLY = 0.95
# a column of numbers may have so many different texts, however often: `on request`, `sold out`
WORDS_FOR_NONE = 2
SPACE = re.compile(r"\s")
# the number of different texts of a column among which a separator is looked for
SEPARATOR_TEXTS = 3000
Codes = npt.NDArray[np.int32]
Numbers = npt.NDArray[np.float64]

LONGEST_ITEM = 40
PEOPLE_MARKS = (",", ";", "|", "/", "&")

WIDER_FORMS = (
    (Form.YEAR, {Form.YEAR}),
    (Form.WHOLE, {Form.WHOLE, Form.YEAR}),
    (Form.NUMBER, {Form.NUMBER, Form.WHOLE, Form.YEAR}),
    (Form.CODE, {Form.CODE, Form.WHOLE, Form.YEAR}),
    (Form.DATE, {Form.DATE, Form.YEAR}),
    *((form, {form}) for form in (Form.URL, Form.BOOLEAN, Form.LIST, Form.BYTES)),
    (Form.OBJECT, {Form.OBJECT, Form.LIST}),
)
"""Form of a column → forms that its cells may have; the first that fits all cells applies."""
PLAIN_NUMBERS = frozenset({Form.NUMBER, Form.WHOLE, Form.YEAR})
TOLERANT_FORMS = (
    (Form.NUMBER, PLAIN_NUMBERS),
    (Form.QUANTITY, PLAIN_NUMBERS | {Form.QUANTITY}),
    (Form.DATE, frozenset({Form.DATE, Form.YEAR})),
    (Form.URL, frozenset({Form.URL})),
    (Form.BRACKET, PLAIN_NUMBERS | {Form.QUANTITY, Form.BRACKET}),
)
"""Form of a column → forms that most of its cells have; of the others, the cell alone is lost."""


@dataclass(frozen=True, kw_only=True)
class ColumnProfile:
    """Statistics of one column over all rows, or over a sample of them."""

    name: str
    rows: int
    filled: int
    distinct: int
    forms: Mapping[Form, int]
    distinct_of: Mapping[Form, int]
    # the units of numbers, the most frequent first, with the number of cells that have each
    units: Mapping[str, int]
    date_orders: Mapping[str, int]
    """The orders of day and month that its dates can have (`dmy`, `mdy`, `either`), with the number
    of cells.
    """
    least: float | None
    most: float | None
    mean_length: float
    shortest: int
    longest: int
    common_share: float  # the share of cells with one of the most common values
    separator: str
    items: Mapping[str, int]  # of its lists, with the number of cells that have each
    codes: Codes = field(repr=False, compare=False)
    """For each row the number of its text among `texts`, in the order of first occurrence; -1 if it
    has none.
    """
    texts: Sequence[str] = field(repr=False, compare=False)
    # the number that each of `texts` is, if it is one
    numbers: Numbers = field(repr=False, compare=False)
    is_sample: bool = False
    decimal_marks: values.DecimalMarks = values.PLAIN_MARKS

    @cached_property
    def form(self) -> Form:
        """The narrowest form that all cells have, or all but a few odd ones."""
        seen = set(self.forms)
        mostly_lists = 2 * self.forms.get(Form.LIST, 0) >= self.filled > 0
        if mostly_lists and seen <= {Form.LIST, Form.TEXT}:
            return Form.LIST
        exact = next((form for form, allowed in WIDER_FORMS if seen and seen <= allowed), None)
        return exact or self._tolerant_form or Form.TEXT

    @cached_property
    def _tolerant_form(self) -> Form | None:
        has_brackets = self.share_of(Form.BRACKET) > 1 - MOSTLY
        possible = TOLERANT_FORMS[-1:] if has_brackets else TOLERANT_FORMS
        found = next((form for form, fitting in possible if self._is_mostly(fitting)), None)
        if found is Form.BRACKET and not (self.units or self.has_few_values):
            return None
        if found is not Form.NUMBER:
            return found
        numbers = PLAIN_NUMBERS & set(self.forms)
        return next(form for form, allowed in WIDER_FORMS if numbers <= allowed)

    def _is_mostly(self, fitting: frozenset[Form]) -> bool:
        """Tell whether nearly all cells are of these forms, or all but a word or two for none."""
        odd = self.filled - sum(self.forms.get(form, 0) for form in fitting)
        if not odd or odd == self.filled:
            return 0 < self.filled != odd
        different = sum(self.distinct_of.get(form, 0) for form in fitting)
        odd_different = self.distinct - different
        is_few = odd <= (1 - MOSTLY) * self.filled and different > odd_different
        return is_few or (
            odd_different <= WORDS_FOR_NONE and different >= 5 * odd_different and different >= 5
        )

    @property
    def filled_share(self) -> float:
        """The share of rows with a value."""
        return self.filled / self.rows if self.rows else 0.0

    @property
    def distinct_share(self) -> float:
        """Distinct values divided by filled cells: 1 if all differ."""
        return self.distinct / self.filled if self.filled else 0.0

    @property
    def naming_share(self) -> float:
        """The share of rows that have a value of their own."""
        return self.distinct / self.rows if self.rows else 0.0

    @property
    def is_unique(self) -> bool:
        """Tell whether every row has a value and all differ."""
        return self.filled == self.rows == self.distinct

    @property
    def has_few_values(self) -> bool:
        """Tell whether a few values, each in several rows, make up most of the column."""
        return self.common_share >= 0.8 and 2 * self.distinct <= self.filled

    @property
    def is_list(self) -> bool:
        """Tell whether a cell holds several values."""
        return self.form is Form.LIST or (self.form is Form.TEXT and bool(self.separator))

    @cached_property
    def is_spaceless(self) -> bool:
        """Whether no cell has a space."""
        return not any(map(SPACE.search, self.texts))

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The words of the column's name; the same for `AuthorId` and `author_id`."""
        return name_words(self.name)

    def is_about(self, *topics: str) -> bool:
        """Tell whether a word of the column's name is about one of these topics."""
        return any(is_about(self.words, topic) for topic in topics)

    @property
    def unit(self) -> str:
        """The most frequent unit of its numbers, or an empty text."""
        return next(iter(self.units), "")

    def share_of(self, *forms: Form) -> float:
        """Return the share of the filled cells that are of these forms."""
        return sum(self.forms.get(form, 0) for form in forms) / self.filled if self.filled else 0.0


Columns = Sequence[ColumnProfile]


def distinct_together(columns: Columns) -> int:
    """Return how many different combinations of values the columns have, rows without any left
    aside.
    """
    if not columns:
        return 0
    together = columns[0].codes.astype(np.int64)
    for column in columns[1:]:
        wide = together * (len(column.texts) + 1) + column.codes
        together = np.unique(wide, return_inverse=True)[1].astype(np.int64)
    return len(np.unique(together[np.any([column.codes != NONE for column in columns], axis=0)]))


def profile_columns(
    rows: Iterable[Mapping[str, Any]], *, is_sample: bool = False
) -> list[ColumnProfile]:
    """Return the profile of every column, in the order in which they first appear; rows may lack
    some of them.
    """
    kept = rows if isinstance(rows, Sequence) else list(rows)
    names = dict.fromkeys(chain.from_iterable(kept))
    columns = {name: _Cells([row.get(name) for row in kept], name_words(name)) for name in names}
    marks = values.find_decimal_marks(
        {name: column.texts for name, column in columns.items() if column.may_have_comma}
    )
    return [
        _profile(name, column, marks=marks.get(name, values.PLAIN_MARKS), is_sample=is_sample)
        for name, column in columns.items()
    ]


def _profile(
    name: str, column: "_Cells", *, marks: values.DecimalMarks, is_sample: bool
) -> ColumnProfile:
    if marks.has_comma:
        column.read = column.named(read_text_cells(list(map(values.with_point, column.texts))))
    read = column.read
    counts = column.counts
    units, orders, forms_of = Counter[str](), Counter[str](), [cell.form for cell in read]
    distinct_of = Counter(forms_of)
    forms = Counter(chain.from_iterable(map(repeat, forms_of, counts)))
    for cell, count in zip(read, counts, strict=True):
        if cell.unit:
            units[cell.unit] += count
        elif cell.date_order:
            orders[cell.date_order] += count
    texts = [text for text, form in zip(column.texts, forms_of, strict=True) if form is Form.TEXT]
    separator = (
        find_separator(texts[:: max(1, len(texts) // SEPARATOR_TEXTS)], name_words(name))
        if texts
        else ""
    )
    items = column.count_items() if Form.LIST in forms else Counter[str]()
    if separator and not items:
        for text, count in zip(column.texts, counts, strict=True):
            for part in parts_of(text, separator):
                items[part] += count
    lengths = [len(text) for text in column.texts]
    filled = sum(counts)
    numbers = np.array(
        [np.nan if cell.number is None else cell.number for cell in read], dtype=np.float64
    )
    known = numbers[~np.isnan(numbers)]
    return ColumnProfile(
        name=name,
        rows=len(column.codes),
        filled=filled,
        distinct=len(column.texts),
        forms=dict(forms),
        distinct_of=dict(distinct_of),
        units=_merged_units(units),
        date_orders=dict(orders),
        least=float(known.min()) if len(known) else None,
        most=float(known.max()) if len(known) else None,
        mean_length=sum(map(operator.mul, lengths, counts)) / filled if filled else 0.0,
        shortest=min(lengths, default=0),
        longest=max(lengths, default=0),
        common_share=sum(sorted(counts, reverse=True)[:FEW_VALUES]) / filled if filled else 0.0,
        separator=separator,
        items=items,
        codes=column.codes,
        texts=column.texts,
        numbers=numbers,
        is_sample=is_sample,
        decimal_marks=marks,
    )


class _Cells:
    """The cells of a column, each different one read once."""

    def __init__(self, cells: Sequence[Any], words: Sequence[str]) -> None:
        found = list(map(_find_text, cells))
        raws = dict(zip(reversed(found), reversed(cells), strict=True))
        self.texts = [text for text in dict.fromkeys(found) if text is not None]
        self._raws = [raws[text] for text in self.texts]
        codes: dict[str | None, int] = {text: code for code, text in enumerate(self.texts)}
        codes[None] = NONE
        self.codes: Codes = np.fromiter(map(codes.__getitem__, found), dtype=np.int32)
        self.counts: list[int] = np.bincount(
            self.codes[self.codes != NONE], minlength=len(self.texts)
        ).tolist()
        self._is_money = is_about(words, "money")
        is_text = all(isinstance(raw, str) for raw in self._raws)
        self.read = self.named(
            read_text_cells(self.texts) if is_text else map(read_cell, self._raws)
        )
        has_numbers = is_text and any(cell.number is not None for cell in self.read)
        self.may_have_comma = has_numbers and not is_about(words, "telling_pointer")
        """Whether it has numbers as texts, which are no coordinates."""

    def named(self, cells: Iterable[Cell]) -> list[Cell]:
        """Return cells as those of a column of this name are read: a number after a word is an
        amount where the column has money, and text in any other, as `IS 695`.
        """
        amount = Form.QUANTITY if self._is_money else None
        return [
            cell
            if cell.form is not Form.TEXT or not cell.unit
            else cell._replace(form=amount)
            if amount
            else TEXT_CELL
            for cell in cells
        ]

    def count_items(self) -> Counter[str]:
        """Count the items of cells that are lists."""
        items: Counter[str] = Counter()
        for cell, raw, count in zip(self.read, self._raws, self.counts, strict=True):
            if cell.form is Form.LIST:
                for item in values.list_in(raw, ""):
                    named = values.name_of_item(item)
                    if not values.is_nothing(named):
                        items[values.text_of(named)] += count
        return items


def _find_text(raw: Any) -> str | None:
    """Return a cell as text, or None if it is empty; a plain text, the usual case, is quick."""
    if not isinstance(raw, str) or raw.startswith("="):
        return None if values.is_nothing(raw) else values.text_of(raw)
    text = raw.strip()
    return None if text in values.NOTHING else text


def _merged_units(units: Counter[str]) -> dict[str, int]:
    """Return the units with other spellings of each counted as the most frequent one, the most
    frequent first.
    """
    merged: Counter[str] = Counter()
    for unit, count in units.most_common():
        others = merged if len(merged) <= FEW_VALUES else ()
        known = next((one for one in others if values.same_unit(one, unit)), unit)
        merged[known] += count
    return dict(merged.most_common())


@frozen
class Separator:
    """A possible separator of list values within a text, and the evidence that it needs."""

    mark: str
    between: str
    repeated: float  # the share of parts that must occur in more than one text
    # the share of those that must occur both first and later: in `Paris, France` positions are
    # fixed
    moving: float


SEPARATORS = (
    Separator(mark=";", between=";", repeated=0.2, moving=0.0),
    Separator(mark="|", between="|", repeated=0.2, moving=0.0),
    Separator(mark=">", between=" > ", repeated=0.3, moving=0.0),
    Separator(mark=",", between=",", repeated=0.4, moving=0.2),
)


def find_separator(texts: Sequence[str], words: Sequence[str]) -> str:
    """Return the separator of lists in the texts of a column named by these words; empty if they
    are not lists.
    """
    if is_about(words, "people") and (mark := _find_mark_of_people(texts)):
        return mark
    is_hinted = is_about(words, "lists") or is_about(words, "other_names")
    for separator in SEPARATORS:
        is_comma = separator.mark == ","
        if is_comma and is_about(words, "places"):
            continue
        if _separates(
            separator,
            texts,
            is_hinted=is_hinted and not (is_comma and is_about(words, "single_values")),
        ):
            return separator.mark
    return ""


def parts_of(text: str, mark: str) -> list[str]:
    """Return the parts of a text at a separator, without empty ones."""
    return [part.strip() for part in text.split(mark) if part.strip()]


def _find_mark_of_people(texts: Sequence[str]) -> str:
    """Return the separator of people's names: parts of two words or more, so that `King, Stephen`
    stays whole.
    """
    for mark in PEOPLE_MARKS:
        rows = [parts_of(text, mark) for text in texts]
        several = [row for row in rows if len(row) > 1]
        parts = [part for row in several for part in row]
        if len(several) < max(1, 0.02 * len(texts)):
            continue
        full = sum(len(part) <= LONGEST_ITEM and (" " in part or "." in part) for part in parts)
        least = 0.75 if mark in ",;|" else 0.97  # a band may be called AC/DC
        counts = Counter(part for row in rows for part in set(row))
        # some are in other texts too
        if full >= least * len(parts) and any(counts[part] > 1 for part in parts):
            return mark
    return ""


def _separates(separator: Separator, texts: Sequence[str], *, is_hinted: bool) -> bool:
    """Tell whether the parts of the texts are short and recur in other texts, as values of lists
    do.
    """
    parted = sum(separator.between in text for text in texts)
    if parted < (1 if is_hinted else max(2, 0.05 * len(texts))):
        return False
    rows = [parts_of(text, separator.mark) for text in texts]
    parts = [part for row in rows for part in row]
    short = sum(len(part) <= LONGEST_ITEM and len(part.split()) <= 5 for part in parts)
    if not parts or short < 0.95 * len(parts):
        return False
    return is_hinted or _come_again(separator, rows)


def _come_again(separator: Separator, rows: Sequence[Sequence[str]]) -> bool:
    counts = Counter(part for row in rows for part in set(row))
    repeated = {part for part, count in counts.items() if count > 1}
    if not repeated or sum(counts[part] for part in repeated) < separator.repeated * counts.total():
        return False
    several = [row for row in rows if len(row) > 1]
    first = {row[0] for row in several}
    later = {part for row in several for part in row[1:]}
    moving, fixed = repeated & first & later, repeated & (first | later)
    return len(moving) >= separator.moving * len(fixed)
