"""Notes on a query that was not searched for as it was given: blank, or longer than what is read of it."""

from collections.abc import Mapping
from typing import Any

from stackroom.text.query import MAX_CHARS
from stackroom.tools.spec import FoundResult, ToolResult

QUERY = "query"
BLANK = "the query is blank, so that nothing can answer it; say what to look for"


def with_query_notes(result: ToolResult, arguments: Mapping[str, Any]) -> ToolResult:
    """Return the answer of a search with a note on its query, where it was blank or cut."""
    note = find_query_note(arguments.get(QUERY)) if isinstance(result, FoundResult) else None
    if note is None or not isinstance(result, FoundResult):
        return result
    return result.model_copy(update={"notes": [note, *result.notes]})


def find_query_note(query: Any) -> str | None:
    """Return the note on a query; None where all of it was searched for."""
    if not isinstance(query, str):
        return None
    if not query.strip():
        return BLANK
    size = len(query.strip())
    return f"the query has {size:,} characters; the first {MAX_CHARS:,} were searched for" if size > MAX_CHARS else None
