"""Rules that make queries of texts: misspelt and shortened names, descriptions, topics. Pure functions of a seed."""

import random
import re
from collections.abc import Callable, Collection, Mapping, Sequence

from stackroom.text.analyser import query_tokens
from stackroom.text.query import FUNCTION_TOKENS

SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
SUBTITLE = re.compile(r"\s*[:(–—]\s*|\s+-\s+")
LETTERS = "abcdefghijklmnopqrstuvwxyz"

LEAST_MISSPELT_CHARS = 5
"""A shorter name with a wrong letter is another name."""
LEAST_SHORT_WORDS = 2
SHORT_SHARE = 0.6
"""The share of a name's words that a shortened form keeps."""

LEAST_TELLING_WORDS = 6
MOST_TELLING_WORDS = 10
RARE_SHARE = 1 / 3
"""The share of a description's words, the rarest, that is left out: people who describe a thing rarely use the very
words that only its record has."""
REWORDED_SHARE = 1 / 3
"""The share of a description's words that its record does not have; it is .34 in descriptions of plots by people."""
TOPIC_WORDS = 2
LONGEST_HEADING_WORDS = 8
PUNCTUATION = " ,;:.!?-–—"

Frequencies = Callable[[Sequence[str]], list[int]]
"""Returns how many records have each token."""


def misspell(name: str, generator: random.Random) -> str | None:
    """Return a name with one letter left out, doubled, swapped or replaced; None where it is too short."""
    places = [index for index in range(1, len(name) - 1) if name[index].isalpha() and name[index + 1].isalpha()]
    if len(name) < LEAST_MISSPELT_CHARS or not places or not name.isascii():
        return None
    at = generator.choice(places)
    letter, following = name[at], name[at + 1]
    forms = [
        name[:at] + name[at + 1 :],
        name[:at] + letter + name[at:],
        name[:at] + following + letter + name[at + 2 :],
        name[:at] + generator.choice(LETTERS) + name[at + 1 :],
    ]
    return next((form for form in generator.sample(forms, len(forms)) if form != name), None)


def shorten(name: str) -> str | None:
    """Return the first part of a name: before its subtitle, or most of its words; None where little would be left."""
    whole = name.split()
    before = SUBTITLE.split(name.strip(), maxsplit=1)[0].split()
    words = before if len(before) < len(whole) else whole[: round(len(whole) * SHORT_SHARE)]
    while words and set(query_tokens(words[-1])) <= FUNCTION_TOKENS:
        words = words[:-1]
    short = " ".join(words).strip(PUNCTUATION)
    return short if len(set(query_tokens(short)) - FUNCTION_TOKENS) >= LEAST_SHORT_WORDS else None


def describe(
    text: str, *, without: Collection[str], others: str, frequencies: Frequencies, generator: random.Random
) -> str | None:
    """Return a description of one sentence by its telling words, but for a name's words and the rarest.

    Some words are replaced by words of `others`, texts about similar things: people do not use the very words of a
    record. None where no sentence has enough words.
    """
    sentences = [one for one in SENTENCE_END.split(text) if one.strip()]
    for sentence in generator.sample(sentences, len(sentences)):
        tokens = _telling(sentence, without)
        if len(tokens) < LEAST_TELLING_WORDS:
            continue
        rarest_first = _by_rarity(tokens, frequencies)
        left_out = set(rarest_first[: round(len(rarest_first) * RARE_SHARE)])
        kept = [word for word in tokens if word not in left_out][:MOST_TELLING_WORDS]
        own = {*without, *_telling(text, ()).values()}
        return " ".join(_reworded(kept, list(_telling(others, own)), generator))
    return None


def _reworded(words: list[str], others: Sequence[str], generator: random.Random) -> list[str]:
    """Return the words with some replaced by others."""
    places = generator.sample(range(len(words)), min(round(len(words) * REWORDED_SHARE), len(others)))
    replacing = dict(zip(places, generator.sample(others, len(places)), strict=True))
    return [replacing.get(place, word) for place, word in enumerate(words)]


def name_topic(heading: str, text: str, *, frequencies: Frequencies) -> str | None:
    """Return a heading with the rarest other words of a text; None where the text is too short, or the heading long."""
    tokens = _telling(text, set(query_tokens(heading)))
    if len(tokens) < LEAST_TELLING_WORDS or len(heading.split()) > LONGEST_HEADING_WORDS:
        return None
    return " ".join([heading, *_by_rarity(tokens, frequencies)[:TOPIC_WORDS]])


def _telling(text: str, without: Collection[str]) -> dict[str, str]:
    """Return the words of a text that carry meaning, each once, with its token; names' words are left out."""
    words: dict[str, str] = {}
    for word in WORD.findall(text):
        token = next(iter(query_tokens(word)), "")
        if token and token not in FUNCTION_TOKENS and token not in without and not word.isdigit():
            words.setdefault(word.lower(), token)
    return words


def _by_rarity(tokens: Mapping[str, str], frequencies: Frequencies) -> list[str]:
    """Return the words, the rarest first."""
    words = list(tokens)
    counts = dict(zip(words, frequencies([tokens[word] for word in words]), strict=True))
    return sorted(words, key=lambda word: (counts[word], word))
