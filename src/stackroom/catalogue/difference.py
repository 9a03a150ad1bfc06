"""Comparison of two specs: the fields that are added, gone or changed, and every other key with another value."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from stackroom.catalogue.compiler import LoadedSpec
from stackroom.catalogue.declaration import Declaration, DeclaredField, parse_declaration

Keys = Mapping[str, Any]
"""Keys with their values, as `catalogue.toml` names them."""
MISSING = "–"
"""The value of a key that is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldDifference:
    """A field that only one of two specs has, with the keys that it declares."""

    name: str
    keys: Keys


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyDifference:
    """A key with two values; None: it is missing."""

    place: str
    """The key, as in `fields.year.type` or `embed.template`."""
    before: Any
    after: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecDifference:
    """All that differs from one spec to another."""

    added: tuple[FieldDifference, ...] = ()
    gone: tuple[FieldDifference, ...] = ()
    changed: tuple[KeyDifference, ...] = ()

    def __bool__(self) -> bool:
        """Tell whether anything differs."""
        return bool(self.added or self.gone or self.changed)

    def describe(self) -> Iterator[str]:
        """Yield a line per difference."""
        for sign, fields in (("added", self.added), ("gone", self.gone)):
            for one in fields:
                keys = ", ".join(f"{key} = {_written(value)}" for key, value in one.keys.items())
                yield f"{sign}: field '{one.name}' ({keys})"
        for key in self.changed:
            yield f"changed: '{key.place}': {_written(key.before)} → {_written(key.after)}"


def compare_specs(before: LoadedSpec, after: LoadedSpec) -> SpecDifference:
    """Return what differs from one spec to the other; keys with their default value count as declared."""
    old, new = (parse_declaration(one.declaration, origin=f"the spec '{one.spec.name}'") for one in (before, after))
    return SpecDifference(
        added=tuple(_field(name, new) for name in new.fields if name not in old.fields),
        gone=tuple(_field(name, old) for name in old.fields if name not in new.fields),
        changed=tuple(_iter_changed(_keys(old, shared=new), _keys(new, shared=old))),
    )


def _field(name: str, declaration: Declaration) -> FieldDifference:
    return FieldDifference(name=name, keys=declaration.fields[name].model_dump(mode="json", exclude_defaults=True))


def _keys(declaration: Declaration, *, shared: Declaration) -> dict[str, Any]:
    """Return all keys of a declaration; of the fields, those that the other one has too."""
    keys = declaration.model_dump(mode="json", exclude={"fields"})
    fields = {name: one for name, one in declaration.fields.items() if name in shared.fields}
    return {**keys, "fields": {name: _keys_of_field(name, one) for name, one in fields.items()}}


def _keys_of_field(name: str, field: DeclaredField) -> dict[str, Any]:
    """Return the keys of a field; one without a path is read from the column of its name."""
    keys = field.model_dump(mode="json")
    return keys if field.template else {**keys, "path": field.path or name}


def _iter_changed(before: Keys, after: Keys, place: str = "") -> Iterator[KeyDifference]:
    for key in dict.fromkeys((*before, *after)):
        one, other = before.get(key), after.get(key)
        at = f"{place}.{key}" if place else key
        if isinstance(one, dict) and isinstance(other, dict):
            yield from _iter_changed(one, other, at)
        elif one != other:
            yield KeyDifference(place=at, before=one, after=other)


def _written(value: Any) -> str:
    return MISSING if value in (None, "") else orjson.dumps(value).decode()
