"""A query to a provider on the network and how many results are wanted, in one text (`QUERY?limit=500`)."""

from typing import NamedTuple

from pinakes.errors import InputError

LIMIT_MARK = "?limit="
DEFAULT_LIMIT = 1_000


class ProviderQuery(NamedTuple):
    """A query, and how many results of it are wanted."""

    query: str
    limit: int


def read_provider_query(text: str) -> ProviderQuery:
    """Return the query and the limit; without one, a thousand."""
    query, mark, limit = text.rpartition(LIMIT_MARK)
    if not mark:
        return ProviderQuery(text, DEFAULT_LIMIT)
    if not limit.isdecimal() or len(limit) > 9:
        raise InputError(f"'{limit}' after {LIMIT_MARK} is not a number of results; {query}{LIMIT_MARK}500 is right")
    return ProviderQuery(query, int(limit))
