"""Conditions that a search query states: bounds on numbers, kinds of things, what is refused, what is demanded.

"melancholy films after 2010, not horror" is the query "melancholy" with three conditions. What is only mentioned stays
in the query, and so do adjectives such as "short", which describe more often than they limit, and kinds that describe
something else, as in "special agents".
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from stackroom.model.scope import Condition
from stackroom.text.preference_pieces import (
    Bounds,
    Choice,
    Mention,
    Mood,
    Plain,
    PreferenceVocabulary,
    SentencePiece,
    effects_of,
    in_days,
)
from stackroom.text.preferences import LONGEST_SENTENCE, iter_mentions, pieces_of

WORD_OR_GAP = re.compile(r"[\s,;]+|[^\s,;]+")
JOINTS = frozenset({"and", "or", "but"})


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedCondition:
    """Words of a query, and the conditions that they state."""

    start: int
    end: int
    phrase: str
    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadQuery:
    """The conditions that a query states, in its order, and the words that are left to search for."""

    stated: tuple[StatedCondition, ...]
    rest: str
    is_known: bool
    """Whether all that is left are words of the catalogue or for a mood, so that nothing else is asked for."""


def read_query(query: str, vocabulary: PreferenceVocabulary, *, unread: Collection[str] = ()) -> ReadQuery:
    """Return the conditions that a query states, but for the phrases that are not to be read as such, and the rest."""
    text, left = query[:LONGEST_SENTENCE], {phrase_key(one) for one in unread}
    pieces = pieces_of(text, vocabulary)
    found = (_stated(mention, pieces, text, vocabulary) for mention in iter_mentions(pieces))
    stated = tuple(one for one in found if one is not None and phrase_key(one.phrase) not in left)
    return ReadQuery(
        stated=stated,
        rest=_without_phrases(query, stated) if stated else query.strip(),
        is_known=not any(_is_unknown(piece, stated) for piece in pieces),
    )


def phrase_key(phrase: str) -> str:
    """Return a phrase as it is compared: without regard to case and blanks."""
    return " ".join(phrase.split()).casefold()


def _without_phrases(query: str, stated: Collection[StatedCondition]) -> str:
    """Return a query without the words that state conditions, and without the commas that are left over."""
    kept, place = [], 0
    for one in sorted(stated, key=lambda one: one.start):
        kept.append(query[place : one.start])
        place = max(place, one.end)
    kept.append(query[place:])
    last = len(kept) - 1
    shown = [_without_joints(one, first=number > 0, last=number < last) for number, one in enumerate(kept)]
    return " ".join(one for one in shown if one).strip()


def _without_joints(text: str, *, first: bool, last: bool) -> str:
    """Return a text without the commas and words such as "and" that it begins with, ends with, or both."""
    tokens = WORD_OR_GAP.findall(text)
    start, end = 0, len(tokens)
    while first and start < end and _is_joint(tokens[start]):
        start += 1
    while last and start < end and _is_joint(tokens[end - 1]):
        end -= 1
    return "".join(tokens[start:end])


def _is_joint(token: str) -> bool:
    return token[0] in ",;" or token[0].isspace() or token.casefold() in JOINTS


def _is_unknown(piece: SentencePiece, stated: Collection[StatedCondition]) -> bool:
    is_word = piece.what in (Plain.WORD, Plain.UNCHECKED)
    return is_word and not any(one.start <= piece.start < one.end for one in stated)


def _stated(
    mention: Mention, pieces: Sequence[SentencePiece], text: str, vocabulary: PreferenceVocabulary
) -> StatedCondition | None:
    conditions = tuple(in_days(one, vocabulary) for one in _conditions_of(mention, pieces))
    if not conditions:
        return None
    return StatedCondition(
        start=mention.start, end=mention.end, phrase=text[mention.start : mention.end], conditions=conditions
    )


def _conditions_of(mention: Mention, pieces: Sequence[SentencePiece]) -> Iterator[Condition]:
    """Yield the conditions of a thing, where it is a bound or a kind, refused or demanded."""
    if _is_condition(mention, pieces):
        yield from (effect for effect in effects_of(mention) if isinstance(effect, Condition))


def _is_condition(mention: Mention, pieces: Sequence[SentencePiece]) -> bool:
    if mention.mood in (Mood.NOT, Mood.MUST):
        return not (isinstance(mention.what, Bounds) and mention.what.adjective)
    if isinstance(mention.what, Bounds):
        return mention.mood is not Mood.ANY and not mention.what.adjective
    following = next((piece for piece in pieces if piece.start >= mention.end), None)
    is_adjective = following is not None and following.what is Plain.WORD
    return isinstance(mention.what, Choice) and mention.mood is Mood.PLAIN and not is_adjective
