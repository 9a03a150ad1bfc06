"""Conversion of cells to field values. A cell that cannot be read as the field's type is
refused.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import Any

import orjson

from stackroom.catalogue.spec import DateOrder, FieldSpec, FieldType
from stackroom.errors import InputError
from stackroom.model.record import Tag, Value
from stackroom.sources.port import RowValues
from stackroom.text.cells import values as cells
from stackroom.text.cells.dates import find_date, find_year

FEWEST_KEYS = 8
MOST_SHARED = 0.3  # the share of all keys that the average row may have, where the keys are data
# the step that stands for every key of an object whose keys are data, as currency codes are
EVERY = "*"
LARGEST_WHOLE = 2**63 - 1
NUMBER = "a number"
READ_AS = {
    **{
        FieldType.INT: NUMBER,
        FieldType.FLOAT: NUMBER,
        FieldType.DATE: "a date",
        FieldType.ENUM: "a choice",
    },
    FieldType.TEXT: "text without its markup",
}
"""The types whose values can be written in several ways, and what a cell is read as; others keep
its words.
"""
PLAIN_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
PLAIN_DATE = re.compile(
    r"[0-9]{4}(?:([-/.])[0-9]{2}(?:\1[0-9]{2}(?:[ T]00:00(?::00(?:\.0+)?)?(?:Z|\+00:00)?)?)?)?"
)
EXACT_LENGTH = 15  # how long a number is at most that is kept exactly whatever its digits are


def flattened_rows(rows: Sequence[RowValues]) -> list[RowValues]:
    """Return rows with the values of nested objects as columns; rows without any, as of most files,
    as they are.
    """
    kinds = {type(value) for row in rows for value in row.values()}
    if not any(issubclass(kind, Mapping) for kind in kinds):
        return list(rows)
    keyed = _keyed_paths(rows)
    return [_flattened(row, keyed) for row in rows]


def _flattened(row: RowValues, keyed: frozenset[str], path: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in row.items():
        place = f"{path}{name}"
        if not isinstance(value, Mapping) or not value or "." in name:
            flat[place] = value
        elif place in keyed:
            paths = dict.fromkeys(
                ".".join((EVERY, *steps)) for one in value.values() for steps in _paths_in(one)
            )
            flat |= {f"{place}.{steps}": value_at(value, steps) for steps in paths}
        else:
            flat |= _flattened(value, keyed, f"{place}.")
    return flat


def _paths_in(value: Any) -> Iterator[tuple[str, ...]]:
    """Yield the paths to the plain values in a value."""
    if not isinstance(value, Mapping):
        yield ()
        return
    for name, inner in value.items():
        if "." not in name:
            yield from ((name, *steps) for steps in _paths_in(inner))


def _keyed_paths(rows: Sequence[RowValues]) -> frozenset[str]:
    """Return the paths of the objects whose keys are data."""
    keys: defaultdict[str, Counter[str]] = defaultdict(Counter)
    seen: Counter[str] = Counter()
    for row in rows:
        for path, value in _objects(row):
            seen[path] += 1
            keys[path].update(value.keys())
    return frozenset(
        path
        for path, counted in keys.items()
        if len(counted) >= FEWEST_KEYS
        and counted.total() / (seen[path] * len(counted)) <= MOST_SHARED
    )


def _objects(row: RowValues, path: str = "") -> Iterator[tuple[str, RowValues]]:
    """Yield every nested object of a row with its path."""
    for name, value in row.items():
        if isinstance(value, Mapping) and value and "." not in name:
            yield f"{path}{name}", value
            yield from _objects(value, f"{path}{name}.")


def value_at(row: RowValues, path: str) -> Any:
    """Return the value at a path, or None.

    A column of exactly that name takes precedence. `list[].key` collects the key of every item into
    one flat list, and `object.*.key` that of every value of an object.
    """
    return row[path] if path in row else _walk(row, path.split("."))


def has_path(row: RowValues, path: str) -> bool:
    """Tell whether a row has a path, even without a value; an empty object or list counts as having
    the rest of it.
    """
    return path in row or _has_steps(row, path.split("."))


def _has_steps(value: Any, steps: list[str]) -> bool:
    if not steps or value is None or value == []:
        return True
    if isinstance(value, list | tuple):
        return any(_has_steps(item, steps) for item in value)
    if steps[0] == EVERY:
        return isinstance(value, Mapping) and (
            not value or any(_has_steps(one, steps[1:]) for one in value.values())
        )
    name = steps[0].removesuffix("[]")
    return isinstance(value, Mapping) and name in value and _has_steps(value[name], steps[1:])


def _walk(value: Any, steps: list[str]) -> Any:
    for place, step in enumerate(steps):
        if step == EVERY:
            return _collect(
                value.values() if isinstance(value, Mapping) else (), steps[place + 1 :]
            )
        name = step.removesuffix("[]")
        value = value.get(name) if isinstance(value, Mapping) else None
        if step.endswith("[]"):
            return _collect(
                value if isinstance(value, list | tuple) else [value], steps[place + 1 :]
            )
    return value


def _collect(items: Iterable[Any], steps: list[str]) -> list[Any]:
    """Return what is at a path in each item, as one flat list."""
    found = [_walk(item, steps) for item in items if item is not None]
    return [
        part
        for one in found
        if one is not None
        for part in (one if isinstance(one, list) else [one])
    ]


def _date(raw: Any, field: FieldSpec) -> str:
    """Return a cell as an ISO date of its precision."""
    if isinstance(raw, datetime):
        return raw.date().isoformat()
    if isinstance(raw, date):
        return raw.isoformat()
    has_month_first = field.date_order is DateOrder.MONTH_FIRST
    found = find_date(cells.text_of(raw), month_first=has_month_first)
    if found is not None:
        return found
    advice = ""
    if find_date(cells.text_of(raw), month_first=not has_month_first) is not None:
        first, order = (
            ("day", DateOrder.DAY_FIRST) if has_month_first else ("month", DateOrder.MONTH_FIRST)
        )
        advice = (
            f'; if the {first} comes first in this column, add date_order = "{order}" to the field'
        )
    raise InputError(f"'{field.name}' is {str(raw)[:60]!r}, not a date such as 2015-04-30{advice}")


def _texts(raw: Any, field: FieldSpec) -> tuple[str, ...] | None:
    return tuple(dict.fromkeys(_named(cells.list_in(raw, field.split)))) or None


def _named(items: Iterable[Any]) -> Iterable[str]:
    """Yield the items as texts; an object as its name."""
    for item in items:
        if type(item) is str:
            if not cells.is_nothing(item):
                yield cells.unwrapped(item)
            continue
        named = cells.name_of_item(item)
        if not cells.is_nothing(named) and (text := cells.text_of(named)):
            yield text


def _number(raw: Any, field: FieldSpec) -> int | float:
    number: int | float | None
    if field.take:  # the year of a date, or the first year in a text
        number = raw.year if isinstance(raw, date) else find_year(cells.text_of(raw))
    else:
        text = cells.with_point(raw) if field.decimal_comma and isinstance(raw, str) else raw
        number = cells.read_quantity(text, field.unit) if field.unit else cells.read_number(text)
    if number is None:
        wanted = (
            "without a year"
            if field.take
            else f"not a number{f' in {field.unit}' if field.unit else ''}"
        )
        raise InputError(f"'{field.name}' is {str(raw)[:60]!r}, {wanted}")
    if field.type is FieldType.FLOAT:
        return float(number)
    if number != int(number):
        raise InputError(f"'{field.name}' is {str(raw)[:60]!r}, not a whole number")
    if abs(number) > LARGEST_WHOLE:
        raise InputError(
            f"'{field.name}' is {str(raw)[:60]!r}, which is out of range; the greatest is"
            f" {LARGEST_WHOLE}"
        )
    return int(number)


def _choice(raw: Any, field: FieldSpec) -> str:
    text = cells.text_of(raw)
    known = {value.lower(): value for value in field.values}
    if text.lower() in known:
        return known[text.lower()]
    # One of two values may say yes, the other no.
    answers = {cells.read_boolean(value): value for value in field.values}
    return answers.get(cells.read_boolean(raw), text) if answers.keys() == {True, False} else text


def _json(raw: Any, _field: FieldSpec) -> Value:
    if isinstance(raw, str) and raw.lstrip().startswith(("{", "[")):
        try:
            return orjson.loads(raw)
        except orjson.JSONDecodeError:
            return cells.find_literal(raw) or raw
    return raw


READERS: Mapping[FieldType, Callable[[Any, FieldSpec], Value]] = {
    FieldType.TEXT: lambda raw, _field: cells.plain_text(raw),
    FieldType.URL: lambda raw, _field: cells.text_of(raw),
    FieldType.TEXTS: _texts,
    FieldType.TAGS: lambda raw, field: (
        tuple(Tag("", text) for text in _texts(raw, field) or ()) or None
    ),
    FieldType.INT: _number,
    FieldType.FLOAT: _number,
    FieldType.DATE: _date,
    FieldType.ENUM: _choice,
    FieldType.JSON: _json,
}


def is_converted(text: str, field: FieldSpec) -> bool:
    """Tell whether a text can be read as the field's type, and its value does not say all of it."""
    try:
        return not is_plain(text, field) and READERS[field.type](text, field) is not None
    except InputError:
        return False


def is_plain(cell: Any, field: FieldSpec) -> bool:
    """Tell whether the value of a cell says all that the cell does: `12.50`, `91 min` in minutes,
    `2015/04/30`.
    """
    # a field that takes the year says so
    if field.type not in READ_AS or field.template or field.take:
        return True
    if field.type is FieldType.TEXT:
        has_no_markup = isinstance(cell, str) and "<" not in cell and "&" not in cell
        return has_no_markup or cells.plain_text(cell) == cells.text_of(cell)
    if isinstance(cell, int | float):
        return field.type is not FieldType.DATE
    text = cells.text_of(cell)
    if field.type in (FieldType.ENUM, FieldType.DATE):
        return (
            text in field.values
            if field.type is FieldType.ENUM
            else PLAIN_DATE.fullmatch(text) is not None
        )
    bare = text.removeprefix(field.unit)
    number = (
        None if field.decimal_comma and cells.with_point(bare) != bare else PLAIN_NUMBER.match(bare)
    )
    if number is None or (
        number.end() < len(bare) and not cells.same_unit(bare[number.end() :].strip(), field.unit)
    ):
        return False
    figure = number[0]
    return (
        len(figure) <= EXACT_LENGTH or field.type is FieldType.INT or figure == repr(float(figure))
    )
