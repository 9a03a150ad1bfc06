"""The field that is proposed for a column, with the reason for its type and its uses."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from pinakes.catalogue.cell_forms import Form
from pinakes.catalogue.infer.columns import GROUP_WORD, gaps, has_word, is_code, is_link, is_year, percent
from pinakes.catalogue.list_marks import LIST_WORD, PEOPLE_WORD
from pinakes.catalogue.profile import ColumnProfile
from pinakes.catalogue.spec import NUMERIC_TYPES, DateOrder, FieldType, Role
from pinakes.text.normalise import clean

LONG_TEXT = 100
SHORT_VALUE = 60
FEWEST_QUANTITIES = 8
"""Fewer different numbers with a unit are sizes to choose from, as `2 km` and `5 km`."""
LIST_MARK = ","
"""The separator of lists where none is found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InferredField:
    """A field that is proposed for a column, and why."""

    name: str
    column: str
    type: FieldType
    reason: str
    role: Role | None = None
    searched: bool = False
    filtered: bool = False
    facet: bool = False
    split: str = ""
    template: str = ""
    """The columns that the field is composed of, where it is not one column."""
    unit: str = ""
    date_order: DateOrder | None = None

    @property
    def uses(self) -> str:
        """The uses of the field, in words."""
        role = {Role.BODY: "main text", Role.ALTERNATIVES: "other names", Role.LINK: "web page"}
        filtered = "range" if self.type in NUMERIC_TYPES else "filter"
        uses = [role.get(self.role, self.role) if self.role else "", "search" if self.searched else ""]
        uses += [filtered if self.filtered else "", "browse" if self.facet else ""]
        return ", ".join(use for use in uses if use) or "shown"


def field_of(column: ColumnProfile, name: str) -> InferredField:
    """Return the field for a column, without a role."""
    base = InferredField(name=name, column=column.name, type=FieldType.TEXT, reason="")
    if is_link(column) and column.form is not Form.OBJECT:
        return _links(base, column)
    if column.is_list:
        return _list(base, column)
    return MAKERS.get(column.form, _text)(base, column)


def field_of_type(column: ColumnProfile, name: str, kind: FieldType) -> InferredField:
    """Return the field for a column whose type was chosen, with the uses that the type allows."""
    made = field_of(column, name)
    if made.type is kind:
        return made
    is_list = kind in (FieldType.TEXTS, FieldType.TAGS)
    is_term = is_list or kind is FieldType.TEXT
    return replace(
        made,
        type=kind,
        searched=is_term,
        filtered=is_list or kind in NUMERIC_TYPES or (is_term and column.has_few_values),
        facet=is_list or (is_term and column.has_few_values),
        split=(column.separator or LIST_MARK) if is_list else "",
        reason="your choice",
    )


def _links(base: InferredField, column: ColumnProfile) -> InferredField:
    kind = FieldType.TEXTS if column.is_list else FieldType.TEXT
    return replace(
        base, type=kind, filtered=True, split=column.separator, reason=f"ids, kept as they are{gaps(column)}"
    )


def _list(base: InferredField, column: ColumnProfile) -> InferredField:
    separated = f" separated by '{column.separator}'" if column.separator else ""
    reason = f"lists{separated}: {column.distinct_items:,} values{gaps(column)}"
    field = replace(base, type=FieldType.TEXTS, split=column.separator, reason=reason)
    if column.has_url_items:
        return replace(field, reason=f"lists of links{gaps(column)}")
    if column.mean_item_length > LONG_TEXT:
        return replace(field, searched=True)
    is_people = has_word(column, GROUP_WORD) or has_word(column, PEOPLE_WORD)
    kind = FieldType.TEXTS if is_people else FieldType.TAGS
    return replace(field, type=kind, searched=True, filtered=True, facet=True)


def _number(base: InferredField, column: ColumnProfile) -> InferredField:
    if is_code(column):
        return _code(base, column)
    is_whole = column.form in (Form.WHOLE, Form.YEAR)
    called = "years" if is_year(column) else "whole numbers" if is_whole else "numbers"
    extent = f", {_extent(column.least, column.most)}" if column.least is not None and column.most is not None else ""
    reason = f"{called}{extent}{gaps(column)}{_odd(column, 'no number')}"
    return replace(base, type=FieldType.INT if is_whole else FieldType.FLOAT, filtered=True, reason=reason)


def _quantity(base: InferredField, column: ColumnProfile) -> InferredField:
    """Return the field for numbers with a unit, if they are of one unit and are no few fixed sizes."""
    other_units = sum(column.units.values()) - column.units[column.unit]
    if column.distinct < FEWEST_QUANTITIES or other_units > 0.05 * column.filled or is_code(column):
        return _text(base, column)
    known = column.numbers[~np.isnan(column.numbers)]
    kind = FieldType.INT if all(float(number).is_integer() for number in known) else FieldType.FLOAT
    extent = _extent(float(known.min()), float(known.max()))
    reason = f"numbers of '{column.unit}', {extent}{gaps(column)}{_odd(column, 'no number')}"
    return replace(base, type=kind, unit=column.unit, filtered=True, reason=reason)


def _odd(column: ColumnProfile, called: str) -> str:
    """Return how many cells the column's type does not fit, and an example, as the end of a reason."""
    if not column.odd:
        return ""
    cells = "1 cell is" if column.odd == 1 else f"{column.odd:,} cells are"
    return f"; {cells} {called}, as {_quoted(column.examples[column.odd_forms[0]])}"


def _extent(least: float, most: float) -> str:
    """Return the range of numbers in words; thousands are grouped unless they could be years."""
    grouping = "," if most > 9999 else ""
    return " to ".join(
        f"{value:{grouping}.0f}" if float(value).is_integer() else f"{value:{grouping}.6g}" for value in (least, most)
    )


def _code(base: InferredField, column: ColumnProfile) -> InferredField:
    return replace(base, searched=True, filtered=True, reason=f"a code, kept as it is written{gaps(column)}")


def _date(base: InferredField, column: ColumnProfile) -> InferredField:
    reason = f"dates{gaps(column)}{_odd(column, 'no date')}"
    return replace(base, type=FieldType.DATE, filtered=True, reason=reason)


def _url(base: InferredField, column: ColumnProfile) -> InferredField:
    return replace(base, type=FieldType.URL, reason=f"links{gaps(column)}{_odd(column, 'no link')}")


def _object(base: InferredField, column: ColumnProfile) -> InferredField:
    return replace(base, type=FieldType.JSON, reason=f"objects, kept whole{gaps(column)}")


def _boolean(base: InferredField, column: ColumnProfile) -> InferredField:
    return replace(base, filtered=True, facet=True, reason=f"yes or no{gaps(column)}")


def _text(base: InferredField, column: ColumnProfile) -> InferredField:
    field = replace(base, searched=True)
    if is_code(column) and not column.has_few_values:
        return _code(field, column)
    if column.mean_length > LONG_TEXT:
        return replace(field, reason=f"long text: {column.mean_length:.0f} characters per cell{gaps(column)}")
    if column.has_few_values:
        reason = f"{_count(column.distinct, 'value')} in {percent(column.filled_share)} of the rows{_mixed(column)}"
        return replace(field, filtered=True, facet=column.distinct > 1, reason=reason)
    repeats = 5 * column.distinct <= 4 * column.filled and column.mean_length <= SHORT_VALUE
    groups = repeats or has_word(column, GROUP_WORD) or has_word(column, LIST_WORD)
    counted = f"{column.distinct:,} different texts" if groups else "text"
    reason = f"{counted}{_mixed(column)}{gaps(column)}"
    return replace(field, filtered=groups, facet=groups, reason=reason)


MAKERS: Mapping[Form, Callable[[InferredField, ColumnProfile], InferredField]] = {
    Form.YEAR: _number,
    Form.WHOLE: _number,
    Form.NUMBER: _number,
    Form.QUANTITY: _quantity,
    Form.CODE: _code,
    Form.DATE: _date,
    Form.URL: _url,
    Form.OBJECT: _object,
    Form.BOOLEAN: _boolean,
    Form.TEXT: _text,
}


def _mixed(column: ColumnProfile) -> str:
    """Return why a column of mostly numbers or dates stays text, as the end of a reason."""
    for called, forms in (("numbers", (Form.NUMBER, Form.WHOLE, Form.YEAR)), ("dates", (Form.DATE,))):
        share = sum(column.share_of(form) for form in forms)
        if share >= 0.5:
            odd = next(text for form, text in column.examples.items() if form not in forms)
            return f"; {percent(share)} are {called}, but not {_quoted(odd)}"
    return ""


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number:,} {noun}s"


def _quoted(text: str) -> str:
    line = " ".join(clean(text).split())
    return f"'{line[:29]}…'" if len(line) > 30 else f"'{line}'"
