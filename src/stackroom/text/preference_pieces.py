"""The pieces of a sentence of preferences (bounds, choices, tags, tones, titles, joints), and their
effects.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import MAXYEAR, MINYEAR, date
from enum import Enum
from functools import cached_property
from typing import Final, Literal, NamedTuple

from stackroom.frozen import frozen
from stackroom.model.scope import AllOf, AnyOf, Condition, NoneOf, Range

# the way a number limits a field
Bound = Enum("Bound", ["BELOW", "AT_MOST", "WITHIN", "AROUND", "AT_LEAST", "ABOVE"])
Mood = Enum("Mood", ["PLAIN", "MUST", "NOT", "LESS", "ANY"])
"""The mood of a thing: mentioned, demanded, refused, wanted less, or neither wanted nor refused."""
# a word that opens a description: of contents, subject or setting
Lead = Enum("Lead", ["HAVING", "ABOUT", "SETTING"])
PieceJoin = Enum("PieceJoin", ["AND", "OR", "COMMA"])  # a separator between the members of a list
Plain = Enum("Plain", ["FILLER", "STOP", "WORD", "UNCHECKED"])
"""Text without a meaning of its own: padding, the end of a clause, an unknown word, or what no
record tells.
"""

REFUSALS: Final = (Mood.NOT, Mood.LESS)


class Cue(NamedTuple):
    """Words that set the mood of what follows; some cues turn unknown words into a description."""

    mood: Mood
    takes_unknown: bool


class Bounds(NamedTuple):
    """A limit on a number; one from an adjective ('short', 'recent') may also belong to a
    description.
    """

    range: Range
    adjective: bool = False
    also: Range | None = None  # a limit on a second field, where two tell from how many to how many
    # the least difference of two numbers, by which a bound that excludes its number is moved
    step: float = 1


class Choice(NamedTuple):
    """A value of an enum field."""

    field: str
    value: str


class NamedTag(NamedTuple):
    """A tag of the catalogue, or a name in another field (of several names, any one is enough)."""

    name: str
    field: str | None
    is_name: bool = False


class Person(NamedTuple):
    """A person that a field names, with every spelling that records have."""

    field: str
    names: tuple[str, ...]


class Leaning(NamedTuple):
    """The values of a field that show a mood or an audience."""

    field: str = ""
    meant: tuple[str, ...] = ()  # values that mean it
    near: tuple[str, ...] = ()  # values that lean to it
    away: tuple[str, ...] = ()  # values that lean away from it
    never: tuple[str, ...] = ()  # values that rule it out


class Tone(NamedTuple):
    """A description to embed, and where the catalogue can check it, the values that show it."""

    phrase: str
    leaning: Leaning = Leaning()


class Title(NamedTuple):
    """A title that the sentence refers to."""

    title: str


class Attitude(Enum):
    """A wish that is not about a value, described by its words."""

    NOVELTY = "different from each other and from the titles"
    INDIFFERENCE = "makes no difference"


Thing = Bounds | Choice | NamedTag | Person | Tone | Title | Attitude
What = Thing | Cue | Lead | PieceJoin | Plain


class SentencePiece(NamedTuple):
    """A span of the sentence with one meaning."""

    start: int
    end: int
    what: What


def is_listed(first: What, other: What, joins: set[PieceJoin], *, in_list: bool) -> bool:
    """Tell whether a thing continues a list. 'Or' joins any things; 'and' only those of one
    type.
    """
    is_same_kind = type(first) is type(other)
    has_number = isinstance(first, Bounds) or isinstance(other, Bounds)
    if PieceJoin.OR in joins or not joins:
        return (is_same_kind and bool(joins)) or not has_number
    return is_same_kind and (in_list or joins != {PieceJoin.COMMA, PieceJoin.AND})


@dataclass(frozen=True, kw_only=True)
class PreferenceVocabulary:
    """The words of a catalogue that a preference or a question may use. Phrases are lower case."""

    time_field: str | None = None
    # whether the time field has dates, which are limited by day numbers; else it has years
    has_dates: bool = False
    units: Mapping[str, str] = field(default_factory=dict)
    multiples: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    """Words for a fixed number of something: word → field and number."""
    scales: Mapping[str, tuple[str, float]] = field(default_factory=dict)
    """Units that are a multiple of a field's own unit: word → field and number."""
    pairs: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Things whose minimum and maximum number are in two fields: word → these fields."""
    # names of number fields: phrase → field
    labels: Mapping[str, str] = field(default_factory=dict)
    floats: frozenset[str] = frozenset()  # the number fields with fractions
    orders: Mapping[str, str] = field(default_factory=dict)
    """Superlatives: phrase → the field to sort by, with a minus before it where the greatest come
    first.
    """
    choices: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    seasons: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Choices that are read only beside a year or a word for the release: word → field and
    value.
    """
    tags: Mapping[str, str] = field(default_factory=dict)
    tag_field: str | None = None
    names: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Other values that are refused and demanded like tags, such as places: phrase → field and
    value.
    """
    # phrases for values that stand before what they describe, such as "Dutch"
    adjectives: frozenset[str] = frozenset()
    places: tuple[str, ...] = ()  # the fields that tell where something is from
    makers: tuple[str, ...] = ()  # the fields that name persons
    people: Mapping[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    """The forms of persons' names: form → field and the names that it means."""
    moods: Mapping[str, Tone] = field(default_factory=dict)
    """Words for a mood or an audience that the catalogue can check."""
    fillers: frozenset[str] = frozenset()
    """Words without meaning here, such as the catalogue's own name in "recent novels"."""
    unchecked: frozenset[str] = frozenset()
    """Phrases about properties that no record has, such as the quality of the pictures."""
    long_field: tuple[str, float, float] | None = None
    totals: Mapping[str, tuple[str, float]] = field(default_factory=dict)
    """Words for the length of a whole record: word → field, or product of fields, and how much of
    it one is.
    """
    lengths: Mapping[str, tuple[str, float, float]] = field(default_factory=dict)
    """Words whose length is another field's: word → field, maximum of "short", minimum of
    "long".
    """
    empty_fields: frozenset[str] = frozenset()
    """Fields without a value in any record; limits on them have no effect."""
    this_year: int = 2026

    @cached_property
    def of_questions(self) -> "PreferenceVocabulary":
        """The vocabulary of searches, which no product of fields can limit."""
        return replace(self, totals={}) if self.totals else self

    @cached_property
    def joined_people(self) -> Mapping[str, str]:
        """The forms of persons' names without blanks, each with the form that has them."""
        return {form.replace(" ", ""): form for form in self.people}

    @cached_property
    def meanings(self) -> Mapping[str, What]:
        """The meaning of each phrase for a value."""
        return {
            **{phrase: NamedTag(name, where, True) for phrase, (where, name) in self.names.items()},
            **{phrase: NamedTag(tag, self.tag_field) for phrase, tag in self.tags.items()},
            **self.moods,
            **{phrase: Choice(*value) for phrase, value in self.choices.items()},
            **dict.fromkeys(self.unchecked, Plain.UNCHECKED),
        }

    @cached_property
    def longest(self) -> Mapping[str, int]:
        """The length in words of the longest phrase for a value that starts with each word."""
        return longest_by_first(self.meanings)


def longest_by_first(phrases: Iterable[str]) -> dict[str, int]:
    """Return the length in words of the longest phrase of several that starts with each word."""
    longest: dict[str, int] = {}
    for parts in (phrase.replace("-", " ").split() for phrase in phrases):
        if len(parts) > 1:
            longest[parts[0]] = max(longest.get(parts[0], 1), len(parts))
    return longest


class Mention(NamedTuple):
    """A thing with its mood, the span of its words, and whether it is one of several
    alternatives.
    """

    what: Thing
    mood: Mood
    start: int
    end: int
    either: bool


Direction = Literal["towards", "away from", "like", "unlike"]


@frozen
class Checks:
    """The values of a field by which a wish is scored: sought and near ones count for it, the
    others against it.
    """

    field: str
    sought: tuple[str, ...] = ()
    near: tuple[str, ...] = ()
    avoided: tuple[str, ...] = ()
    disliked: tuple[str, ...] = ()  # values that count against it by half


class Nudge(NamedTuple):
    """Move the taste by this description, or by this title; score what the catalogue can check."""

    direction: Direction
    phrase: str
    checks: Checks | None = None


Effect = Condition | Nudge | Attitude


def effects_of(mention: Mention) -> list[Effect]:
    """Return the effects of a thing; none if no condition can express it."""
    effects: list[Effect]
    is_refused = mention.mood in REFUSALS
    condition = NoneOf if is_refused else AnyOf
    match mention.what:
        case Bounds(range=limit, also=also, step=step):
            limits = [complement(limit, step=step)] if is_refused else [limit, also]
            effects = [limit for limit in limits if limit is not None]
        case Choice(field=name, value=value) if mention.mood is Mood.LESS:  # it is scored
            effects = [Nudge("away from", value.lower(), Checks(field=name, avoided=(value,)))]
        case Choice(field=name, value=value):
            effects = [condition(name, (value,))]
        case NamedTag() as tag:
            effects = [tag_effect(tag, mention)]
        case Person(field=name, names=names):
            effects = [condition(name, names)]
        case Tone() as tone:
            effects = tone_effects(tone, mention.mood)
        case Title(title=title):
            effects = [Nudge("unlike" if is_refused else "like", title)]
        case Attitude() as attitude:
            effects = [attitude]
    return effects


def tag_effect(tag: NamedTag, mention: Mention) -> Effect:
    """Return the condition on a tag that is refused or demanded, else a nudge towards it, or away
    from one that is wanted less.
    """
    name, is_refused = tag.name, mention.mood in REFUSALS
    if tag.field and mention.mood is Mood.NOT:
        return NoneOf(tag.field, (name,))
    if tag.field and mention.mood not in (Mood.PLAIN, Mood.LESS):
        return (AnyOf if mention.either or tag.is_name else AllOf)(tag.field, (name,))
    values = {"avoided" if is_refused else "sought": (name,)}
    checks = Checks(field=tag.field, **values) if tag.field else None
    return Nudge("away from" if is_refused else "towards", name, checks)


def tone_effects(tone: Tone, mood: Mood) -> list[Effect]:
    """Return the nudge of a description, and the conditions on values that mean it or rule it
    out.
    """
    leaning, is_refused = tone.leaning, mood in REFUSALS
    direction: Direction = "away from" if is_refused else "towards"
    effects: list[Effect] = [Nudge(direction, tone.phrase, tone_checks(leaning, mood))]
    if mood in (Mood.NOT, Mood.MUST) and leaning.meant:
        effects.append((NoneOf if is_refused else AnyOf)(leaning.field, leaning.meant))
    if not is_refused and leaning.never:
        effects.append(NoneOf(leaning.field, leaning.never))
    return effects


def tone_checks(leaning: Leaning, mood: Mood) -> Checks | None:
    """Return the values by which a mood is scored, or None if the catalogue has none for it."""
    name, meant, near, away, _ = leaning
    if not meant and not near:
        return None
    if mood in REFUSALS:
        return Checks(field=name, avoided=meant, disliked=near)
    return Checks(field=name, sought=meant, near=near, disliked=away)


def complement(limit: Range, *, step: float) -> Range | None:
    """Return the complement of a range, or None unless the range is open at one end."""
    if limit.at_least is not None and limit.at_most is None:
        return Range(limit.field, at_most=round(limit.at_least - step, 2))
    if limit.at_most is not None and limit.at_least is None:
        return Range(limit.field, at_least=round(limit.at_most + step, 2))
    return None


def merge_conditions(conditions: Iterable[Condition]) -> tuple[Condition, ...]:
    """Merge conditions of the same type on the same field, in order of first mention."""
    kept: dict[tuple[type, str], Condition] = {}
    for condition in conditions:
        key = (type(condition), condition.field)
        kept[key] = merge_pair(kept[key], condition) if key in kept else condition
    return tuple(kept.values())


def merge_pair(first: Condition, second: Condition) -> Condition:
    """Merge two conditions of one type on one field: ranges intersect, values are united in
    order.
    """
    if not isinstance(first, Range) and not isinstance(second, Range):
        return replace(first, values=tuple(dict.fromkeys((*first.values, *second.values))))
    ranges = [one for one in (first, second) if isinstance(one, Range)]
    lows = [one.at_least for one in ranges if one.at_least is not None]
    highs = [one.at_most for one in ranges if one.at_most is not None]
    return Range(first.field, max(lows, default=None), min(highs, default=None))


def nudges_of(effects: Iterable[Effect], *directions: Direction) -> tuple[Nudge, ...]:
    """Return the distinct nudges that move the taste in these directions, in order."""
    nudges = (
        effect for effect in effects if isinstance(effect, Nudge) and effect.direction in directions
    )
    return tuple(dict.fromkeys(nudges))


def phrases(effects: Iterable[Effect], direction: Direction) -> tuple[str, ...]:
    """Return the distinct phrases that move the taste in one direction, in order."""
    return tuple(dict.fromkeys(nudge.phrase for nudge in nudges_of(effects, direction)))


def describe_effect(effect: Effect, *, tag_field: str | None) -> str:
    """Describe an effect in a few words."""
    match effect:
        case Nudge():
            return describe_nudge(effect)
        case Attitude():
            return effect.value
        case Range():
            return describe_range(effect)
        case NoneOf(field=name, values=values):
            verb = "not tagged" if name == tag_field else f"{name} is not"
        case AllOf(field=name, values=values) | AnyOf(field=name, values=values):
            verb = "tagged" if name == tag_field else f"{name} is"
    return f"{verb} {', '.join(values)}"


def describe_nudge(nudge: Nudge) -> str:
    """Describe a nudge, with the values by which it is scored: 'towards: dark, grim and serious
    (horror, gore)'.
    """
    checks = nudge.checks
    if checks is None:
        return f"{nudge.direction}: {nudge.phrase}"
    is_wanted = nudge.direction == "towards"
    told = checks.sought + checks.near if is_wanted else checks.avoided + checks.disliked
    others = [one for one in told if one.lower() != nudge.phrase.lower()]
    return f"{nudge.direction}: {nudge.phrase}" + (f" ({', '.join(others)})" if others else "")


def describe_range(limit: Range) -> str:
    """Describe a range: 'year ≥ 2021', 'pages 12–26'."""
    low, high = limit.at_least, limit.at_most
    if low is None or high is None:
        return f"{limit.field} ≥ {low:.10g}" if low is not None else f"{limit.field} ≤ {high:.10g}"
    both = f"is {low:.10g}" if low == high else f"{low:.10g}–{high:.10g}"
    return f"{limit.field} {both}"


def in_days(condition: Condition, vocabulary: PreferenceVocabulary) -> Condition:
    """Return a limit on the years of a date as one on its day numbers; other conditions as they
    are.
    """
    is_of_dates = vocabulary.has_dates and condition.field == vocabulary.time_field
    if not is_of_dates or not isinstance(condition, Range):
        return condition

    def find_day(year: float | None, month: int, day: int) -> int | None:
        if year is None:
            return None
        return date(min(max(int(year), MINYEAR), MAXYEAR), month, day).toordinal()

    first, last = find_day(condition.at_least, 1, 1), find_day(condition.at_most, 12, 31)
    return Range(condition.field, first, last)
