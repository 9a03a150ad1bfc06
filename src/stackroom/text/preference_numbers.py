"""Readings of the patterns in a preference sentence: years, ages, seasons, lengths, and settings in time."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, date
from typing import Final

from stackroom.model.scope import Condition, Range
from stackroom.text import preference_words as words
from stackroom.text.preference_pieces import Bound, Bounds, Choice, Plain, Tone, What
from stackroom.text.preference_vocabulary import PreferenceVocabulary

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
