"""A question as one catalogue reads it, and what it makes of records: those that it lists, and the
order that it gives to a ranking.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from stackroom.catalogue.spec import CatalogueSpec, FieldRole, FieldSpec, FieldType
from stackroom.errors import InputError, did_you_mean
from stackroom.frozen import frozen
from stackroom.model.hits import EVIDENCE_AT, Ranking
from stackroom.model.record import Key
from stackroom.model.scope import KNOWN_FIELD, Condition, Scope
from stackroom.search.ranked import Ranked
from stackroom.shelf.port import ShelfReader
from stackroom.text.cells.values import bounds_of
from stackroom.text.instructions import quoted

WITHOUT_NAME = 0.49
"""What is left of a strength where no record has the name that was asked for, so that nothing is
evidence.
"""
# the strength of a record that meets the conditions of a question that asks for nothing else
LISTED_STRENGTH = 0.9
# the strength of a record with words that a question refuses: it is no strong answer
REFUSED_AT_MOST = 0.69
READ_AS = "'{phrase}' is read as {text}"


class View(Protocol):
    """A catalogue at one moment."""

    @property
    def name(self) -> str:
        """The catalogue's name."""

    @property
    def spec(self) -> CatalogueSpec:
        """The catalogue's declaration."""

    @property
    def reader(self) -> ShelfReader:
        """Its records and indexes at that moment."""

    @property
    def folder(self) -> Path | None:
        """Its folder in the library; None where it is not in one."""


class ReadPhrase(NamedTuple):
    """Words of a question, and what they were read as; the field that they are about."""

    phrase: str
    text: str
    field: str


@frozen
class ReadQuestion:
    """A question as one catalogue reads it."""

    asked: str
    query: str  # the words to search for; empty where all records in scope answer
    given: Scope  # the scope of the call
    scope: Scope  # the same with what was stated
    conditions: tuple[Condition, ...] = ()  # those that were stated; they are in the scope too
    phrases: tuple[ReadPhrase, ...] = ()
    likely: tuple[str, ...] = ()  # the phrases that may be words of the topic
    sort: str = ""
    left_out: frozenset[Key] = frozenset()
    refused: frozenset[Key] = frozenset()
    """The records with the words of a phrase that is refused and that no field tells."""
    is_count: bool = False
    # whether no record has the name of the maker or the place that was asked for
    lacks_name: bool = False
    names_moods: bool = False
    """Whether all words to search for are for a mood, or of the catalogue, so that nothing else is
    asked for.
    """
    doubts: tuple[str, ...] = ()  # what was left aside or cannot be checked
    may_order: bool = False
    """Whether its words leave no record out where none answers them, and only say which come
    first.
    """

    @property
    def notes(self) -> tuple[str, ...]:
        """All that was understood, and what was not."""
        read = (READ_AS.format(phrase=quoted(one.phrase), text=one.text) for one in self.phrases)
        return (*read, *self.doubts)

    @property
    def is_list(self) -> bool:
        """Whether nothing is asked for but what was stated."""
        return not self.query and bool(self.asked)


def plain_reading(query: str, scope: Scope) -> ReadQuestion:
    """Return a question whose words are only searched for."""
    return ReadQuestion(asked=query, query=query, given=scope, scope=scope)


def counted(number: int) -> str:
    """Return a number of records in words."""
    return f"{number:,} record{'' if number == 1 else 's'}"


def list_records(view: View, reading: ReadQuestion) -> Ranking:
    """Return all records that meet what a question states, in its order, with their strengths."""
    keys = list_in_scope(view, reading.scope, sort=reading.sort)
    if reading.left_out:
        keys = [key for key in keys if key not in reading.left_out]
    scores = np.full(len(keys), LISTED_STRENGTH)
    if reading.refused:
        keys.sort(key=reading.refused.__contains__)
        scores[[key in reading.refused for key in keys]] = REFUSED_AT_MOST
    return Ranking(keys=np.array(keys, dtype=np.int64), scores=scores, total=len(keys))


def in_order(ranked: Ranked, view: View, reading: ReadQuestion) -> Ranked:
    """Return a ranking without what a question leaves out by name, and in the order that it asks
    for.

    What answers comes before what is only near, and nothing that the question refuses is a strong
    answer. Where no record has the name of the maker or place that was asked for, nothing answers.
    """
    if not (reading.left_out or reading.sort or reading.lacks_name or reading.refused):
        return ranked
    ranking = ranked.ranking
    kept = ~np.isin(ranking.keys, list(reading.left_out))
    keys, scores = ranking.keys[kept], ranking.scores[kept]
    if reading.lacks_name:
        scores = scores * WITHOUT_NAME
    if reading.refused:
        is_refused = np.isin(keys, list(reading.refused))
        scores = np.where(is_refused, np.minimum(scores, REFUSED_AT_MOST), scores)
        order = np.argsort(-scores, kind="stable")
        keys, scores = keys[order], scores[order]
    if not reading.sort:
        return ranked.with_order(keys, scores)
    answers = scores >= EVIDENCE_AT
    place = {key: at for at, key in enumerate(keys.tolist())}
    ordered = [place[key] for key in sort_keys(view, keys[answers].tolist(), reading.sort)]
    order = np.array([*ordered, *np.flatnonzero(~answers).tolist()], dtype=np.intp)
    falling = np.minimum.accumulate(scores[order])
    return ranked.with_order(keys[order], falling, is_sorted=True)


def list_in_scope(view: View, scope: Scope, *, sort: str = "") -> list[Key]:
    """Return all records in scope: sorted, or the most popular first, then those of which most is
    known.
    """
    keys = view.reader.scan(scope=scope, limit=max(view.reader.count(scope), 1))
    keys = _by_number(keys, -view.reader.numbers(KNOWN_FIELD, keys))
    popularity = view.spec.field_with_role(FieldRole.POPULARITY)
    if popularity is not None:
        keys = _by_number(keys, -view.reader.numbers(popularity.name, keys))
    return sort_keys(view, keys, sort) if sort else keys


def sortable_fields(spec: CatalogueSpec) -> list[FieldSpec]:
    """Return the fields that results can be sorted by: the title, numbers, dates, and single
    values.
    """
    single = (FieldType.ENUM, FieldType.TEXT)
    columns = [field for field in spec.column_fields if field.is_numeric or field.type in single]
    return list(dict.fromkeys((spec.title_field, *columns)))


def sort_keys(view: View, keys: Sequence[Key], sort: str) -> list[Key]:
    """Return the keys by a field; those without a value come last, and equals stay in their
    order.
    """
    name, is_falling = sort.removeprefix("-"), sort.startswith("-")
    fields = {field.name: field for field in sortable_fields(view.spec)}
    if name not in fields:
        hint = did_you_mean(name, list(fields))
        known = ", ".join(fields) or "nothing here"
        raise InputError(
            f"'sort': '{view.name}' cannot be sorted by '{name[:60]}'{hint}; right are {known}"
        )
    if fields[name].is_numeric:
        numbers = view.reader.numbers(name, keys)
        return _by_number(keys, -numbers if is_falling else numbers)
    is_title, reader = name == view.spec.title_field.name, view.reader
    terms = (
        reader.titles(keys)
        if is_title
        else [min(some, default="") for some in reader.terms(name, keys)]
    )
    having = [place for place, term in enumerate(terms) if term]
    order = bounds_of if fields[name].brackets else str
    having.sort(key=lambda place: order(terms[place]), reverse=is_falling)
    return [
        keys[place] for place in (*having, *(place for place, term in enumerate(terms) if not term))
    ]


def _by_number(keys: Sequence[Key], numbers: NDArray[np.float64]) -> list[Key]:
    return [keys[place] for place in np.argsort(numbers, kind="stable").tolist()]
