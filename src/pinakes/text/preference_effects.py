"""Effects of the things in a preference sentence: conditions to filter by, and nudges of the taste vector."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from pinakes.model.scope import AllOf, AnyOf, Condition, NoneOf, Range
from pinakes.text.preference_pieces import REFUSALS, Bounds, Choice, Mood, Tag, Thing, Title, Tone


@dataclass(frozen=True, slots=True)
class Mention:
    """A thing with its mood, the span of its words, and whether it is one of several alternatives."""

    what: Thing
    mood: Mood
    start: int
    end: int
    either: bool


Direction = Literal["towards", "away from", "like"]


@dataclass(frozen=True, slots=True)
class Nudge:
    """Move the taste by this description, or by this title."""

    direction: Direction
    phrase: str


Effect = Condition | Nudge


def effect_of(mention: Mention) -> Effect | None:
    """Return the effect of a thing, or None if no condition can express it."""
    is_refused = mention.mood in REFUSALS
    direction: Direction = "away from" if is_refused else "towards"
    match mention.what:
        case Bounds(range=limit):
            return complement(limit) if is_refused else limit
        case Choice(field=name, value=value) if mention.mood is not Mood.LESS:
            return NoneOf(name, (value,)) if is_refused else AnyOf(name, (value,))
        case Choice(value=value):
            return Nudge(direction, value.lower())
        case Tag():
            return tag_condition(mention.what, mention) or Nudge(direction, mention.what.name)
        case Tone(phrase=phrase):
            return Nudge(direction, phrase)
        case Title(title=title):
            return Nudge(direction if is_refused else "like", title)


def tag_condition(tag: Tag, mention: Mention) -> Condition | None:
    """Return the condition on a tag that is refused or demanded, or None if it is only mentioned or wanted less."""
    if tag.field is None or mention.mood in (Mood.PLAIN, Mood.LESS):
        return None
    if mention.mood is Mood.NOT:
        return NoneOf(tag.field, (tag.name,))
    return (AnyOf if mention.either or tag.is_name else AllOf)(tag.field, (tag.name,))


def complement(limit: Range) -> Range | None:
    """Return the complement of a range, or None unless the range is open at one end."""
    if limit.at_least is not None and limit.at_most is None:
        return Range(limit.field, at_most=limit.at_least - 1)
    if limit.at_most is not None and limit.at_least is None:
        return Range(limit.field, at_least=limit.at_most + 1)
    return None


def merge_conditions(conditions: Iterable[Condition]) -> tuple[Condition, ...]:
    """Merge conditions of the same type on the same field, in order of first mention."""
    kept: dict[tuple[type, str], Condition] = {}
    for condition in conditions:
        key = (type(condition), condition.field)
        kept[key] = merge_pair(kept[key], condition) if key in kept else condition
    return tuple(kept.values())


def merge_pair(first: Condition, second: Condition) -> Condition:
    """Merge two conditions of one type on one field: ranges intersect, values are united in order."""
    if isinstance(first, Range) and isinstance(second, Range):
        lows = [one.at_least for one in (first, second) if one.at_least is not None]
        highs = [one.at_most for one in (first, second) if one.at_most is not None]
        return Range(first.field, max(lows, default=None), min(highs, default=None))
    assert not isinstance(first, Range)
    assert not isinstance(second, Range)
    return replace(first, values=tuple(dict.fromkeys((*first.values, *second.values))))


def phrases(effects: Iterable[Effect], direction: Direction) -> tuple[str, ...]:
    """Return the distinct phrases that move the taste in one direction, in order."""
    nudges = (effect for effect in effects if isinstance(effect, Nudge) and effect.direction == direction)
    return tuple(dict.fromkeys(nudge.phrase for nudge in nudges))


def describe_effect(effect: Effect, *, tag_field: str | None) -> str:
    """Describe an effect in a few words."""
    match effect:
        case Nudge(direction=direction, phrase=phrase):
            return f"{direction}: {phrase}"
        case Range():
            return describe_range(effect)
        case NoneOf(field=name, values=values):
            verb = "not tagged" if name == tag_field else f"{name} is not"
        case AllOf(field=name, values=values) | AnyOf(field=name, values=values):
            verb = "tagged" if name == tag_field else f"{name} is"
    return f"{verb} {', '.join(values)}"


def describe_range(limit: Range) -> str:
    """Describe a range: 'year ≥ 2021', 'pages 12–26'."""
    low, high = limit.at_least, limit.at_most
    if low is None or high is None:
        return f"{limit.field} ≥ {low:.10g}" if low is not None else f"{limit.field} ≤ {high:.10g}"
    return f"{limit.field} is {low:.10g}" if low == high else f"{limit.field} {low:.10g}–{high:.10g}"
