"""Strict conversion of the values in an edit to field values. A value that does not fit is refused.

Cells of sources are read leniently (`ingest.values`); here the caller can correct a value, so
nothing is guessed.
"""

import math
import re
import unicodedata
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from pathlib import PureWindowsPath
from typing import Any, TypeVar

from stackroom.catalogue.spec import CatalogueSpec, FieldSpec, FieldType
from stackroom.errors import ExpectedError, InputError, did_you_mean
from stackroom.model.record import Tag, Value
from stackroom.text.cells.dates import first_day

ARGUMENTS = ("action", "kind", "id", "fields")
PROBLEMS_NAMED = 10
_BEGINNING = re.compile(r"'([^']*)'")

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")
LONGEST_TEXT = 100_000
LONGEST_NEW_ID = 200
MOST_ITEMS = 1_000
GREATEST_INT = 2**53
SHOWN = 60
_UNKEEPABLE = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Control characters, including those for text direction, and unpaired surrogates."""
_INVISIBLE = re.compile(r"[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]+")
_NO_ID = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Place:
    """The path of a request in the arguments, as `changes.3`, and that of its fields, as
    `changes.3.fields`.
    """

    request: str = ""
    fields: str = ""

    def locate(self, message: str, fields: Container[str]) -> str:
        """Return a message with the path of the argument or field that it begins with, as 'kind' or
        'year'.
        """
        begun = _BEGINNING.match(message)
        subject = begun[1] if begun else ""
        if not self.request or subject.startswith(self.request):
            return message
        if begun and subject in fields:
            return f"'{self.fields}.{subject}'{message[begun.end() :]}"
        if begun and subject in ARGUMENTS:
            return f"'{self.request}.{subject}'{message[begun.end() :]}"
        return f"'{self.request}': {message}"


# the place of a request that is all of the arguments; messages name its fields alone
WHOLE_REQUEST = Place()


def place_field(place: Place, name: str, message: str) -> str:
    """Return a message about a field with the field's path before it."""
    if not place.request:
        return message
    own = f"'{name}'"
    rest = message.removeprefix(own) if message.startswith(own) else f": {message}"
    return f"'{place.fields}.{name}'{rest}"


def run_each(
    items: Iterable[ItemT],
    step: Callable[[ItemT], ResultT],
    *,
    place_of: Callable[[ItemT], Place],
    fields: Container[str],
) -> list[ResultT]:
    """Take a step for each item, and return what each comes to; raise one error with the problems
    of all.
    """
    results: list[ResultT] = []
    refused: list[ExpectedError] = []
    for item in items:
        try:
            results.append(step(item))
        except ExpectedError as error:
            error.message = place_of(item).locate(error.message, fields)
            refused.append(error)
    if refused:
        more = len(refused) - PROBLEMS_NAMED
        named = [error.message for error in refused[:PROBLEMS_NAMED]]
        raise type(refused[0])(
            "; ".join([*named, *([f"and {more} more"] if more > 0 else [])])
        ) from refused[0]
    return results


def read_fields(
    given: Mapping[str, Any],
    kind: str,
    spec: CatalogueSpec,
    known_tags: Callable[[FieldSpec], Iterable[Tag]],
    *,
    place: Place = WHOLE_REQUEST,
) -> dict[str, Value]:
    """Return the values given for fields of a kind, None for those to remove; refuse with every
    problem.

    `known_tags` returns the tags of a field: a tag given without a category takes that of a known
    one.
    """
    values: dict[str, Value] = {}
    problems: list[str] = []
    for name, raw in given.items():
        field = spec.fields.get(name)
        if field is None or not field.is_of(kind):
            problems.append(place_field(place, name, _unknown(name, kind, spec)))
            continue
        try:
            tags = known_tags(field) if field.type is FieldType.TAGS else ()
            values[name] = read_given(
                raw if _is_literal(field, spec) else _composed(raw, field), field, tags
            )
        except InputError as error:
            problems.append(place_field(place, name, error.message))
    if problems:
        raise InputError("; ".join(problems))
    return values


def read_given(raw: Any, field: FieldSpec, known_tags: Iterable[Tag] = ()) -> Value:
    """Return a given value as the field's type has it; None if it is null or empty."""
    if raw is None:
        return None
    is_tags = field.type is FieldType.TAGS
    value = _tags(raw, field, known_tags) if is_tags else READERS[field.type](raw, field)
    return None if value in ("", ()) else value


def _is_literal(field: FieldSpec, spec: CatalogueSpec) -> bool:
    """Tell whether a field is stored byte for byte: ids, and fields that are neither searched nor
    counted (paths).
    """
    is_id = any(relation.field == field.name for relation in spec.relations)
    return is_id or not (field.searched or field.needs_column or field is spec.title_field)


def _composed(raw: Any, field: FieldSpec) -> Any:
    """Return a given value in Unicode normal form C: é as one character, not two."""
    if isinstance(raw, str):
        return unicodedata.normalize("NFC", raw)
    if isinstance(raw, list | tuple) and field.type is FieldType.TEXTS:
        return [_composed(item, field) if isinstance(item, str) else item for item in raw]
    return raw


def require_id(record_id: str, *, longest: int) -> str:
    """Return a record's id, or refuse one that is not valid."""
    if (
        not record_id
        or record_id != record_id.strip()
        or len(record_id) > longest
        or _NO_ID.search(record_id)
    ):
        raise InputError(
            f"'id' is {record_id[:SHOWN]!r}; expected 1 to {longest} characters, no control"
            " characters, and no spaces around them"
        )
    return record_id


def require_new_id(record_id: str) -> str:
    """Return the id of a new record; refuse invisible characters, by which it could look like
    another.
    """
    if _UNKEEPABLE.search(record_id) or _INVISIBLE.search(record_id):
        raise InputError("'id' has control or invisible characters; remove them")
    return require_id(unicodedata.normalize("NFC", record_id), longest=LONGEST_NEW_ID)


def _unknown(name: str, kind: str, spec: CatalogueSpec) -> str:
    known = [field.name for field in spec.fields.values() if field.is_of(kind)]
    field = spec.fields.get(name)
    if field is not None:
        return (
            f"'{name}' is a field of {' and '.join(field.kinds)}, not of {kind}; {kind} has:"
            f" {', '.join(known)}"
        )
    if name in ("id", "kind"):
        return f"'{name}' is given next to 'fields', not inside it"
    listed = next(
        (
            relation
            for relation in spec.relations
            if relation.to == kind and relation.inverse == name
        ),
        None,
    )
    if listed is not None:
        return (
            f"'{name}' are records of their own; create each, with"
            f" '{listed.copies or listed.field}'"
        )
    return f"no field {name[:SHOWN]!r}{did_you_mean(name, known)}; {kind} has: {', '.join(known)}"


def _wrong(field: FieldSpec, raw: Any, expected: str) -> InputError:
    return InputError(f"'{field.name}' is {str(raw)[:SHOWN]!r}; expected {expected}")


def _text(raw: Any, field: FieldSpec) -> str:
    if not isinstance(raw, str):
        raise _wrong(field, raw, "a text")
    if len(raw) > LONGEST_TEXT:
        raise InputError(f"'{field.name}' has {len(raw)} characters; the limit is {LONGEST_TEXT}")
    if _UNKEEPABLE.search(raw):
        raise InputError(f"'{field.name}' has control or broken characters; remove them")
    text = raw.strip()
    if field.names_file:
        path = PureWindowsPath(text)  # it parses both slashes and drive letters
        if path.anchor or ".." in path.parts:
            raise _wrong(field, raw, "a relative path without '..'")
    return text if _INVISIBLE.sub("", text).strip() else ""


def _url(raw: Any, field: FieldSpec) -> str:
    text = _text(raw, field)
    if any(char.isspace() for char in text):
        raise _wrong(field, raw, "an address without spaces")
    return text


def _items(raw: Any, field: FieldSpec, example: str) -> list[Any]:
    if not isinstance(raw, list | tuple):
        raise _wrong(field, raw, f"a list such as {example}")
    if len(raw) > MOST_ITEMS:
        raise InputError(f"'{field.name}' has {len(raw)} items; the limit is {MOST_ITEMS}")
    return list(raw)


def _texts(raw: Any, field: FieldSpec) -> tuple[str, ...]:
    items = [_text(item, field) for item in _items(raw, field, '["a", "b"]')]
    return tuple(dict.fromkeys(item for item in items if item))


def _tags(raw: Any, field: FieldSpec, known: Iterable[Tag]) -> tuple[Tag, ...]:
    """Return tags; one given without a category takes that of the last known tag of the same
    value.
    """
    categories = {tag.value.casefold(): tag.category for tag in known}
    tags = [
        _tag(item, field, categories)
        for item in _items(raw, field, '["a", {"category": "c", "value": "b"}]')
    ]
    return tuple(dict.fromkeys(tag for tag in tags if tag.value))


def _tag(item: Any, field: FieldSpec, categories: Mapping[str, str]) -> Tag:
    def text_of(raw: Any) -> str:
        return _text(_composed(raw, field), field)

    if isinstance(item, Mapping) and set(item) <= {"category", "value"} and "value" in item:
        return Tag(text_of(item.get("category") or ""), text_of(item["value"]))
    if isinstance(item, Mapping):
        raise _wrong(field, dict(item), '{"category": "c", "value": "b"}')
    value = text_of(item)
    return Tag(categories.get(value.casefold(), ""), value)


def _whole(raw: Any, field: FieldSpec) -> int:
    is_number = isinstance(raw, int | float) and not isinstance(raw, bool)
    if not is_number or not abs(raw) <= GREATEST_INT or raw != int(raw):
        raise _wrong(field, raw, "a whole number such as 1723")
    return int(_within(raw, field))


def _number(raw: Any, field: FieldSpec) -> float:
    if isinstance(raw, bool) or not isinstance(raw, int | float) or not abs(raw) < math.inf:
        raise _wrong(field, raw, "a number such as 2.5")
    try:
        return float(_within(raw, field))
    except OverflowError as error:
        raise _wrong(field, raw, "a smaller number") from error


def _within(number: float, field: FieldSpec) -> float:
    if not field.allows(number):
        raise _wrong(field, number, field.bounds)
    return number


def _date(raw: Any, field: FieldSpec) -> str:
    try:
        first_day(raw)
    except (TypeError, ValueError) as error:
        raise _wrong(field, raw, "a date such as 2015-04-30, 2015-04 or 2015") from error
    return str(raw) if len(raw) in (4, 7) else first_day(raw).isoformat()


def _choice(raw: Any, field: FieldSpec) -> str:
    known = {value.lower(): value for value in field.values}
    text = _text(raw, field)
    if text.lower() not in known:
        raise _wrong(field, raw, f"one of {', '.join(field.values)}")
    return known[text.lower()]


READERS: Mapping[FieldType, Callable[[Any, FieldSpec], Value]] = {
    FieldType.TEXT: _text,
    FieldType.URL: _url,
    FieldType.TEXTS: _texts,
    FieldType.INT: _whole,
    FieldType.FLOAT: _number,
    FieldType.DATE: _date,
    FieldType.ENUM: _choice,
    FieldType.JSON: lambda raw, _field: raw,
}
