"""The English of preference sentences: words and patterns of the TOML files beside this one, and
their readings.
"""

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise, product
from typing import Final, NamedTuple

from stackroom.model.scope import Range
from stackroom.text.normalise import corrected, name_key, name_words
from stackroom.text.patterns import compose
from stackroom.text.preference_pieces import (
    Attitude,
    Bound,
    Bounds,
    Choice,
    Cue,
    Lead,
    Mood,
    Person,
    PieceJoin,
    Plain,
    PreferenceVocabulary,
    SentencePiece,
    Title,
    Tone,
    What,
    longest_by_first,
)
from stackroom.toml_text import load_packaged

LONGEST_TITLE: Final = 200


def phrases(written: str) -> frozenset[str]:
    """Return the phrases of a table, which are separated by commas."""
    return frozenset(" ".join(phrase.split()) for phrase in written.split(",") if phrase.strip())


def by_phrase(table: Mapping[str, str]) -> dict[str, str]:
    """Return the meaning of each phrase, from a table of the phrases for each meaning."""
    return {phrase: meaning for meaning, written in table.items() for phrase in phrases(written)}


TABLES: Final = load_packaged("stackroom.text", "preference_words.toml")

PHRASES: Final = {name: phrases(table) for name, table in TABLES.items() if isinstance(table, str)}
MEANINGS: Final = {
    name: by_phrase(table) for name, table in TABLES.items() if isinstance(table, dict)
}
"""By table: each of its phrases, and the meaning that it is listed under."""
NUMBERS, ORDINALS, LOOSE_NUMBERS, DECADES, MAGNITUDES, RECENT_YEARS = (
    {phrase: int(number) for phrase, number in MEANINGS[table].items()}
    for table in ("numbers", "ordinals", "loose_numbers", "decades", "magnitudes", "recent")
)
DECADE_PARTS: Final[Mapping[str, tuple[int, int]]] = {
    "early": (0, 3),
    "mid": (4, 6),
    "late": (7, 9),
}
ARTICLES: Final = {"a": 1.0, "an": 1.0, "half a": 0.5, "half an": 0.5}
COUNTS: Final[Mapping[str, float]] = {**ARTICLES, **LOOSE_NUMBERS, **NUMBERS}
BOUNDS: Final[Mapping[str, Bound]] = {
    phrase: Bound[name.upper()]
    for table in ("year_bounds", "year_endings", "length_bounds", "length_endings")
    for phrase, name in MEANINGS[table].items()
}
OLD_UNTIL: Final = 1999
OLD_WORDS, SHORT_WORDS, LONG_WORDS = PHRASES["old"], PHRASES["short"], PHRASES["long"]
FILLER, EDGES, UNCHECKED = PHRASES["filler"], PHRASES["edges"], PHRASES["unchecked"]


def iter_structure() -> Iterator[tuple[str, What]]:
    """Yield the words of grammar with their meanings; a later one takes the place of an earlier
    one.
    """
    for negation, degree in product(PHRASES["negations"], PHRASES["degrees"]):
        yield f"{negation} {degree}", Cue(Mood.LESS, takes_unknown=False)
    for table in ("cues_of_anything", "cues_of_known"):
        for phrase, mood in MEANINGS[table].items():
            yield phrase, Cue(Mood[mood.upper()], takes_unknown=table == "cues_of_anything")
    yield from ((phrase, Lead[name.upper()]) for phrase, name in MEANINGS["leads"].items())
    yield from ((phrase, PieceJoin[name.upper()]) for phrase, name in MEANINGS["joins"].items())
    yield ",", PieceJoin.COMMA
    for table, what in (
        ("stops", Plain.STOP),
        ("variety", Attitude.NOVELTY),
        ("misleading", Plain.WORD),
    ):
        yield from ((phrase, what) for phrase in PHRASES[table])


STRUCTURE: Final[Mapping[str, What]] = dict(iter_structure())
"""Words of grammar; a catalogue's vocabulary cannot override them."""
HOISTED_CUES: Final = PHRASES["hoisted"] | {
    phrase
    for phrase, what in STRUCTURE.items()
    if isinstance(what, Cue) and phrase.startswith(("is ", "are "))
}
TONES: Final[Mapping[str, str]] = MEANINGS["tones"]
"""Each tone or setting word, and the description to embed in its place."""
LONGEST: Final = longest_by_first(
    (*STRUCTURE, *UNCHECKED, *TONES, *FILLER, *RECENT_YEARS, *OLD_WORDS, *SHORT_WORDS, *LONG_WORDS)
)


PATTERNS: Final[Mapping[str, str]] = load_packaged("stackroom.text", "preference_patterns.toml")
WORDS_OF_PATTERNS: Final[Mapping[str, Collection[str]]] = {
    **PHRASES,
    **MEANINGS,
    "bounds": MEANINGS["length_bounds"] | MEANINGS["year_bounds"],
    "sizes": SHORT_WORDS | LONG_WORDS,
}


@lru_cache(maxsize=64)
def composed(name: str, labels: frozenset[str] = frozenset()) -> re.Pattern[str]:
    """Return a pattern of `preference_patterns.toml`; `labels` are the names of fields in one of
    limits on them.
    """
    return compose(PATTERNS, name, re.IGNORECASE, words={**WORDS_OF_PATTERNS, "labels": labels})


MAKER, JOINT_OF_NAME, TOKEN = map(composed, ("maker", "joint_of_name", "token"))
LONGEST_PERSON: Final = 5
NEAR_WORDS: Final = 3  # a query of no more words may be a misspelt name
# the length from which a name that is written with a capital is one by itself
SURNAME_CHARS: Final = 4
REFERENCE, LIKE_IS_A_VERB, QUOTED, NEXT_QUOTED, AFTER_TITLE = map(
    composed, ("reference", "like_is_a_verb", "quoted", "next_quoted", "after_title")
)
Limit = float | None
STRAIGHT: Final = str.maketrans("’‘“”„", '\'\'"""')


def limited(
    bound: Bound, low: float, high: float, *, spread: float, step: float = 1
) -> tuple[Limit, Limit]:
    """Return the minimum and maximum that a bound at low to high allows, in whole numbers or in
    steps.
    """
    low, high = min(low, high), max(low, high)
    return {
        Bound.BELOW: (None, round(low - step, 2)),
        Bound.AT_MOST: (None, high),
        Bound.WITHIN: (low, high),
        Bound.AROUND: (max(low - spread, 0), high + spread),
        Bound.AT_LEAST: (low, None),
        Bound.ABOVE: (round(high + step, 2), None),
    }[bound]


def phrase_key(said: str | None) -> str:
    """Return words in the spelling of the tables."""
    return " ".join((said or "").lower().split())


def moment_years(said: str) -> tuple[int, int]:
    """Return the first and last year of '2016', '90s', 'early 2000s' or 'late nineties'."""
    *part, name = re.findall(r"[a-z0-9]+", said.lower().replace("'", ""))
    if name.isdigit():
        return int(name), int(name)
    decade = DECADES.get(name) or int(name.removesuffix("s"))
    if decade < 100:
        decade += 1900 if decade >= 30 else 2000
    first, last = DECADE_PARTS[part[0]] if part else (0, 9)
    return decade + first, decade + last


def number(said: str) -> float:
    """Return the value of digits or of a number word: "1,000", "two and a half", "3 million"."""
    whole = phrase_key(said).replace(",", "")
    key = whole.removesuffix(" and a half")
    size = next((name for name in MAGNITUDES if key.endswith(name)), "")
    digits = key.removesuffix(size).strip()
    known = COUNTS.get(digits) or float(digits)
    value = (known + (0.5 if whole != key else 0)) * MAGNITUDES.get(size, 1)
    return int(value) if float(value).is_integer() else value


def bound_of(*said: str | None) -> Bound:
    """Return the bound of the first of these phrases that has one, else an exact bound."""
    keys = (phrase_key(one) for one in said)
    return next((BOUNDS[key] for key in keys if key in BOUNDS), Bound.WITHIN)


def spellings(phrase: str) -> list[str]:
    """Return the phrase and its variants: with and without hyphens, and in the singular."""
    found = [phrase]
    if "-" in phrase:
        found += phrase.replace("-", " "), phrase.replace("-", "")
    if " " in phrase:
        found.append(phrase.replace(" ", "-"))
    if phrase.endswith("s"):
        for ending, singular in (("ies", "y"), ("s", ""), ("es", ""), ("'s", "")):
            if phrase.endswith(ending):
                found.append(phrase.removesuffix(ending) + singular)
    return found


def title_spans(text: str, start: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of titles from here: one up to the next clause, or several in quotes."""
    quoted = QUOTED.match(text, start)
    if quoted is None:
        stop = AFTER_TITLE.search(text, start, start + LONGEST_TITLE)
        yield start, stop.start() if stop else min(len(text), start + LONGEST_TITLE)
    while quoted is not None:
        yield quoted.span()
        following = NEXT_QUOTED.match(text, quoted.end())
        quoted = QUOTED.match(text, following.end()) if following else None


def title_pieces(text: str, _vocabulary: PreferenceVocabulary) -> list[SentencePiece]:
    """Return the titles in the text; the first includes the words that introduce it."""
    pieces: list[SentencePiece] = []
    position = 0
    while head := REFERENCE.search(text, position):
        begin = head.start()
        position = head.end()
        if head["like"] and LIKE_IS_A_VERB.search(text[max(0, begin - 12) : begin]):
            continue
        for start, end in title_spans(text, position):
            position = end
            said = text[start:end]
            if title := said.strip(" \t\r\n.,;:?\"'"):
                first = begin if start == head.end() else start
                pieces.append(SentencePiece(first, start + len(said.rstrip()), Title(title)))
    return pieces


def person_pieces(text: str, vocabulary: PreferenceVocabulary) -> list[SentencePiece]:
    """Return the persons in the text; by a small single word only after "by", or where all else is
    padding.
    """
    pieces: list[SentencePiece] = []
    tokens, index = name_words(text) if vocabulary.people else [], 0
    while index < len(tokens):
        size = min(LONGEST_PERSON, len(tokens) - index)
        while not (key := _person_key(tokens[index : index + size], vocabulary)) and size > 1:
            size -= 1
        start, is_capital = tokens[index].start(), tokens[index][0][0].isupper()
        maker = MAKER.search(text, max(0, start - 30), start)
        if not key and (maker or len(tokens) <= NEAR_WORDS) and is_capital:
            size, key = _near_person(tokens[index : index + NEAR_WORDS], vocabulary)
        is_surname = is_capital and len(key) >= SURNAME_CHARS
        if key and (size > 1 or maker or is_surname or _is_padding(tokens, vocabulary)):
            start = maker.start() if maker else start
            person = Person(*vocabulary.people[key])
            pieces.append(SentencePiece(start, tokens[index + size - 1].end(), person))
        index += size
    return pieces


def _near_person(
    tokens: Sequence[re.Match[str]], vocabulary: PreferenceVocabulary
) -> tuple[int, str]:
    """Return how many words are a misspelt name, and its right form."""
    joined = vocabulary.joined_people
    for size in range(len(tokens), 0, -1):
        near = corrected(name_key(token[0] for token in tokens[:size]).replace(" ", ""), joined)
        if len({vocabulary.people[joined[one]] for one in near}) == 1:
            return size, joined[near[0]]
    return 1, ""


def _person_key(tokens: Sequence[re.Match[str]], vocabulary: PreferenceVocabulary) -> str:
    """Return the form of the name in these words, with or without middle initials, or an empty text
    if they are no name.
    """
    if not all(
        JOINT_OF_NAME.fullmatch(here.string, here.end(), there.start())
        for here, there in pairwise(tokens)
    ):
        return ""
    words = [token[0] for token in tokens]
    plain = [
        word for place, word in enumerate(words) if len(word) > 1 or place in (0, len(words) - 1)
    ]
    keys = name_key(words), name_key(plain), name_key(words).removesuffix("'s")
    return next((key for key in keys if key in vocabulary.people), "")


def _is_padding(tokens: Iterable[re.Match[str]], vocabulary: PreferenceVocabulary) -> bool:
    """Tell whether a text contains persons and nothing else."""
    known = (FILLER, STRUCTURE, vocabulary.fillers, vocabulary.people)
    return all(any(name_key([token[0]]) in table for table in known) for token in tokens)


def label_pieces(text: str, vocabulary: PreferenceVocabulary) -> list[SentencePiece]:
    """Return the limits that name their field first: "challenge rating above 10", "price between 5
    and 10".
    """
    if not vocabulary.labels:
        return []
    found = composed("labelled", frozenset(vocabulary.labels)).finditer(text)
    return [SentencePiece(*one.span(), read_labelled(one, vocabulary)) for one in found]


def read_labelled(found: re.Match[str], vocabulary: PreferenceVocabulary) -> What:
    """Read 'price between 5 and 10'."""
    name = vocabulary.labels[phrase_key(found["label"])]
    return number_bounds(name, *stated(found), vocabulary)


def stated(found: re.Match[str]) -> tuple[Bound, float, float]:
    """Return the bound, the least and the greatest number of a phrase such as "between 5 and
    10".
    """
    groups = found.groupdict()
    bound = bound_of(groups.get("after"), groups.get("middle"), groups["before"])
    return bound, number(groups["low"]), number(groups.get("high") or groups["low"])


Reading = Callable[[re.Match[str], PreferenceVocabulary], What | None]
LEAST_AGE: Final = ("min age", "minimum age", "age min")
CHILD_UNTIL: Final = 12
ADULT_FROM: Final = 18
CENT: Final = 0.01


def limit_time(
    vocabulary: PreferenceVocabulary, at_least: Limit = None, at_most: Limit = None
) -> Bounds | None:
    """Return a limit on the time, or None in a catalogue whose records have none."""
    name = vocabulary.time_field
    return None if name is None else Bounds(Range(name, at_least, at_most))


def read_years(found: re.Match[str], vocabulary: PreferenceVocabulary) -> What | None:
    """Read 'after 2015', '2005-2010', 'the 90s or later'."""
    low, high = found["low"], found["high"] or found["low"]
    if not found["before"] and low.isdigit() and int(low) < 1900:  # without a word before it
        return None
    bound = bound_of(found["after"], found["before"])
    years = (*moment_years(low), *moment_years(high))
    return limit_time(vocabulary, *limited(bound, min(years), max(years), spread=2))


def read_century(found: re.Match[str], vocabulary: PreferenceVocabulary) -> What | None:
    """Read 'from the 19th century', 'before the 18th century', 'this century'."""
    named = ORDINALS.get(phrase_key(found["ordinal"])) or int(
        found["century"] or 1 + vocabulary.this_year // 100
    )
    first = 100 * (named - 1)
    return limit_time(vocabulary, *limited(bound_of(found["before"]), first, first + 99, spread=10))


def read_before_christ(found: re.Match[str], vocabulary: PreferenceVocabulary) -> What | None:
    """Read 'before Christ', 'after 500 BC'."""
    bound = bound_of(found["before"]) if found["low"] else Bound.AT_MOST
    year = -number(found["low"] or "1")
    return limit_time(vocabulary, *limited(bound, year, year, spread=50))


def read_signed(found: re.Match[str], vocabulary: PreferenceVocabulary) -> What | None:
    """Read '-60', '+100 kg', where they are values."""
    value = vocabulary.choices.get(found["value"])
    return Choice(*value) if value else None


def read_alone(_found: re.Match[str], vocabulary: PreferenceVocabulary) -> What | None:
    """Read 'I can play alone', where two fields tell from how many players to how many."""
    pair = vocabulary.pairs.get("players")
    return pair_bounds(Bound.WITHIN, 1, 1, *pair) if pair else None


def span_years(found: re.Match[str]) -> float:
    """Return how many years 'ten years', 'two decades' and 'the past decade' are."""
    return number(found["count"] or "1") * (10 if found["unit"].lower().startswith("d") else 1)


def read_recent_years(found: re.Match[str], vocabulary: PreferenceVocabulary) -> What | None:
    """Read 'this year', 'last year', 'the last three years', 'the past decade'."""
    this_year, years = vocabulary.this_year, span_years(found)
    in_decades = found["unit"].lower().startswith("d")
    if found["which"].lower() == "this":
        return limit_time(vocabulary, this_year - this_year % (10 if in_decades else 1), this_year)
    is_last = not found["count"] and not in_decades
    return limit_time(vocabulary, this_year - years, this_year - 1 if is_last else None)


def read_age(found: re.Match[str], vocabulary: PreferenceVocabulary) -> What | None:
    """Read 'not older than ten years', 'more than 20 years old', 'less than five years ago'."""
    since = vocabulary.this_year - span_years(found)
    is_older = phrase_key(found["than"]) in PHRASES["older_than"]
    if is_older != bool(found["not"]):
        return limit_time(vocabulary, at_most=since if found["not"] else since - 1)
    return limit_time(vocabulary, since)


def read_audience(found: re.Match[str], vocabulary: PreferenceVocabulary) -> What | None:
    """Read 'for a 10 year old', 'suitable for ages 8 and up'; not understood if the catalogue has
    no mood for it.
    """
    said = found["age"] or found["ages"]
    age = number(said) if said else 0
    least = next((name for label, name in vocabulary.labels.items() if label in LEAST_AGE), None)
    if said and least:
        return Bounds(Range(least, at_most=age))
    old = "kids" if age <= CHILD_UNTIL else "adults" if age >= ADULT_FROM else "teens"
    audience = f"for {old}"
    if audience in vocabulary.moods:
        return vocabulary.moods[audience]
    return Tone(TONES[audience]) if audience in TONES else Plain.UNCHECKED


def read_season(found: re.Match[str], vocabulary: PreferenceVocabulary) -> What | None:
    """Read 'spring' of 'spring 2016', 'aired in spring'."""
    value = vocabulary.seasons.get((found["dated"] or found["released"]).lower())
    return Choice(*value) if value else None


def read_length(found: re.Match[str], vocabulary: PreferenceVocabulary) -> What | None:
    """Read '12-26 eps', '90 minutes or less', 'two dozen eggs', and 'at least 24' of the field of
    "long".
    """
    unit, long_field = (found.groupdict().get("unit") or "").lower(), vocabulary.long_field
    bound, low, high = stated(found)
    if not unit:
        return number_bounds(long_field[0], bound, low, high, vocabulary) if long_field else None
    if unit in vocabulary.pairs:
        return pair_bounds(bound, low, high, *vocabulary.pairs[unit])
    is_exact = bound is Bound.WITHIN
    if unit in vocabulary.multiples:
        name, size = vocabulary.multiples[unit]
        low, high = (low - 1) * size + 1, high * size
        bound = Bound.AT_MOST if is_exact and low == 1 else bound
    elif unit in vocabulary.totals:
        name, share = vocabulary.totals[unit]
        bound = Bound.AT_MOST if is_exact and low == high else bound
        low, high = math.floor(low * share), math.floor(high * share)
    elif unit in vocabulary.units:
        name = vocabulary.units[unit]
    elif unit in vocabulary.scales:
        name, scale = vocabulary.scales[unit]
        low, high = low * scale, high * scale
    else:
        return None
    return number_bounds(name, bound, low, high, vocabulary)


def pair_bounds(bound: Bound, low: float, high: float, least: str, greatest: str) -> Bounds:
    """Read 'for 5 players', 'more than six players', where two fields tell from how many to how
    many.
    """
    if bound in (Bound.ABOVE, Bound.AT_LEAST):
        return Bounds(Range(greatest, at_least=low + (bound is Bound.ABOVE)))
    if bound in (Bound.BELOW, Bound.AT_MOST):
        return Bounds(Range(least, at_most=high - (bound is Bound.BELOW)))
    return Bounds(Range(least, at_most=low), also=Range(greatest, at_least=high))


def number_bounds(
    name: str,
    bound: Bound,
    low: float,
    high: float,
    vocabulary: PreferenceVocabulary,
    *,
    is_price: bool = False,
) -> What:
    """Return a limit on a field, in whole numbers unless it is a price or has fractions."""
    step = CENT if is_price or name in vocabulary.floats else 1
    spread = high / 5 if is_price else max(2 * step, round(high / 5))
    limit = Range(name, *limited(bound, low, high, spread=spread, step=step))
    return checked(Bounds(limit, step=step), vocabulary)


def read_price(found: re.Match[str], vocabulary: PreferenceVocabulary) -> What | None:
    """Read 'under $20', '€10 to €15', '$1,000 or less', of the field with this currency."""
    name = vocabulary.units.get(found["unit"].lower())
    return number_bounds(name, *stated(found), vocabulary, is_price=True) if name else None


def read_size(found: re.Match[str], vocabulary: PreferenceVocabulary) -> What | None:
    """Read 'short episodes', where these have a length of their own."""
    length = vocabulary.lengths.get(found["unit"].lower())
    return checked(size_bounds(length, phrase_key(found["size"])), vocabulary) if length else None


def size_bounds(length: tuple[str, float, float], size: str) -> Bounds:
    """Return the limit of a word such as "short" on a length: its field, the most of short and the
    least of long.
    """
    name, short_at_most, long_at_least = length
    is_short = size in SHORT_WORDS
    return Bounds(Range(name, *((None, short_at_most) if is_short else (long_at_least, None))))


def checked(bounds: Bounds, vocabulary: PreferenceVocabulary) -> What:
    """Return the bounds, or `UNCHECKED` if no record has a value of the field."""
    return bounds if vocabulary.empty_fields.isdisjoint(bounds.range.fields) else Plain.UNCHECKED


def read_adjective(phrase: str, vocabulary: PreferenceVocabulary) -> What | None:
    """Read 'recent', 'classic', 'short', 'long'."""
    bounds: Bounds | None = None
    if phrase in RECENT_YEARS:
        bounds = limit_time(vocabulary, vocabulary.this_year - RECENT_YEARS[phrase])
    elif phrase in OLD_WORDS:
        bounds = limit_time(vocabulary, at_most=OLD_UNTIL)
    elif vocabulary.long_field and phrase in WORDS_OF_PATTERNS["sizes"]:
        bounds = size_bounds(vocabulary.long_field, phrase)
    return checked(bounds._replace(adjective=True), vocabulary) if bounds else None


class Rule(NamedTuple):
    """A pattern with its reading; `needles`: it can match only a text that has one of these, in
    lower case.
    """

    pattern: re.Pattern[str]
    reading: Reading
    needles: tuple[str, ...] = ("",)


RULES: Final = (
    Rule(composed("audience"), read_audience, ("for", "with")),
    Rule(composed("age"), read_age, ("year", "decade")),
    Rule(composed("sizes"), read_size, ("short", "brief", "bite", "long", "length")),
    Rule(composed("prices"), read_price, ("$", "£", "¥", "₹", "€")),
    Rule(composed("lengths"), read_length),
    Rule(composed("lately"), read_recent_years, ("year", "decade")),
    # not when it was released
    Rule(composed("set_in_years"), lambda found, _: Tone(f"set in {found['said']}")),
    Rule(composed("centuries"), read_century, ("century",)),
    Rule(composed("before_christ"), read_before_christ, ("christ", "bc", "b.c.")),
    Rule(composed("alone"), read_alone, ("alone", "sol", "my")),
    Rule(composed("signed"), read_signed, ("-", "+")),
    Rule(
        composed("seasons"),
        read_season,
        ("19", "20", "air", "releas", "premier", "came out", "broadcast", "start"),
    ),
    Rule(composed("years"), read_years),
    Rule(composed("unitless"), read_length),
)
