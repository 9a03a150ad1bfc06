"""Lists of records, not ranked: the query `*` lists every record with the filters, `* words` those with all words.

A list is exact and can be paged to its end; it is how the records behind a figure of `browse` are read.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pinakes.catalogue.spec import Role
from pinakes.errors import InputError
from pinakes.model.record import Key
from pinakes.model.scope import WORDS_FIELD, AllOf, Condition, Scope
from pinakes.text.messages import quoted
from pinakes.text.query import analyse_query
from pinakes.tools.catalogue import CatalogueView, FoundRecord, ask_each

EVERY = "*"
NOTHING_LISTED = "no record has these filters and words"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordList:
    """A page of a list, how many records the list has, where the page ends, and the catalogues that were not read."""

    page: list[FoundRecord]
    total: int
    end: int
    unread: list[str]

    @property
    def cursor(self) -> str | None:
        """The cursor of the next page; None where there is none."""
        return str(self.end) if self.page and self.end < self.total else None


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


def list_records(
    views: Mapping[str, CatalogueView], scopes: Mapping[str, Scope], *, start: int, limit: int
) -> RecordList:
    """Return a page of the records in scope, catalogue by catalogue, and how many there are in all."""
    each = ask_each(views, lambda view: _ordered_keys(view, scopes[view.name]))
    every = [(views[name], key) for name, keys in each.found.items() for key in keys]
    page = every[start : start + limit]
    records = {
        name: views[name].reader.fetch([key for view, key in page if view.name == name], scope=scopes[name])
        for name in dict.fromkeys(view.name for view, _ in page)
    }
    found = [FoundRecord(view, records[view.name][key]) for view, key in page if key in records[view.name]]
    return RecordList(page=found, total=len(every), end=start + len(page), unread=each.skipped)


def fitting_notes(views: Mapping[str, CatalogueView], scopes: Mapping[str, Scope], found: int) -> list[str]:
    """Return a note on how many records have the filters of a search, where more do than it found."""
    counts = ask_each(views, lambda view: view.reader.count(scopes[view.name])).found
    fitting = sum(counts.values())
    return [f"{fitting:,} records have these filters; query '{EVERY}' lists them all"] if fitting > found else []


def _ordered_keys(view: CatalogueView, scope: Scope) -> list[Key]:
    """Return the keys in scope, the most popular records first where that is known, else as they were added."""
    keys = view.reader.scan(scope=scope, limit=max(view.reader.count(scope), 1))
    popularity = view.spec.field_with_role(Role.POPULARITY)
    if popularity is None or not keys:
        return keys
    order = np.argsort(-view.reader.numbers(popularity.name, keys), kind="stable")
    return [keys[place] for place in order.tolist()]
