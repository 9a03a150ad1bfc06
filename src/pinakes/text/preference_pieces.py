"""The pieces that a sentence of preferences falls into: bounds, choices, tags, tones, titles and joining words."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from pinakes.model.scope import Range


class Bound(Enum):
    """How a number limits a field."""

    BELOW = auto()
    AT_MOST = auto()
    WITHIN = auto()
    AROUND = auto()
    AT_LEAST = auto()
    ABOVE = auto()


class Mood(Enum):
    """How a thing is said: plainly, as a demand, as a refusal, or as a wish for less of it."""

    PLAIN = auto()
    MUST = auto()
    NOT = auto()
    LESS = auto()


class Lead(Enum):
    """A word that opens a description: what it is about or has, and where it is set."""

    HAVING = auto()
    ABOUT = auto()
    SETTING = auto()


class Join(Enum):
    """What stands between the members of a list."""

    AND = auto()
    OR = auto()
    COMMA = auto()


class Plain(Enum):
    """Text that says nothing by itself: padding, the end of a clause, or a word that is not known."""

    FILLER = auto()
    STOP = auto()
    WORD = auto()


REFUSALS: Final = (Mood.NOT, Mood.LESS)


def combined(moods: Iterable[Mood]) -> Mood:
    """Return the mood of several cues in a row: 'not without' and 'not only' take the refusal back."""
    result = Mood.PLAIN
    for mood in moods:
        result = Mood.PLAIN if result in REFUSALS else mood
    return result


@dataclass(frozen=True, slots=True)
class Cue:
    """Words that put what follows in a mood; a cue that takes unknown words makes a description of them."""

    mood: Mood
    takes_unknown: bool


@dataclass(frozen=True, slots=True)
class Bounds:
    """A limit on a number; said by an adjective ('short', 'recent') it may also belong to a description."""

    range: Range
    adjective: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """A value of a field that takes one of a few."""

    field: str
    value: str


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag of the catalogue, or a name in another field, of which a record need not have all that are demanded."""

    name: str
    field: str | None
    is_name: bool = False


@dataclass(frozen=True, slots=True)
class Tone:
    """A description to embed."""

    phrase: str


@dataclass(frozen=True, slots=True)
class Title:
    """A title that the sentence refers to."""

    title: str


Thing = Bounds | Choice | Tag | Tone | Title
What = Thing | Cue | Lead | Join | Plain


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of the sentence that means one thing."""

    start: int
    end: int
    what: What


def is_listed(first: What, other: What, joins: set[Join], *, in_list: bool) -> bool:
    """Tell whether a thing continues the list that another began. 'Or' joins all words; 'and' only those of a kind."""
    is_same_kind = type(first) is type(other)
    has_number = isinstance(first, Bounds) or isinstance(other, Bounds)
    if Join.OR in joins or not joins:
        return (is_same_kind and bool(joins)) or not has_number
    return is_same_kind and (in_list or joins != {Join.COMMA, Join.AND})
