"""Reading a question in one catalogue: what it states narrows the scope and sets the order, the
rest is searched for.

What is sure, or likely, is applied and said. What was understood and cannot be checked is said.
Filters of the call go before what its words state. A query in quotation marks, and the name of a
record, state nothing.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from stackroom.catalogue.column_words import label_of
from stackroom.catalogue.spec import CatalogueSpec, FieldRole
from stackroom.errors import InputError
from stackroom.model.record import Key
from stackroom.model.scope import (
    KIND_FIELD,
    WORDS_FIELD,
    AllOf,
    AnyOf,
    Condition,
    NoneOf,
    Range,
    Scope,
)
from stackroom.recommend.vocabulary import preference_vocabulary
from stackroom.search.question import (
    ReadPhrase,
    ReadQuestion,
    counted,
    list_in_scope,
    plain_reading,
)
from stackroom.shelf.terms import term_of
from stackroom.text.analyser import analyse_query
from stackroom.text.instructions import quoted
from stackroom.text.patterns import pattern
from stackroom.text.preference_pieces import PreferenceVocabulary, merge_conditions, merge_pair
from stackroom.text.questions import (
    LeftOutPhrase,
    ReadQuery,
    StatedCondition,
    StatedOrder,
    read_query,
)
from stackroom.tools.catalogue import CatalogueView
from stackroom.tools.filters import filters_of, written_range

EXPLICIT_CENTURY = pattern(r"century|[0-9]{4}")
NAME_LIKE = 0.75
"""The likeness to a record's name from which a query is that name, and states nothing: "No Game No
Life".
"""
SAME_NAME = 0.9
LEFT_ASIDE = "'{phrase}' was left aside: it does not go with what you chose under {label}"
NOT_CHECKED = "'{phrase}' cannot be checked here: no field tells it"
REFUSED = "'{phrase}' cannot be checked here but by its words: records that have them come last"
NO_PERIOD = "no record has {text}, so '{phrase}' is searched for as words"
NO_SUCH = "no record has '{name}' under {label}"


def read_question(
    view: CatalogueView, query: str, scope: Scope, *, as_words: Collection[str] = ()
) -> ReadQuestion:
    """Return a question as a catalogue reads it, but for the phrases that are to be words.

    `scope` is that of the call: what the caller may see, with the filters that were given.
    """
    plain, text = plain_reading(query, scope), query.strip()
    if is_list(query):
        return replace(
            plain, query="", scope=scope.narrowed(*words_conditions(words_of_list(query)))
        )
    if not text or (len(text) > 1 and text[0] in '"“' and text[-1] in '"”'):
        return plain
    this_year = view.catalogue.recommender.this_year()
    vocabulary = preference_vocabulary(view.reader, view.spec, scope=scope, this_year=this_year)
    return _QuestionReader(view, scope, vocabulary).read(plain, as_words)


class _Excepted(NamedTuple):
    """The parts that a question leaves out, by phrase: a record by its name, a word, or records
    with all its words.
    """

    keys: dict[str, Key]
    words: dict[str, NoneOf]
    refused: dict[str, list[Key]]


@dataclass(frozen=True, slots=True)
class _QuestionReader:
    """Reads a question in one catalogue, in the scope of its call."""

    view: CatalogueView
    scope: Scope
    vocabulary: PreferenceVocabulary

    def read(self, plain: ReadQuestion, as_words: Collection[str]) -> ReadQuestion:
        """Return a question with what it states applied, but for the phrases that are to be
        words.
        """
        query, embed = plain.asked, self.view.spec.embed
        read = self._read_known(query, as_words)
        if embed is not None and embed.markdown:  # in prose they are words of a topic
            unsaid = [
                one.phrase
                for one in read.stated
                if not one.is_explicit or isinstance(one.conditions[0], Range)
            ]
            read = self._read_known(query, [*as_words, *unsaid])
            read = replace(read, order=None, unknown_maker="", unknown_place="")
        moods = replace(plain, names_moods=read.is_known)
        names = read.unknown_maker or read.unknown_place
        states = read.stated or read.order or read.left_out or read.unread or read.is_count or names
        return self._applied(read, moods) if states and not self._is_name(query, read) else moods

    def _read_known(self, query: str, as_words: Collection[str]) -> ReadQuery:
        """Return the query as it was read, with conditions that can be filtered by here."""
        known = filters_of(self.view.spec).values()
        read = read_query(query, self.vocabulary, unread=as_words)
        unknown = [
            one.phrase
            for one in read.stated
            if not {each.field for each in one.conditions} <= {field.name for field in known}
        ]
        is_of_passages = bool(self.view.spec.kinds_hidden_from_search)
        if is_of_passages:  # one that answers "how long can I dive without air" has the word
            unknown += [one.phrase for one in read.left_out]
        if unknown:
            read = read_query(query, self.vocabulary, unread=[*as_words, *unknown])
        return replace(read, unread=()) if is_of_passages else read

    def _is_name(self, query: str, read: ReadQuery) -> bool:
        """Tell whether a query is a record's name, or only a value, which other fields may have
        among their words.
        """
        for stated in read.stated[:1]:
            is_meant = (
                stated.is_explicit or stated.is_sure or isinstance(stated.conditions[0], Range)
            )
            if stated.phrase == query.strip() and not is_meant:
                return True
        seen = Scope(visibility=self.scope.visibility)
        return any(
            match.likeness >= NAME_LIKE
            for match in self.view.reader.titles_like(query, scope=seen, limit=1)
        )

    def _applied(self, read: ReadQuery, plain: ReadQuestion) -> ReadQuestion:
        """Return a question with what it states as conditions, order and notes."""
        known = [self._in_known_time(one) for one in read.stated]
        unmet = [one for one in known if self._is_unmet_time(one)]
        against = [one for one in known if one not in unmet and self._is_against_filters(one)]
        held = [one for one in known if one not in unmet and one not in against]
        excepted = self._excepted(read.left_out)
        stated = [condition for one in held for condition in one.conditions]
        conditions, scope = _narrowed(
            self.scope, merge_conditions([*stated, *excepted.words.values()])
        )
        sort = (read.order.sort or "") if read.order else ""
        unchecked = [read.order.phrase] if read.order and not sort else []
        if read.unknown_maker and not (self.vocabulary.people or read.unread):
            unchecked.append(f"by {read.unknown_maker}")
        unknown_names = list(self._unknown_names(read))
        needs_words = plain.asked if unchecked or unmet else ""
        doubts = [
            *(self._left_aside(one) for one in against),
            *(NOT_CHECKED.format(phrase=quoted(one)) for one in (*unchecked, *read.unread)),
            *(REFUSED.format(phrase=quoted(phrase)) for phrase in excepted.refused),
            *(
                NO_PERIOD.format(text=self._described(one), phrase=quoted(one.phrase))
                for one in unmet
            ),
            *unknown_names,
        ]
        return replace(
            plain,
            query=needs_words if unmet else read.rest or needs_words,
            scope=scope,
            conditions=tuple(one for one in conditions if one.field != WORDS_FIELD),
            phrases=tuple(self._phrases(held, excepted, read.order)),
            likely=tuple(one.phrase for one in held if not one.is_sure),
            sort=sort,
            left_out=frozenset(excepted.keys.values()),
            refused=frozenset(key for keys in excepted.refused.values() for key in keys),
            is_count=read.is_count,
            lacks_name=bool(unknown_names),
            doubts=tuple(doubts),
        )

    def _is_against_filters(self, stated: StatedCondition) -> bool:
        """Tell whether a condition does not go with the filters of the call."""
        filtered = {condition.field for condition in self.scope.conditions}
        is_filtered = any(condition.field in filtered for condition in stated.conditions)
        return is_filtered and not self.view.reader.count(self.scope.narrowed(*stated.conditions))

    def _left_aside(self, stated: StatedCondition) -> str:
        label = label_of(stated.conditions[0].field)
        return LEFT_ASIDE.format(phrase=quoted(stated.phrase), label=label)

    def _unknown_names(self, read: ReadQuery) -> Iterator[str]:
        """Yield a note on each name in a question that no record has."""
        for name, fields in (
            (read.unknown_maker, self.vocabulary.makers),
            (read.unknown_place, self.vocabulary.places),
        ):
            if name and fields:
                yield NO_SUCH.format(name=quoted(name), label=", ".join(map(label_of, fields)))

    def _in_known_time(self, stated: StatedCondition) -> StatedCondition:
        """Return "the 20s" as the decade a century before, where only that has records."""
        condition = stated.conditions[0]
        if EXPLICIT_CENTURY.search(stated.phrase) or not self._is_unmet_time(stated):
            return stated
        assert isinstance(condition, Range)
        century = 36_525 if self.vocabulary.has_dates else 100
        low, high = condition.at_least or 0, condition.at_most or 0
        before = replace(
            stated, conditions=(Range(condition.field, low - century, high - century),)
        )
        return stated if self._is_unmet_time(before) else before

    def _is_unmet_time(self, stated: StatedCondition) -> bool:
        """Tell whether no record is of a period; it may be that of a story, as in "the 2070s"."""
        condition = stated.conditions[0]
        if not isinstance(condition, Range) or condition.field != self.vocabulary.time_field:
            return False
        is_closed = condition.at_least is not None and condition.at_most is not None
        seen = Scope(visibility=self.scope.visibility)
        return is_closed and not self.view.reader.count(seen.narrowed(condition))

    def _excepted(self, phrases: Sequence[LeftOutPhrase]) -> _Excepted:
        excepted = _Excepted({}, {}, {})
        for phrase, what, is_marked in ((one.phrase, one.what, one.is_marked) for one in phrases):
            named = (
                self.view.reader.titles_like(what, scope=self.scope, limit=1) if is_marked else ()
            )
            tokens = tuple(token for token, _ in analyse_query(what, synonyms={}).terms)
            if named and named[0].likeness >= SAME_NAME:
                excepted.keys[phrase] = named[0].key
            elif len(tokens) == 1 and is_marked:
                excepted.words[phrase] = NoneOf(WORDS_FIELD, tokens)
            elif tokens:
                excepted.refused[phrase] = list_in_scope(
                    self.view, self.scope.narrowed(AllOf(WORDS_FIELD, tokens))
                )
        return excepted

    def _phrases(
        self, held: Iterable[StatedCondition], excepted: _Excepted, order: StatedOrder | None
    ) -> Iterator[ReadPhrase]:
        """Yield what the phrases of a question were read as; of people, how many records have
        them.
        """
        for one in held:
            fields = [
                (condition, self.view.spec.fields.get(condition.field))
                for condition in one.conditions
            ]
            people = [
                condition for condition, field in fields if field and field.role is FieldRole.PEOPLE
            ]
            found = (
                f", {counted(self.view.reader.count(self.scope.narrowed(*people)))}"
                if people
                else ""
            )
            yield ReadPhrase(one.phrase, f"{self._described(one)}{found}", one.conditions[0].field)
        yield from (
            ReadPhrase(phrase, "without the record of this name", "") for phrase in excepted.keys
        )
        yield from (
            ReadPhrase(phrase, "without records that have the word", "")
            for phrase in excepted.words
        )
        if order and order.sort:
            field = order.sort.removeprefix("-")
            end = "greatest" if order.sort.startswith("-") else "least"
            yield ReadPhrase(order.phrase, f"sorted by {label_of(field)}, the {end} first", field)

    def _described(self, stated: StatedCondition) -> str:
        return ", ".join(describe(condition, self.view.spec) for condition in stated.conditions)


def _narrowed(scope: Scope, conditions: Sequence[Condition]) -> tuple[tuple[Condition, ...], Scope]:
    """Return the conditions within those of a scope on the same fields, and the scope with them in
    their place.
    """
    within = tuple(
        next((both for other in scope.conditions if (both := _within(condition, other))), condition)
        for condition in conditions
    )
    kept = [
        other
        for other in scope.conditions
        if not any(
            _within(condition, other) == both
            for condition, both in zip(conditions, within, strict=True)
        )
    ]
    return within, Scope(conditions=(*kept, *within), visibility=scope.visibility)


def _within(stated: Condition, given: Condition) -> Condition | None:
    """Return what two conditions on the same field have in common; None where they cannot be
    one.
    """
    if stated.field != given.field:
        return None
    if isinstance(stated, AnyOf) and isinstance(given, AnyOf):
        terms = {term_of(value) for value in stated.values}
        common = tuple(value for value in given.values if term_of(value) in terms)
        return AnyOf(stated.field, common) if common else None
    return (
        merge_pair(given, stated)
        if isinstance(stated, Range) and isinstance(given, Range)
        else None
    )


def describe(condition: Condition, spec: CatalogueSpec) -> str:
    """Return a condition in a few words: "not horror", "Year ≥ 2011"."""
    label = label_of("kind" if condition.field == KIND_FIELD else condition.field)
    if not isinstance(condition, Range):
        field = spec.fields.get(condition.field)
        values = ", ".join(map(field.in_words, condition.values) if field else condition.values)
        return f"not {values}" if isinstance(condition, NoneOf) else f"{label}: {values}"
    bounds = written_range(condition, spec.fields[condition.field])
    low, high = bounds.get("min"), bounds.get("max")
    if low is None or high is None:
        return f"{label} ≥ {low}" if high is None else f"{label} ≤ {high}"
    return f"{label} is {low}" if low == high else f"{label} {low} to {high}"


EVERY = "*"  # the query that lists every record


def is_list(query: str) -> bool:
    """Tell whether a query asks for a list: an asterisk, alone or with words after a blank."""
    return query.split(maxsplit=1)[:1] == [EVERY]


def words_of_list(query: str) -> str:
    """Return the words that every record of a list has; empty where none are asked for."""
    return query.strip().removeprefix(EVERY).strip() if is_list(query) else query.strip()


def words_conditions(words: str) -> list[Condition]:
    """Return the condition that a record has all of these words, in any searched field; none
    without words.
    """
    if not words:
        return []
    tokens = [token for token, _ in analyse_query(words, synonyms={}).terms]
    if not tokens:
        raise InputError(
            f"'query': '{quoted(words[:60])}' has no word that a record could have; give words"
        )
    return [AllOf(WORDS_FIELD, tuple(tokens))]
