"""Lists of records without a search: all that are in a scope, sorted by a field, and the queries that ask for them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stackroom.catalogue.spec import CatalogueSpec, FieldRole, FieldSpec, FieldType
from stackroom.errors import InputError, did_you_mean
from stackroom.model.record import Key
from stackroom.model.scope import KNOWN_FIELD, WORDS_FIELD, AllOf, Condition, Scope
from stackroom.text.analyser import analyse_query
from stackroom.text.cells.values import bounds_of
from stackroom.text.instructions import quoted
from stackroom.tools.catalogue import CatalogueView

EVERY = "*"
"""The query that lists every record."""


def list_in_scope(view: CatalogueView, scope: Scope, *, sort: str = "") -> list[Key]:
    """Return all records in scope: sorted, or the most popular first, then those of which most is known."""
    keys = view.reader.scan(scope=scope, limit=max(view.reader.count(scope), 1))
    keys = _by_number(keys, -view.reader.numbers(KNOWN_FIELD, keys))
    popularity = view.spec.field_with_role(FieldRole.POPULARITY)
    if popularity is not None:
        keys = _by_number(keys, -view.reader.numbers(popularity.name, keys))
    return sort_keys(view, keys, sort) if sort else keys


def sortable_fields(spec: CatalogueSpec) -> list[FieldSpec]:
    """Return the fields that results can be sorted by: the title, numbers, dates, and single values."""
    single = (FieldType.ENUM, FieldType.TEXT)
    columns = [field for field in spec.column_fields if field.is_numeric or field.type in single]
    return list(dict.fromkeys((spec.title_field, *columns)))


def sort_keys(view: CatalogueView, keys: Sequence[Key], sort: str) -> list[Key]:
    """Return the keys by a field; those without a value come last, and equals stay in their order."""
    name, is_falling = sort.removeprefix("-"), sort.startswith("-")
    fields = {field.name: field for field in sortable_fields(view.spec)}
    if name not in fields:
        hint = did_you_mean(name, list(fields))
        known = ", ".join(fields) or "nothing here"
        raise InputError(f"'sort': '{view.name}' cannot be sorted by '{name[:60]}'{hint}; right are {known}")
    if fields[name].is_numeric:
        numbers = view.reader.numbers(name, keys)
        return _by_number(keys, -numbers if is_falling else numbers)
    is_title, reader = name == view.spec.title_field.name, view.reader
    terms = reader.titles(keys) if is_title else [min(some, default="") for some in reader.terms(name, keys)]
    having = [place for place, term in enumerate(terms) if term]
    order = bounds_of if fields[name].brackets else str
    having.sort(key=lambda place: order(terms[place]), reverse=is_falling)
    return [keys[place] for place in (*having, *(place for place, term in enumerate(terms) if not term))]


def _by_number(keys: Sequence[Key], numbers: NDArray[np.float64]) -> list[Key]:
    return [keys[place] for place in np.argsort(numbers, kind="stable").tolist()]


def is_list(query: str) -> bool:
    """Tell whether a query asks for a list: an asterisk, alone or with words after a blank."""
    return query.split(maxsplit=1)[:1] == [EVERY]


def words_of_list(query: str) -> str:
    """Return the words that every record of a list has; empty where none are asked for."""
    return query.strip().removeprefix(EVERY).strip() if is_list(query) else query.strip()


def list_query(words: str) -> str:
    """Return the query that lists the records with all of these words."""
    return f"{EVERY} {words}".strip()


def words_conditions(words: str) -> list[Condition]:
    """Return the condition that a record has all of these words, in any searched field; none without words."""
    if not words:
        return []
    tokens = [token for token, _ in analyse_query(words, synonyms={}).terms]
    if not tokens:
        raise InputError(f"'query': '{quoted(words[:60])}' has no word that a record could have; give words")
    return [AllOf(WORDS_FIELD, tuple(tokens))]
