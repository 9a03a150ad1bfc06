"""How a catalogue's rows become records."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from pinakes.catalogue.spec import CatalogueSpec, FieldSpec, FieldType
from pinakes.errors import InputError
from pinakes.model.record import Record, Tag, Value


def _by_id(record: Record) -> tuple[str, ...]:
    return (record.id,)


def _never(_row: Mapping[str, Any]) -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class RowMapping:
    """What a catalogue's package says about its rows."""

    record_of: Callable[[Mapping[str, Any]], Record]
    identities_of: Callable[[Record], tuple[str, ...]] = _by_id
    is_metadata: Callable[[Mapping[str, Any]], bool] = _never


def require_valid(record: Record, spec: CatalogueSpec) -> None:
    """Refuse a record whose values are not what the spec declares."""
    if not record.id or len(record.id) > 512:
        raise InputError("the record's id is empty or longer than 512 characters")
    if record.kind not in spec.kinds:
        raise InputError(f"no kind '{record.kind}'; kinds: {', '.join(spec.kinds)}")
    for field in spec.fields.values():
        value = record.get(field.name)
        if value is None:
            if field.required:
                raise InputError(f"'{field.name}' is missing")
        elif problem := _problem(value, field):
            raise InputError(f"'{field.name}' {problem}")


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _problem(value: Value, field: FieldSpec) -> str | None:
    """Return what is wrong with a value, or None."""
    match field.type:
        case FieldType.INT:
            fits = isinstance(value, int) and not isinstance(value, bool)
        case FieldType.FLOAT:
            fits = isinstance(value, int | float) and not isinstance(value, bool)
        case FieldType.TEXTS:
            fits = isinstance(value, tuple) and all(isinstance(item, str) for item in value)
        case FieldType.TAGS:
            fits = isinstance(value, tuple) and all(isinstance(item, Tag) for item in value)
        case FieldType.DATE:
            fits = isinstance(value, str) and _is_date(value)
        case FieldType.JSON:
            fits = True
        case FieldType.ENUM:
            return None if value in field.values else f"is {value!r}; one of {', '.join(field.values)} is right"
        case _:
            fits = isinstance(value, str)
    return None if fits else f"is {value!r}, not {field.type}"
