"""Analysis of a query into weighted terms. Engines never see the text itself, so it cannot contain syntax."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from stackroom.text.analyser import query_tokens

MAX_CHARS = 2_000
MAX_TERMS = 64
SYNONYM_WEIGHT = 0.5
PUNCTUATION = ".,;:!?()[]\"'“”‘’"
FUNCTION_WORDS = """
a about above after again against all also although am among an and another any anyone anything are as at
be became because been before being below between both but by
can cannot could did do does doing done down during each either else enough etc even ever every
few for from further get gets getting give given go goes got had has have having he hence her here hers
herself him himself
his how however i if in into is it its itself just let like likely made make makes many may maybe me might
more most much must
my myself near neither no nor not now of off often on once one only onto or other others our ours ourselves out over own
per perhaps please quite rather really same seem seemed several shall she should since so some someone
something still such
than that the their theirs them themselves then there therefore these they this those though through thus to too toward
under until up upon us use used using very via
was we were what whatever when where whether which while who whom whose why will with within without would yet
you your yours yourself
i'm i'd i've i'll you're it's don't doesn't didn't isn't aren't wasn't can't won't what's that's there's let's
"""

FUNCTION_TOKENS = frozenset(query_tokens(FUNCTION_WORDS))
"""Words that carry grammar rather than meaning: dropped from queries, never from what is indexed."""


@dataclass(frozen=True, slots=True)
class TextQuery:
    """Weighted terms; a record matches if it has any of them. Empty if the text has no terms."""

    terms: tuple[tuple[str, float], ...]


def analyse_query(text: str, *, synonyms: Mapping[str, tuple[str, ...]]) -> TextQuery:
    """Return the terms of a query: function words are dropped, repeated words weigh more, synonyms less."""
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
