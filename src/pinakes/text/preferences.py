"""Parsing of preference sentences into conditions to filter by and descriptions that move the taste vector.

The parser is rule-based. It splits the sentence into pieces with one meaning each (a bound on a number, a kind, a tag,
a tone, a title, a negation, padding); cues before a thing set its mood. The catalogue's words (fields, kinds, tags and
units) come in the vocabulary; the English is in `preference_words`. The result lists the words that were understood and
those that were not. Nothing here searches, embeds or resolves a title.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile, zip_longest
from typing import Final

from pinakes.model.scope import Condition, Range
from pinakes.text import preference_words as words
from pinakes.text.preference_effects import Mention, Nudge, describe_effect, effect_of, merge_conditions, phrases
from pinakes.text.preference_pieces import (
    Bound,
    Bounds,
    Choice,
    Cue,
    Join,
    Lead,
    Mood,
    Piece,
    Plain,
    Tag,
    Thing,
    Title,
    Tone,
    What,
    combined,
    is_listed,
)

LONGEST_SENTENCE: Final = 2_000
LONGEST_RUN: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class PreferenceVocabulary:
    """The words of a catalogue that a preference may use. Phrases are lower case."""

    time_field: str | None = None
    units: Mapping[str, str] = field(default_factory=dict)
    multiples: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    """Words for a fixed number of something: word → field and number."""
    choices: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    tag_field: str | None = None
    names: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Other values that are refused and demanded like tags, such as people: phrase → field and value."""
    fillers: frozenset[str] = frozenset()
    """Words without meaning here, such as the catalogue's own name in "recent novels"."""
    long_field: tuple[str, float, float] | None = None
    this_year: int = 2026


@dataclass(frozen=True, slots=True)
class Understood:
    """Words of the sentence, as written, and their interpretation."""

    text: str
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Preferences:
    """The parsed sentence, with the words that were and were not understood."""

    conditions: tuple[Condition, ...] = ()
    towards: tuple[str, ...] = ()
    away_from: tuple[str, ...] = ()
    like: tuple[str, ...] = ()
    understood: tuple[Understood, ...] = ()
    not_understood: tuple[str, ...] = ()


WORDS: Final = (Plain.FILLER, Plain.WORD)
Reading = Callable[[re.Match[str], PreferenceVocabulary], What | None]


def understand(sentence: str, vocabulary: PreferenceVocabulary) -> Preferences:
    """Parse a sentence; any text has a result, if only that nothing was understood."""
    text = sentence[:LONGEST_SENTENCE]
    pieces = with_descriptions(with_repeated_cues(with_demands_first(read(text, vocabulary), text)), text)
    mentions = list(iter_mentions(pieces))
    judged = [(one, effect_of(one)) for one in mentions]
    accepted = [(one, effect) for one, effect in judged if effect is not None]
    refused = [(one.start, one.end) for one, effect in judged if effect is None]
    effects = [effect for _, effect in accepted]
    return Preferences(
        conditions=merge_conditions(effect for effect in effects if not isinstance(effect, Nudge)),
        towards=phrases(effects, "towards"),
        away_from=phrases(effects, "away from"),
        like=phrases(effects, "like"),
        understood=tuple(
            Understood(text[one.start : one.end], describe_effect(what, tag_field=vocabulary.tag_field))
            for one, what in accepted
        ),
        not_understood=join_spans([*refused, *find_unknown_spans(pieces, mentions)], text),
    )


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
    return Bounds(Range(name, *words.limited(bound, low, high, spread=max(2, round(high / 5)))))


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


RULES: Final[tuple[tuple[re.Pattern[str], Reading], ...]] = (
    (words.LENGTHS, read_length),
    (words.LATELY, read_recent_years),
    (words.SET_IN_YEARS, read_setting),
    (words.YEARS, read_years),
    (words.UNITLESS, read_length),
)


def read(text: str, vocabulary: PreferenceVocabulary) -> list[Piece]:
    """Split the text into pieces: first titles and numbers, by pattern, then the rest, by phrase."""
    left = text.translate(words.STRAIGHT)
    pieces = list(words.title_pieces(left))
    left = blanked(left, pieces)
    for pattern, reading in RULES:
        found = list(matched(pattern, reading, left, vocabulary))
        left = blanked(left, found)
        pieces += found
    longest = words.longest_by_first((*words.KNOWN, *vocabulary.choices, *vocabulary.tags, *vocabulary.names))
    for gap in re.finditer(r"[^\0]+", left):
        tokens = list(words.TOKEN.finditer(left, gap.start(), gap.end()))
        pieces += phrase_pieces(tokens, longest, vocabulary)
    return sorted(pieces, key=lambda piece: piece.start)


def blanked(text: str, pieces: Iterable[Piece]) -> str:
    """Return the text with the pieces blanked out, so that later rules skip them."""
    for piece in pieces:
        text = text[: piece.start] + "\0" * (piece.end - piece.start) + text[piece.end :]
    return text


def matched(pattern: re.Pattern[str], reading: Reading, text: str, vocabulary: PreferenceVocabulary) -> Iterator[Piece]:
    """Yield the matches of the pattern that the reading accepts, left to right."""
    position = 0
    while found := pattern.search(text, position):
        what = reading(found, vocabulary)
        position = found.end() if what else found.start() + 1
        if what:
            yield Piece(*found.span(), what)


def phrase_pieces(
    tokens: list[re.Match[str]], longest: dict[str, int], vocabulary: PreferenceVocabulary
) -> Iterator[Piece]:
    """Yield the longest known phrases, left to right; an unknown word is a piece of its own."""
    lowered = [token[0].lower() for token in tokens]
    index = 0
    while index < len(tokens):
        most = longest.get(lowered[index].partition("-")[0], 1)
        size, what = longest_phrase(lowered[index : index + most], vocabulary)
        following = index + size
        if isinstance(what, Tone) and following < len(tokens) and lowered[following] in words.TONE_NOUNS:
            following += 1
        yield Piece(tokens[index].start(), tokens[following - 1].end(), what)
        index = following


def longest_phrase(tokens: Sequence[str], vocabulary: PreferenceVocabulary) -> tuple[int, What]:
    """Return the length in tokens of the longest known phrase, and its meaning."""
    for size in range(len(tokens), 0, -1):
        what = read_phrase(" ".join(tokens[:size]), vocabulary)
        if what is not None:
            return size, what
    return 1, Plain.WORD if tokens[0][0].isalnum() else Plain.FILLER


def read_phrase(phrase: str, vocabulary: PreferenceVocabulary) -> What | None:
    """Return the meaning of a phrase: by grammar, by the catalogue's vocabulary, or by the English tables."""
    if phrase in words.STRUCTURE:
        return words.STRUCTURE[phrase]
    for spelling in words.spellings(phrase):
        if spelling in vocabulary.choices:
            return Choice(*vocabulary.choices[spelling])
        if spelling in vocabulary.tags:
            return Tag(vocabulary.tags[spelling], vocabulary.tag_field)
        if spelling in vocabulary.names:
            name_field, name = vocabulary.names[spelling]
            return Tag(name, name_field, is_name=True)
        if spelling in words.TONES:
            return Tone(words.TONES[spelling])
    is_filler = phrase in words.FILLER or phrase in vocabulary.fillers
    return Plain.FILLER if is_filler else read_adjective(phrase, vocabulary)


def with_demands_first(pieces: Sequence[Piece], text: str) -> list[Piece]:
    """Move a demand that follows its object before it: 'movies only'."""
    ordered = list(pieces)
    for index in range(1, len(ordered)):
        before, piece = ordered[index - 1 : index + 1]
        after = ordered[index + 1].what if index + 1 < len(ordered) else None
        is_demand = text[piece.start : piece.end].lower() in words.HOISTED_CUES
        if is_demand and isinstance(before.what, Thing) and not isinstance(after, Thing | Lead):
            ordered[index - 1 : index + 1] = [piece, before]
    return ordered


def with_repeated_cues(pieces: Sequence[Piece]) -> list[Piece]:
    """Repeat a lead or cue after 'and' or 'or' before unknown words: 'with zombies and (with) robots'."""
    result: list[Piece] = []
    opener: Lead | Cue | None = None
    for piece, following in zip_longest(pieces, pieces[1:]):
        result.append(piece)
        if isinstance(piece.what, Lead | Cue):
            opener = piece.what if isinstance(piece.what, Lead) or piece.what.takes_unknown else None
        elif isinstance(piece.what, Bounds | Title) or piece.what in (Plain.STOP, Join.COMMA):
            opener = None
        elif opener and following and piece.what in (Join.AND, Join.OR) and following.what is Plain.WORD:
            result.append(Piece(following.start, following.start, opener))
    return result


def with_descriptions(pieces: Sequence[Piece], text: str) -> list[Piece]:
    """Attach to leads and cues the words that follow them, known or not."""
    result: list[Piece] = []
    index = 0
    while index < len(pieces):
        opener, run = pieces[index], run_after(pieces, index)
        index += 1 + len(run)
        following = pieces[index].what if index < len(pieces) else Plain.STOP
        if isinstance(opener.what, Cue):
            result += cue_pieces(opener, opener.what, trimmed(run, text), following, text)
        elif isinstance(opener.what, Lead):
            result += [opener, *lead_pieces(opener.what, trimmed(run, text), text)]
        else:
            result.append(opener)
    return result


def run_after(pieces: Sequence[Piece], index: int) -> list[Piece]:
    """Return the words after a lead or cue that may be its description, up to the end of the clause."""
    opener = pieces[index].what
    if not isinstance(opener, Lead | Cue):
        return []
    takes_adjectives = isinstance(opener, Lead) or opener.takes_unknown
    run: list[Piece] = []
    for piece in pieces[index + 1 : index + 1 + LONGEST_RUN]:
        is_adjective = isinstance(piece.what, Bounds) and piece.what.adjective and takes_adjectives
        if not is_adjective and not isinstance(piece.what, Tag | Tone | Choice) and piece.what not in WORDS:
            break
        run.append(piece)
    return run


def trimmed(run: Sequence[Piece], text: str) -> list[Piece]:
    """Return the run without the articles, amounts and courtesies around it."""
    inner = [i for i, piece in enumerate(run) if text[piece.start : piece.end].lower() not in words.EDGES]
    return list(run[inner[0] : inner[-1] + 1]) if inner else []


def described(run: Sequence[Piece], text: str, form: str = "{}") -> list[Piece]:
    """Join a run of words into one description."""
    phrase = " ".join(text[run[0].start : run[-1].end].split())
    return [Piece(run[0].start, run[-1].end, Tone(form.format(phrase)))]


def lead_pieces(lead: Lead, run: list[Piece], text: str) -> list[Piece]:
    """Return the pieces of a lead's run: a setting, a description if a word is unknown, else the things named."""
    if all(piece.what is Plain.FILLER for piece in run):
        return []
    if lead is Lead.SETTING:
        return described(run, text, "set in {}")
    is_subject = lead is Lead.ABOUT and any(isinstance(piece.what, Choice) for piece in run)
    if is_subject or any(piece.what is Plain.WORD for piece in run):
        return described(run, text)
    return run


def cue_pieces(opener: Piece, cue: Cue, run: list[Piece], following: What, text: str) -> list[Piece]:
    """Return the pieces of a cue and its run. 'No cheap horror' is not 'no horror', so such words stay together."""
    things = [piece for piece in run if isinstance(piece.what, Thing)]
    is_unknown = any(piece.what is Plain.WORD for piece in run)
    if is_unknown and not things and not cue.takes_unknown:
        return [replace(opener, what=Plain.WORD), *run]
    if is_unknown and (not things or (cue.mood is not Mood.MUST and not isinstance(run[0].what, Thing))):
        return [opener, *described(run, text)]
    if cue.mood is Mood.MUST:
        return [opener, *run]
    # A kind next to another refused thing is not refused itself: 'no horror movies', 'no movies before 2000'.
    is_qualified = isinstance(following, Bounds) or not all(isinstance(piece.what, Choice) for piece in things)
    kept = [piece for piece in run if not (is_qualified and isinstance(piece.what, Choice))]
    is_compound = len(kept) > 1 and not is_unknown and any(isinstance(piece.what, Tone) for piece in kept)
    return [opener, *(described(kept, text) if is_compound else kept)]


def openers(pieces: Sequence[Piece], index: int) -> list[Piece]:
    """Return the cues, leads and words directly before a thing, the nearest first."""
    before = reversed(pieces[:index])
    return list(takewhile(lambda piece: isinstance(piece.what, Cue | Lead) or piece.what in WORDS, before))


def iter_mentions(pieces: Sequence[Piece]) -> Iterator[Mention]:
    """Yield each thing with its mood: that of the cues before it, or of its list."""
    mood, until, either = Mood.PLAIN, -1, False
    for index, piece in enumerate(pieces):
        if not isinstance(piece.what, Thing):
            continue
        before = [one for one in openers(pieces, index) if isinstance(one.what, Cue | Lead)]
        cues = [one.what.mood for one in reversed(before) if isinstance(one.what, Cue)]
        if cues:
            mood, until = combined(cues), last_in_list(pieces, index)
            either = any(one.what is Join.OR for one in pieces[index:until])
        elif index > until:
            mood, either = Mood.PLAIN, False
        start = min(one.start for one in (piece, *before))
        yield Mention(piece.what, mood, start, max(one.end for one in (piece, *before)), either)


def last_in_list(pieces: Sequence[Piece], index: int) -> int:
    """Return the last thing that the cue before this one applies to: all three in 'no jazz, blues or rock'."""
    sure = previous = index
    joins: set[Join] = set()
    for position in range(index + 1, len(pieces)):
        what = pieces[position].what
        if isinstance(what, Join):
            joins.add(what)
        elif isinstance(what, Thing) and is_listed(pieces[index].what, what, joins, in_list=previous != sure):
            is_tentative = joins == {Join.COMMA} or (not joins and previous != sure)
            sure, previous = (sure if is_tentative else position), position
            joins = set()
        elif what is not Plain.FILLER and not (isinstance(what, Lead) and joins == {Join.OR}):
            break
    return sure


def find_unknown_spans(pieces: Iterable[Piece], mentions: Iterable[Mention]) -> list[tuple[int, int]]:
    """Return the spans of unknown words, and of cues that nothing followed."""
    mentioned = {position for one in mentions for position in range(one.start, one.end)}
    return [
        (piece.start, piece.end)
        for piece in pieces
        if piece.what is Plain.WORD or (isinstance(piece.what, Cue) and piece.start not in mentioned)
    ]


def join_spans(spans: Iterable[tuple[int, int]], text: str) -> tuple[str, ...]:
    """Return the words of these spans as written; spans with only space between them are joined."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if joined and not text[joined[-1][1] : start].strip():
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return tuple(text[start:end] for start, end in joined)
