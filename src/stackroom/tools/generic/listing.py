"""Lists of records, not ranked: the query `*` lists every record with the filters, `* words` those with all words.

A list is exact and can be paged to its end; it is how the records behind a figure of `browse` are read.
"""

from collections.abc import Mapping

from stackroom.errors import InputError
from stackroom.model.scope import WORDS_FIELD, AllOf, Condition, Scope
from stackroom.text.messages import quoted
from stackroom.text.query import analyse_query
from stackroom.tools.catalogue import CatalogueView, ask_each

EVERY = "*"
NOTHING_LISTED = "no record has these filters and words"


def is_list(query: str) -> bool:
    """Tell whether a query asks for a list: an asterisk, alone or with words after a blank."""
    return query.split(maxsplit=1)[:1] == [EVERY]


def words_of_list(query: str) -> str:
    """Return the words that every record of a list has; empty where none are asked for."""
    return query.strip().removeprefix(EVERY).strip() if is_list(query) else query.strip()


def list_query(words: str) -> str:
    """Return the query that lists the records with all of these words."""
    return f"{EVERY} {words}".strip()


def words_conditions(words: str) -> list[Condition]:
    """Return the condition that a record has all of these words, in any searched field; none without words."""
    if not words:
        return []
    tokens = [token for token, _ in analyse_query(words, synonyms={}).terms]
    if not tokens:
        raise InputError(f"'query': '{quoted(words[:60])}' has no word that a record could have")
    return [AllOf(WORDS_FIELD, tuple(tokens))]


def fitting_notes(views: Mapping[str, CatalogueView], scopes: Mapping[str, Scope], found: int) -> list[str]:
    """Return a note on how many records have the filters of a search, where more do than it found."""
    counts = ask_each(views, lambda view: view.reader.count(scopes[view.name])).found
    fitting = sum(counts.values())
    return [f"{fitting:,} records have these filters; query '{EVERY}' lists them all"] if fitting > found else []
