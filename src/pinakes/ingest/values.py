"""Conversion of cells to field values. A cell that cannot be read as the field's type is refused."""

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime
from typing import Any

import orjson

from pinakes.catalogue.spec import FieldSpec, FieldType
from pinakes.errors import InputError
from pinakes.model.record import Tag, Value
from pinakes.text.cells import find_date, is_nothing, list_in, plain_text, read_number, text_of

YEAR = re.compile(r"(?<!\d)[12]\d{3}(?!\d)")
LARGEST_WHOLE = 2**63 - 1


def read_value(raw: Any, field: FieldSpec) -> Value:
    """Return a cell converted to the field's type, or None if it is empty."""
    return None if is_nothing(raw) else READERS[field.type](raw, field)


def _date(raw: Any, field: FieldSpec) -> str:
    """Return a cell as an ISO date; a year alone is its first day."""
    if isinstance(raw, datetime):
        return raw.date().isoformat()
    if isinstance(raw, date):
        return raw.isoformat()
    found = find_date(text_of(raw))
    if found is None:
        raise InputError(f"'{field.name}' is {str(raw)[:60]!r}, not a date such as 2015-04-30")
    return found


def _texts(raw: Any, field: FieldSpec) -> tuple[str, ...] | None:
    return tuple(dict.fromkeys(_named(list_in(raw, field.split)))) or None


def _tags(raw: Any, field: FieldSpec) -> tuple[Tag, ...] | None:
    return tuple(Tag("", text) for text in _texts(raw, field) or ()) or None


def _named(items: Iterable[Any]) -> Iterable[str]:
    """Yield the items as texts; an object as its name."""
    for item in items:
        named = item.get("name") or item.get("title") or item.get("value") if isinstance(item, dict) else item
        if not is_nothing(named) and (text := text_of(named)):
            yield text


def _number(raw: Any, field: FieldSpec) -> int | float:
    number = _year(raw) if field.take else read_number(_without_unit(raw, field.unit))
    if number is None:
        raise InputError(f"'{field.name}' is {str(raw)[:60]!r}, not a number")
    if field.type is FieldType.FLOAT:
        return float(number)
    if number != int(number):
        raise InputError(f"'{field.name}' is {str(raw)[:60]!r}, not a whole number")
    if abs(number) > LARGEST_WHOLE:
        raise InputError(f"'{field.name}' is {str(raw)[:60]!r}, which is out of range; the greatest is {LARGEST_WHOLE}")
    return int(number)


def _year(raw: Any) -> int | None:
    """Return the year of a date, or the first year in a text, or None."""
    if isinstance(raw, date):
        return raw.year
    text = text_of(raw)
    found = YEAR.search(find_date(text) or text)
    return int(found[0]) if found else None


def _without_unit(raw: Any, unit: str) -> Any:
    """Return a cell without its unit."""
    if not unit or not isinstance(raw, str):
        return raw
    text = raw.strip()
    return text[: -len(unit)].rstrip() if text.casefold().endswith(unit.casefold()) else text


def _choice(raw: Any, field: FieldSpec) -> str:
    text = text_of(raw)
    known = {value.lower(): value for value in field.values}
    return known.get(text.lower(), text)


def _json(raw: Any, _field: FieldSpec) -> Value:
    if isinstance(raw, str) and raw.lstrip().startswith(("{", "[")):
        try:
            return orjson.loads(raw)
        except orjson.JSONDecodeError:
            return raw
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
