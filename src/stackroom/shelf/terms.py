"""A record's values in the form in which shelves compare them: folded terms, numbers, audiences."""

import math
from collections.abc import Callable, Iterable
from functools import lru_cache

from stackroom.catalogue.spec import CatalogueSpec, FieldSpec, FieldType, known_of, texts_of
from stackroom.errors import InputError
from stackroom.model.record import Record, Tag, Value
from stackroom.model.scope import (
    AUDIENCE_FIELD,
    KEY_FIELD,
    KIND_FIELD,
    KNOWN_FIELD,
    PUBLIC,
    WORDS_FIELD,
    AllOf,
    AnyOf,
    Condition,
    NoneOf,
    Range,
)
from stackroom.shelf.series import encode_work, work_of
from stackroom.text.analyser import FUNCTION_TOKENS, index_tokens
from stackroom.text.cells.dates import first_day
from stackroom.text.normalise import fold

ID_TEXT, NAMES_TEXT, WORK_TEXT = "id", "names", "work"
"""The columns of texts: a record's id, the words of its names, and the evidence of its series."""

# a value of a term column: its folded term, its category, and the value as written
Entry = tuple[str, str, str]
VALUES_KEPT = 10_000


def term_of(value: str) -> str:
    """Return the folded form in which values are compared."""
    return fold(value).strip()


def asked_term(field: str, value: str) -> str:
    """Return the term of a condition's value; audiences and tokens are compared exactly."""
    return value if field in (AUDIENCE_FIELD, WORDS_FIELD) else term_of(value)


def entries_of(record: Record, field: str) -> list[Entry]:
    """Return the distinct values of a term field."""
    if field == AUDIENCE_FIELD:
        return [(audience, "", audience) for audience in (record.audiences or (PUBLIC,))]
    value = record.kind if field == KIND_FIELD else record.fields.get(field)
    try:
        return _entries(value)
    except TypeError:  # a value that was written under another spec, and cannot be kept
        return _entries.__wrapped__(value)


_term = lru_cache(maxsize=VALUES_KEPT)(term_of)


@lru_cache(maxsize=VALUES_KEPT, typed=True)
def _entries(value: Value) -> list[Entry]:
    """Return the distinct entries of a value; they are kept, since the values of a column
    repeat.
    """
    if isinstance(value, str):
        return [(term, "", value)] if (term := _term(value)) else []
    if isinstance(value, tuple) and value and isinstance(value[0], Tag):
        found = [(term, category, text) for category, text in value if (term := _term(text))]
    else:
        found = [(term, "", text) for text in texts_of(value) if (term := _term(text))]
    return list(dict.fromkeys(found)) if len(found) > 1 else found


def number_of(record: Record, field: FieldSpec) -> float:
    """Return a numeric field's value, dates as day numbers; NaN for a missing value, or one that is
    not a number.
    """
    value = record.fields.get(field.name)
    if value is None:
        return math.nan
    try:
        return float(first_day(value).toordinal()) if field.type is FieldType.DATE else float(value)
    except (TypeError, ValueError, OverflowError):
        # written under another spec; one odd value must not stop the index from being built
        return math.nan


def text_tokens(record: Record, fields: Iterable[FieldSpec]) -> list[str]:
    """Return the tokens of these fields' texts."""
    values = [record.get(field.name) for field in fields]
    return index_tokens(" ".join([text for value in values for text in texts_of(value)]))


def meets(
    record: Record, condition: Condition, spec: CatalogueSpec, *, key: int | None = None
) -> bool:
    """Tell whether a record meets a condition; one on keys needs that of the record."""
    if isinstance(condition, Range):
        number = math.prod(number_of(record, spec.fields[name]) for name in condition.fields)
        above = condition.at_least is None or number >= condition.at_least
        below = condition.at_most is None or number <= condition.at_most
        return not math.isnan(number) and above and below
    if condition.field == KEY_FIELD:
        here = {str(key)}
    elif condition.field == WORDS_FIELD:
        here = set(text_tokens(record, spec.searched_fields))
    else:
        here = {term for term, _, _ in entries_of(record, condition.field)}
    wanted = {asked_term(condition.field, value) for value in condition.values}
    match condition:
        case AnyOf():
            return not here.isdisjoint(wanted)
        case NoneOf():
            return here.isdisjoint(wanted)
        case AllOf():
            return wanted <= here


def term_fields(spec: CatalogueSpec) -> list[str]:
    """Return the term fields, the reserved ones first."""
    return [
        KIND_FIELD,
        AUDIENCE_FIELD,
        *(field.name for field in spec.column_fields if not field.is_numeric),
    ]


def number_fields(spec: CatalogueSpec) -> list[str]:
    """Return the number fields, and last how much is known of a record."""
    return [*(field.name for field in spec.column_fields if field.is_numeric), KNOWN_FIELD]


def column_number(record: Record, name: str, spec: CatalogueSpec) -> float:
    """Return a record's number in a number column."""
    return known_of(spec, record) if name == KNOWN_FIELD else number_of(record, spec.fields[name])


def text_columns(spec: CatalogueSpec) -> dict[str, Callable[[Record], bytes]]:
    """Return the text columns with the function that reads each from a record: only columns that a
    search uses.
    """
    columns: dict[str, Callable[[Record], bytes]] = {ID_TEXT: lambda record: record.id.encode()}
    if spec.fields_searched_as_names:
        columns[NAMES_TEXT] = lambda record: "\n".join(name_lines(record, spec)).encode()
    # others are spread by recommendations alone, which are fewer
    if spec.recommend and spec.recommend.related.field:
        columns[WORK_TEXT] = lambda record: encode_work(work_of(record, spec))
    return columns


def name_lines(record: Record, spec: CatalogueSpec) -> list[str]:
    """Return the distinct names of a record: each in lower case, a tab, and its tokens without
    function words.
    """
    lowered = dict.fromkeys(" ".join(name.lower().split()) for name in spec.names_of(record))
    return [
        f"{name}\t{' '.join(sorted(set(index_tokens(name)) - FUNCTION_TOKENS))}" for name in lowered
    ]


class ColumnValues:
    """Reads the values of a record for every column; those of the last record are cached."""

    def __init__(self, spec: CatalogueSpec) -> None:
        self._spec = spec
        self._terms, self._numbers = term_fields(spec), number_fields(spec)
        self._last: Record | None = None
        self._values: tuple[list[list[Entry]], list[float]] = ([], [])

    def of(self, record: Record) -> tuple[list[list[Entry]], list[float]]:
        """Return the values of each term field, and the number of each number field."""
        if record is not self._last:
            terms = [entries_of(record, name) for name in self._terms]
            self._values = (
                terms,
                [column_number(record, name, self._spec) for name in self._numbers],
            )
            self._last = record
        return self._values


def require_countable(field: str, spec: CatalogueSpec) -> None:
    """Refuse a field whose values cannot be counted."""
    countable = [name for name in term_fields(spec) if name != AUDIENCE_FIELD]
    if field not in countable:
        raise InputError(
            f"the values of field '{field}' are not counted; counted: {', '.join(countable)}"
        )


def require_filterable(conditions: Iterable[Condition], spec: CatalogueSpec) -> None:
    """Refuse a condition on a field without a column, or of a form that the field's type does not
    accept.
    """
    for condition in conditions:
        for name in condition.fields if isinstance(condition, Range) else [condition.field]:
            if name in (KEY_FIELD, KIND_FIELD, AUDIENCE_FIELD, WORDS_FIELD):
                continue
            field = spec.fields.get(name)
            if field is None or not field.needs_column:
                known = ", ".join(field.name for field in spec.column_fields)
                raise InputError(f"field '{name}' is not filterable; filterable: {known}")
            if field.is_numeric != isinstance(condition, Range):
                form = "a range" if field.is_numeric else "values"
                raise InputError(f"field '{name}' is filtered by {form}; give that")
