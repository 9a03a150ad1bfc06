"""The values of a field that a catalogue has, by every spelling that names them.

"Slice-of-life", "scifi" and "vampires" name values as much as the spellings of the records. Case,
accents, hyphens, plural and the synonyms of `[values.FIELD]` are exact spellings; a typing error is
corrected, with a note. Filters, browse, preferences and searches share this table. Adult records
are in scope only if the call asks for them.
"""

import threading
import weakref
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import Generic, NamedTuple, TypeVar

from stackroom.catalogue.spec import CatalogueSpec
from stackroom.errors import InputError
from stackroom.model.hits import FacetCount
from stackroom.model.record import Record
from stackroom.model.scope import (
    AUDIENCE_FIELD,
    KIND_FIELD,
    SEES_EVERYTHING,
    WORDS_FIELD,
    AllOf,
    AnyOf,
    Condition,
    NoneOf,
    Range,
    Scope,
    Visibility,
)
from stackroom.shelf.port import ShelfReader
from stackroom.shelf.terms import meets, term_of
from stackroom.text.analyser import MAX_CHARS
from stackroom.text.cells.values import GREATEST, bounds_of, read_boolean
from stackroom.text.instructions import quoted
from stackroom.text.normalise import (
    NEAR,
    clean,
    corrected,
    joined_key,
    like_words,
    likeness,
    spelling_key,
    words_of,
)

MOST_ANSWERS = 8  # the most values of a field of yes and no, in all their spellings
# how much is kept of a snapshot, such as the values of so many fields, over all callers
MOST_KEPT = 32
_words_of = lru_cache(maxsize=16)(words_of)  # several fields are looked for in the same query


class ValueMatch(NamedTuple):
    """A value, and the words that named it. `is_exact`: by itself or a synonym; else by a corrected
    spelling.
    """

    value: str
    asked: str
    is_exact: bool

    @property
    def is_as_written(self) -> bool:
        """Whether the words are the record's own spelling, ignoring case."""
        return term_of(self.asked) == term_of(self.value)


Synonyms = Mapping[str, Sequence[str]]  # value → other words for it


class FieldValues:
    """The values of one field, with the number of records that have each, by every spelling.

    Values that a spec declares and no record has are known too, with a count of 0. What records
    have goes before what a spec declares, and a frequent value before a rare one of the same
    spelling.
    """

    def __init__(
        self,
        facets: Iterable[FacetCount],
        *,
        synonyms: Synonyms | None = None,
        declared: Sequence[str] = (),
    ) -> None:
        self._synonyms = synonyms or {}
        self.counts: dict[str, int] = {}
        """The values that records have, most frequent first, with the number of records."""
        for facet in facets:
            self.counts[facet.value] = self.counts.get(facet.value, 0) + facet.count
        self._choices = tuple(declared)

    @property
    def known(self) -> list[str]:
        """The values, those of records first, then those that the spec declares for the field."""
        return list(dict.fromkeys((*self.counts, *self._choices)))

    def count_of(self, value: str) -> int:
        """Return how many records have a value."""
        return self.counts.get(value, 0)

    def find(self, text: str) -> ValueMatch | None:
        """Return the value that a text names by its own spelling, a synonym, or else a similar
        spelling.
        """
        asked = text.strip()
        exact = (
            self._by_term.get(term_of(asked))
            or self._find_by_key(spelling_key(asked))
            or self._answer(asked)
        )
        if exact is not None:
            return ValueMatch(exact, asked, True)
        near = {
            self._by_joined[one]
            for one in corrected(joined_key(spelling_key(asked)), self._by_joined)
        }
        return ValueMatch(near.pop(), asked, False) if len(near) == 1 else None

    def near(self, text: str, *, limit: int = 3) -> list[str]:
        """Return the values spelt most similarly to a text, best first; none if no spelling is
        similar.
        """
        asked = spelling_key(text)
        best: dict[str, float] = {}
        for key, value in self._by_key.items():
            if self.count_of(value) and (alike := likeness(asked, key)) >= NEAR:
                best[value] = max(alike, best.get(value, 0.0))
        return sorted(best, key=lambda value: (-best[value], -self.counts[value], value))[:limit]

    def matching(self, text: str) -> list[str]:
        """Return the values to show for a search text: those with its words, a similar spelling, or
        the meant one.
        """
        meant = self.find(text)
        found = [meant.value] if meant and self.count_of(meant.value) else []
        return list(dict.fromkeys([*found, *like_words(text, self.counts)]))

    def named_in(self, text: str) -> list[ValueMatch]:
        """Return the values that a sentence names and records have, in its order; of overlapping
        names the longest.
        """
        cleaned, found, taken = clean(text), dict[int, ValueMatch](), set[int]()
        words = _words_of(cleaned)
        keys, known = [word.key for word in words], self._by_joined
        spans = [
            (start, start + size)
            for start in range(len(keys))
            for size, joined in enumerate(
                accumulate(keys[start : start + self._longest_name]), start=1
            )
            if joined in known
        ]
        for start, end in sorted(spans, key=lambda span: span[0] - span[1]):
            value = self._find_by_key(" ".join(keys[start:end]))
            if value is not None and self.counts.get(value) and taken.isdisjoint(range(start, end)):
                found[start] = ValueMatch(
                    value, cleaned[words[start].start : words[end - 1].end], True
                )
                taken.update(range(start, end))
        return [found[start] for start in sorted(found)]

    def _answer(self, asked: str) -> str | None:
        """Return the value that means yes or no as a text does, if every value of the field means
        one of them.
        """
        answer = read_boolean(asked) if len(self.known) <= MOST_ANSWERS else None
        return None if answer is None else self._answers.get(answer)

    @cached_property
    def _answers(self) -> dict[bool | None, str]:
        """Yes and no → the most frequent value with that meaning; empty if a value
        means neither.
        """
        answers: dict[bool | None, str] = {}
        for value in self.known:
            answers.setdefault(read_boolean(value), value)
        return {} if None in answers else answers

    @cached_property
    def spellings(self) -> Mapping[str, str]:
        """Lower-case spellings, as records and the spec write them → the value, of values that
        records have.
        """
        return {
            spelling: value for spelling, value in self._by_term.items() if self.count_of(value)
        }

    @cached_property
    def _by_term(self) -> dict[str, str]:
        """Folded spelling → value."""
        return self._table(term_of)

    @cached_property
    def _by_key(self) -> dict[str, str]:
        return {key: value for key, value in self._table(spelling_key).items() if key}

    @cached_property
    def _by_joined(self) -> dict[str, str]:
        table: dict[str, str] = {}
        for key, value in self._by_key.items():
            table.setdefault(joined_key(key), value)
        return table

    @cached_property
    def _longest_name(self) -> int:
        return max((len(key.split()) for key in self._by_key), default=0)

    def _table(self, form: Callable[[str], str]) -> dict[str, str]:
        """Return the value of each spelling in a form: of those that records have first, then by
        declared words.
        """
        table: dict[str, str] = {}
        for value in self.counts:
            table.setdefault(form(value), value)
        for value, words in self._synonyms.items():
            group = [form(spelling) for spelling in (value, *words)]
            had = (table[one] for one in group if one in table and self.count_of(table[one]))
            meant = table.get(group[0]) or max(had, key=self.count_of, default=value)
            for spelling in group:
                table.setdefault(spelling, meant)
        for value in self._choices:
            table.setdefault(form(value), value)
        return table

    def _find_by_key(self, key: str) -> str | None:
        return self._by_key.get(key) or self._by_joined.get(joined_key(key)) if key else None


def field_values(
    reader: ShelfReader,
    spec: CatalogueSpec,
    field: str,
    *,
    visibility: Visibility = SEES_EVERYTHING,
) -> FieldValues:
    """Return the values of a field over the records that a caller may see; counted once for each
    snapshot.
    """
    asked = field, visibility.audiences

    def count() -> FieldValues:
        declared = spec.fields[field].values if field in spec.fields else spec.kinds
        facets = reader.facets(field, scope=Scope(visibility=visibility))
        return FieldValues(facets, synonyms=spec.other_words.get(field), declared=declared)

    return _KEPT.get(reader, asked, count)


AskedT = TypeVar("AskedT", bound=Hashable)
KeptT = TypeVar("KeptT")


class KeptBySnapshot(Generic[AskedT, KeptT]):
    """Values derived from a snapshot, cached as long as it lives."""

    def __init__(self) -> None:
        self._kept: dict[int, dict[AskedT, KeptT]] = {}
        self._guard = threading.Lock()

    def get(self, reader: ShelfReader, asked: AskedT, make: Callable[[], KeptT]) -> KeptT:
        """Return the cached value, and make it if it is missing."""
        with self._guard:
            if id(reader) not in self._kept:
                self._kept[id(reader)] = {}
                # dropped with it, before another object can have its identity
                weakref.finalize(reader, self._kept.pop, id(reader), None)
            kept = self._kept[id(reader)]
        if asked in kept:
            return kept[asked]
        made = make()
        with self._guard:
            if len(kept) >= MOST_KEPT:
                kept.clear()
            kept[asked] = made
        return made


_KEPT = KeptBySnapshot[tuple[str, frozenset[str] | None], FieldValues]()


LISTED_WHOLE = 12  # a field with no more values than this has them all in an error
LISTED_EXAMPLES = 5
MAX_NAME_WORDS = 12  # a longer query is not taken for the name of a record

Label = Callable[[Condition], str]


def argument_of(condition: Condition) -> str:
    """Return the argument that a condition came from, as the generic tools name it."""
    name = "kind" if condition.field == KIND_FIELD else condition.field
    return f"exclude.{name}" if isinstance(condition, NoneOf) else f"filters.{name}"


def resolve_condition(
    stated: Condition,
    reader: ShelfReader,
    spec: CatalogueSpec,
    *,
    visibility: Visibility,
    label: Label = argument_of,
) -> tuple[Condition, list[str]]:
    """Return a condition with the values of records, and notes on corrections.

    Raise InputError for a value without a similar one.
    """
    condition = _as_values(stated, reader, spec, visibility)
    if isinstance(condition, Range) or _is_met_as_written(condition, reader, spec, visibility):
        return condition, []
    values = field_values(reader, spec, condition.field, visibility=visibility)
    matches = [_require_value(values, value, label(condition)) for value in condition.values]
    notes = [note for match in matches for note in _notes(match, values, condition, label)]
    meant = tuple(dict.fromkeys(match.value for match in matches))
    return replace(condition, values=meant), list(dict.fromkeys(notes))


def _as_values(
    condition: Condition, reader: ShelfReader, spec: CatalogueSpec, visibility: Visibility
) -> Condition:
    """Return a range of a field of brackets as a condition on the values that overlap it; other
    conditions unchanged.
    """
    field = spec.fields.get(condition.field)
    if not isinstance(condition, Range) or field is None or not field.brackets:
        return condition
    low = -GREATEST if condition.at_least is None else condition.at_least
    high = GREATEST if condition.at_most is None else condition.at_most
    values = field_values(reader, spec, field.name, visibility=visibility).counts
    bounds = {value: bounds_of(value) for value in values}
    return AnyOf(
        field.name,
        tuple(value for value, (least, most) in bounds.items() if least <= high and low <= most),
    )


def resolve_choices(
    asked: Sequence[str], known: Iterable[str], *, label: str
) -> tuple[list[str], list[str]]:
    """Return the names of a short list that are meant, and notes; raise InputError for a name
    without a similar one.
    """
    values = FieldValues(FacetCount("", name, 1) for name in known)
    matches = [_require_value(values, name, label) for name in asked]
    notes = [
        f"'{match.asked}' taken as '{match.value}'" for match in matches if not match.is_as_written
    ]
    return list(dict.fromkeys(match.value for match in matches)), notes


def without_adult(
    conditions: Sequence[Condition],
    reader: ShelfReader,
    spec: CatalogueSpec,
    *,
    query: str,
    visibility: Visibility,
) -> list[Condition]:
    """Return the conditions that keep adult records out of a search; none if the search asks for
    them.

    It asks with a condition for one of the values that mark them, by naming one in its query, or
    with the name of such a record, unless another record has that name too. Of a very long query
    only the beginning is read, as in searches.
    """
    asked = query[:MAX_CHARS]
    hidden = adult_conditions(spec)
    if not hidden or asks_for_adult(conditions, spec):
        return []
    for field, marks in spec.adult.items():
        named = field_values(reader, spec, field, visibility=visibility).named_in(asked)
        if not _terms(marks).isdisjoint(term_of(match.value) for match in named):
            return []
    if len(asked.split()) > MAX_NAME_WORDS:
        return hidden
    seen = Scope(visibility=visibility)
    for field, marks in spec.adult.items():  # it may be the name of an adult record
        if reader.has_name(asked, scope=seen.narrowed(AnyOf(field, marks))):
            is_other = reader.has_name(asked, scope=seen.narrowed(*hidden))
            return hidden if is_other else []
    return hidden


def adult_conditions(spec: CatalogueSpec) -> list[Condition]:
    """Return the conditions that a record is not marked as for adults only."""
    return [NoneOf(field, marks) for field, marks in spec.adult.items()]


def is_adult(record: Record, spec: CatalogueSpec) -> bool:
    """Tell whether a record is marked as for adults only."""
    return not all(meets(record, condition, spec) for condition in adult_conditions(spec))


def asks_for_adult(conditions: Iterable[Condition], spec: CatalogueSpec) -> bool:
    """Tell whether one of the conditions asks for a value that marks adult records."""
    return any(
        isinstance(condition, AnyOf | AllOf)
        and not _terms(condition.values).isdisjoint(_terms(spec.adult.get(condition.field, ())))
        for condition in conditions
    )


def _is_met_as_written(
    condition: AnyOf | AllOf | NoneOf,
    reader: ShelfReader,
    spec: CatalogueSpec,
    visibility: Visibility,
) -> bool:
    """Tell whether the values of a condition need no table of spellings: tokens, audiences, and
    values of records.

    The values of a field that cannot be browsed may be as many as the records, so they are first
    looked up one by one.
    """
    if condition.field in (AUDIENCE_FIELD, WORDS_FIELD):
        return True
    if condition.field == KIND_FIELD or spec.fields[condition.field].facet:
        return False
    seen = Scope(visibility=visibility)
    return all(
        reader.count(seen.narrowed(AnyOf(condition.field, (value,)))) for value in condition.values
    )


def _require_value(values: FieldValues, asked: str, label: str) -> ValueMatch:
    found = values.find(asked)
    if found is not None:
        return found
    if not values.known:  # of a catalogue without records every value is as unknown as any other
        return ValueMatch(asked, asked, True)
    near = values.near(asked)
    if len(near) == 1:
        return ValueMatch(near[0], asked, False)
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
    if isinstance(condition, NoneOf) or values.count_of(match.value) or not values.known:
        return taken
    return [*taken, f"'{label(condition)}': no record has '{match.value}'"]


def _terms(values: Iterable[str]) -> set[str]:
    return {term_of(value) for value in values}
