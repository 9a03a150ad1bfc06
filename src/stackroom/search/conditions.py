"""Conditions as a caller means them: values by any spelling, and adult records only where they are asked for."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from stackroom.catalogue.spec import CatalogueSpec
from stackroom.errors import InputError
from stackroom.model.hits import FacetCount
from stackroom.model.record import Record
from stackroom.model.scope import (
    AUDIENCE_FIELD,
    KIND_FIELD,
    WORDS_FIELD,
    AllOf,
    AnyOf,
    Condition,
    NoneOf,
    Range,
    Scope,
    Visibility,
)
from stackroom.search.values import FieldValues, ValueMatch, field_values
from stackroom.shelf.port import ShelfReader
from stackroom.shelf.terms import meets, term_of
from stackroom.text.messages import quoted
from stackroom.text.query import MAX_CHARS

LISTED_WHOLE = 12
"""A field with no more values than this has them all in an error."""
LISTED_EXAMPLES = 5
MAX_NAME_WORDS = 12
"""A longer query is not taken for the name of a record."""

Label = Callable[[Condition], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedConditions:
    """Conditions with the values that records have, and what was taken for what."""

    conditions: tuple[Condition, ...]
    notes: tuple[str, ...] = ()


def argument_of(condition: Condition) -> str:
    """Return the argument that a condition came from, as the generic tools name it."""
    name = "kind" if condition.field == KIND_FIELD else condition.field
    return f"exclude.{name}" if isinstance(condition, NoneOf) else f"filters.{name}"


def resolve_conditions(
    conditions: Iterable[Condition],
    reader: ShelfReader,
    spec: CatalogueSpec,
    *,
    visibility: Visibility,
    label: Label = argument_of,
) -> NamedConditions:
    """Return the conditions with values as records have them; raise InputError for a value that nothing is near."""
    resolved: list[Condition] = []
    notes: list[str] = []
    for condition in conditions:
        if isinstance(condition, Range) or _is_met_as_written(condition, reader, spec, visibility):
            resolved.append(condition)
            continue
        values = field_values(reader, spec, condition.field, visibility=visibility)
        matches = [_require_value(values, value, label(condition)) for value in condition.values]
        resolved.append(replace(condition, values=tuple(dict.fromkeys(match.value for match in matches))))
        notes += [note for match in matches for note in _notes(match, values, condition, label)]
    return NamedConditions(conditions=tuple(resolved), notes=tuple(dict.fromkeys(notes)))


def resolve_choices(asked: Sequence[str], known: Iterable[str], *, label: str) -> tuple[list[str], list[str]]:
    """Return the names that are meant, of a short list, and notes; raise InputError for one that nothing is near."""
    values = FieldValues(FacetCount("", name, 1) for name in known)
    matches = [_require_value(values, name, label) for name in asked]
    notes = [f"'{one.asked}' taken as '{one.value}'" for one in matches if not one.is_as_written]
    return list(dict.fromkeys(one.value for one in matches)), notes


def without_adult(
    conditions: Sequence[Condition], reader: ShelfReader, spec: CatalogueSpec, *, query: str, visibility: Visibility
) -> list[Condition]:
    """Return the conditions that keep adult records out of a search; none where the search asks for them.

    It asks with a condition for one of the values that mark them, by naming one in its query, or with the name of such
    a record, unless another record has that name too. Of a very long query the beginning is read, as searches do.
    """
    asked = query[:MAX_CHARS]
    hidden = adult_conditions(spec)
    if not hidden or asks_for_adult(conditions, spec):
        return []
    if any(
        _names_adult(asked, field_values(reader, spec, field, visibility=visibility), marks)
        for field, marks in spec.adult.items()
    ):
        return []
    return [] if _is_adult_name(asked, reader, spec, hidden, visibility) else hidden


def adult_conditions(spec: CatalogueSpec) -> list[Condition]:
    """Return the conditions that a record is not marked as for adults only."""
    return [NoneOf(field, marks) for field, marks in spec.adult.items()]


def is_adult(record: Record, spec: CatalogueSpec) -> bool:
    """Tell whether a record is marked as for adults only."""
    return not all(meets(record, condition, spec) for condition in adult_conditions(spec))


def asks_for_adult(conditions: Iterable[Condition], spec: CatalogueSpec) -> bool:
    """Tell whether one of the conditions asks for a value that marks adult records."""
    return any(
        isinstance(one, AnyOf | AllOf) and not _terms(one.values).isdisjoint(_terms(spec.adult.get(one.field, ())))
        for one in conditions
    )


def _is_met_as_written(
    condition: AnyOf | AllOf | NoneOf, reader: ShelfReader, spec: CatalogueSpec, visibility: Visibility
) -> bool:
    """Tell whether the values of a condition need no table of spellings: tokens, audiences, and values of records.

    The values of a field that cannot be browsed may be as many as the records, so they are first looked up one by one.
    """
    if condition.field in (AUDIENCE_FIELD, WORDS_FIELD):
        return True
    if condition.field == KIND_FIELD or spec.fields[condition.field].facet:
        return False
    one_each = (
        Scope(conditions=(AnyOf(condition.field, (value,)),), visibility=visibility) for value in condition.values
    )
    return all(reader.count(scope) for scope in one_each)


def _require_value(values: FieldValues, asked: str, label: str) -> ValueMatch:
    found = values.find(asked)
    if found is not None:
        return found
    if values.is_empty:  # of a catalogue without records every value is as unknown as any other
        return ValueMatch(asked, asked, True)
    raise InputError(f"'{label}': no value '{asked[:60]}'{_hint(values, asked[:60])}")


def _hint(values: FieldValues, asked: str) -> str:
    near = [quoted(value) for value in values.near(asked)]
    known = [quoted(value) for value in values.known[: LISTED_WHOLE + 1]]
    if len(known) <= LISTED_WHOLE:
        guess = f" (did you mean '{near[0]}'?)" if near else ""
        return f"{guess}; one of {', '.join(known)}"
    if near:
        return f"; the nearest: {', '.join(near)}"
    return f"; there are {len(values.known)}, such as {', '.join(known[:LISTED_EXAMPLES])}"


def _notes(match: ValueMatch, values: FieldValues, condition: Condition, label: Label) -> list[str]:
    taken = [] if match.is_as_written else [f"'{match.asked}' taken as '{match.value}'"]
    if isinstance(condition, NoneOf) or values.count_of(match.value) or values.is_empty:
        return taken
    return [*taken, f"'{label(condition)}': no record has '{match.value}'"]


def _names_adult(query: str, values: FieldValues, marks: Sequence[str]) -> bool:
    return not _terms(marks).isdisjoint(_terms(match.value for match in values.named_in(query)))


def _is_adult_name(
    query: str, reader: ShelfReader, spec: CatalogueSpec, hidden: Sequence[Condition], visibility: Visibility
) -> bool:
    """Tell whether a query is the name of an adult record and of no other."""
    if len(query.split()) > MAX_NAME_WORDS:
        return False
    marked = [Scope(conditions=(AnyOf(field, marks),), visibility=visibility) for field, marks in spec.adult.items()]
    others = Scope(conditions=tuple(hidden), visibility=visibility)
    return any(reader.has_name(query, scope=scope) for scope in marked) and not reader.has_name(query, scope=others)


def _terms(values: Iterable[str]) -> set[str]:
    return {term_of(value) for value in values}
