"""A row's value → a field's value: what tables write in many ways, read in one.

Nothing is guessed beyond its form: what cannot be read as the field's type is refused, with what would be right.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime
from typing import Any

import orjson

from pinakes.catalogue.spec import FieldSpec, FieldType
from pinakes.errors import InputError
from pinakes.model.record import Tag, Value

NOTHING = frozenset({"", "-", "–", "n/a", "na", "none", "null", "nan", "unknown", "?", "\\n"})
"""What tables write for a value they do not have."""

NUMBER = re.compile(r"[-+]?(\d{1,3}([,\u00a0\u202f' ]\d{3})+|\d+)?(\.\d+)?([eE][-+]?\d+)?")
GROUPING = re.compile(r"[,\u00a0\u202f' ]")
DATE_FORMS = ("%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y", "%d %B %Y", "%d %b %Y", "%B %d, %Y", "%b %d, %Y", "%Y%m%d")


def read_value(raw: Any, field: FieldSpec) -> Value:
    """Return a row's value as the field's type has it, None where there is none."""
    return None if is_nothing(raw) else READERS[field.type](raw, field)


def is_nothing(raw: Any) -> bool:
    """Tell whether a cell says that there is no value."""
    if raw is None or (isinstance(raw, float) and math.isnan(raw)):
        return True
    return isinstance(raw, str) and raw.strip().lower() in NOTHING


def text_of(raw: Any) -> str:
    """Return a cell as text; a list as its items."""
    if isinstance(raw, str):
        return raw.strip()
    if isinstance(raw, list | tuple):
        return ", ".join(text_of(item) for item in raw if not is_nothing(item))
    if isinstance(raw, float) and raw.is_integer():
        return str(int(raw))
    if isinstance(raw, dict):
        return orjson.dumps(raw, default=str).decode()
    return str(raw)


def read_number(raw: Any) -> float | None:
    """Return a cell as a number, None where it is not one: `1,234`, `$9.99`, `45 %`, `1 200`."""
    if isinstance(raw, bool):
        return None
    if isinstance(raw, int | float):
        return float(raw)
    text = str(raw).strip().strip("$€£¥%").strip()
    if not text or not NUMBER.fullmatch(text):
        return None
    number = float(GROUPING.sub("", text) or "nan")
    return None if math.isnan(number) else number


def _date(raw: Any, field: FieldSpec) -> str:
    """Return a cell as an ISO date; a year alone is its first day."""
    if isinstance(raw, datetime):
        return raw.date().isoformat()
    if isinstance(raw, date):
        return raw.isoformat()
    found = find_date(str(raw).strip())
    if found is None:
        raise InputError(f"'{field.name}' is {str(raw)[:60]!r}, not a date; 2015-04-30 is one")
    return found


def find_date(text: str) -> str | None:
    """Return a text as an ISO date, None where it is not one."""
    for read in (date.fromisoformat, lambda one: datetime.fromisoformat(one.replace("Z", "+00:00")).date()):
        try:
            return read(text).isoformat()
        except ValueError:
            continue
    for form in DATE_FORMS:
        try:
            return datetime.strptime(text, form).date().isoformat()
        except ValueError:
            continue
    if re.fullmatch(r"\d{4}", text):
        return f"{text}-01-01"
    month = re.fullmatch(r"(\d{4})-(\d{1,2})", text)
    return f"{month[1]}-{int(month[2]):02d}-01" if month and 1 <= int(month[2]) <= 12 else None


def list_in(raw: Any, split: str) -> list[Any]:
    """Return the items of a cell: a list as it is, JSON's or Python's list in a text, or a text parted at `split`."""
    if isinstance(raw, list | tuple):
        return list(raw)
    text = str(raw).strip()
    if text.startswith("[") and text.endswith("]"):
        for form in (text, text.replace("'", '"')):
            try:
                items: list[Any] = orjson.loads(form)
            except orjson.JSONDecodeError:
                continue
            return items
    return text.split(split.strip() or split) if split else [raw]


def _texts(raw: Any, field: FieldSpec) -> tuple[str, ...] | None:
    return tuple(dict.fromkeys(_named(list_in(raw, field.split)))) or None


def _tags(raw: Any, field: FieldSpec) -> tuple[Tag, ...] | None:
    return tuple(Tag("", text) for text in _texts(raw, field) or ()) or None


def _named(items: Iterable[Any]) -> Iterable[str]:
    """Yield the items as texts; an object by its name."""
    for item in items:
        named = item.get("name") or item.get("title") or item.get("value") if isinstance(item, dict) else item
        if not is_nothing(named) and (text := text_of(named)):
            yield text


def _number(raw: Any, field: FieldSpec) -> int | float:
    number = read_number(raw)
    if number is None or math.isinf(number):
        raise InputError(f"'{field.name}' is {str(raw)[:60]!r}, not a number")
    if field.type is FieldType.FLOAT:
        return number
    if not number.is_integer():
        raise InputError(f"'{field.name}' is {str(raw)[:60]!r}, not a whole number")
    return int(number)


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
    FieldType.TEXT: lambda raw, _field: text_of(raw),
    FieldType.URL: lambda raw, _field: text_of(raw),
    FieldType.TEXTS: _texts,
    FieldType.TAGS: _tags,
    FieldType.INT: _number,
    FieldType.FLOAT: _number,
    FieldType.DATE: _date,
    FieldType.ENUM: _choice,
    FieldType.JSON: _json,
}
