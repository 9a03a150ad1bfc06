"""The pieces of a sentence of preferences (bounds, choices, tags, tones, titles, joints), and the words for them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
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


class PieceJoin(Enum):
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
class NamedTag:
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


Thing = Bounds | Choice | NamedTag | Tone | Title | Variety
What = Thing | Cue | Lead | PieceJoin | Plain


@dataclass(frozen=True, slots=True)
class SentencePiece:
    """A span of the sentence with one meaning."""

    start: int
    end: int
    what: What


def is_listed(first: What, other: What, joins: set[PieceJoin], *, in_list: bool) -> bool:
    """Tell whether a thing continues a list. 'Or' joins any things; 'and' only those of one type."""
    is_same_kind = type(first) is type(other)
    has_number = isinstance(first, Bounds) or isinstance(other, Bounds)
    if PieceJoin.OR in joins or not joins:
        return (is_same_kind and bool(joins)) or not has_number
    return is_same_kind and (in_list or joins != {PieceJoin.COMMA, PieceJoin.AND})


@dataclass(frozen=True, slots=True, kw_only=True)
class PreferenceVocabulary:
    """The words of a catalogue that a preference may use. Phrases are lower case."""

    time_field: str | None = None
    has_dates: bool = False
    """Whether the time field has dates, which are limited by day numbers; else it has years."""
    units: Mapping[str, str] = field(default_factory=dict)
    multiples: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    """Words for a fixed number of something: word → field and number."""
    choices: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    seasons: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Choices that are read only beside a year or a word for the release: word → field and value."""
    tags: Mapping[str, str] = field(default_factory=dict)
    tag_field: str | None = None
    names: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Other values that are refused and demanded like tags, such as people: phrase → field and value."""
    moods: Mapping[str, Tone] = field(default_factory=dict)
    """Words for a mood or an audience that the catalogue can check."""
    fillers: frozenset[str] = frozenset()
    """Words without meaning here, such as the catalogue's own name in "recent novels"."""
    unchecked: frozenset[str] = frozenset()
    """Phrases about things that no record tells, such as the quality of the pictures."""
    long_field: tuple[str, float, float] | None = None
    lengths: Mapping[str, tuple[str, float, float]] = field(default_factory=dict)
    """Words whose length is another field's: word → field, maximum of "short", minimum of "long"."""
    empty_fields: frozenset[str] = frozenset()
    """Fields that no record has a value of; what limits them cannot be honoured."""
    this_year: int = 2026
