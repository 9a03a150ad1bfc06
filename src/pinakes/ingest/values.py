"""Conversion of cells to field values. A cell that cannot be read as the field's type is refused."""

from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime
from typing import Any

import orjson

from pinakes.catalogue.spec import DateOrder, Epoch, FieldSpec, FieldType
from pinakes.errors import InputError
from pinakes.model.record import Tag, Value
from pinakes.text.cells import (
    find_date,
    find_epoch,
    find_literal,
    find_year,
    is_nothing,
    list_in,
    name_of_item,
    plain_text,
    read_boolean,
    read_number,
    read_quantity,
    text_of,
    unwrapped,
)

LARGEST_WHOLE = 2**63 - 1


def _date(raw: Any, field: FieldSpec) -> str:
    """Return a cell as an ISO date of its precision."""
    if isinstance(raw, datetime):
        return raw.date().isoformat()
    if isinstance(raw, date):
        return raw.isoformat()
    found = _moment(raw, field.epoch) if field.epoch else find_date(text_of(raw), month_first=_has_month_first(field))
    if found is None:
        advice = _order_advice(raw, field)
        raise InputError(f"'{field.name}' is {str(raw)[:60]!r}, not a date such as 2015-04-30{advice}")
    return found


def _has_month_first(field: FieldSpec) -> bool:
    return field.date_order is DateOrder.MONTH_FIRST


def _moment(raw: Any, epoch: Epoch) -> str | None:
    number = read_number(raw)
    return None if number is None else find_epoch(number, milliseconds=epoch is Epoch.MILLISECONDS)


def _order_advice(raw: Any, field: FieldSpec) -> str:
    """Return advice where a date is one in the other order of day and month."""
    has_month_first = _has_month_first(field)
    if field.epoch or find_date(text_of(raw), month_first=not has_month_first) is None:
        return ""
    first, order = ("day", DateOrder.DAY_FIRST) if has_month_first else ("month", DateOrder.MONTH_FIRST)
    return f'; if the {first} comes first in this column, add date_order = "{order}" to the field'


def _texts(raw: Any, field: FieldSpec) -> tuple[str, ...] | None:
    return tuple(dict.fromkeys(_named(list_in(raw, field.split)))) or None


def _tags(raw: Any, field: FieldSpec) -> tuple[Tag, ...] | None:
    return tuple(Tag("", text) for text in _texts(raw, field) or ()) or None


def _named(items: Iterable[Any]) -> Iterable[str]:
    """Yield the items as texts; an object as its name."""
    for item in items:
        if type(item) is str:
            if not is_nothing(item):
                yield unwrapped(item)
            continue
        named = name_of_item(item)
        if not is_nothing(named) and (text := text_of(named)):
            yield text


def _number(raw: Any, field: FieldSpec) -> int | float:
    number = _read_number(raw, field)
    if number is None:
        wanted = "without a year" if field.take else f"not a number{f' in {field.unit}' if field.unit else ''}"
        raise InputError(f"'{field.name}' is {str(raw)[:60]!r}, {wanted}")
    if field.type is FieldType.FLOAT:
        return float(number)
    if number != int(number):
        raise InputError(f"'{field.name}' is {str(raw)[:60]!r}, not a whole number")
    if abs(number) > LARGEST_WHOLE:
        raise InputError(f"'{field.name}' is {str(raw)[:60]!r}, which is out of range; the greatest is {LARGEST_WHOLE}")
    return int(number)


def _read_number(raw: Any, field: FieldSpec) -> int | float | None:
    if field.take:
        return _year(raw)
    return read_quantity(raw, field.unit) if field.unit else read_number(raw)


def _year(raw: Any) -> int | None:
    """Return the year of a date, or the first year in a text, or None."""
    return raw.year if isinstance(raw, date) else find_year(text_of(raw))


def _choice(raw: Any, field: FieldSpec) -> str:
    text = text_of(raw)
    known = {value.lower(): value for value in field.values}
    return known.get(text.lower()) or _same_answer(raw, field.values) or text


def _same_answer(raw: Any, values: Iterable[str]) -> str | None:
    """Return the value that says yes or no as the cell does, where one of two values is each."""
    answers = {read_boolean(value): value for value in values}
    return answers.get(read_boolean(raw)) if answers.keys() == {True, False} else None


def _json(raw: Any, _field: FieldSpec) -> Value:
    if isinstance(raw, str) and raw.lstrip().startswith(("{", "[")):
        try:
            return orjson.loads(raw)
        except orjson.JSONDecodeError:
            return find_literal(raw) or raw
    return raw


READERS: Mapping[FieldType, Callable[[Any, FieldSpec], Value]] = {
    FieldType.TEXT: lambda raw, _field: plain_text(raw),
    FieldType.URL: lambda raw, _field: text_of(raw),
    FieldType.TEXTS: _texts,
    FieldType.TAGS: _tags,
    FieldType.INT: _number,
    FieldType.FLOAT: _number,
    FieldType.DATE: _date,
    FieldType.ENUM: _choice,
    FieldType.JSON: _json,
}
