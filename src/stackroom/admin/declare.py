"""What declarations of administrators share: their form, answers of rows, and times as arguments
give them (a day, a moment, how long ago).
"""

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from operator import attrgetter
from typing import Annotated, Any, ClassVar

from stackroom.errors import InputError
from stackroom.model.principal import Action, Cost
from stackroom.tools.budget import PricedResult, fields_text
from stackroom.tools.operation import (
    OFF,
    Audit,
    Call,
    Command,
    Faces,
    Needs,
    Off,
    Operation,
    ParamsT,
    Rest,
    ResultT,
    operation,
)
from stackroom.tools.result_text import result_text
from stackroom.tools.spec import BARE_LIST, GenericResult

ADMINISTERS = Needs(any_of=(Action.SERVER_ADMIN,), accounts=True)


def admin_operation(
    name: str,
    address: str = "",
    command: Command | Off = OFF,
    *,
    needs: Needs = ADMINISTERS,
    cost: Cost | None = None,
    **faces: Any,
) -> Callable[[Callable[[Call, ParamsT], ResultT]], Operation[ParamsT, ResultT]]:
    """Declare a function as an operation that is no tool by itself.

    Unless stated, it changes something where its address is not of a GET. The audit notes a change
    with its first parameter as the target. A POST to a list, which makes something, answers 201.
    """
    method, _, path = address.partition(" ")
    cost = cost or (Cost.READ if method in ("", "GET") else Cost.WRITE)
    rest = Rest(address, 201 if method == "POST" and "{" not in path else 200)

    def declare(run: Callable[[Call, ParamsT], ResultT]) -> Operation[ParamsT, ResultT]:
        declared = operation(name, needs=needs, cost=cost)(run)
        target = "" if declared.is_read else next(iter(declared.params.model_fields))
        surfaces = Faces(
            tool=OFF,
            rest=rest if address else OFF,
            command=command,
            audit=Audit(target=target),
            **faces,
        )
        return replace(declared, faces=surfaces)

    return declare


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
