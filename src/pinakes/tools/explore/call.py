"""The call of a tool by which an assistant finds what a page shows."""

from collections.abc import Sequence
from typing import Any

from pinakes.tools.explain.call import GENERIC_SEARCH
from pinakes.tools.explore.understood import UnderstoodQuery
from pinakes.tools.generic.listing import list_query
from pinakes.tools.spec import ToolSpec

MOST_RESULTS = 50
"""The most results that one call of the generic search returns."""


def find_call(
    tools: Sequence[ToolSpec], catalogue: str | None, asked: UnderstoodQuery, *, limit: int
) -> dict[str, Any] | None:
    """Return the call that finds the same; None where no tool of the caller takes what is asked for.

    Where the generic search is not served, it is the catalogue's own search, which takes filters of its own form.
    """
    given = {"filters": dict(asked.filters), "exclude": dict(asked.exclude)}
    chosen = {name: value for name, value in given.items() if value}
    if any(tool.name == GENERIC_SEARCH for tool in tools):
        named = {"catalogue": catalogue} if catalogue else {}
        arguments = {"query": asked.query or list_query(""), **named, **chosen, "limit": min(limit, MOST_RESULTS)}
        return {"name": GENERIC_SEARCH, "arguments": arguments}
    own = next((tool.name for tool in tools if tool.searches), None)
    return {"name": own, "arguments": {"query": asked.query}} if own and asked.query and not chosen else None
