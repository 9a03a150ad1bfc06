"""The pieces that a sentence of preferences falls into: bounds, choices, tags, tones, titles and joining words."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from stackroom.model.scope import Range


class Bound(Enum):
    """The way a number limits a field."""

    BELOW = auto()
    AT_MOST = auto()
    WITHIN = auto()
    AROUND = auto()
    AT_LEAST = auto()
    ABOVE = auto()


class Mood(Enum):
    """The mood of a thing: mentioned, demanded, refused, wanted less, or neither wanted nor refused."""

    PLAIN = auto()
    MUST = auto()
    NOT = auto()
    LESS = auto()
    ANY = auto()


class Lead(Enum):
    """A word that opens a description: of contents, subject or setting."""

    HAVING = auto()
    ABOUT = auto()
    SETTING = auto()


class Join(Enum):
    """A separator between the members of a list."""

    AND = auto()
    OR = auto()
    COMMA = auto()


class Plain(Enum):
    """Text without a meaning of its own: padding, the end of a clause, an unknown word, or what no record tells."""

    FILLER = auto()
    STOP = auto()
    WORD = auto()
    UNCHECKED = auto()


REFUSALS: Final = (Mood.NOT, Mood.LESS)


def combined(moods: Iterable[Mood]) -> Mood:
    """Return the mood of several cues in a row: in 'not without' and 'not only' the refusals cancel."""
    result = Mood.PLAIN
    for mood in moods:
        result = Mood.PLAIN if result in REFUSALS else mood
    return result


@dataclass(frozen=True, slots=True)
class Cue:
    """Words that set the mood of what follows; some cues turn unknown words into a description."""

    mood: Mood
    takes_unknown: bool


@dataclass(frozen=True, slots=True)
class Bounds:
    """A limit on a number; one from an adjective ('short', 'recent') may also belong to a description."""

    range: Range
    adjective: bool = False
    step: float = 1
    """The least difference of two numbers, by which a bound that excludes its number is moved."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A value of an enum field."""

    field: str
    value: str


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag of the catalogue, or a name in another field (of several names, any one is enough)."""

    name: str
    field: str | None
    is_name: bool = False


@dataclass(frozen=True, slots=True)
class Leaning:
    """The values of a field that show a mood or an audience."""

    field: str = ""
    meant: tuple[str, ...] = ()
    """Values that mean it."""
    near: tuple[str, ...] = ()
    """Values that lean to it."""
    away: tuple[str, ...] = ()
    """Values that lean away from it."""
    never: tuple[str, ...] = ()
    """Values that rule it out."""


@dataclass(frozen=True, slots=True)
class Tone:
    """A description to embed, and where the catalogue can check it, the values that show it."""

    phrase: str
    leaning: Leaning = Leaning()


@dataclass(frozen=True, slots=True)
class Title:
    """A title that the sentence refers to."""

    title: str


@dataclass(frozen=True, slots=True)
class Variety:
    """A wish for things that differ."""


Thing = Bounds | Choice | Tag | Tone | Title | Variety
What = Thing | Cue | Lead | Join | Plain


@dataclass(frozen=True, slots=True)
class Piece:
    """A span of the sentence with one meaning."""

    start: int
    end: int
    what: What


def is_listed(first: What, other: What, joins: set[Join], *, in_list: bool) -> bool:
    """Tell whether a thing continues a list. 'Or' joins any things; 'and' only those of one type."""
    is_same_kind = type(first) is type(other)
    has_number = isinstance(first, Bounds) or isinstance(other, Bounds)
    if Join.OR in joins or not joins:
        return (is_same_kind and bool(joins)) or not has_number
    return is_same_kind and (in_list or joins != {Join.COMMA, Join.AND})
