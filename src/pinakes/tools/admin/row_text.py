"""Rows of an admin answer as text, as many as there is room for."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

TEXT_CHARS = 16_000
"""How long the rows of a text may be together: enough for a page as it is usually asked for."""


def row_line(row: Mapping[str, Any]) -> str:
    """Return a row as a line of a text."""
    return ", ".join(f"{name} {value}" for name, value in row.items())


def iter_bounded(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a page as far as a text has room for them, and say how many it leaves out."""
    room = TEXT_CHARS
    for number, line in enumerate(lines):
        room -= len(line) + 1
        if room < 0 and number:
            yield f"… {len(lines) - number} more of these rows are in the structured content; or ask for fewer at once"
            return
        yield line if len(line) < TEXT_CHARS else f"{line[:TEXT_CHARS]}…"


def rows_text(query_type: str, total: int, rows: Sequence[Mapping[str, Any]]) -> str:
    """Say what was asked for and how many rows it has, and list the page of them."""
    return "\n".join([f"{query_type}: {total} rows", *iter_bounded([row_line(row) for row in rows])])
