"""Queries of administrators: their rows, and times as arguments give them (a day, a moment, how long ago)."""

import re
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Any, ClassVar

from stackroom.errors import InputError
from stackroom.tools.budget import PricedResult, fields_text
from stackroom.tools.result_text import result_text
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


def rows_text(result: RowsResult) -> str:
    """Return an answer as text: its other values, then its rows, a line each."""
    others = result.model_copy(update={"rows": []})
    return "\n".join([result_text(others), *map(fields_text, result.rows)])


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
