"""The field that is proposed for a column, with the reason for its type and its uses."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from stackroom.catalogue.column_words import is_about
from stackroom.catalogue.compiler import BOUNDED_TYPES
from stackroom.catalogue.infer.columns import MARK, Family, is_yes_no
from stackroom.catalogue.infer.words import gaps, is_code, is_link, is_year, percent
from stackroom.catalogue.profile import ColumnProfile, Form
from stackroom.catalogue.spec import NUMERIC_TYPES, DateOrder, FieldRole, FieldType

LONG_TEXT = 100
SHORT_VALUE = 60
FEWEST_QUANTITIES = 6
"""Fewer different numbers with a unit are sizes to choose from, as `2 km` and `5 km`."""
MOST_OTHER_UNITS = 0.05
"""The share of cells that may be in another unit or currency, which cannot be compared; each costs the cell."""
CURRENCIES = {"$": "usd", "€": "eur", "£": "gbp", "¥": "jpy", "₹": "inr"}
NUMBER_FORMS = frozenset({Form.QUANTITY, Form.NUMBER, Form.WHOLE})
LEAST_OF_UNIT = 0.3
"""The share of cells in one of several units that makes them a field of their own."""
LONGEST_CODE, FEWEST_CODES = 12, 10
SMALL_TABLE = 200
GROUPING = ("groups", "lists", "people", "kinds", "regions")
"""Topics of columns whose values are filtered by, even if few come twice."""
YES_NO = ("yes", "no")
LIST_MARKS = (",", ";", "|", "/")
"""The separators that are looked for where a column is declared a list; the first if there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InferredField:
    """A field that is proposed for a column, and why."""

    name: str
    column: str
    type: FieldType
    reason: str
    role: FieldRole | None = None
    searched: bool = False
    filtered: bool = False
    facet: bool = False
    split: str = ""
    template: str = ""
    """The columns that the field is composed of, where it is not one column."""
    unit: str = ""
    decimal_comma: bool = False
    brackets: bool = False
    values: tuple[str, ...] = ()
    marked: Mapping[str, str] = field(default_factory=dict)
    """The tag of each column that says yes or no, where the field has those of all that say yes."""
    date_order: DateOrder | None = None
    description: str = ""
    """What assistants are told of the field."""

    @property
    def uses(self) -> str:
        """The uses of the field, in words."""
        role = {FieldRole.BODY: "main text", FieldRole.ALTERNATIVES: "other names", FieldRole.LINK: "web page"}
        filtered = "range" if self.type in NUMERIC_TYPES else "filter"
        uses = [role.get(self.role, self.role) if self.role else "", "search" if self.searched else ""]
        uses += [filtered if self.filtered else "", "browse" if self.facet else ""]
        return ", ".join(use for use in uses if use) or "shown"


def field_of(column: ColumnProfile, name: str) -> InferredField:
    """Return the field for a column, without a role."""
    base = InferredField(name=name, column=column.name, type=FieldType.TEXT, reason="")
    if is_link(column) and column.form is not Form.OBJECT:
        kind = FieldType.TEXTS if column.is_list else FieldType.TEXT
        reason = f"ids, kept as they are{gaps(column)}"
        return replace(base, type=kind, filtered=True, split=column.separator, reason=reason)
    if column.is_list:
        return _list(base, column)
    if column.form in PLAIN_FIELDS:
        kind, reason = PLAIN_FIELDS[column.form]
        is_term = kind is FieldType.TEXT
        return replace(base, type=kind, filtered=is_term, facet=is_term, reason=f"{reason}{gaps(column)}")
    made = MAKERS.get(column.form, _text)(base, column)
    if made.type not in BOUNDED_TYPES or not column.decimal_marks.has_comma:
        return made
    marks = "dots between thousands" if made.type is FieldType.INT else "a comma before decimals"
    return replace(made, decimal_comma=True, reason=f"{made.reason}, with {marks}")


def field_of_type(column: ColumnProfile, name: str, kind: FieldType) -> InferredField:
    """Return the field for a column whose type was chosen, with the uses that the type allows."""
    made = field_of(column, name)
    if made.type is kind:
        return made
    is_whole, marks = kind is FieldType.INT, column.decimal_marks  # `2.644` is whole with dots between thousands
    has_comma = marks.has_comma and made.type is not FieldType.INT
    is_list = kind in (FieldType.TEXTS, FieldType.TAGS)
    is_term = is_list or kind is FieldType.TEXT
    having = {mark: sum(mark in text for text in column.texts) for mark in LIST_MARKS}
    return replace(
        made,
        type=kind,
        searched=is_term,
        filtered=is_list or kind in NUMERIC_TYPES or (is_term and column.has_few_values),
        facet=is_list or (is_term and column.has_few_values),
        split=(column.separator or max(LIST_MARKS, key=lambda mark: having[mark])) if is_list else "",
        decimal_comma=kind in BOUNDED_TYPES and ((is_whole and any(marks)) or has_comma),
        brackets=False,
        reason="your choice",
    )


def family_field(family: Family) -> InferredField:
    """Return the field that collects the values of a family's columns."""
    template = MARK.join(f"{{{column.name}}}" for column in family.columns)
    values = len({text for column in family.columns for text in column.texts})
    told = "tags of what is marked" if family.tags else f"{values:,} values"
    return InferredField(
        name=family.name,
        column=template,
        template="" if family.tags else template,
        marked=family.tags,
        type=FieldType.TAGS,
        split="" if family.tags else MARK,
        searched=True,
        filtered=True,
        facet=True,
        reason=f"{len(family.columns)} columns, '{family.columns[0].name}' and so on, as one list: {told}",
    )


def _list(base: InferredField, column: ColumnProfile) -> InferredField:
    separated = f" separated by '{column.separator}'" if column.separator else ""
    reason = f"lists{separated}: {column.distinct_items:,} values{gaps(column)}"
    field = replace(base, type=FieldType.TEXTS, split=column.separator, reason=reason)
    if column.has_url_items:
        return replace(field, reason=f"lists of links{gaps(column)}")
    if column.has_number_items and not is_about(column.words, "lists"):
        return replace(field, reason=f"lists of numbers{gaps(column)}")
    if column.mean_item_length > LONG_TEXT:
        return replace(field, searched=True)
    is_people = is_about(column.words, "groups") or is_about(column.words, "people")
    kind = FieldType.TEXTS if is_people else FieldType.TAGS
    return replace(field, type=kind, searched=True, filtered=True, facet=True)


def _number(base: InferredField, column: ColumnProfile) -> InferredField:
    if is_yes_no(column):
        answers = f"yes or no, as 1 and 0{gaps(column)}"
        return replace(base, type=FieldType.ENUM, values=YES_NO, filtered=True, facet=True, reason=answers)
    if is_code(column):
        return _code(base, column)
    if column.units:
        return _quantity(base, column)
    is_whole = column.form in (Form.WHOLE, Form.YEAR)
    called = "years" if is_year(column) else "whole numbers" if is_whole else "numbers"
    reason = f"{called}{_extent(column)}{gaps(column)}"
    return replace(base, type=FieldType.INT if is_whole else FieldType.FLOAT, filtered=True, reason=reason)


def _quantity(base: InferredField, column: ColumnProfile) -> InferredField:
    """Return the field for numbers with a unit, if nearly all are of one unit and they are no few fixed sizes."""
    of_unit = column.units[column.unit]
    others = sum(column.units.values()) - of_unit
    is_size = column.form is Form.QUANTITY and column.distinct < FEWEST_QUANTITIES
    if is_size and len(column.units) == 1:
        return _bracket(base, column)
    if is_size or is_code(column) or others > MOST_OTHER_UNITS * column.filled:
        return _text(base, column)
    is_named = 2 * of_unit >= column.share_of(*NUMBER_FORMS, Form.YEAR) * column.filled
    called = f"numbers in '{column.unit}'" if is_named else "numbers"
    reason = f"{called}{_extent(column)}{gaps(column)}"
    return replace(base, type=_number_type(column), unit=column.unit if is_named else "", filtered=True, reason=reason)


def _bracket(base: InferredField, column: ColumnProfile) -> InferredField:
    reason = f"ranges: {column.distinct:,} values, in the order of their bounds{gaps(column)}"
    return replace(base, searched=True, filtered=True, facet=True, brackets=True, reason=reason)


def field_of_main_unit(field: InferredField, column: ColumnProfile) -> InferredField | None:
    """Return a field for the numbers in the main unit, where a text has numbers in several: `91 min`, `2 Seasons`."""
    unit = CURRENCIES.get(column.unit) or re.sub(r"[^a-z]+", "", column.unit.lower())
    is_mixed = field.type is FieldType.TEXT and field.role is None and column.form in NUMBER_FORMS
    if not is_mixed or len(column.units) < 2 or len(unit) < 3:
        return None
    if column.units[column.unit] < LEAST_OF_UNIT * column.filled:
        return None
    share = column.units[column.unit] / column.rows
    return replace(
        field,
        name=f"{field.name}_{unit}",
        type=_number_type(column),
        unit=column.unit,
        decimal_comma=column.decimal_marks.has_comma,
        searched=False,
        filtered=True,
        facet=False,
        reason=f"the numbers of '{field.column}' in '{column.unit}', in {percent(share)} of the rows",
    )


def _number_type(column: ColumnProfile) -> FieldType:
    """Return INT where all numbers are whole, and not written with decimals, as `$25.00` is."""
    known = column.numbers[~np.isnan(column.numbers)]
    is_whole = Form.NUMBER not in column.forms and bool(np.all(known == np.floor(known)))
    return FieldType.INT if is_whole else FieldType.FLOAT


def _extent(column: ColumnProfile) -> str:
    """Return the range of numbers as a part of a reason; thousands are grouped unless they could be years."""
    if column.least is None or column.most is None:
        return ""
    grouping, ends = "," if column.most > 9999 else "", (column.least, column.most)
    return ", " + " to ".join(f"{end:{grouping}{'.0f' if end.is_integer() else '.6g'}}" for end in ends)


def _code(base: InferredField, column: ColumnProfile) -> InferredField:
    return replace(base, searched=True, filtered=True, reason=f"a code, kept as it is written{gaps(column)}")


def _date(base: InferredField, column: ColumnProfile) -> InferredField:
    """Return the field for dates, with the order of day and month if it is not the usual one."""
    day_first, month_first = (column.date_orders.get(order, 0) for order in DateOrder)
    order = DateOrder.MONTH_FIRST if month_first > day_first else None
    told = " with the month first" if order else " with the day first" if day_first else ""
    if column.date_orders and not told:
        told = " taken with the day first, which no cell tells"
    against = min(day_first, month_first)
    told += f", but {against:,} the other way round" if against else ""
    reason = f"dates{told}{gaps(column)}"
    return replace(base, type=FieldType.DATE, date_order=order, filtered=True, reason=reason)


def _text(base: InferredField, column: ColumnProfile) -> InferredField:
    field = replace(base, searched=True)
    is_even = column.is_spaceless and column.longest <= LONGEST_CODE and column.longest - column.shortest <= 2
    are_signs = is_even and all(text.replace("-", "").replace(".", "").isalnum() for text in column.texts[:100])
    are_codes = are_signs and column.distinct_share >= 0.9 and column.rows >= FEWEST_CODES  # as those of countries
    if (is_code(column) or are_codes) and not column.has_few_values:
        return _code(field, column)
    if column.mean_length > LONG_TEXT:
        return replace(field, reason=f"long text: {column.mean_length:.0f} characters per cell{gaps(column)}")
    if column.has_few_values:
        values = "1 value" if column.distinct == 1 else f"{column.distinct:,} values"
        reason = f"{values} in {percent(column.filled_share)} of the rows"
        return replace(field, filtered=True, facet=column.distinct > 1, reason=reason)
    is_small = column.rows <= SMALL_TABLE and column.mean_length <= SHORT_VALUE / 2
    repeats = column.distinct <= (0.95 if is_small else 0.8) * column.filled and column.mean_length <= SHORT_VALUE
    groups = repeats or any(is_about(column.words, topic) for topic in GROUPING)
    reason = f"{f'{column.distinct:,} different texts' if groups else 'text'}{gaps(column)}"
    return replace(field, filtered=groups, facet=groups, reason=reason)


PLAIN_FIELDS: Mapping[Form, tuple[FieldType, str]] = {
    Form.URL: (FieldType.URL, "links"),
    Form.OBJECT: (FieldType.JSON, "objects, kept whole"),
    Form.BOOLEAN: (FieldType.TEXT, "yes or no"),
}
"""Form of a column → the type of its field, and why."""
MAKERS: Mapping[Form, Callable[[InferredField, ColumnProfile], InferredField]] = {
    Form.YEAR: _number,
    Form.WHOLE: _number,
    Form.NUMBER: _number,
    Form.QUANTITY: _quantity,
    Form.BRACKET: _bracket,
    Form.CODE: _code,
    Form.DATE: _date,
    Form.TEXT: _text,
}
