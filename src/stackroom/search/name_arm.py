"""The name arm of a search: records whose name the query is, resembles, is part of, or contains.

The score of a record is 1 if the query is one of its names; else it is the likeness of the two, on a scale of its own.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from stackroom.catalogue.spec import CatalogueSpec
from stackroom.model.hits import Ranking
from stackroom.model.record import Key
from stackroom.model.scope import Scope
from stackroom.search.words import WeighedWords
from stackroom.shelf.port import ShelfReader
from stackroom.text.analyser import index_tokens
from stackroom.text.normalise import fold, fold_name
from stackroom.text.query import FUNCTION_TOKENS

MAX_NAME_WORDS = 6
"""A longer query is a description, or a name long enough to be found by its words."""

SPELLING_FLOOR = 0.8
"""Names less like the query than this are ignored; a short query must be closer."""
SHORT_FLOOR = 0.88
SHORT_CHARS = 8
LETTERS_LEFT = 3
"""Where fewer letters are left without its signs, as of `C++`, a query is no name."""
EXACT_BELOW_CHARS = 5
"""A shorter query is a name only if it is spelt exactly so."""
SPELLING_ZERO = 0.6
"""The likeness at which the score would be 0; it grows to 1 for the same name."""

ALIKE_TRIED = 10
SHARED_CHARS = 3
"""The beginning of a query's word by which a name is found worth comparing."""
EXTRA_WORDS = 2
"""The number of words, such as articles, that a name inside the query may have beyond the query's."""
PARTS_TRIED = 10
HAS_LATIN = re.compile("[a-z0-9]")

PART_OF_NAME = 0.95
"""The score of a name that contains the whole query, in a script without spaces."""
WORDS_OF_NAME = (0.45, 0.45)
"""The score of a name that has all words of the query: the first, and the second for the share of the name they are."""
NAME_SHARE = 0.2
"""The least share of the query's weight that a name inside it must have; else it is there by chance."""
NAME_WITHIN = 0.8
"""The score of a name that is all of the query's weight, with words of none around it."""


def find_names(
    reader: ShelfReader,
    spec: CatalogueSpec,
    text: str,
    words: WeighedWords,
    *,
    lexical: Ranking,
    scope: Scope,
) -> dict[Key, float]:
    """Return the scores of the records in scope that the query may name.

    The names with words of the query are looked at where they are searched apart; elsewhere they count as words.
    """
    alike, are_apart = _alike(reader, text, scope), bool(spec.fields_searched_as_names)
    if 1.0 in alike.values() or not (are_apart or _is_in_other_script(text)):
        return alike
    by_words = reader.with_names(words.query, scope=scope, limit=PARTS_TRIED) if are_apart else lexical
    records = reader.fetch(by_words.keys[:PARTS_TRIED].tolist(), scope=scope)
    names = {key: spec.names_of(record) for key, record in records.items()}
    parts = _with_words(names, words) if are_apart else {}
    return {**parts, **_in_other_scripts(names, text), **alike}


def _alike(reader: ShelfReader, text: str, scope: Scope) -> dict[Key, float]:
    """Return the records with a name spelt like the whole query."""
    if len(text.split()) > MAX_NAME_WORDS:
        return {}
    folded = fold_name(text)
    size = len(folded)
    if size < LETTERS_LEFT and folded != fold(text).strip():
        return {}
    least = 1.0 if size < EXACT_BELOW_CHARS else SHORT_FLOOR if size < SHORT_CHARS else SPELLING_FLOOR
    matches = reader.titles_like(text, scope=scope, limit=ALIKE_TRIED)
    return {
        match.key: (match.likeness - SPELLING_ZERO) / (1 - SPELLING_ZERO)
        for match in matches
        if match.likeness >= least
    }


def _in_other_scripts(names: Mapping[Key, Sequence[str]], text: str) -> dict[Key, float]:
    """Return records with a name that contains the query, for queries in scripts other than Latin.

    Such a query is nearly always of a name, and a model of English makes nothing of it.
    """
    if not _is_in_other_script(text):
        return {}
    wanted = fold_name(text)
    return {key: PART_OF_NAME for key, some in names.items() if any(wanted in fold_name(name) for name in some)}


def _is_in_other_script(text: str) -> bool:
    wanted = fold_name(text)
    return len(wanted) > 1 and not HAS_LATIN.search(wanted)


def _with_words(names: Mapping[Key, Sequence[str]], words: WeighedWords) -> dict[Key, float]:
    """Return records with a name that has all words of the query, or whose words are all in the query."""
    asked = set(words.weights)
    beginnings = tuple(token[:SHARED_CHARS] for token in asked)
    near = {key: [name for name in some if _may_match(name.lower(), beginnings)] for key, some in names.items()}
    scored = {key: _best_score(some, asked, words) for key, some in near.items()}
    return {key: score for key, score in scored.items() if score}


def _may_match(lowered: str, beginnings: Sequence[str]) -> bool:
    """Tell, at little cost, whether a name may have all words of the query, or the query all of its words."""
    there = [one in lowered for one in beginnings]
    return all(there) or (any(there) and len(lowered.split()) <= len(beginnings) + EXTRA_WORDS)


def _best_score(names: Iterable[str], asked: set[str], words: WeighedWords) -> float:
    return max((_score(set(index_tokens(name)) - FUNCTION_TOKENS, asked, words) for name in names), default=0.0)


def _score(name: set[str], asked: set[str], words: WeighedWords) -> float:
    if asked <= name:
        least, more = WORDS_OF_NAME
        return least + more * len(asked) / len(name)
    share = words.share_of(name) if name and name <= asked else 0.0
    return NAME_WITHIN * share if share >= NAME_SHARE else 0.0
