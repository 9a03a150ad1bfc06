"""Questions: the conditions that a query states, the order and the number it asks for, and the
words to search for.

"melancholy films after 2010, not horror" is the query "melancholy" with three conditions. What is
only mentioned stays in the query, and so do adjectives such as "short", which describe more often
than they limit, and kinds that describe something else, as in "special agents".
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import takewhile
from operator import attrgetter
from typing import Final, NamedTuple

from stackroom.frozen import frozen
from stackroom.model.scope import AllOf, AnyOf, Condition
from stackroom.text.normalise import name_key
from stackroom.text.patterns import compose, pattern
from stackroom.text.preference_pieces import (
    Bounds,
    Choice,
    Lead,
    Mention,
    Mood,
    NamedTag,
    Person,
    PieceJoin,
    Plain,
    PreferenceVocabulary,
    SentencePiece,
    Thing,
    Title,
    Tone,
    What,
    effects_of,
    in_days,
)
from stackroom.text.preference_words import phrase_key, phrases
from stackroom.text.preferences import LONGEST_SENTENCE, blanked, mentions_in, pieces_of
from stackroom.toml_text import load_packaged

WORD_OR_GAP = re.compile(r"[\s,;]+|[^\s,;]+")
JOINTS = frozenset({"and", "or", "but"})
UNKNOWN: Final = (Plain.WORD, Plain.UNCHECKED)
WORDS: Final = load_packaged("stackroom.text", "question_words.toml")
SUPERLATIVES, ADJECTIVES, EXTREMES = (
    frozenset(phrase for written in tables for phrase in phrases(written))
    for tables in (WORDS["superlatives"], WORDS["adjectives"], WORDS["extremes"].values())
)
HIGHEST: Final = phrases(WORDS["extremes"]["highest"])
WORDS_OF_PATTERNS: Final = {
    "counting": phrases(WORDS["counting"]),
    "leaving_out": phrases(WORDS["leaving_out"]),
    "extremes": EXTREMES,
    "superlatives": SUPERLATIVES | ADJECTIVES,
}


@lru_cache(maxsize=64)
def _pattern(name: str, labels: frozenset[str] = frozenset()) -> re.Pattern[str]:
    """Return one of the patterns of the file; `labels` are the names of fields in one of orders by
    them.
    """
    return compose(WORDS["patterns"], name, words={**WORDS_OF_PATTERNS, "labels": labels})


COUNTING, LEAVING_OUT, DESCRIBING, REFUSAL = map(
    _pattern, ("counting", "leaving_out", "describing", "refusal")
)
OF_PLACE, OF_THIS, UNKNOWN_NAME = map(_pattern, ("of_place", "of", "unknown_name"))


@frozen
class PhraseSpan:
    """Words of a query that have a meaning of their own."""

    start: int
    end: int
    phrase: str

    def overlaps(self, start: int, end: int) -> bool:
        """Tell whether it overlaps another span."""
        return self.start < end and start < self.end


@frozen
class StatedCondition(PhraseSpan):
    """Words of a query, and the conditions that they state."""

    conditions: tuple[Condition, ...]
    is_explicit: bool = True
    """Whether a word beside them makes the condition explicit: "not", "from", the name of the field
    or a word for any record.
    """
    is_sure: bool = True
    """Whether they are certainly a condition; a value that is only mentioned may belong to the
    topic.
    """


@frozen
class StatedOrder(PhraseSpan):
    """A superlative, and the field to sort by, or None if the catalogue has no such field."""

    sort: str | None


@frozen
class LeftOutPhrase(PhraseSpan):
    """An excluded phrase that is not a value of a field: the name of a record, or words to leave
    out.
    """

    what: str
    # whether a word such as "except" says that records are left out, and not "no" or "without"
    is_marked: bool = True


@frozen
class ReadQuery:
    """A query as it was read: what it states, in its order, and the words that are left to search
    for.
    """

    stated: tuple[StatedCondition, ...] = ()
    order: StatedOrder | None = None
    left_out: tuple[LeftOutPhrase, ...] = ()
    unknown_maker: str = ""  # the name after "by" that nobody here has
    unknown_place: str = ""  # the name after "from" that no record has
    is_count: bool = False
    unread: tuple[str, ...] = ()  # refusals of which nothing was understood
    rest: str  # the words to search for; empty where only padding is left
    is_known: bool = False
    """Whether all remaining words are words of the catalogue or of a mood, so that nothing else is
    asked for.
    """


def read_query(
    query: str, vocabulary: PreferenceVocabulary, *, unread: Collection[str] = ()
) -> ReadQuery:
    """Return the conditions and the order that a query states, and its other words; the phrases
    `unread` stay words.
    """
    text, kept = query[:LONGEST_SENTENCE], set(map(phrase_key, unread))
    first = COUNTING.search(text)
    counting = [PhraseSpan(start=first.start(), end=first.end(), phrase=first[0])] if first else []
    orders = _orders(text, vocabulary)
    asked = [span for span in (*counting, *orders) if phrase_key(span.phrase) not in kept]
    asked_at = [(span.start, span.end) for span in asked]
    pieces = pieces_of(blanked(text, asked_at, by=" "), vocabulary.of_questions)
    leaving = list(LEAVING_OUT.finditer(text))
    apart = [*(found.span() for found in leaving), *asked_at]
    mentions = [
        mention
        for mention in mentions_in(pieces)
        if mention.mood is not Mood.NOT or not _is_of_story(mention.start, text, pieces)
    ]
    things = [_Thing(mention, pieces, text, vocabulary, apart) for mention in mentions]
    known = list(filter(None, map(_Thing.find_stated, things)))
    stated = tuple(one for one in known if phrase_key(one.phrase) not in kept)
    marked = list(_left_out(leaving, text, stated))
    refused = _refused(text, mentions, pieces, [*stated, *marked])
    left_out = tuple(one for one in (*marked, *refused) if phrase_key(one.phrase) not in kept)
    used = [one for one in orders if one in asked and _is_order(one, pieces, text, vocabulary)][:1]
    counted = [span for span in counting if span in asked]
    spans: list[PhraseSpan] = [*stated, *left_out, *counted, *used]
    outside = _outside(pieces, spans)
    rest = query.strip()
    if spans:
        rest = _without_phrases(query, [*spans, *_padding(outside, text)])
        if all(one in spans for one in orders) and not any(map(_is_topic, outside)):
            rest = ""
    refusals = (
        found
        for found in REFUSAL.finditer(text)
        if not any(span.overlaps(*found.span()) for span in (*known, *left_out))
    )
    return ReadQuery(
        stated=stated,
        order=used[0] if used else None,
        left_out=left_out,
        unknown_maker=_unknown_name("maker", text, known),
        unknown_place=_unknown_name("place", text, known) if vocabulary.places else "",
        is_count=bool(counted),
        unread=tuple(
            found[0].strip() for found in refusals if not _is_of_story(found.start(), text, pieces)
        ),
        rest=rest,
        is_known=not any(piece.what in UNKNOWN for piece in _outside(pieces, stated)),
    )


def _orders(text: str, vocabulary: PreferenceVocabulary) -> list[StatedOrder]:
    """Return the superlatives of a text, with the field that each sorts by."""
    labels = frozenset(vocabulary.labels)
    orders: list[StatedOrder] = []
    for found in _pattern("order" if labels else "superlative", labels).finditer(text):
        groups = found.groupdict()
        label, extreme = phrase_key(groups.get("label")), phrase_key(groups.get("extreme"))
        most = phrase_key(groups["most"]) or f"{extreme} {label}"
        falling = "-" if extreme in HIGHEST else ""
        of_label = f"{falling}{vocabulary.labels[label]}" if label else None
        sort = vocabulary.orders.get(most, of_label)
        if sort or most in SUPERLATIVES:
            start, end = found.span()
            orders.append(StatedOrder(start=start, end=end, phrase=found[0], sort=sort))
    return orders


def _is_order(
    order: StatedOrder, pieces: Sequence[SentencePiece], text: str, vocabulary: PreferenceVocabulary
) -> bool:
    """Tell whether a superlative orders the results: it is before the topic, or about the records
    themselves.
    """
    is_first = not any(piece.end <= order.start and piece.what is Plain.WORD for piece in pieces)
    if is_first and phrase_key(order.phrase) not in ADJECTIVES:
        return True
    following = _first_after(order.end, pieces)
    if following is None or isinstance(following.what, Choice):
        return True
    return text[following.start : following.end].lower() in vocabulary.fillers


def _first_after(end: int, pieces: Iterable[SentencePiece]) -> SentencePiece | None:
    return next((piece for piece in pieces if piece.start >= end), None)


def _left_out(
    leaving: Iterable[re.Match[str]], text: str, stated: Sequence[StatedCondition]
) -> Iterator[LeftOutPhrase]:
    """Yield the names that the query excludes; values of fields are conditions already."""
    for found in leaving:
        start = found.start("what")
        end = min([found.end(), *(one.start for one in stated if start < one.start)])
        if what := text[start:end].strip():
            end = start + len(what)
            if not any(one.overlaps(start, end) for one in stated):
                phrase = text[found.start() : end].strip(" ,")
                yield LeftOutPhrase(start=found.start(), end=end, phrase=phrase, what=what)


def _refused(
    text: str,
    mentions: Iterable[Mention],
    pieces: Sequence[SentencePiece],
    taken: Collection[PhraseSpan],
) -> Iterator[LeftOutPhrase]:
    """Yield the excluded descriptions: "no zombies", "without dice"."""
    for mention in mentions:
        is_free = not any(span.overlaps(mention.start, mention.end) for span in taken)
        if is_free and isinstance(mention.what, Tone) and mention.mood is Mood.NOT:
            what = next(piece for piece in pieces if piece.what is mention.what)
            yield LeftOutPhrase(
                start=mention.start,
                end=mention.end,
                phrase=text[mention.start : mention.end],
                what=text[what.start : what.end],
                is_marked=False,
            )


def _is_of_story(start: int, text: str, pieces: Iterable[SentencePiece]) -> bool:
    """Tell whether an exclusion that begins here is about the content of a record, and not about
    records.
    """
    passed = (PieceJoin.AND, Lead.HAVING)
    before = [piece.what for piece in pieces if piece.end <= start and piece.what not in passed]
    return before[-1:] == [Plain.WORD] and DESCRIBING.search(text, 0, start) is not None


def _unknown_name(group: str, text: str, stated: Sequence[StatedCondition]) -> str:
    """Return the name of a maker or a place in the query that the catalogue does not have."""
    for found in UNKNOWN_NAME.finditer(text):
        if found[group] and not any(one.overlaps(*found.span()) for one in stated):
            return found["name"]
    return ""


def _without_phrases(query: str, stated: Collection[PhraseSpan]) -> str:
    """Return a query without the words that state conditions, and without leftover commas."""
    kept, place = [], 0
    for span in sorted(stated, key=attrgetter("start")):
        kept.append(query[place : span.start])
        place = max(place, span.end)
    kept.append(query[place:])
    last = len(kept) - 1
    shown = [_without_joints(one, at > 0, at < last) for at, one in enumerate(kept)]
    return " ".join(filter(None, shown)).strip()


def _without_joints(text: str, first: bool, last: bool) -> str:
    """Return a text without the commas and words such as "and" that it begins with, ends with, or
    both.
    """
    tokens = WORD_OR_GAP.findall(text)
    while first and tokens and _is_joint(tokens[0]):
        del tokens[0]
    while last and tokens and _is_joint(tokens[-1]):
        del tokens[-1]
    return "".join(tokens)


def _is_joint(token: str) -> bool:
    return token[0] in ",;" or token[0].isspace() or token.casefold() in JOINTS


def _outside(pieces: Iterable[SentencePiece], spans: Collection[PhraseSpan]) -> list[SentencePiece]:
    taken = {place for span in spans for place in range(span.start, span.end)}
    return [piece for piece in pieces if piece.start not in taken]


def _is_topic(piece: SentencePiece) -> bool:
    return isinstance(piece.what, Thing) or piece.what in UNKNOWN


def _padding(outside: Sequence[SentencePiece], text: str) -> Iterator[PhraseSpan]:
    """Yield the words without a meaning of their own around the words to search for."""
    for some in (outside, reversed(outside)):
        for piece in takewhile(lambda one: one.what is Plain.FILLER, some):
            phrase = text[piece.start : piece.end]
            yield PhraseSpan(start=piece.start, end=piece.end, phrase=phrase)


def _with_label(field: str, text: str, start: int, end: int) -> tuple[int, int]:
    """Return where a value begins and ends with the name of its field: "bloomy rind", "the keyword
    parsing".
    """
    label = rf"{re.escape(field.rsplit('_', maxsplit=1)[-1].removesuffix('s'))}s?\b"
    before = pattern(rf"\b(?:the\s)?{label}\s{{1,3}}\Z", re.IGNORECASE).search(
        text, max(0, start - 40), start
    )
    after = pattern(rf"\s{{1,3}}{label}", re.IGNORECASE).match(text, end)
    return before.start() if before else start, after.end() if after else end


class _Thing(NamedTuple):
    """A thing in a query of these pieces."""

    mention: Mention
    pieces: Sequence[SentencePiece]
    text: str
    vocabulary: PreferenceVocabulary
    # the spans that ask for an order or a number, or leave something out
    apart: Sequence[tuple[int, int]]

    def find_stated(self) -> StatedCondition | None:
        """Return the conditions that it states, or None."""
        what, mood, start, end, _ = self.mention
        is_value = isinstance(what, Choice | NamedTag)
        if isinstance(what, Choice | NamedTag) and what.field:
            start, end = _with_label(what.field, self.text, start, end)
        is_labelled = (start, end) != (self.mention.start, self.mention.end)
        if is_value and (place := OF_PLACE.search(self.text, max(0, start - 12), start)):
            start = place.start()
        said, fillers = self.text[start:end].lower(), self.vocabulary.fillers
        after = _first_after(end, self.pieces)
        words = [self.text[after.start : after.end].lower()] if after else []
        # a word for any record follows, or is a part of it: "silver objects", "cooperative games"
        is_before_noun = not fillers.isdisjoint([*words, said.split()[-1]])
        is_of = OF_THIS.match(said) is not None  # a word such as "from" is before it
        if isinstance(what, NamedTag) and mood is Mood.PLAIN:
            conditions = self._of_tag(what, is_meant=is_before_noun or is_labelled, is_of=is_of)
        else:
            is_adjective = after is not None and after.what is Plain.WORD
            is_free = not is_adjective or said in self.vocabulary.adjectives or is_labelled
            effects = effects_of(self.mention) if self._is_condition(is_free=is_free) else ()
            conditions = [effect for effect in effects if isinstance(effect, Condition)]
        if not conditions:
            return None
        is_asked = mood in (Mood.NOT, Mood.MUST)
        is_name = isinstance(what, NamedTag) and what.is_name
        is_surname = said.isalpha() and name_key([said]) in self.vocabulary.people
        is_named = (is_name and " " in said) or (isinstance(what, Person) and not is_surname)
        return StatedCondition(
            start=start,
            end=end,
            phrase=self.text[start:end],
            conditions=tuple(in_days(condition, self.vocabulary) for condition in conditions),
            is_explicit=is_asked or is_labelled or is_before_noun or is_of,
            is_sure=is_asked or isinstance(what, Bounds) or is_named,
        )

    def _of_tag(self, tag: NamedTag, *, is_meant: bool, is_of: bool) -> list[Condition]:
        """Return the condition on a tag that is only mentioned: one that describes any record, or
        is the topic of other conditions.
        """
        if not tag.field:
            return []
        if is_meant or (tag.is_name and (is_of or self._is_alone(NamedTag, Tone, Title))):
            return [AnyOf(tag.field, (tag.name,))]
        return [AllOf(tag.field, (tag.name,))] if not tag.is_name and self._is_topic() else []

    def _is_condition(self, *, is_free: bool) -> bool:
        """Tell whether it is a bound or a kind, or excluded or required."""
        what, mood = self.mention.what, self.mention.mood
        if isinstance(what, Person):
            return mood in (Mood.PLAIN, Mood.NOT, Mood.MUST)
        if isinstance(what, Bounds):
            return mood is not Mood.ANY and not what.adjective
        is_asked = mood in (Mood.NOT, Mood.MUST)
        return is_asked or (isinstance(what, Choice) and mood is Mood.PLAIN and is_free)

    def _others(self) -> list[What]:
        """Return the other things of the query, except orders and exclusions."""
        apart = [(self.mention.start, self.mention.end), *self.apart]
        taken = {place for start, end in apart for place in range(start, end)}
        return [piece.what for piece in self.pieces if piece.start not in taken]

    def _is_alone(self, *topics: type) -> bool:
        """Tell whether every other thing is known, and none is a topic."""
        return not any(what in UNKNOWN or isinstance(what, topics) for what in self._others())

    def _is_topic(self) -> bool:
        """Tell whether the query is only a tag with conditions ("symphonies before 1800") or with a
        maker.
        """
        others = self._others()
        has_maker = any(isinstance(what, Person) for what in others)
        has_limit = any(isinstance(what, Bounds) and not what.adjective for what in others)
        has_tags = any(isinstance(what, NamedTag) for what in others)
        is_narrowed = has_maker or (not has_tags and (has_limit or bool(self.apart)))
        return is_narrowed and self._is_alone(Tone, Title, PieceJoin)
