"""Questions: the conditions that a query states, the order and the number it asks for, and the
words to search for.

"melancholy films after 2010, not horror" is the query "melancholy" with three conditions. What is
only mentioned stays in the query, and so do adjectives such as "short", which describe more often
than they limit, and kinds that describe something else, as in "special agents".
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import dropwhile, takewhile
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
from stackroom.text.preferences import LONGEST_SENTENCE, mentions_in, pieces_of
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
    text, kept = query[:LONGEST_SENTENCE], {phrase_key(phrase) for phrase in unread}
    first = COUNTING.search(text)
    counting = [PhraseSpan(start=first.start(), end=first.end(), phrase=first[0])] if first else []
    orders = [*_orders(text, vocabulary)]
    asked = [span for span in (*counting, *orders) if phrase_key(span.phrase) not in kept]
    pieces = pieces_of(_blanked(text, asked), vocabulary.of_questions)
    leaving = [found.span() for found in LEAVING_OUT.finditer(text)]
    read = _Query(pieces, text, vocabulary, [*leaving, *((span.start, span.end) for span in asked)])
    all_mentions = mentions_in(pieces)
    mentions = [
        one
        for one in all_mentions
        if one.mood is not Mood.NOT or not _is_of_story(one.start, text, pieces)
    ]
    known = [one for mention in mentions if (one := _stated(mention, read)) is not None]
    stated = tuple(one for one in known if phrase_key(one.phrase) not in kept)
    order = next(
        (one for one in orders if one in asked and _is_order(one, pieces, text, vocabulary)), None
    )
    marked = list(_left_out(text, stated))
    refused = _refused(text, mentions, pieces, [*stated, *marked])
    left_out = tuple(
        phrase for phrase in (*marked, *refused) if phrase_key(phrase.phrase) not in kept
    )
    spans: list[PhraseSpan] = [
        *stated,
        *left_out,
        *(one for one in asked if one in counting or one is order),
    ]
    rest = (
        _without_phrases(query, [*spans, *_padding(pieces, spans, text)])
        if spans
        else query.strip()
    )
    topics = (
        one for one in _outside(pieces, spans) if isinstance(one.what, Thing) or one.what in UNKNOWN
    )
    is_padding = bool(spans) and all(one in spans for one in orders) and not any(topics)
    return ReadQuery(
        stated=stated,
        order=order,
        left_out=left_out,
        unknown_maker=_unknown_name("maker", text, known),
        unknown_place=_unknown_name("place", text, known) if vocabulary.places else "",
        is_count=any(one in asked for one in counting),
        unread=tuple(
            found[0].strip()
            for found in REFUSAL.finditer(text)
            if not _is_of_story(found.start(), text, pieces)
            and not any(span.overlaps(*found.span()) for span in (*known, *left_out))
        ),
        rest="" if is_padding else rest,
        is_known=not any(piece.what in UNKNOWN for piece in _outside(pieces, stated)),
    )


def _orders(text: str, vocabulary: PreferenceVocabulary) -> Iterator[StatedOrder]:
    """Yield the superlatives of a text, with the field that each sorts by."""
    labels = frozenset(vocabulary.labels)
    for found in _pattern("order" if labels else "superlative", labels).finditer(text):
        extreme, label, most = (
            phrase_key(found.groupdict().get(name)) for name in ("extreme", "label", "most")
        )
        most = most or f"{extreme} {label}"
        of_label = (
            f"{'-' if extreme in HIGHEST else ''}{vocabulary.labels[label]}" if label else None
        )
        sort = vocabulary.orders.get(most, of_label)
        if sort or most in SUPERLATIVES:
            yield StatedOrder(start=found.start(), end=found.end(), phrase=found[0], sort=sort)


def _is_order(
    order: StatedOrder, pieces: Sequence[SentencePiece], text: str, vocabulary: PreferenceVocabulary
) -> bool:
    """Tell whether a superlative orders the results: it is before the topic, or about the records
    themselves.
    """
    is_first = not any(piece.end <= order.start and piece.what is Plain.WORD for piece in pieces)
    if is_first and phrase_key(order.phrase) not in ADJECTIVES:
        return True
    following = next((piece for piece in pieces if piece.start >= order.end), None)
    is_noun = (
        following is None or text[following.start : following.end].lower() in vocabulary.fillers
    )
    return is_noun or (following is not None and isinstance(following.what, Choice))


def _left_out(text: str, stated: Sequence[StatedCondition]) -> Iterator[LeftOutPhrase]:
    """Yield the names that the query excludes; values of fields are conditions already."""
    for found in LEAVING_OUT.finditer(text):
        start = found.start("what")
        end = min([found.end(), *(one.start for one in stated if start < one.start)])
        what = text[start:end].strip()
        if what and not any(one.overlaps(start, start + len(what)) for one in stated):
            end = start + len(what)
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


def _blanked(text: str, spans: Iterable[PhraseSpan]) -> str:
    for span in spans:
        text = text[: span.start] + " " * (span.end - span.start) + text[span.end :]
    return text


def _without_phrases(query: str, stated: Collection[PhraseSpan]) -> str:
    """Return a query without the words that state conditions, and without leftover commas."""
    kept, place = [], 0
    for one in sorted(stated, key=lambda one: one.start):
        kept.append(query[place : one.start])
        place = max(place, one.end)
    kept.append(query[place:])
    last = len(kept) - 1
    shown = [
        _without_joints(one, first=number > 0, last=number < last)
        for number, one in enumerate(kept)
    ]
    return " ".join(one for one in shown if one).strip()


def _without_joints(text: str, *, first: bool, last: bool) -> str:
    """Return a text without the commas and words such as "and" that it begins with, ends with, or
    both.
    """
    tokens = WORD_OR_GAP.findall(text)
    tokens = list(dropwhile(_is_joint, tokens)) if first else tokens
    return "".join([*dropwhile(_is_joint, reversed(tokens))][::-1] if last else tokens)


def _is_joint(token: str) -> bool:
    return token[0] in ",;" or token[0].isspace() or token.casefold() in JOINTS


def _outside(pieces: Iterable[SentencePiece], spans: Collection[PhraseSpan]) -> list[SentencePiece]:
    return [
        piece for piece in pieces if not any(one.start <= piece.start < one.end for one in spans)
    ]


def _padding(
    pieces: Sequence[SentencePiece], spans: Collection[PhraseSpan], text: str
) -> Iterator[PhraseSpan]:
    """Yield the words without a meaning of their own around the words to search for."""
    left = _outside(pieces, spans)
    ends = (left, reversed(left))
    for piece in (
        piece for some in ends for piece in takewhile(lambda one: one.what is Plain.FILLER, some)
    ):
        yield PhraseSpan(start=piece.start, end=piece.end, phrase=text[piece.start : piece.end])


class _Query(NamedTuple):
    """A query in pieces, its text and the words of the catalogue."""

    pieces: Sequence[SentencePiece]
    text: str
    vocabulary: PreferenceVocabulary
    # the spans that ask for an order or a number, or leave something out
    apart: Sequence[tuple[int, int]]


def _stated(mention: Mention, query: _Query) -> StatedCondition | None:
    start, end, text, vocabulary = mention.start, mention.end, query.text, query.vocabulary
    if isinstance(mention.what, Choice | NamedTag) and mention.what.field:
        start, end = _with_label(mention.what.field, text, start, end)
    is_labelled = (start, end) != (mention.start, mention.end)
    place = (
        OF_PLACE.search(text, max(0, start - 12), start)
        if isinstance(mention.what, Choice | NamedTag)
        else None
    )
    start = place.start() if place else start
    thing = _Thing(query, mention, text[start:end].lower(), end, is_labelled)
    conditions = tuple(in_days(condition, vocabulary) for condition in thing.iter_conditions())
    if not conditions:
        return None
    is_asked = mention.mood in (Mood.NOT, Mood.MUST)
    is_surname = thing.said.isalpha() and name_key([thing.said]) in vocabulary.people
    is_name = isinstance(mention.what, NamedTag) and mention.what.is_name and " " in thing.said
    is_named = is_name or (isinstance(mention.what, Person) and not is_surname)
    return StatedCondition(
        start=start,
        end=end,
        phrase=text[start:end],
        conditions=conditions,
        is_explicit=is_asked or is_labelled or thing.is_before_noun or thing.is_of,
        is_sure=is_asked or isinstance(mention.what, Bounds) or is_named,
    )


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
    """A thing in a query, the words for it in lower case, and whether the name of its field is
    beside it.
    """

    query: _Query
    mention: Mention
    said: str
    end: int
    is_labelled: bool

    @property
    def following(self) -> SentencePiece | None:
        """The piece after it."""
        return next((piece for piece in self.query.pieces if piece.start >= self.end), None)

    @property
    def is_before_noun(self) -> bool:
        """Whether a word for any record follows, or is a part of it: "silver objects", "cooperative
        games".
        """
        following = self.following
        words = [self.query.text[following.start : following.end].lower()] if following else []
        return any(
            word in self.query.vocabulary.fillers for word in (*words, self.said.split()[-1])
        )

    @property
    def is_of(self) -> bool:
        """Whether a word such as "from" is before it."""
        return OF_THIS.match(self.said) is not None

    @property
    def others(self) -> list[What]:
        """The other things of the query, except orders and exclusions."""
        apart = [(self.mention.start, self.mention.end), *self.query.apart]
        pieces = self.query.pieces
        return [
            piece.what
            for piece in pieces
            if not any(start <= piece.start < end for start, end in apart)
        ]

    def iter_conditions(self) -> Iterator[Condition]:
        """Yield its conditions, if it is a bound or a kind, excluded or required, or the topic of
        others.
        """
        what = self.mention.what
        if not isinstance(what, NamedTag) or self.mention.mood is not Mood.PLAIN:
            effects = effects_of(self.mention) if self._is_condition() else ()
            yield from (effect for effect in effects if isinstance(effect, Condition))
        elif what.field:
            is_meant = self.is_before_noun or self.is_labelled
            if is_meant or (what.is_name and (self.is_of or self._is_alone(NamedTag, Tone, Title))):
                yield AnyOf(what.field, (what.name,))
            elif not what.is_name and self._is_topic():
                yield AllOf(what.field, (what.name,))

    def _is_alone(self, *topics: type) -> bool:
        """Tell whether every other thing is known, and none is a topic."""
        return not any(what in UNKNOWN or isinstance(what, topics) for what in self.others)

    def _is_topic(self) -> bool:
        """Tell whether the query is only a tag with conditions ("symphonies before 1800") or with a
        maker.
        """
        others = self.others
        has_maker = any(isinstance(what, Person) for what in others)
        has_limit = any(isinstance(what, Bounds) and not what.adjective for what in others)
        has_tags = any(isinstance(what, NamedTag) for what in others)
        is_narrowed = has_maker or (not has_tags and (has_limit or bool(self.query.apart)))
        return is_narrowed and self._is_alone(Tone, Title, PieceJoin)

    def _is_condition(self) -> bool:
        what, mood = self.mention.what, self.mention.mood
        if isinstance(what, Person):
            return mood in (Mood.PLAIN, Mood.NOT, Mood.MUST)
        if isinstance(what, Bounds):
            return mood is not Mood.ANY and not what.adjective
        if mood in (Mood.NOT, Mood.MUST):
            return True
        is_adjective = self.following is not None and self.following.what is Plain.WORD
        is_free = (
            not is_adjective or self.said in self.query.vocabulary.adjectives or self.is_labelled
        )
        return isinstance(what, Choice) and mood is Mood.PLAIN and is_free
