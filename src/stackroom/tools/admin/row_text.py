"""Rows of an admin answer: as text, and cut to a budget."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

from stackroom.tools.budget import PricedResult, fields_text
from stackroom.tools.spec import BARE_LIST, GenericResult


class RowsResult(PricedResult, GenericResult):
    """A page of rows, of which fewer or shorter ones may be shown."""

    paged: ClassVar[str] = "rows"
    long_texts: ClassVar[tuple[str, ...]] = ("*",)

    rows: Annotated[list[dict[str, Any]], BARE_LIST]


def more_text(shown: int, total: int, *, has_more: bool) -> list[str]:
    """Return a line that says how many rows of all are shown, where there are more."""
    return [f"{shown} of {total} are shown; has more"] if has_more else []


def rows_text(query_type: str, total: int, rows: Sequence[Mapping[str, Any]], *more: str) -> str:
    """Say what was asked for and how many rows it has, and list the page of them; then further lines."""
    return "\n".join([f"{query_type}: {total} rows", *(fields_text(row) for row in rows), *more])
