"""Parsing of preference sentences into conditions to filter by and descriptions that move the taste
vector.

The parser is rule-based. It splits the sentence into pieces with one meaning each (a bound on a
number, a kind, a tag, a tone, a title, a negation, padding); cues before a thing set its mood. The
catalogue's words (fields, kinds, tags and units) come in the vocabulary; the English is in
`preference_words`. The result lists the words that were understood and those that were not. Nothing
here searches, embeds or resolves a title.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from operator import attrgetter
from typing import Final

from stackroom.frozen import frozen
from stackroom.model.scope import KIND_FIELD, Condition
from stackroom.text import preference_words as words
from stackroom.text.preference_pieces import (
    REFUSALS,
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


PREFERRING, COMPARING, TONE_NOUNS = map(
    words.PHRASES.__getitem__, ("preferring", "comparing", "tone_nouns")
)
WITHOUT_VERB: Final = ("only", "exclusively", "required")
WORDS: Final = (Plain.FILLER, Plain.WORD)
LIST_JOINS: Final = (PieceJoin.AND, PieceJoin.OR)


def understand(sentence: str, vocabulary: PreferenceVocabulary) -> Preferences:
    """Parse a sentence; any text has a result, perhaps that nothing was understood."""
    text = sentence[:LONGEST_SENTENCE]
    pieces = pieces_of(text, vocabulary)
    mentions = mentions_in(pieces)
    judged = [
        (mention, effects_of(mention) if mention.mood is not Mood.ANY else [Attitude.INDIFFERENCE])
        for mention in mentions
    ]
    effects = [effect for _, some in judged for effect in some]
    conditions = merge_conditions(effect for effect in effects if isinstance(effect, Condition))
    mentioned = {position for mention in mentions for position in range(mention.start, mention.end)}
    unknown = [
        (piece.start, piece.end)
        for piece in pieces
        if piece.what in (Plain.WORD, Plain.UNCHECKED)
        # a cue that nothing followed
        or (isinstance(piece.what, Cue) and piece.start not in mentioned)
    ]
    refused = [(mention.start, mention.end) for mention, some in judged if not some]
    return Preferences(
        conditions=tuple(in_days(condition, vocabulary) for condition in conditions),
        towards=phrases(effects, "towards"),
        away_from=phrases(effects, "away from"),
        wishes=nudges_of(effects, "towards", "away from"),
        like=phrases(effects, "like"),
        unlike=phrases(effects, "unlike"),
        is_novel=Attitude.NOVELTY in effects,
        understood=tuple(
            understood(text[mention.start : mention.end], some, tag_field=vocabulary.tag_field)
            for mention, some in judged
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
        named = find(left, vocabulary)
        left = blanked(left, named)
        pieces += named
    lowered = left.lower()
    for rule in words.RULES:
        if any(map(lowered.__contains__, rule.needles)):
            found = matched(rule, left, vocabulary)
            left = blanked(left, found)
            pieces += found
    for gap in re.finditer(r"[^\0]+", left):
        tokens = list(words.TOKEN.finditer(left, gap.start(), gap.end()))
        pieces += phrase_pieces(tokens, vocabulary)
    return sorted(pieces, key=attrgetter("start"))


def blanked(text: str, spans: Iterable[SentencePiece | tuple[int, int]], by: str = "\0") -> str:
    """Return the text with some words blanked out, so that later rules skip them."""
    for span in spans:
        start, end = span[:2]
        text = text[:start] + by * (end - start) + text[end:]
    return text


def matched(rule: words.Rule, text: str, vocabulary: PreferenceVocabulary) -> list[SentencePiece]:
    """Return the matches of a rule that its reading accepts, left to right."""
    pieces: list[SentencePiece] = []
    position = 0
    while found := rule.pattern.search(text, position):
        what = rule.reading(found, vocabulary)
        position = found.end() if what else found.start() + 1
        if what:
            pieces.append(SentencePiece(*found.span(), what))
    return pieces


def phrase_pieces(
    tokens: Sequence[re.Match[str]], vocabulary: PreferenceVocabulary
) -> list[SentencePiece]:
    """Return the longest known phrases, left to right; an unknown word is a piece of its own."""
    lowered = [token[0].lower() for token in tokens]
    pieces: list[SentencePiece] = []
    index = 0
    while index < len(tokens):
        first = lowered[index].partition("-")[0]
        longest = max(words.LONGEST.get(first, 1), vocabulary.longest.get(first, 1))
        size = min(longest, len(tokens) - index)
        what: What | None = None
        while (
            size
            and (what := read_phrase(" ".join(lowered[index : index + size]), vocabulary)) is None
        ):
            size -= 1
        what = what or (Plain.WORD if lowered[index][0].isalnum() else Plain.FILLER)
        end = index + max(size, 1)
        if isinstance(what, Tone) and lowered[end : end + 1] and lowered[end] in TONE_NOUNS:
            end += 1
        pieces.append(SentencePiece(tokens[index].start(), tokens[end - 1].end(), what))
        index = end
    return pieces


def read_phrase(phrase: str, vocabulary: PreferenceVocabulary) -> What | None:
    """Return the meaning of a phrase: by grammar, by the catalogue's vocabulary in any of its
    spellings, or by the English tables.
    """
    if phrase in words.STRUCTURE:
        return words.STRUCTURE[phrase]
    for spelling in words.spellings(phrase):
        if spelling in words.UNCHECKED:
            return Plain.UNCHECKED
        if what := vocabulary.meanings.get(spelling):
            return what
        if spelling in words.TONES:
            return Tone(words.TONES[spelling])
    if phrase in words.FILLER or phrase in vocabulary.fillers:
        return Plain.FILLER
    return words.read_adjective(phrase, vocabulary)


def with_comparisons(pieces: Sequence[SentencePiece], text: str) -> list[SentencePiece]:
    """Mark the lesser side of a comparison: in 'prefer fantasy over sci-fi', sci-fi makes no
    difference.
    """
    marked = list(pieces)
    is_preferring = False
    for index, piece in enumerate(marked):
        said = text[piece.start : piece.end].lower()
        is_preferring = (is_preferring or said in PREFERRING) and piece.what is not Plain.STOP
        if is_preferring and said in COMPARING and index:
            compared = [marked[index - 1], *trimmed(marked[index + 1 :], text)[:1]]
            if len(compared) == 2 and all(isinstance(one.what, Thing) for one in compared):
                marked[index] = piece._replace(what=Cue(Mood.ANY, takes_unknown=True))
    return marked


def with_demands_first(pieces: Sequence[SentencePiece], text: str) -> list[SentencePiece]:
    """Move a cue that follows its object before it: 'movies only', 'romance and drama are a
    must'.
    """
    ordered = list(pieces)
    for index in range(1, len(ordered)):
        piece, following = ordered[index], ordered[index + 1 : index + 2]
        said = text[piece.start : piece.end].lower()
        if said not in words.HOISTED_CUES or not isinstance(ordered[index - 1].what, Thing):
            continue
        if said in WITHOUT_VERB and following and isinstance(following[0].what, Thing | Lead):
            continue
        first = index - 1
        while said.startswith("are ") and first > 1 and ordered[first - 1].what in LIST_JOINS:
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
        what = piece.what
        if isinstance(what, Lead | Cue):
            opener = what if isinstance(what, Lead) or what.takes_unknown else None
        elif isinstance(what, Bounds | Title) or what in (Plain.STOP, PieceJoin.COMMA):
            opener = None
        elif opener and following and what in LIST_JOINS and following.what is Plain.WORD:
            result.append(SentencePiece(following.start, following.start, opener))
    return result


def with_descriptions(pieces: Sequence[SentencePiece], text: str) -> list[SentencePiece]:
    """Attach to leads and cues the words that follow them, known or not."""
    result: list[SentencePiece] = []
    index = 0
    while index < len(pieces):
        opener = pieces[index]
        index += 1
        if not isinstance(opener.what, Lead | Cue):
            result.append(opener)
            continue
        run = run_from(pieces[index : index + LONGEST_RUN], opener.what)
        index += len(run)
        inner = trimmed(run, text)
        if isinstance(opener.what, Cue):
            following = pieces[index].what if index < len(pieces) else Plain.STOP
            result += cue_pieces(opener, opener.what, inner, following, text)
        else:
            result += [opener, *lead_pieces(opener.what, inner, text)]
    return result


def run_from(pieces: Iterable[SentencePiece], opener: Lead | Cue) -> list[SentencePiece]:
    """Return the words after a lead or cue that may be its description, up to the end of the
    clause.
    """
    takes_adjectives = isinstance(opener, Lead) or opener.takes_unknown
    run: list[SentencePiece] = []
    for piece in pieces:
        what = piece.what
        is_adjective = isinstance(what, Bounds) and what.adjective and takes_adjectives
        if not (is_adjective or isinstance(what, NamedTag | Tone | Choice) or what in WORDS):
            break
        run.append(piece)
    return run


def trimmed(run: Sequence[SentencePiece], text: str) -> Sequence[SentencePiece]:
    """Return the run without the articles, amounts and courtesies around it."""
    inner = [
        place
        for place, piece in enumerate(run)
        if text[piece.start : piece.end].lower() not in words.EDGES
    ]
    return run[inner[0] : inner[-1] + 1] if inner else []


def described(run: Sequence[SentencePiece], text: str, form: str = "{}") -> SentencePiece:
    """Join a run of words into one description, which leans to the tags among them."""
    start, end = run[0].start, run[-1].end
    phrase = " ".join(text[start:end].split())
    return SentencePiece(start, end, Tone(form.format(phrase), leaning_of(run)))


def leaning_of(run: Sequence[SentencePiece]) -> Leaning:
    """Return the tags that a run of words names: as its meaning if it has no other words, else as
    near to it.
    """
    tags = [piece.what for piece in run if isinstance(piece.what, NamedTag) and piece.what.field]
    if not tags:
        return Leaning()
    field = tags[0].field or ""
    names = tuple(dict.fromkeys(tag.name for tag in tags if tag.field == field))
    is_whole = all(isinstance(piece.what, NamedTag) or piece.what is Plain.FILLER for piece in run)
    return Leaning(field, meant=names) if is_whole else Leaning(field, near=names)


def lead_pieces(lead: Lead, run: Sequence[SentencePiece], text: str) -> Sequence[SentencePiece]:
    """Return the pieces of a lead's run: a setting, a description if a word is unknown, else the
    things named.
    """
    named = [piece.what for piece in run if piece.what is not Plain.FILLER]
    if not named:
        return []
    if lead is not Lead.ABOUT and is_circumstance(run, text):
        return [piece._replace(what=Plain.WORD) for piece in run]
    if lead is Lead.SETTING:
        is_mood = len(run) == 1 and isinstance(named[0], Tone) and bool(named[0].leaning.meant)
        are_places = all(
            isinstance(what, Choice) or (isinstance(what, NamedTag) and what.is_name)
            for what in named
        )
        if not is_mood and not are_places:
            return [described(run, text, "set in {}")]
    is_subject = lead is Lead.ABOUT and any(isinstance(what, Choice) for what in named)
    return [described(run, text)] if is_subject or Plain.WORD in named else run


def is_circumstance(run: Sequence[SentencePiece], text: str) -> bool:
    """Tell whether a run is about the person who asks, and not about a record: 'my girlfriend',
    'two evenings'.
    """
    said = [(text[piece.start : piece.end].lower(), piece.what) for piece in run]
    told = {word for word, what in said if what is Plain.WORD} - words.NUMBERS.keys()
    return said[0][0] in ("my", "our") or (bool(told) and told <= words.PHRASES["occasions"])


def cue_pieces(
    opener: SentencePiece, cue: Cue, run: Sequence[SentencePiece], following: What, text: str
) -> list[SentencePiece]:
    """Return the pieces of a cue and its run. 'No cheap horror' is not 'no horror', so such words
    stay together.
    """
    things = [piece for piece in run if isinstance(piece.what, Thing)]
    is_demand = cue.mood is Mood.MUST
    if is_unknown := any(piece.what is Plain.WORD for piece in run):
        if not things and not cue.takes_unknown:
            return [opener._replace(what=Plain.WORD), *run]
        if not things or not (is_demand or isinstance(run[0].what, Thing)):
            return [opener, described(run, text)]
    if is_demand:
        return [opener, *run]
    # A kind next to another refused thing is not refused itself: 'no horror movies', 'no movies
    # before 2000'.
    choices = [piece for piece in things if isinstance(piece.what, Choice)]
    kinds = [piece for piece in choices if getattr(piece.what, "field", "") == KIND_FIELD]
    is_qualified = isinstance(following, Bounds) or len(choices) < len(things)
    wanted = choices if is_qualified else kinds if len(kinds) < len(things) else []
    kept = [piece for piece in run if piece not in wanted]
    is_compound = (
        len(kept) > 1 and not is_unknown and any(isinstance(piece.what, Tone) for piece in kept)
    )
    return [opener, described(kept, text)] if is_compound else [opener, *kept]


def mentions_in(pieces: Sequence[SentencePiece]) -> list[Mention]:
    """Return each thing with its mood: that of the cues before it, or of its list."""
    mentions: list[Mention] = []
    mood, until, either = Mood.PLAIN, -1, False
    openers: list[SentencePiece] = []
    for index, piece in enumerate(pieces):
        if isinstance(piece.what, Cue | Lead):
            openers.append(piece)
        elif isinstance(piece.what, Thing):
            cues = [one.what.mood for one in openers if isinstance(one.what, Cue)]
            if cues or index > until:
                mood, either = Mood.PLAIN, False
            for cue in cues:  # in 'not without' and 'not only' the refusals cancel
                mood = Mood.PLAIN if mood in REFUSALS else cue
            if cues:
                until = last_in_list(pieces, index)
                either = any(one.what is PieceJoin.OR for one in pieces[index:until])
            start = min([one.start for one in (piece, *openers)])
            end = max([one.end for one in (piece, *openers)])
            mentions.append(Mention(piece.what, mood, start, end, either))
            openers = []
        elif piece.what not in WORDS:
            openers = []
    return mentions


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
