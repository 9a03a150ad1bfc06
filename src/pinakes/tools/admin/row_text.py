"""Rows of an admin answer: as text, and cut to a budget."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Self

from pinakes.tools.budget import PricedResult, shorten, shorten_list
from pinakes.tools.plain_text import fields_text, json_text
from pinakes.tools.spec import BARE_LIST, GenericResult


class RowsResult(PricedResult, GenericResult):
    """A page of rows, of which fewer or shorter ones may be shown."""

    paged: ClassVar[str] = "rows"

    rows: Annotated[list[dict[str, Any]], BARE_LIST]

    def shortened(self, chars: int) -> Self:
        """Return the answer with the long values of its rows cut."""
        return self.model_copy(update={"rows": [shorten_row(row, chars) for row in self.rows]})


def shorten_row(row: Mapping[str, Any], chars: int) -> dict[str, Any]:
    """Return a row with its long values cut."""
    return {name: shorten_value(value, chars) for name, value in row.items()}


def shorten_value(value: Any, chars: int) -> Any:
    """Return a value cut to a number of characters; a nested one as the beginning of its JSON."""
    if isinstance(value, str):
        return shorten(value, chars)
    if isinstance(value, list):
        return shorten_list(value, chars)
    return shorten(json_text(value), chars) if isinstance(value, Mapping) and len(json_text(value)) > chars else value


def more_text(shown: int, total: int, *, has_more: bool) -> list[str]:
    """Return a line that says how many rows of all are shown, where there are more."""
    return [f"{shown} of {total} are shown; has more"] if has_more else []


def rows_text(query_type: str, total: int, rows: Sequence[Mapping[str, Any]], *more: str) -> str:
    """Say what was asked for and how many rows it has, and list the page of them; then further lines."""
    return "\n".join([f"{query_type}: {total} rows", *(fields_text(row) for row in rows), *more])
