"""Conditions that a search query states: bounds on numbers, what is refused, and what is demanded.

"melancholy films after 2010, not horror" is the query "melancholy films" with two conditions. What is only mentioned,
as "films" is, stays in the query, and so do adjectives such as "short", which describe more often than they limit.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from pinakes.model.scope import Condition
from pinakes.text.preference_effects import Mention, effects_of
from pinakes.text.preference_numbers import in_days
from pinakes.text.preference_pieces import Bounds, Mood
from pinakes.text.preference_vocabulary import PreferenceVocabulary
from pinakes.text.preferences import LONGEST_SENTENCE, iter_mentions, pieces_of

CUT = "\0"
JOINT = r"(?:[\s,;]|\b(?:and|or|but)\b)*"
AROUND_CUTS = re.compile(rf"{JOINT}(?:{CUT}{JOINT})+", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedCondition:
    """Words of a query, and the conditions that they state."""

    start: int
    end: int
    phrase: str
    conditions: tuple[Condition, ...]


def find_conditions(
    query: str, vocabulary: PreferenceVocabulary, *, unread: Collection[str] = ()
) -> list[StatedCondition]:
    """Return the conditions that a query states, in its order, but for the phrases that are not to be read as such."""
    text, left = query[:LONGEST_SENTENCE], {phrase_key(one) for one in unread}
    found = (_stated(one, text, vocabulary) for one in iter_mentions(pieces_of(text, vocabulary)))
    return [one for one in found if one is not None and phrase_key(one.phrase) not in left]


def without_phrases(query: str, stated: Collection[StatedCondition]) -> str:
    """Return a query without the words that state conditions, and without the commas that are left over."""
    characters = list(query)
    for one in stated:
        characters[one.start : one.end] = [CUT] * (one.end - one.start)
    return AROUND_CUTS.sub(" ", "".join(characters)).strip()


def phrase_key(phrase: str) -> str:
    """Return a phrase as it is compared: without regard to case and blanks."""
    return " ".join(phrase.split()).casefold()


def _stated(mention: Mention, text: str, vocabulary: PreferenceVocabulary) -> StatedCondition | None:
    conditions = tuple(in_days(one, vocabulary) for one in _conditions_of(mention))
    if not conditions:
        return None
    return StatedCondition(
        start=mention.start, end=mention.end, phrase=text[mention.start : mention.end], conditions=conditions
    )


def _conditions_of(mention: Mention) -> Iterator[Condition]:
    """Yield the conditions of a thing, where it is a bound, refused or demanded."""
    if isinstance(mention.what, Bounds):
        if mention.what.adjective or mention.mood is Mood.ANY:
            return
    elif mention.mood not in (Mood.NOT, Mood.MUST):
        return
    for effect in effects_of(mention):
        if isinstance(effect, Condition):
            yield effect
