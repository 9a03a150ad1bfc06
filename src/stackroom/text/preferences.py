"""Parsing of preference sentences into conditions to filter by and descriptions that move the taste
vector.

The parser is rule-based. It splits the sentence into pieces with one meaning each (a bound on a
number, a kind, a tag, a tone, a title, a negation, padding); cues before a thing set its mood. The
catalogue's words (fields, kinds, tags and units) come in the vocabulary; the English is in
`preference_words`. The result lists the words that were understood and those that were not. Nothing
here searches, embeds or resolves a title.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import takewhile, zip_longest
from typing import Final

from stackroom.frozen import frozen
from stackroom.model.scope import KIND_FIELD, Condition
from stackroom.text import preference_words as words
from stackroom.text.preference_pieces import (
    Attitude,
    Bounds,
    Choice,
    Cue,
    Effect,
    Lead,
    Leaning,
    Mention,
    Mood,
    NamedTag,
    Nudge,
    PieceJoin,
    Plain,
    PreferenceVocabulary,
    SentencePiece,
    Thing,
    Title,
    Tone,
    What,
    combined,
    describe_effect,
    effects_of,
    in_days,
    is_listed,
    merge_conditions,
    nudges_of,
    phrases,
)

LONGEST_SENTENCE: Final = 2_000
LONGEST_RUN: Final = 12


@dataclass(frozen=True, slots=True)
class UnderstoodWords:
    """Words of the sentence, as written, and their interpretation."""

    text: str
    meaning: str
    # whether only the embedded description can honour it
    by_vector: bool = field(default=False, compare=False)


@frozen
class Preferences:
    """The parsed sentence, with the words that were and were not understood."""

    conditions: tuple[Condition, ...] = ()
    towards: tuple[str, ...] = ()
    away_from: tuple[str, ...] = ()
    wishes: tuple[Nudge, ...] = field(default=(), compare=False)
    """The descriptions to move towards and away from, with what the catalogue can check of them."""
    like: tuple[str, ...] = ()
    unlike: tuple[str, ...] = ()
    is_novel: bool = False
    understood: tuple[UnderstoodWords, ...] = ()
    not_understood: tuple[str, ...] = ()


Meaning = Callable[[str], What | None]  # the meaning of a phrase, or None where it has none
WORDS: Final = (Plain.FILLER, Plain.WORD)
LIST_JOINS: Final = (PieceJoin.AND, PieceJoin.OR)


def understand(sentence: str, vocabulary: PreferenceVocabulary) -> Preferences:
    """Parse a sentence; any text has a result, perhaps that nothing was understood."""
    text = sentence[:LONGEST_SENTENCE]
    pieces = pieces_of(text, vocabulary)
    mentions = list(iter_mentions(pieces))
    judged = [
        (mention, effects_of(mention) if mention.mood is not Mood.ANY else [Attitude.INDIFFERENCE])
        for mention in mentions
    ]
    refused = [(one.start, one.end) for one, effects in judged if not effects]
    effects = [effect for _, some in judged for effect in some]
    mentioned = {position for mention in mentions for position in range(mention.start, mention.end)}
    unknown = [
        (piece.start, piece.end)
        for piece in pieces
        if piece.what in (Plain.WORD, Plain.UNCHECKED)
        # a cue that nothing followed
        or (isinstance(piece.what, Cue) and piece.start not in mentioned)
    ]
    return Preferences(
        conditions=tuple(
            in_days(condition, vocabulary)
            for condition in merge_conditions(
                effect for effect in effects if isinstance(effect, Condition)
            )
        ),
        towards=phrases(effects, "towards"),
        away_from=phrases(effects, "away from"),
        wishes=nudges_of(effects, "towards", "away from"),
        like=phrases(effects, "like"),
        unlike=phrases(effects, "unlike"),
        is_novel=Attitude.NOVELTY in effects,
        understood=tuple(
            understood(text[one.start : one.end], some, tag_field=vocabulary.tag_field)
            for one, some in judged
            if some
        ),
        not_understood=join_spans([*refused, *unknown], text),
    )


def understood(said: str, effects: Sequence[Effect], *, tag_field: str | None) -> UnderstoodWords:
    """Return the interpretation of some words by their effects."""
    meaning = "; ".join(describe_effect(effect, tag_field=tag_field) for effect in effects)
    wishes = nudges_of(effects, "towards", "away from")
    by_vector = len(wishes) == len(effects) and all(one.checks is None for one in wishes)
    return UnderstoodWords(
        said, f"{meaning} (by meaning: no tag says it)" if by_vector else meaning, by_vector
    )


def pieces_of(text: str, vocabulary: PreferenceVocabulary) -> list[SentencePiece]:
    """Return the pieces of a sentence, each cue before what it is about."""
    ordered = with_demands_first(with_comparisons(read(text, vocabulary), text), text)
    return with_descriptions(with_repeated_cues(ordered), text)


def read(text: str, vocabulary: PreferenceVocabulary) -> list[SentencePiece]:
    """Split the text into pieces: first titles and numbers, by pattern, then the rest, by
    phrase.
    """
    left = text.translate(words.STRAIGHT)
    pieces: list[SentencePiece] = []
    for find in (words.title_pieces, words.person_pieces, words.label_pieces):
        named = list(find(left, vocabulary))
        left = blanked(left, named)
        pieces += named
    lowered = left.lower()
    for rule in words.RULES:
        if any(needle in lowered for needle in rule.needles) and (
            found := list(matched(rule, left, vocabulary))
        ):
            left = blanked(left, found)
            pieces += found
    longest = words.longest_by_first(vocabulary.named)
    for gap in re.finditer(r"[^\0]+", left):
        tokens = list(words.TOKEN.finditer(left, gap.start(), gap.end()))
        pieces += phrase_pieces(tokens, longest, cache(partial(read_phrase, vocabulary=vocabulary)))
    return sorted(pieces, key=lambda piece: piece.start)


def blanked(text: str, pieces: Iterable[SentencePiece]) -> str:
    """Return the text with the pieces blanked out, so that later rules skip them."""
    for piece in pieces:
        text = text[: piece.start] + "\0" * (piece.end - piece.start) + text[piece.end :]
    return text


def matched(
    rule: words.Rule, text: str, vocabulary: PreferenceVocabulary
) -> Iterator[SentencePiece]:
    """Yield the matches of a rule that its reading accepts, left to right."""
    position = 0
    while found := rule.pattern.search(text, position):
        what = rule.reading(found, vocabulary)
        position = found.end() if what else found.start() + 1
        if what:
            yield SentencePiece(*found.span(), what)


def phrase_pieces(
    tokens: list[re.Match[str]], longest: dict[str, int], meaning: Meaning
) -> Iterator[SentencePiece]:
    """Yield the longest known phrases, left to right; an unknown word is a piece of its own."""
    lowered = [token[0].lower() for token in tokens]
    index = 0
    while index < len(tokens):
        most = longest.get(lowered[index].partition("-")[0], 1)
        size, what = longest_phrase(lowered[index : index + most], meaning)
        following = index + size
        if (
            isinstance(what, Tone)
            and following < len(tokens)
            and lowered[following] in words.PHRASES["tone_nouns"]
        ):
            following += 1
        yield SentencePiece(tokens[index].start(), tokens[following - 1].end(), what)
        index = following


def longest_phrase(tokens: Sequence[str], meaning: Meaning) -> tuple[int, What]:
    """Return the length in tokens of the longest known phrase, and its meaning."""
    for size in range(len(tokens), 0, -1):
        what = meaning(" ".join(tokens[:size]))
        if what is not None:
            return size, what
    return 1, Plain.WORD if tokens[0][0].isalnum() else Plain.FILLER


def read_phrase(phrase: str, vocabulary: PreferenceVocabulary) -> What | None:
    """Return the meaning of a phrase: by grammar, by the catalogue's vocabulary, or by the English
    tables.
    """
    if phrase in words.STRUCTURE:
        return words.STRUCTURE[phrase]
    for spelling in words.spellings(phrase):
        if (what := read_spelling(spelling, vocabulary)) is not None:
            return what
    if phrase in words.FILLER or phrase in vocabulary.fillers:
        return Plain.FILLER
    bounds = words.read_adjective(phrase, vocabulary)
    return words.checked(bounds, vocabulary) if bounds else None


def read_spelling(spelling: str, vocabulary: PreferenceVocabulary) -> What | None:
    """Return the meaning of a phrase in one of its spellings, the catalogue's own words first."""
    if spelling in vocabulary.unchecked or spelling in words.UNCHECKED:
        return Plain.UNCHECKED
    if spelling in vocabulary.choices:
        return Choice(*vocabulary.choices[spelling])
    if spelling in vocabulary.moods:
        return vocabulary.moods[spelling]
    if spelling in vocabulary.tags:
        return NamedTag(vocabulary.tags[spelling], vocabulary.tag_field)
    if spelling in vocabulary.names:
        name_field, name = vocabulary.names[spelling]
        return NamedTag(name, name_field, is_name=True)
    return Tone(words.TONES[spelling]) if spelling in words.TONES else None


def with_comparisons(pieces: Sequence[SentencePiece], text: str) -> list[SentencePiece]:
    """Mark the lesser side of a comparison: in 'prefer fantasy over sci-fi', sci-fi makes no
    difference.
    """
    marked = list(pieces)
    is_preferring = False
    for index, piece in enumerate(marked):
        said = text[piece.start : piece.end].lower()
        is_preferring = (
            is_preferring or said in words.PHRASES["preferring"]
        ) and piece.what is not Plain.STOP
        is_between = 0 < index < len(marked) - 1 and isinstance(marked[index - 1].what, Thing)
        if is_preferring and is_between and said in words.PHRASES["comparing"]:
            others = (
                one.what
                for one in marked[index + 1 :]
                if text[one.start : one.end].lower() not in words.EDGES
            )
            if isinstance(next(others, None), Thing):
                marked[index] = replace(piece, what=Cue(Mood.ANY, takes_unknown=True))
    return marked


def with_demands_first(pieces: Sequence[SentencePiece], text: str) -> list[SentencePiece]:
    """Move a cue that follows its object before it: 'movies only', 'romance and drama are a
    must'.
    """
    ordered = list(pieces)
    for index in range(1, len(ordered)):
        piece = ordered[index]
        after = ordered[index + 1].what if index + 1 < len(ordered) else None
        said = text[piece.start : piece.end].lower()
        if said in words.HOISTED_CUES and isinstance(ordered[index - 1].what, Thing):
            is_sentence = said not in ("only", "exclusively", "required")
            if is_sentence or not isinstance(after, Thing | Lead):
                first = index - 1
                while (
                    said.startswith("are ") and first > 1 and ordered[first - 1].what in LIST_JOINS
                ):
                    if not isinstance(ordered[first - 2].what, Thing):
                        break
                    first -= 2
                ordered[first : index + 1] = [piece, *ordered[first:index]]
    return ordered


def with_repeated_cues(pieces: Sequence[SentencePiece]) -> list[SentencePiece]:
    """Repeat a lead or cue after 'and' or 'or' before unknown words: 'with zombies and (with)
    robots'.
    """
    result: list[SentencePiece] = []
    opener: Lead | Cue | None = None
    for piece, following in zip_longest(pieces, pieces[1:]):
        result.append(piece)
        if isinstance(piece.what, Lead | Cue):
            opener = (
                piece.what if isinstance(piece.what, Lead) or piece.what.takes_unknown else None
            )
        elif isinstance(piece.what, Bounds | Title) or piece.what in (Plain.STOP, PieceJoin.COMMA):
            opener = None
        elif opener and following and piece.what in LIST_JOINS and following.what is Plain.WORD:
            result.append(SentencePiece(following.start, following.start, opener))
    return result


def with_descriptions(pieces: Sequence[SentencePiece], text: str) -> list[SentencePiece]:
    """Attach to leads and cues the words that follow them, known or not."""
    result: list[SentencePiece] = []
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


def run_after(pieces: Sequence[SentencePiece], index: int) -> list[SentencePiece]:
    """Return the words after a lead or cue that may be its description, up to the end of the
    clause.
    """
    opener = pieces[index].what
    if not isinstance(opener, Lead | Cue):
        return []
    takes_adjectives = isinstance(opener, Lead) or opener.takes_unknown
    run: list[SentencePiece] = []
    for piece in pieces[index + 1 : index + 1 + LONGEST_RUN]:
        is_adjective = isinstance(piece.what, Bounds) and piece.what.adjective and takes_adjectives
        if (
            not is_adjective
            and not isinstance(piece.what, NamedTag | Tone | Choice)
            and piece.what not in WORDS
        ):
            break
        run.append(piece)
    return run


def trimmed(run: Sequence[SentencePiece], text: str) -> list[SentencePiece]:
    """Return the run without the articles, amounts and courtesies around it."""
    inner = [
        i for i, piece in enumerate(run) if text[piece.start : piece.end].lower() not in words.EDGES
    ]
    return list(run[inner[0] : inner[-1] + 1]) if inner else []


def described(run: Sequence[SentencePiece], text: str, form: str = "{}") -> list[SentencePiece]:
    """Join a run of words into one description, which leans to the tags among them."""
    phrase = " ".join(text[run[0].start : run[-1].end].split())
    return [SentencePiece(run[0].start, run[-1].end, Tone(form.format(phrase), leaning_of(run)))]


def leaning_of(run: Sequence[SentencePiece]) -> Leaning:
    """Return the tags that a run of words names: as its meaning if it has no other words, else as
    near to it.
    """
    tags = [piece.what for piece in run if isinstance(piece.what, NamedTag) and piece.what.field]
    if not tags:
        return Leaning()
    names = tuple(dict.fromkeys(tag.name for tag in tags if tag.field == tags[0].field))
    is_whole = all(isinstance(piece.what, NamedTag) or piece.what is Plain.FILLER for piece in run)
    return Leaning(
        tags[0].field or "", meant=names if is_whole else (), near=() if is_whole else names
    )


def lead_pieces(lead: Lead, run: list[SentencePiece], text: str) -> list[SentencePiece]:
    """Return the pieces of a lead's run: a setting, a description if a word is unknown, else the
    things named.
    """
    if all(piece.what is Plain.FILLER for piece in run):
        return []
    if lead is not Lead.ABOUT and is_circumstance(run, text):
        return [replace(piece, what=Plain.WORD) for piece in run]
    moods = [piece for piece in run if isinstance(piece.what, Tone) and piece.what.leaning.meant]
    named = [piece.what for piece in run if piece.what is not Plain.FILLER]
    are_places = all(
        isinstance(what, Choice) or (isinstance(what, NamedTag) and what.is_name) for what in named
    )
    if lead is Lead.SETTING and not (len(moods) == 1 and len(run) == 1) and not are_places:
        return described(run, text, "set in {}")
    is_subject = lead is Lead.ABOUT and any(isinstance(piece.what, Choice) for piece in run)
    if is_subject or any(piece.what is Plain.WORD for piece in run):
        return described(run, text)
    return run


def is_circumstance(run: Sequence[SentencePiece], text: str) -> bool:
    """Tell whether a run is about the person who asks, and not about a record: 'my girlfriend',
    'two evenings'.
    """
    said = [(text[piece.start : piece.end].lower(), piece.what) for piece in run]
    told = [word for word, what in said if what is Plain.WORD and word not in words.NUMBERS]
    return said[0][0] in ("my", "our") or (
        bool(told) and words.PHRASES["occasions"].issuperset(told)
    )


def cue_pieces(
    opener: SentencePiece, cue: Cue, run: list[SentencePiece], following: What, text: str
) -> list[SentencePiece]:
    """Return the pieces of a cue and its run. 'No cheap horror' is not 'no horror', so such words
    stay together.
    """
    things = [piece for piece in run if isinstance(piece.what, Thing)]
    is_unknown = any(piece.what is Plain.WORD for piece in run)
    if is_unknown and not things and not cue.takes_unknown:
        return [replace(opener, what=Plain.WORD), *run]
    if is_unknown and (
        not things or (cue.mood is not Mood.MUST and not isinstance(run[0].what, Thing))
    ):
        return [opener, *described(run, text)]
    if cue.mood is Mood.MUST:
        return [opener, *run]
    # A kind next to another refused thing is not refused itself: 'no horror movies', 'no movies
    # before 2000'.
    is_qualified = isinstance(following, Bounds) or not all(
        isinstance(piece.what, Choice) for piece in things
    )
    choices = [piece for piece in things if isinstance(piece.what, Choice)]
    kinds = [
        piece
        for piece in things
        if isinstance(piece.what, Choice) and piece.what.field == KIND_FIELD
    ]
    wanted = choices if is_qualified else kinds if len(kinds) < len(things) else []
    kept = [piece for piece in run if piece not in wanted]
    is_compound = (
        len(kept) > 1 and not is_unknown and any(isinstance(piece.what, Tone) for piece in kept)
    )
    return [opener, *(described(kept, text) if is_compound else kept)]


def iter_mentions(pieces: Sequence[SentencePiece]) -> Iterator[Mention]:
    """Yield each thing with its mood: that of the cues before it, or of its list."""
    mood, until, either = Mood.PLAIN, -1, False
    for index, piece in enumerate(pieces):
        if not isinstance(piece.what, Thing):
            continue
        run = takewhile(
            lambda one: isinstance(one.what, Cue | Lead) or one.what in WORDS,
            reversed(pieces[:index]),
        )
        before = [opener for opener in run if isinstance(opener.what, Cue | Lead)]
        cues = [one.what.mood for one in reversed(before) if isinstance(one.what, Cue)]
        if cues:
            mood, until = combined(cues), last_in_list(pieces, index)
            either = any(one.what is PieceJoin.OR for one in pieces[index:until])
        elif index > until:
            mood, either = Mood.PLAIN, False
        start = min(one.start for one in (piece, *before))
        yield Mention(piece.what, mood, start, max(one.end for one in (piece, *before)), either)


def last_in_list(pieces: Sequence[SentencePiece], index: int) -> int:
    """Return the last thing that the cue before this one applies to: all three in 'no jazz, blues
    or rock'.
    """
    sure = previous = index
    joins: set[PieceJoin] = set()
    for position in range(index + 1, len(pieces)):
        what = pieces[position].what
        if isinstance(what, PieceJoin):
            joins.add(what)
        elif isinstance(what, Thing) and is_listed(
            pieces[index].what, what, joins, in_list=previous != sure
        ):
            is_tentative = joins == {PieceJoin.COMMA} or (not joins and previous != sure)
            sure, previous = (sure if is_tentative else position), position
            joins = set()
        elif what is not Plain.FILLER and not (isinstance(what, Lead) and joins == {PieceJoin.OR}):
            break
    return sure


def join_spans(spans: Iterable[tuple[int, int]], text: str) -> tuple[str, ...]:
    """Return the words of these spans as written; spans with only space between them are joined."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if joined and not text[joined[-1][1] : start].strip():
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return tuple(text[start:end] for start, end in joined)
