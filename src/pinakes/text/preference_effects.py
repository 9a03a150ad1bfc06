"""The effect of each thing that a sentence says: a condition to filter by, or a nudge to the taste; and its meaning."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from pinakes.model.scope import AllOf, AnyOf, Condition, NoneOf, Range
from pinakes.text.preference_pieces import REFUSALS, Bounds, Choice, Mood, Tag, Thing, Title, Tone


@dataclass(frozen=True, slots=True)
class Said:
    """A thing, the mood it is said in, where its words begin and end, and whether it is one of several alternatives."""

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


def effect_of(said: Said) -> Effect | None:
    """Return what is to be done about a thing said, or None where no condition can say it."""
    is_refused = said.mood in REFUSALS
    direction: Direction = "away from" if is_refused else "towards"
    match said.what:
        case Bounds(range=limit):
            return complement(limit) if is_refused else limit
        case Choice(field=name, value=value) if said.mood is not Mood.LESS:
            return NoneOf(name, (value,)) if is_refused else AnyOf(name, (value,))
        case Choice(value=value):
            return Nudge(direction, value.lower())
        case Tag():
            return tag_condition(said.what, said) or Nudge(direction, said.what.name)
        case Tone(phrase=phrase):
            return Nudge(direction, phrase)
        case Title(title=title):
            return Nudge(direction if is_refused else "like", title)


def tag_condition(tag: Tag, said: Said) -> Condition | None:
    """Return the condition on a tag that is refused or demanded; one only mentioned, or wished less of, is none."""
    if tag.field is None or said.mood in (Mood.PLAIN, Mood.LESS):
        return None
    if said.mood is Mood.NOT:
        return NoneOf(tag.field, (tag.name,))
    return (AnyOf if said.either or tag.is_name else AllOf)(tag.field, (tag.name,))


def complement(limit: Range) -> Range | None:
    """Return the range of what is outside, which only a range open at one end has."""
    if limit.at_least is not None and limit.at_most is None:
        return Range(limit.field, at_most=limit.at_least - 1)
    if limit.at_most is not None and limit.at_least is None:
        return Range(limit.field, at_least=limit.at_most + 1)
    return None


def merged(conditions: Iterable[Condition]) -> tuple[Condition, ...]:
    """Return the conditions with those of one kind on one field made one, each where it was first said."""
    kept: dict[tuple[type, str], Condition] = {}
    for condition in conditions:
        key = (type(condition), condition.field)
        kept[key] = both(kept[key], condition) if key in kept else condition
    return tuple(kept.values())


def both(first: Condition, second: Condition) -> Condition:
    """Join two conditions of one kind on one field: ranges intersect, values add up in order."""
    if isinstance(first, Range) and isinstance(second, Range):
        lows = [one.at_least for one in (first, second) if one.at_least is not None]
        highs = [one.at_most for one in (first, second) if one.at_most is not None]
        return Range(first.field, max(lows, default=None), min(highs, default=None))
    assert not isinstance(first, Range)
    assert not isinstance(second, Range)
    return replace(first, values=tuple(dict.fromkeys((*first.values, *second.values))))


def phrases(effects: Iterable[Effect], direction: Direction) -> tuple[str, ...]:
    """Return what moves the taste in one direction, each phrase once, in order."""
    nudges = (effect for effect in effects if isinstance(effect, Nudge) and effect.direction == direction)
    return tuple(dict.fromkeys(nudge.phrase for nudge in nudges))


def meaning(effect: Effect, *, tag_field: str | None) -> str:
    """Say in a few words what an effect is."""
    match effect:
        case Nudge(direction=direction, phrase=phrase):
            return f"{direction}: {phrase}"
        case Range():
            return range_meaning(effect)
        case NoneOf(field=name, values=values):
            verb = "not tagged" if name == tag_field else f"{name} is not"
        case AllOf(field=name, values=values) | AnyOf(field=name, values=values):
            verb = "tagged" if name == tag_field else f"{name} is"
    return f"{verb} {', '.join(values)}"


def range_meaning(limit: Range) -> str:
    """Say a range: 'year ≥ 2021', 'episodes 12–26'."""
    low, high = limit.at_least, limit.at_most
    if low is None or high is None:
        return f"{limit.field} ≥ {low:.10g}" if low is not None else f"{limit.field} ≤ {high:.10g}"
    return f"{limit.field} is {low:.10g}" if low == high else f"{limit.field} {low:.10g}–{high:.10g}"
