"""Effects of the things in a preference sentence: conditions to filter by, scored wishes, nudges of the taste."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from stackroom.model.scope import AllOf, AnyOf, Condition, NoneOf, Range
from stackroom.text.preference_pieces import (
    REFUSALS,
    Bounds,
    Choice,
    Leaning,
    Mood,
    Tag,
    Thing,
    Title,
    Tone,
    Variety,
)


@dataclass(frozen=True, slots=True)
class Mention:
    """A thing with its mood, the span of its words, and whether it is one of several alternatives."""

    what: Thing
    mood: Mood
    start: int
    end: int
    either: bool


Direction = Literal["towards", "away from", "like", "unlike"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checks:
    """The values of a field by which a wish is scored: sought and near ones count for it, the others against it."""

    field: str
    sought: tuple[str, ...] = ()
    near: tuple[str, ...] = ()
    avoided: tuple[str, ...] = ()
    disliked: tuple[str, ...] = ()
    """Values that count against it by half."""


@dataclass(frozen=True, slots=True)
class Nudge:
    """Move the taste by this description, or by this title; score what the catalogue can check."""

    direction: Direction
    phrase: str
    checks: Checks | None = None


@dataclass(frozen=True, slots=True)
class Novelty:
    """Recommend what differs, from each other and from the titles."""


@dataclass(frozen=True, slots=True)
class Indifference:
    """Neither seek nor avoid a thing."""


Effect = Condition | Nudge | Novelty | Indifference


def effects_of(mention: Mention) -> list[Effect]:
    """Return the effects of a thing; none if no condition can express it."""
    match mention.what:
        case Bounds(range=limit, step=step):
            bounds = complement(limit, step=step) if mention.mood in REFUSALS else limit
            return [bounds] if bounds else []
        case Choice(field=name, value=value):
            return [choice_effect(name, value, mention.mood)]
        case Tag():
            return [tag_condition(mention.what, mention) or tag_nudge(mention.what, mention.mood)]
        case Tone():
            return tone_effects(mention.what, mention.mood)
        case Title(title=title):
            return [Nudge("unlike" if mention.mood in REFUSALS else "like", title)]
        case Variety():
            return [Novelty()]


def choice_effect(name: str, value: str, mood: Mood) -> Effect:
    """Return the condition on a choice; one that is only wanted less is scored."""
    if mood is Mood.LESS:
        return Nudge("away from", value.lower(), Checks(field=name, avoided=(value,)))
    return (NoneOf if mood is Mood.NOT else AnyOf)(name, (value,))


def tag_condition(tag: Tag, mention: Mention) -> Condition | None:
    """Return the condition on a tag that is refused or demanded, or None if it is only mentioned or wanted less."""
    if tag.field is None or mention.mood in (Mood.PLAIN, Mood.LESS):
        return None
    if mention.mood is Mood.NOT:
        return NoneOf(tag.field, (tag.name,))
    return (AnyOf if mention.either or tag.is_name else AllOf)(tag.field, (tag.name,))


def tag_nudge(tag: Tag, mood: Mood) -> Nudge:
    """Return the nudge towards a tag, or away from one that is wanted less."""
    if mood in REFUSALS:
        return Nudge("away from", tag.name, Checks(field=tag.field, avoided=(tag.name,)) if tag.field else None)
    return Nudge("towards", tag.name, Checks(field=tag.field, sought=(tag.name,)) if tag.field else None)


def tone_effects(tone: Tone, mood: Mood) -> list[Effect]:
    """Return the nudge of a description, and the conditions on values that mean it or rule it out."""
    leaning, name = tone.leaning, tone.leaning.field
    conditions: list[Effect] = []
    if mood is Mood.NOT and leaning.meant:
        conditions.append(NoneOf(name, leaning.meant))
    if mood is Mood.MUST and leaning.meant:
        conditions.append(AnyOf(name, leaning.meant))
    if mood not in REFUSALS and leaning.never:
        conditions.append(NoneOf(name, leaning.never))
    direction: Direction = "away from" if mood in REFUSALS else "towards"
    return [Nudge(direction, tone.phrase, tone_checks(leaning, mood)), *conditions]


def tone_checks(leaning: Leaning, mood: Mood) -> Checks | None:
    """Return the values by which a mood is scored, or None where the catalogue has none that show it."""
    if not leaning.meant and not leaning.near:
        return None
    if mood in REFUSALS:
        return Checks(field=leaning.field, avoided=leaning.meant, disliked=leaning.near)
    return Checks(field=leaning.field, sought=leaning.meant, near=leaning.near, disliked=leaning.away)


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


def wishes_of(effects: Iterable[Effect]) -> tuple[Nudge, ...]:
    """Return the distinct nudges towards and away from descriptions, in order."""
    nudges = (
        effect for effect in effects if isinstance(effect, Nudge) and effect.direction in ("towards", "away from")
    )
    return tuple(dict.fromkeys(nudges))


def describe_effect(effect: Effect, *, tag_field: str | None) -> str:
    """Describe an effect in a few words."""
    match effect:
        case Nudge():
            return describe_nudge(effect)
        case Novelty():
            return "different from each other and from the titles"
        case Indifference():
            return "makes no difference"
        case Range():
            return describe_range(effect)
        case NoneOf(field=name, values=values):
            verb = "not tagged" if name == tag_field else f"{name} is not"
        case AllOf(field=name, values=values) | AnyOf(field=name, values=values):
            verb = "tagged" if name == tag_field else f"{name} is"
    return f"{verb} {', '.join(values)}"


def describe_nudge(nudge: Nudge) -> str:
    """Describe a nudge, with the values by which it is scored: 'towards: dark, grim and serious (horror, gore)'."""
    checks = nudge.checks
    if checks is None:
        return f"{nudge.direction}: {nudge.phrase}"
    told = (*checks.sought, *checks.near) if nudge.direction == "towards" else (*checks.avoided, *checks.disliked)
    others = [one for one in told if one.lower() != nudge.phrase.lower()]
    return f"{nudge.direction}: {nudge.phrase}" + (f" ({', '.join(others)})" if others else "")


def describe_range(limit: Range) -> str:
    """Describe a range: 'year ≥ 2021', 'pages 12–26'."""
    low, high = limit.at_least, limit.at_most
    if low is None or high is None:
        return f"{limit.field} ≥ {low:.10g}" if low is not None else f"{limit.field} ≤ {high:.10g}"
    return f"{limit.field} is {low:.10g}" if low == high else f"{limit.field} {low:.10g}–{high:.10g}"
