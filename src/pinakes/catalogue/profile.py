"""Profiles of a table's columns, from a sample of its rows.

The caller chooses the sample; `infer` makes a declaration of the profiles.
"""

import hashlib
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from functools import cached_property
from typing import Any

import orjson

from pinakes.text.cells import find_date, find_written_list, is_nothing, list_in, read_number, text_of
from pinakes.text.normalise import fold_name

FEW_VALUES = 40
LONGEST_NUMBER = 40
LARGEST_WHOLE = 2**53
BOOLEAN = re.compile(r"yes|no|true|false|[yntf]", re.IGNORECASE)
URL = re.compile(r"(https?|ftp)://\S+", re.IGNORECASE)
CODE = re.compile(r"0\d+")
YEAR = re.compile(r"[12]\d{3}(\.0)?")
DECIMALS = re.compile(r"[.,]\d\d\D*$")
DATE_LIKE = re.compile(r"(?=\D*\d)[\w .,:/+-]{6,35}")
CAMEL_JOINT = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
LIST_WORD = re.compile(
    r"genres?|tags?|keywords?|categor(y|ies)|(book)?shel(f|ves)|topics?|themes?|subjects?|labels?|ingredients?"
    r"|mechanics?|styles?|moods?|skills?|languages|countries"
)
"""A word in the names of columns that tend to hold several values and to describe topics."""


class Form(StrEnum):
    """The form of a cell."""

    TEXT = "text"
    WHOLE = "whole number"
    YEAR = "year"
    NUMBER = "number"
    CODE = "code"
    """Digits that start with 0, which a number would lose."""
    DATE = "date"
    URL = "link"
    BOOLEAN = "yes or no"
    LIST = "list"
    OBJECT = "object"
    BYTES = "bytes"


WIDER_FORMS = (
    (Form.YEAR, {Form.YEAR}),
    (Form.WHOLE, {Form.WHOLE, Form.YEAR}),
    (Form.NUMBER, {Form.NUMBER, Form.WHOLE, Form.YEAR}),
    (Form.CODE, {Form.CODE, Form.WHOLE, Form.YEAR}),
    (Form.DATE, {Form.DATE, Form.YEAR}),
    (Form.URL, {Form.URL}),
    (Form.BOOLEAN, {Form.BOOLEAN}),
    (Form.LIST, {Form.LIST}),
    (Form.OBJECT, {Form.OBJECT, Form.LIST}),
    (Form.BYTES, {Form.BYTES}),
)
"""Form of a column → forms that its cells may have; the first that fits all cells applies, else text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Separator:
    """A possible separator of list values within a text, and the evidence that it needs."""

    mark: str
    between: str
    repeated: float
    """The share of parts that must occur in more than one text."""
    moving: float
    """The share of those that must occur both first and later: in `Paris, France` positions are fixed."""


SEPARATORS = (
    Separator(mark=";", between=";", repeated=0.2, moving=0.0),
    Separator(mark="|", between="|", repeated=0.2, moving=0.0),
    Separator(mark=">", between=" > ", repeated=0.3, moving=0.0),
    Separator(mark=",", between=",", repeated=0.4, moving=0.2),
)


@dataclass(frozen=True, kw_only=True)
class ColumnProfile:
    """Statistics of one column over the sampled rows."""

    name: str
    rows: int
    filled: int
    distinct: int
    forms: Mapping[Form, int]
    examples: Mapping[Form, str]
    """The first cell of each form, as text."""
    least: float | None
    most: float | None
    mean_length: float
    longest: int
    common_share: float
    """The share of cells with one of the most common values."""
    separator: str
    """The separator of lists within texts."""
    distinct_items: int
    """The number of distinct values in lists."""
    mean_item_length: float
    has_url_items: bool
    fingerprint: str
    """A digest that is equal for columns with equal cells in every row."""

    @cached_property
    def form(self) -> Form:
        """The narrowest form that all cells have."""
        seen = set(self.forms)
        mostly_lists = 2 * self.forms.get(Form.LIST, 0) >= self.filled > 0
        if mostly_lists and seen <= {Form.LIST, Form.TEXT}:
            return Form.LIST
        return next((form for form, allowed in WIDER_FORMS if seen and seen <= allowed), Form.TEXT)

    @property
    def filled_share(self) -> float:
        """The share of rows with a value."""
        return self.filled / self.rows if self.rows else 0.0

    @property
    def distinct_share(self) -> float:
        """Distinct values divided by filled cells: 1 if all differ."""
        return self.distinct / self.filled if self.filled else 0.0

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
    def words(self) -> tuple[str, ...]:
        """The words of the column's name; the same for `AuthorId` and `author_id`."""
        return name_words(self.name)

    def share_of(self, form: Form) -> float:
        """Return the share of the filled cells that are of this form."""
        return self.forms.get(form, 0) / self.filled if self.filled else 0.0


def profile_columns(rows: Iterable[Mapping[str, Any]]) -> list[ColumnProfile]:
    """Return the profile of every column, in the order in which they first appear; rows may lack some of them."""
    columns: dict[str, _Column] = {}
    count = 0
    for number, row in enumerate(rows):
        count = number + 1
        for name, raw in row.items():
            columns.setdefault(name, _Column(name)).see(raw, number)
    return [column.profile(count) for column in columns.values()]


def name_words(name: str) -> tuple[str, ...]:
    """Return the words of a column's name, folded."""
    return tuple(fold_name(CAMEL_JOINT.sub(" ", name)).split())


def form_of(raw: Any) -> Form:
    """Return the form of a cell that is not empty."""
    return next((read(raw) for kind, read in FORM_READERS if isinstance(raw, kind)), Form.TEXT)


def _form_of_text(raw: str) -> Form:
    text = text_of(raw)
    plain = next((form for form, pattern in TEXT_FORMS if pattern.fullmatch(text)), None)
    if plain is not None:
        return plain
    number = read_number(text) if len(text) <= LONGEST_NUMBER else None
    if number is not None:
        return Form.YEAR if YEAR.fullmatch(text) else _form_of_number(number, is_exact=bool(DECIMALS.search(text)))
    if text.startswith(("[", "{")):
        return _form_of_structure(text)
    return Form.DATE if DATE_LIKE.fullmatch(text) and find_date(text) else Form.TEXT


def _form_of_structure(text: str) -> Form:
    """Return the form of a text that starts like a list or an object."""
    items = find_written_list(text)
    if items is not None:
        return _form_of_list(items)
    try:
        return Form.OBJECT if isinstance(orjson.loads(text), dict) else Form.TEXT
    except orjson.JSONDecodeError:
        return Form.TEXT


def _form_of_number(number: float, *, is_exact: bool = False) -> Form:
    """Return WHOLE or NUMBER; a number written with two decimals, as `$25.00`, is a NUMBER."""
    if math.isinf(number):
        return Form.TEXT
    is_whole = float(number).is_integer() and abs(number) <= LARGEST_WHOLE and not is_exact
    return Form.WHOLE if is_whole else Form.NUMBER


def _form_of_figure(number: float) -> Form:
    return Form.YEAR if 1000 <= number <= 2999 and float(number).is_integer() else _form_of_number(float(number))


def _form_of_list(items: Sequence[Any]) -> Form:
    """Return LIST for a list of texts or named objects, else OBJECT."""
    plain = all(
        any(key in item for key in ("name", "title", "value")) if isinstance(item, dict) else not isinstance(item, list)
        for item in items
    )
    return Form.LIST if plain else Form.OBJECT


TEXT_FORMS = ((Form.BOOLEAN, BOOLEAN), (Form.CODE, CODE), (Form.URL, URL))

FORM_READERS: tuple[tuple[Any, Callable[[Any], Form]], ...] = (
    (str, _form_of_text),
    (bool, lambda _raw: Form.BOOLEAN),
    (int | float, _form_of_figure),
    (date | datetime, lambda _raw: Form.DATE),
    (list | tuple, _form_of_list),
    (Mapping, lambda _raw: Form.OBJECT),
    (bytes | bytearray | memoryview, lambda _raw: Form.BYTES),
)
"""Type of a cell → function that returns its form; the first match applies, since True is also an int."""


class _Column:
    """The running statistics of a column."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._forms: Counter[Form] = Counter()
        self._values: Counter[str] = Counter()
        self._items: Counter[str] = Counter()
        self._examples: dict[Form, str] = {}
        self._least: float | None = None
        self._most: float | None = None
        self._digest = hashlib.blake2b(digest_size=16)

    def see(self, raw: Any, number: int) -> None:
        """Count a cell of the row with this number."""
        if is_nothing(raw):
            return
        form, text = form_of(raw), text_of(raw)
        self._forms[form] += 1
        self._values[text] += 1
        self._examples.setdefault(form, text)
        self._digest.update(f"{number}\0{text}\0".encode(errors="replace"))
        if form is Form.LIST:
            self._items.update(_item_texts(list_in(raw, "")))
        elif form in (Form.WHOLE, Form.YEAR, Form.NUMBER):
            self._measure(read_number(raw))

    def _measure(self, value: float | None) -> None:
        if value is not None:
            self._least = value if self._least is None else min(self._least, value)
            self._most = value if self._most is None else max(self._most, value)

    def profile(self, rows: int) -> ColumnProfile:
        """Return the profile of the cells counted so far."""
        filled = self._values.total()
        separator = _find_separator(list(self._values), name_words(self._name)) if Form.TEXT in self._forms else ""
        items = self._items or _parted(self._values, separator)
        common = sum(count for _, count in self._values.most_common(FEW_VALUES))
        return ColumnProfile(
            name=self._name,
            rows=rows,
            filled=filled,
            distinct=len(self._values),
            forms=dict(self._forms),
            examples=self._examples,
            least=self._least,
            most=self._most,
            mean_length=_mean_length(self._values),
            longest=max(map(len, self._values), default=0),
            common_share=common / filled if filled else 0.0,
            separator=separator,
            distinct_items=len(items),
            mean_item_length=_mean_length(items),
            has_url_items=any(URL.fullmatch(item) for item in items),
            fingerprint=self._digest.hexdigest(),
        )


def _mean_length(texts: Counter[str]) -> float:
    total = texts.total()
    return sum(len(text) * count for text, count in texts.items()) / total if total else 0.0


def _item_texts(items: Iterable[Any]) -> Iterable[str]:
    for item in items:
        if not is_nothing(item):
            yield text_of(item)


def _parted(values: Counter[str], separator: str) -> Counter[str]:
    """Count the parts of the texts."""
    parts: Counter[str] = Counter()
    for value, count in values.items() if separator else ():
        for part in _parts(value, separator):
            parts[part] += count
    return parts


def _parts(text: str, mark: str) -> list[str]:
    return [part for one in text.split(mark) if (part := one.strip())]


def _find_separator(texts: Sequence[str], words: Sequence[str]) -> str:
    """Return the separator of lists in these texts, or an empty text if they are not lists."""
    is_hinted = any(LIST_WORD.fullmatch(word) for word in words)
    return next((one.mark for one in SEPARATORS if _separates(one, texts, is_hinted=is_hinted)), "")


def _separates(separator: Separator, texts: Sequence[str], *, is_hinted: bool) -> bool:
    """Tell whether the parts of the texts are short and recur in other texts, as values of lists do."""
    parted = sum(separator.between in text for text in texts)
    if parted < (1 if is_hinted else max(2, 0.05 * len(texts))):
        return False
    rows = [_parts(text, separator.mark) for text in texts]
    parts = [part for row in rows for part in row]
    short = sum(len(part) <= 40 and len(part.split()) <= 5 for part in parts)
    if not parts or short < 0.95 * len(parts):
        return False
    return is_hinted or _come_again(separator, rows)


def _come_again(separator: Separator, rows: Sequence[Sequence[str]]) -> bool:
    counts = Counter(part for row in rows for part in set(row))
    repeated = {part for part, count in counts.items() if count > 1}
    if not repeated or sum(counts[part] for part in repeated) < separator.repeated * counts.total():
        return False
    first = {row[0] for row in rows if row}
    later = {part for row in rows for part in row[1:]}
    return len(repeated & first & later) >= separator.moving * len(repeated)
