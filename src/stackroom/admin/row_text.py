"""Admin answers: rows as text, cut to a budget, and times as arguments give them (a day, a moment, how long ago)."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Any, ClassVar

from stackroom.errors import InputError
from stackroom.tools.budget import PricedResult, fields_text
from stackroom.tools.spec import BARE_LIST, GenericResult


class RowsResult(PricedResult, GenericResult):
    """A page of rows, of which fewer or shorter ones may be shown."""

    paged: ClassVar[str] = "rows"
    long_texts: ClassVar[tuple[str, ...]] = ("*",)

    rows: Annotated[list[dict[str, Any]], BARE_LIST]


class QueryResult(RowsResult):
    """The rows of a query, and how many it has in all."""

    query_type: str
    rows: Annotated[list[dict[str, Any]], BARE_LIST]
    total: int
    has_more: bool


def more_text(shown: int, total: int, *, has_more: bool) -> list[str]:
    """Return a line that says how many rows of all are shown, where there are more."""
    return [f"{shown} of {total} are shown; has more"] if has_more else []


def rows_text(query_type: str, total: int, rows: Sequence[Mapping[str, Any]], *more: str) -> str:
    """Say what was asked for and how many rows it has, and list the page of them; then further lines."""
    return "\n".join([f"{query_type}: {total} rows", *(fields_text(row) for row in rows), *more])


def query_text(result: QueryResult) -> str:
    """Return the rows of a query as text, and what to do for the next ones."""
    more = more_text(len(result.rows), result.total, has_more=result.has_more)
    cursor = [f"the next with cursor '{result.cursor}'"] if result.cursor else []
    return rows_text(result.query_type, result.total, result.rows, *more, *cursor, *result.notes)


FORMS = "2026-11-15, 2026-11-15T12:00:00Z, or how long ago: 30m, 1h, 2d"
_AGE = re.compile(r"(\d{1,6}) ?([smhdw])", re.IGNORECASE)
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def parse_moment(name: str, text: str, *, is_end: bool, now: datetime) -> datetime:
    """Return the time that an argument means, in UTC; a day as the end of a range means the end of that day."""
    try:
        return _find_age(text, now) or _find_day(text, is_end=is_end) or _iso_moment(text)
    except (ValueError, OverflowError) as error:
        raise InputError(f"'{name}': {text[:40]!r} is not a day or a moment; write {FORMS}") from error


def require_order(since: datetime | None, until: datetime | None, *, names: tuple[str, str]) -> None:
    """Refuse a range that ends before it begins."""
    if since is not None and until is not None and since >= until:
        raise InputError(f"'{names[0]}' is not before '{names[1]}'; exchange them")


def _find_age(text: str, now: datetime) -> datetime | None:
    found = _AGE.fullmatch(text.strip())
    return now - timedelta(**{_UNITS[found[2].lower()]: int(found[1])}) if found else None


def _find_day(text: str, *, is_end: bool) -> datetime | None:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    first_after = day + timedelta(days=1) if is_end and day < date.max else day
    return datetime.combine(first_after, datetime.min.time(), UTC)


def _iso_moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
