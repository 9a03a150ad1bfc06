"""Queries of administrators: their rows, and times as arguments give them (a day, a moment, how
long ago).
"""

import re
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from operator import attrgetter
from typing import Annotated, Any, ClassVar

from stackroom.errors import InputError
from stackroom.tools.budget import PricedResult, fields_text
from stackroom.tools.operation import Audit, Faces
from stackroom.tools.result_text import result_text
from stackroom.tools.spec import BARE_LIST, GenericResult

FORMS = "2026-11-15, 2026-11-15T12:00:00Z, or how long ago: 30m, 1h, 2d"
_AGE = re.compile(r"(\d{1,6}) ?([smhdw])", re.IGNORECASE)
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class RowsResult(PricedResult, GenericResult):
    """A page of rows, of which fewer or shorter ones may be shown."""

    paged: ClassVar[str] = "rows"
    long_texts: ClassVar[tuple[str, ...]] = ("*",)

    rows: Annotated[list[dict[str, Any]], BARE_LIST]


class QueryResult(RowsResult):
    """The rows of a query, and how many it has in all."""

    query_type: str
    total: int
    has_more: bool


def rows_text(result: RowsResult) -> str:
    """Return an answer as text: its other values, then its rows, a line each."""
    return "\n".join(
        [result_text(result.model_copy(update={"rows": []})), *map(fields_text, result.rows)]
    )


ROWS = Faces(text=rows_text, audit=Audit(count_of=attrgetter("total")))
"""The faces of a tool that answers rows."""


def parse_moment(name: str, text: str, *, is_end: bool, now: datetime) -> datetime:
    """Return the time that an argument means, in UTC; a day as the end of a range means the end of
    that day.
    """
    try:
        if age := _AGE.fullmatch(text.strip()):
            return now - timedelta(**{_UNITS[age[2].lower()]: int(age[1])})
        with suppress(ValueError):
            day = date.fromisoformat(text)
            first_after = day + timedelta(days=1) if is_end and day < date.max else day
            return datetime.combine(first_after, datetime.min.time(), UTC)
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError) as error:
        raise InputError(
            f"'{name}': {text[:40]!r} is not a day or a moment; write {FORMS}"
        ) from error


def parse_range(
    since: str | None,
    until: str | None,
    *,
    names: tuple[str, str] = ("since", "until"),
    now: datetime,
) -> tuple[datetime | None, datetime | None]:
    """Return the range that two arguments mean; refuse one that ends before it begins."""
    first = None if since is None else parse_moment(names[0], since, is_end=False, now=now)
    last = None if until is None else parse_moment(names[1], until, is_end=True, now=now)
    if first is not None and last is not None and first >= last:
        raise InputError(f"'{names[0]}' is not before '{names[1]}'; exchange them")
    return first, last
