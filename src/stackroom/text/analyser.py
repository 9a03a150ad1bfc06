"""The tokeniser: text → tokens, the same for every shelf, at build and at query.

Words are folded and stemmed. Runs of scripts without spaces (Chinese, Japanese, Korean, Thai …)
become unigrams and bigrams, so that any part of a title is found; a query uses the bigrams alone if
it has any.

`analyse_query` makes weighted terms of a query. Engines never see its text, so it cannot contain
syntax.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from itertools import chain, pairwise
from typing import TypeVar

import Stemmer

from stackroom.text.normalise import fold
from stackroom.text.patterns import pattern

MAX_TOKEN_CHARS = 60
STEMS_KEPT = 200_000
DOTLESS_I = "ı"

_UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    r"\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"  # kana and iteration marks
    r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"  # Han
    r"\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3"  # Hangul
)
_INDIC = r"\u0900-\u0963\u0966-\u0dff"  # vowel signs do not match `\w`, but are part of the word
_LETTERS = rf"[^\W_{_UNSPACED}]+(?:[{_INDIC}]+[^\W_{_UNSPACED}]*)*"
_TOKEN = pattern(
    rf"(?P<unspaced>[{_UNSPACED}]+)|(?P<word>{_LETTERS}(?:['’]{_LETTERS})*)(?P<suffix>\+\+|\+|#)?"
)
_POSSESSIVE = re.compile(r"['’]s$")
_SIGNS = "'+#"
"""Signs of ASCII that may be part of a word. Without them, the words of an ASCII text are its
letters and digits.
"""
_BLANKED = "".join(
    chr(code) if chr(code).isalnum() or chr(code) in _SIGNS else " " for code in range(128)
)
"""The replacement of each ASCII character: characters that no token contains become blanks, so a
text can be split into pieces.
"""
_APOSTROPHE = re.compile(r"['’]")

KeptT = TypeVar("KeptT")
_english = Stemmer.Stemmer("english")


def index_tokens(text: str) -> list[str]:
    """Return the tokens that a text is indexed under."""
    folded = fold(text)
    pieces = folded.translate(_BLANKED).split()
    if folded.isascii() and not any(map(folded.__contains__, _SIGNS)):
        return list(map(_STEMS.__getitem__, pieces))
    return list(chain.from_iterable(map(_PIECES.__getitem__, pieces)))


def query_tokens(text: str) -> list[str]:
    """Return the tokens of a query, in order, with repeats."""
    folded = fold(text)
    if folded.isascii():  # scripts without spaces are where the two differ
        return index_tokens(folded)
    return list(_tokens_of(folded, is_query=True))


@lru_cache(maxsize=STEMS_KEPT)
def stem(word: str) -> str:
    """Return the stem of a folded word, cut where it is endless; words with letters other than
    ASCII are returned unchanged.
    """
    word = word[:MAX_TOKEN_CHARS]
    return _english.stemWord(word) if word.isascii() and word.isalpha() else word


class _Remembered(dict[str, KeptT]):
    """Results for the words seen so far; a look-up is faster than a call of a cached function."""

    def __init__(self, make: Callable[[str], KeptT]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, word: str) -> KeptT:
        made = self._make(word)
        if len(word) <= MAX_TOKEN_CHARS:  # a longer one hardly comes again
            if len(self) >= STEMS_KEPT:
                self.clear()
            self[word] = made
        return made


def _tokens_of(piece: str, *, is_query: bool = False) -> tuple[str, ...]:
    """Return the tokens of a piece of text, which may have signs and any script."""
    return tuple(
        token
        for match in _TOKEN.finditer(piece)
        for token in _iter_tokens(match, is_query=is_query)
    )


_STEMS = _Remembered(stem)
_PIECES = _Remembered(_tokens_of)


def _iter_tokens(match: re.Match[str], *, is_query: bool) -> Iterator[str]:
    run, word, suffix = match["unspaced"], match["word"], match["suffix"]
    if run is not None:
        if not is_query or len(run) == 1:
            yield from run
        yield from map("".join, pairwise(run))
        return
    typed = word.replace(DOTLESS_I, "i")  # on a keyboard without it
    if not word.isalnum():  # it has an apostrophe, or vowel signs
        word = _APOSTROPHE.sub("", _POSSESSIVE.sub("", word))
    yield stem(word)
    if suffix:
        yield word[:MAX_TOKEN_CHARS] + suffix
    if not is_query and typed != match["word"]:
        yield stem(typed)


def _packaged(name: str) -> str:
    return resources.files("stackroom.text").joinpath(name).read_text(encoding="utf-8")


FOREIGN_WORDS = frozenset(fold(_packaged("foreign_words.txt")).split())
"""Words that carry grammar in German, French, Spanish, Italian, Portuguese or Dutch."""
FEWEST_FOREIGN = 3  # the number of words from which the language of a question is told


def is_english(text: str) -> bool:
    """Tell whether a question may be in English: Latin letters may be, unless several words show
    another language.
    """
    words = [word.strip(PUNCTUATION) for word in fold(text).split()]
    if not any(character.isascii() and character.isalpha() for character in "".join(words)):
        return not any(map(str.isalpha, words))
    if len(words) < FEWEST_FOREIGN or any(
        stem(word) in FUNCTION_TOKENS - FOREIGN_WORDS for word in words
    ):
        return True
    return text.isascii() and FOREIGN_WORDS.isdisjoint(words)


MAX_CHARS = 2_000
MAX_TERMS = 64
SYNONYM_WEIGHT = 0.5
PUNCTUATION = ".,;:!?()[]\"'“”‘’"
FUNCTION_TOKENS = frozenset(query_tokens(_packaged("function_words.txt")))
"""Words that carry grammar rather than meaning: dropped from queries, never from what is
indexed.
"""
ORDINARY_TOKENS = frozenset(query_tokens(_packaged("ordinary_words.txt")))
"""Words of questions, and words for kinds of records: a record can answer without them."""


@dataclass(frozen=True, slots=True)
class TextQuery:
    """Weighted terms; a record matches if it has any of them. Empty if the text has no terms."""

    terms: tuple[tuple[str, float], ...]


def analyse_query(text: str, *, synonyms: Mapping[str, tuple[str, ...]]) -> TextQuery:
    """Return the terms of a query: function words are dropped, repeated words weigh more, synonyms
    less.
    """
    tokens = query_tokens(text[:MAX_CHARS])
    telling = [token for token in tokens if token not in FUNCTION_TOKENS] or tokens
    weights: dict[str, float] = {}
    for token in telling:
        weights[token] = weights.get(token, 0.0) + 1.0
    return with_synonyms(TextQuery(terms=tuple(weights.items())[:MAX_TERMS]), text, synonyms)


def with_synonyms(
    query: TextQuery, text: str, synonyms: Mapping[str, tuple[str, ...]]
) -> TextQuery:
    """Return the terms of a text with those of its synonyms."""
    if not synonyms:
        return query
    words = [word.strip(PUNCTUATION) for word in text[:MAX_CHARS].lower().split()]
    weights = dict(query.terms)
    for phrase in (*words, *map(" ".join, pairwise(words))):
        for other in synonyms.get(phrase, ()):
            for token in query_tokens(other):
                weights.setdefault(token, SYNONYM_WEIGHT)
    return TextQuery(terms=tuple(weights.items())[:MAX_TERMS])


def with_words(query: TextQuery, more: Iterable[str]) -> TextQuery:
    """Return the terms of a query with those of other words, which weigh as much as synonyms."""
    weights = dict(query.terms)
    for term, _ in analyse_query(" ".join(more), synonyms={}).terms:
        weights.setdefault(term, SYNONYM_WEIGHT)
    return TextQuery(terms=tuple(weights.items()))
