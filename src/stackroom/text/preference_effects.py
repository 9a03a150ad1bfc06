"""Effects of a preference sentence: conditions to filter by, with their numbers, scored wishes, nudges of the taste."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import MAXYEAR, MINYEAR, date
from typing import Final, Literal

from stackroom.model.scope import AllOf, AnyOf, Condition, NoneOf, Range
from stackroom.text import preference_words as words
from stackroom.text.preference_pieces import (
    REFUSALS,
    Bound,
    Bounds,
    Choice,
    Leaning,
    Mood,
    NamedTag,
    Plain,
    PreferenceVocabulary,
    Thing,
    Title,
    Tone,
    Variety,
    What,
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
        case NamedTag():
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


def tag_condition(tag: NamedTag, mention: Mention) -> Condition | None:
    """Return the condition on a tag that is refused or demanded, or None if it is only mentioned or wanted less."""
    if tag.field is None or mention.mood in (Mood.PLAIN, Mood.LESS):
        return None
    if mention.mood is Mood.NOT:
        return NoneOf(tag.field, (tag.name,))
    return (AnyOf if mention.either or tag.is_name else AllOf)(tag.field, (tag.name,))


def tag_nudge(tag: NamedTag, mood: Mood) -> Nudge:
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


Reading = Callable[[re.Match[str], PreferenceVocabulary], What | None]
CHILD_UNTIL: Final = 12
ADULT_FROM: Final = 18
CENT: Final = 0.01


def read_years(found: re.Match[str], vocabulary: PreferenceVocabulary) -> What | None:
    """Read 'after 2015', '2005-2010', 'the 90s or later'."""
    low, high = found["low"], found["high"] or found["low"]
    is_bare_and_ancient = not found["before"] and low.isdigit() and int(low) < 1900
    if vocabulary.time_field is None or is_bare_and_ancient:
        return None
    bound = words.bound_of(found["after"], found["before"])
    years = (*words.moment_years(low), *words.moment_years(high))
    return Bounds(Range(vocabulary.time_field, *words.limited(bound, min(years), max(years), spread=2)))


def read_recent_years(found: re.Match[str], vocabulary: PreferenceVocabulary) -> What | None:
    """Read 'this year', 'last year', 'the last three years', 'the past decade'."""
    if vocabulary.time_field is None:
        return None
    this_year, in_decades = vocabulary.this_year, found["unit"].lower().startswith("decade")
    if found["which"].lower() == "this":
        return Bounds(Range(vocabulary.time_field, this_year - this_year % 10 if in_decades else this_year, this_year))
    if not found["count"] and not in_decades:
        return Bounds(Range(vocabulary.time_field, this_year - 1, this_year - 1))
    count = words.number(found["count"] or "1") * (10 if in_decades else 1)
    return Bounds(Range(vocabulary.time_field, at_least=this_year - count))


def read_age(found: re.Match[str], vocabulary: PreferenceVocabulary) -> What | None:
    """Read 'not older than ten years', 'more than 20 years old', 'less than five years ago'."""
    if vocabulary.time_field is None:
        return None
    years = words.number(found["count"]) * (10 if found["unit"].lower().startswith("decade") else 1)
    since = vocabulary.this_year - years
    is_older = words.phrase_key(found["than"]) in words.OLDER_THAN
    if is_older != bool(found["not"]):
        return Bounds(Range(vocabulary.time_field, at_most=since if found["not"] else since - 1))
    return Bounds(Range(vocabulary.time_field, at_least=since))


def in_days(condition: Condition, vocabulary: PreferenceVocabulary) -> Condition:
    """Return a limit on the years of a date as one on its day numbers; other conditions as they are."""
    is_of_dates = vocabulary.has_dates and condition.field == vocabulary.time_field
    if not is_of_dates or not isinstance(condition, Range):
        return condition
    low, high = condition.at_least, condition.at_most
    return Range(
        condition.field,
        at_least=None if low is None else date(_calendar_year(low), 1, 1).toordinal(),
        at_most=None if high is None else date(_calendar_year(high), 12, 31).toordinal(),
    )


def _calendar_year(year: float) -> int:
    return min(max(int(year), MINYEAR), MAXYEAR)


def read_audience(found: re.Match[str], vocabulary: PreferenceVocabulary) -> What | None:
    """Read 'for a 10 year old', 'suitable for ages 8 and up'; what no mood of the catalogue says is not understood."""
    age = words.number(found["age"] or found["ages"])
    audience = "for kids" if age <= CHILD_UNTIL else "for adults" if age >= ADULT_FROM else "for teens"
    if audience in vocabulary.moods:
        return vocabulary.moods[audience]
    return Tone(words.TONES[audience]) if audience in words.TONES else Plain.UNCHECKED


def read_season(found: re.Match[str], vocabulary: PreferenceVocabulary) -> What | None:
    """Read 'spring' of 'spring 2016', 'aired in spring'."""
    said = (found["dated"] or found["released"]).lower()
    return Choice(*vocabulary.seasons[said]) if said in vocabulary.seasons else None


def read_length(found: re.Match[str], vocabulary: PreferenceVocabulary) -> What | None:
    """Read '12-26 eps', '90 minutes or less', 'two dozen eggs', and 'at least 24' of the field of "long"."""
    groups: dict[str, str | None] = found.groupdict()
    unit, long_field = (groups.get("unit") or "").lower(), vocabulary.long_field
    multiple_field, size = vocabulary.multiples.get(unit, (None, 1))
    name = multiple_field or vocabulary.units.get(unit) if unit else long_field and long_field[0]
    if not name:
        return None
    low, high = words.number(found["low"]), words.number(groups.get("high") or found["low"])
    bound = words.bound_of(groups.get("after"), groups.get("middle"), groups["before"])
    if multiple_field:
        low, high = (low - 1) * size + 1, high * size
        bound = Bound.AT_MOST if bound is Bound.WITHIN and low == 1 else bound
    limit = Range(name, *words.limited(bound, low, high, spread=max(2, round(high / 5))))
    return checked(Bounds(limit), vocabulary)


def read_price(found: re.Match[str], vocabulary: PreferenceVocabulary) -> What | None:
    """Read 'under $20', '€10 to €15', '$1,000 or less', of the field with this currency."""
    name = vocabulary.units.get(found["unit"].lower())
    if name is None:
        return None
    low, high = words.number(found["low"]), words.number(found["high"] or found["low"])
    bound = words.bound_of(found["after"], found["before"])
    limit = Range(name, *words.limited(bound, low, high, spread=high / 5, step=CENT))
    return checked(Bounds(limit, step=CENT), vocabulary)


def read_size(found: re.Match[str], vocabulary: PreferenceVocabulary) -> What | None:
    """Read 'short episodes', where these have a length of their own."""
    unit = found["unit"].lower()
    if unit not in vocabulary.lengths:
        return None
    name, short_at_most, long_at_least = vocabulary.lengths[unit]
    is_short = words.phrase_key(found["size"]) in words.SHORT_WORDS
    limit = Range(name, at_most=short_at_most) if is_short else Range(name, at_least=long_at_least)
    return checked(Bounds(limit), vocabulary)


def checked(bounds: Bounds, vocabulary: PreferenceVocabulary) -> What:
    """Return the bounds; of a field that no record has, they cannot be honoured."""
    return Plain.UNCHECKED if bounds.range.field in vocabulary.empty_fields else bounds


def read_setting(found: re.Match[str], _vocabulary: PreferenceVocabulary) -> What | None:
    """Read 'set in 1920s Japan', which is about the story and not its release."""
    return Tone(f"set in {found['said']}")


def read_adjective(phrase: str, vocabulary: PreferenceVocabulary) -> Bounds | None:
    """Read 'recent', 'classic', 'short', 'long'."""
    time_field, long_field = vocabulary.time_field, vocabulary.long_field
    if time_field is not None and phrase in words.RECENT_YEARS:
        first_year = vocabulary.this_year - words.RECENT_YEARS[phrase]
        return Bounds(Range(time_field, at_least=first_year), adjective=True)
    if time_field is not None and phrase in words.OLD_WORDS:
        return Bounds(Range(time_field, at_most=words.OLD_UNTIL), adjective=True)
    if long_field is not None and phrase in words.SHORT_WORDS:
        return Bounds(Range(long_field[0], at_most=long_field[1]), adjective=True)
    if long_field is not None and phrase in words.LONG_WORDS:
        return Bounds(Range(long_field[0], at_least=long_field[2]), adjective=True)
    return None


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern with its reading; `needles`: it can match only a text that has one of these, in lower case."""

    pattern: re.Pattern[str]
    reading: Reading
    needles: tuple[str, ...] = ()

    def may_match(self, lowered: str) -> bool:
        """Tell whether the pattern is worth trying."""
        return not self.needles or any(needle in lowered for needle in self.needles)


RULES: Final = (
    Rule(words.AUDIENCE, read_audience, ("for",)),
    Rule(words.AGE, read_age, ("year", "decade")),
    Rule(words.SIZES, read_size, ("short", "brief", "bite", "long", "length")),
    Rule(words.PRICES, read_price, ("$", "£", "¥", "₹", "€")),
    Rule(words.LENGTHS, read_length),
    Rule(words.LATELY, read_recent_years, ("year", "decade")),
    Rule(words.SET_IN_YEARS, read_setting),
    Rule(words.SEASONS, read_season, ("19", "20", "air", "releas", "premier", "came out", "broadcast", "start")),
    Rule(words.YEARS, read_years),
    Rule(words.UNITLESS, read_length),
)
