"""Filters as clients write them, for every catalogue: `{"year": {"min": 2015}, "type": ["MOVIE"],
"tags": ["space"]}`.

A number or date is filtered by `min` and `max`, both inclusive, or by one value; a date may be a
year or a month. Anything else is filtered by a list of values, of which a record must have any, or
all where the spec says so. Here filters are read for their form; `search.conditions` finds the
values that are meant.
"""

import calendar
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import Any

from stackroom.catalogue.spec import CatalogueSpec, FieldSpec, FieldType, FilterKind
from stackroom.catalogue.telling import rank_fields, telling_fields
from stackroom.errors import InputError, did_you_mean
from stackroom.model.scope import KIND_FIELD, AllOf, AnyOf, Condition, NoneOf, Range
from stackroom.text.cells.values import read_number, read_quantity, text_of
from stackroom.text.instructions import quoted
from stackroom.text.normalise import meant

KIND = "kind"
ADULT = "adult"
BOUNDS = ("min", "max")
GREATEST = 1e300
# a greater number may have lost its last digits, and a finer range cannot be told from its
# neighbours
FINEST = 2.0**53
DATES = "2015, 2015-04 and 2015-04-30"
MOST_ADVISED = 30  # the most filters that an error names
PARTIAL_DATE = re.compile(r"(\d{4})(?:-(\d{2}))?")


def filter_schema(spec: CatalogueSpec) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the JSON schema of the filters of a catalogue, and the definitions that it refers
    to.
    """
    forms = {
        field.name: _form(field) for field in sorted(filterable(spec), key=lambda field: field.name)
    }
    if len(spec.kinds) > 1:
        forms[KIND] = {"type": "array", "items": {"enum": sorted(spec.kinds)}}
    if spec.adult:
        forms.setdefault(ADULT, {"type": "boolean"})
    shared = [
        form
        for form in (_RANGE, _DATES, _VALUES, _BRACKETS)
        if list(forms.values()).count(form) > 1
    ]
    names = {id(form): f"f{number}" for number, form in enumerate(shared)}
    references = {form: {"$ref": f"#/$defs/{name}"} for form, name in names.items()}
    properties = {name: references.get(id(form), form) for name, form in forms.items()}
    schema: dict[str, Any] = {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }
    return schema, {names[id(form)]: form for form in shared}


def filterable(spec: CatalogueSpec) -> list[FieldSpec]:
    """Return the fields of a catalogue that can be filtered by."""
    return [field for field in spec.fields.values() if field.filter is not None]


def filters_by_use(spec: CatalogueSpec) -> list[FieldSpec]:
    """Return the fields that can be filtered by, the most useful first, ids and codes last."""
    useful = useful_filters(spec)
    return [*useful, *(field for field in filterable(spec) if field not in useful)]


def useful_filters(spec: CatalogueSpec) -> list[FieldSpec]:
    """Return the fields that people filter by: telling ones, then others, without ids and codes."""
    telling = telling_fields(spec)
    useful = [field for field in rank_fields(spec) if field.filter is not None]
    told, rest = (
        [field for field in useful if (field in telling) is is_told] for is_told in (True, False)
    )
    return [*_two_ranges_to_one(told), *_two_ranges_to_one(rest)]


def _two_ranges_to_one(fields: Sequence[FieldSpec]) -> Iterator[FieldSpec]:
    """Yield fields with two ranges before each other one: words find a country, but no price under
    20.
    """
    ranges = [field for field in fields if field.filter is FilterKind.RANGE]
    others = [field for field in fields if field.filter is not FilterKind.RANGE]
    while ranges or others:
        yield from (*ranges[:2], *others[:1])
        ranges, others = ranges[2:], others[1:]


def filter_names(spec: CatalogueSpec, fields: Sequence[FieldSpec]) -> list[str]:
    """Return the names of a catalogue's filters by these fields; those that take a range are
    starred.
    """
    return [
        *([KIND] if len(spec.kinds) > 1 else ()),
        *(f"{field.name}*" if field.filter is FilterKind.RANGE else field.name for field in fields),
        *([ADULT] if spec.adult and ADULT not in spec.fields else ()),
    ]


def filters_of(spec: CatalogueSpec) -> dict[str, FieldSpec]:
    """Return the filterable fields by the names that callers use; with `kind` where there are
    several kinds.
    """
    if filters_of not in spec.derived:
        found = {field.name: field for field in filterable(spec)}
        if len(spec.kinds) > 1:
            found[KIND] = FieldSpec(
                name=KIND_FIELD, type=FieldType.ENUM, filter=FilterKind.ANY_OF, values=spec.kinds
            )
        spec.derived[filters_of] = found
    known: dict[str, FieldSpec] = spec.derived[filters_of]
    return known


def stated_filters(
    conditions: Iterable[Condition], spec: CatalogueSpec
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return conditions as the `filters` and the `exclude` of a call."""
    filters, excluded = dict[str, Any](), dict[str, Any]()
    for condition in conditions:
        if isinstance(condition, Range):
            filters[condition.field] = written_range(condition, spec.fields[condition.field])
        else:
            into = excluded if isinstance(condition, NoneOf) else filters
            into[KIND if condition.field == KIND_FIELD else condition.field] = [*condition.values]
    return filters, excluded


def written_range(condition: Range, field: FieldSpec) -> dict[str, Any]:
    """Return a range as the filter of a call: a day number is a date."""
    bounds = {"min": condition.at_least, "max": condition.at_most}
    return {
        name: shown_number(float(bound), field)
        for name, bound in bounds.items()
        if bound is not None
    }


def plain_number(number: float) -> int | float:
    """Return a number as people write it: a whole one without a fraction."""
    return int(number) if number.is_integer() and abs(number) <= FINEST else number


def shown_number(number: float, field: FieldSpec) -> int | float | str:
    """Return a number of a field as people write it: a day number is a date."""
    if field.type is FieldType.DATE:
        return date.fromordinal(int(number)).isoformat()
    return plain_number(number)


def parse_filters(filters: Mapping[str, Any], spec: CatalogueSpec) -> list[Condition]:
    """Return the conditions of filters, and that hide kinds which must be asked for; InputError
    says what is right.
    """
    known = filters_of(spec)
    asked = {name: value for name, value in filters.items() if value not in (None, [], {})}
    if ADULT not in known:
        asked.pop(ADULT, None)
    conditions = [_condition(name, value, known, spec) for name, value in asked.items()]
    if not spec.kinds_hidden_from_search or any(
        condition.field == KIND_FIELD for condition in conditions
    ):
        return conditions
    return [*conditions, NoneOf(KIND_FIELD, spec.kinds_hidden_from_search)]


def includes_adult(filters: Mapping[str, Any], spec: CatalogueSpec) -> bool:
    """Tell whether a search asks for adult records too, by `{"adult": true}`; a field of that name
    is a filter.
    """
    asked = filters.get(ADULT)
    if ADULT in filters_of(spec) or asked in (None, False):
        return False
    if asked is not True:
        raise InputError("'filters.adult' must be true or false; true: adult records are found too")
    return True


def parse_exclusions(excluded: Mapping[str, Any], spec: CatalogueSpec) -> list[Condition]:
    """Return the conditions that a record has none of the excluded values; a field that is not
    there excludes none.
    """
    fields = filters_of(spec)
    return [
        NoneOf(fields[name].name, _values(f"exclude.{name}", asked, fields[name]))
        for name, asked in ((meant(stated, fields), asked) for stated, asked in excluded.items())
        if name in fields and asked not in (None, [])
    ]


def require_excludable(excluded: Mapping[str, Any], specs: Sequence[CatalogueSpec]) -> None:
    """Refuse exclusions by a field that no catalogue can be filtered by."""
    for name in excluded:
        known = list(dict.fromkeys(one for spec in specs for one in filters_of(spec)))
        if meant(name, known) not in known:
            hint = did_you_mean(name, known)
            raise InputError(
                f"'exclude.{name[:60]}': nothing can be excluded by it{hint}; known:"
                f" {', '.join(known)}"
            )


def _bounds(of: str | list[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {bound: {"type": of} for bound in BOUNDS},
    }


_RANGE = _bounds("number")
_DATES = _bounds(["string", "integer"])
_VALUES = {"type": "array", "items": {"type": "string"}}
_BRACKETS = {**_RANGE, **_VALUES, "type": ["array", "object"]}


def _form(field: FieldSpec) -> dict[str, Any]:
    if field.type is FieldType.ENUM and all(quoted(value) == value for value in field.values):
        return {"type": "array", "items": {"enum": list(field.values)}}
    if field.filter is not FilterKind.RANGE:
        return _BRACKETS if field.brackets else _VALUES
    return _DATES if field.type is FieldType.DATE else _RANGE


def _condition(
    name: str, asked: Any, known: Mapping[str, FieldSpec], spec: CatalogueSpec
) -> Condition:
    name = meant(name, known)
    field = known.get(name)
    if field is None:
        hint = did_you_mean(name, list(known))
        raise InputError(
            f"'filters.{name[:60]}': '{spec.name}' cannot be filtered by it{hint};"
            f" {filter_advice(spec)}"
        )
    is_number = isinstance(asked, Mapping | int | float) and not isinstance(asked, bool)
    if field.filter is FilterKind.RANGE or (field.brackets and is_number):
        return _range(name, asked, field)
    has_all = field.filter is FilterKind.ALL_OF
    return (AllOf if has_all else AnyOf)(field.name, _values(f"filters.{name}", asked, field))


def filter_advice(spec: CatalogueSpec) -> str:
    """Return which filters a catalogue has, with an example; the end of an error."""
    fields = filters_by_use(spec)
    names = filter_names(spec, fields)
    more = f", … ({len(names)})" if len(names) > MOST_ADVISED else ""
    known = f"filterable: {', '.join(names[:MOST_ADVISED]) or 'by no field'}{more}"
    ranges = [field for field in fields if field.filter is FilterKind.RANGE]
    others = [field for field in fields if field.filter is not FilterKind.RANGE]
    examples = ", ".join(
        f'"{field.name}": {_example(field)}' for field in (*ranges[:1], *others[:1])
    )
    return f"{known}; as in {{{examples}}}" if examples else known


def _example(field: FieldSpec) -> str:
    if field.filter is not FilterKind.RANGE:
        return f'["{field.values[0] if field.values else "a value"}"]'
    return (
        '{"min": "2015", "max": "2019-06"}'
        if field.type is FieldType.DATE
        else '{"min": 1, "max": 9}'
    )


def _values(place: str, asked: Any, field: FieldSpec) -> tuple[str, ...]:
    """Return a list of values, or a single one, as values; refuse anything else."""
    if field.filter is FilterKind.RANGE:
        raise InputError(
            f"'{place}': a range cannot be excluded; give the range that is wanted as a filter"
        )
    values = [asked] if isinstance(asked, str | bool) else asked
    if not isinstance(values, list | tuple) or not all(
        isinstance(value, bool) or (isinstance(value, str) and value.strip()) for value in values
    ):
        raise InputError(f'\'{place}\' must be a list of strings, as in ["a", "b"]')
    return tuple(text_of(value) if isinstance(value, bool) else value for value in values)


def _range(name: str, asked: Any, field: FieldSpec) -> Range:
    if isinstance(asked, str | int | float) and not isinstance(asked, bool):
        asked = dict.fromkeys(BOUNDS, asked)
    if not isinstance(asked, Mapping) or not asked or not set(asked) <= set(BOUNDS):
        right = 'a range, as in {"min": 1, "max": 9}; either may be left out; or one value'
        raise InputError(f"'filters.{name}' must be {right}")
    low, high = (_bound(name, asked.get(bound), field, is_upper=bound == "max") for bound in BOUNDS)
    if low is not None and high is not None and low > high:
        raise InputError(f"'filters.{name}': min is greater than max; exchange them")
    return Range(name, low, high)


def _bound(name: str, value: Any, field: FieldSpec, *, is_upper: bool) -> float | None:
    if value is None:
        return None
    try:
        return (
            _day_number(str(value), is_upper=is_upper)
            if field.type is FieldType.DATE
            else _number(value, field)
        )
    except OverflowError as error:
        raise InputError(
            f"'filters.{name}': the number is too large; {GREATEST:g} is the greatest"
        ) from error
    except ValueError as error:
        right = f"a date; right are {DATES}" if field.type is FieldType.DATE else "a number"
        raise InputError(f"'filters.{name}': {str(value)[:40]!r} is not {right}") from error


def _day_number(text: str, *, is_upper: bool) -> float:
    """Return the number of a day, or of the first or last day of a month or year; raise ValueError
    for another text.
    """
    found = PARTIAL_DATE.fullmatch(text.strip())
    if found is None:
        return float(date.fromisoformat(text.strip()).toordinal())
    year, month = int(found[1]), int(found[2] or (12 if is_upper else 1))
    day = calendar.monthrange(year, month)[1] if is_upper else 1
    return float(date(year, month, day).toordinal())


def _number(value: Any, field: FieldSpec) -> float:
    """Return a number, or a text that states one, also as cells do: `1,000`, `$20`, `90 min`."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError("not a number")
    read = (
        None
        if not isinstance(value, str)
        else read_quantity(value, field.unit) or read_number(value)
    )
    number = float(value if read is None else read)
    if not math.isfinite(number):
        raise ValueError("not a number")
    if abs(number) > GREATEST:
        raise OverflowError("too large")
    return number
