"""A query's words → weighted terms. The text is parsed here and never passed through to an engine."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from pinakes.text.analyser import query_tokens
from pinakes.text.function_words import FUNCTION_TOKENS

MAX_CHARS = 2_000
MAX_TERMS = 64
SYNONYM_WEIGHT = 0.5
PUNCTUATION = ".,;:!?()[]\"'“”‘’"


@dataclass(frozen=True, slots=True)
class TextQuery:
    """Weighted terms; a record matches when it has any of them. Empty: nothing in the text can be looked for."""

    terms: tuple[tuple[str, float], ...]


def analyse_query(text: str, *, synonyms: Mapping[str, tuple[str, ...]]) -> TextQuery:
    """Return the terms of a query: function words dropped, a repeated word weighing more, synonyms weighing less."""
    tokens = query_tokens(text[:MAX_CHARS])
    telling = [token for token in tokens if token not in FUNCTION_TOKENS] or tokens
    weights: dict[str, float] = {}
    for token in telling:
        weights[token] = weights.get(token, 0.0) + 1.0
    for token in _synonym_tokens(text, synonyms):
        weights.setdefault(token, SYNONYM_WEIGHT)
    return TextQuery(terms=tuple(weights.items())[:MAX_TERMS])


def _synonym_tokens(text: str, synonyms: Mapping[str, tuple[str, ...]]) -> list[str]:
    if not synonyms:
        return []
    words = [word.strip(PUNCTUATION) for word in text[:MAX_CHARS].lower().split()]
    phrases = [*words, *(f"{first} {second}" for first, second in pairwise(words))]
    return [token for phrase in phrases for other in synonyms.get(phrase, ()) for token in query_tokens(other)]
