"""The audit in `server.query`: rows by user, tool, outcome and time, and a check of its chain."""

from datetime import datetime
from typing import Any, NamedTuple

from pinakes.control.accounts.names import fold_name
from pinakes.control.audit.log import AuditFilter, AuditLog, AuditRow
from pinakes.control.audit.reading import MOST_COUNTED
from pinakes.errors import ForbiddenError
from pinakes.model.principal import Principal
from pinakes.model.scope import SEES_EVERYTHING
from pinakes.tools.admin.moments import parse_moment, require_order

CHECKED_S = 2.0
"""How long one call checks rows."""


class AuditQuery(NamedTuple):
    """The arguments that choose rows."""

    user: str | None
    tool: str | None
    outcome: str | None
    since: str | None
    until: str | None
    up_to: int | None


class Listed(NamedTuple):
    """A page of rows with its facts."""

    values: dict[str, Any]
    rows: list[dict[str, Any]]
    total: int
    notes: list[str]


def filter_of(asked: AuditQuery, *, now: datetime) -> AuditFilter:
    """Return the filter of these arguments; a tool with a slash, such as account/login, is an operation."""
    since = None if asked.since is None else parse_moment("since", asked.since, is_end=False, now=now)
    until = None if asked.until is None else parse_moment("until", asked.until, is_end=True, now=now)
    require_order(since, until, names=("since", "until"))
    is_operation = asked.tool is not None and "/" in asked.tool and "://" not in asked.tool
    return AuditFilter(
        principal=None if asked.user is None else fold_name(asked.user),
        operation=asked.tool if is_operation else None,
        target=None if is_operation else asked.tool,
        outcome=asked.outcome,
        since=since,
        until=until,
        up_to=asked.up_to,
    )


def list_calls(
    audit: AuditLog, principal: Principal, asked: AuditQuery, *, offset: int, limit: int, now: datetime
) -> Listed:
    """Return a page of the audit, newest first; only to a caller from whom no catalogue is kept."""
    if principal.visibility != SEES_EVERYTHING:
        raise ForbiddenError("the audit has calls about every catalogue, and some are kept from you")
    page = audit.page(filter_of(asked, now=now), offset=offset, limit=limit)
    values = {"up_to": page.up_to}
    is_cut = page.total == MOST_COUNTED
    notes = [f"at least {MOST_COUNTED:,} rows match; they are counted no further"] if is_cut else []
    if offset + len(page.rows) < page.total and asked.up_to is None:
        notes.append(f"calls go on meanwhile: for the next page give up_to {page.up_to} too")
    return Listed(values, [row_of(row) for row in page.rows], page.total, notes)


def check_calls(audit: AuditLog, *, after: str | None) -> Listed:
    """Verify the chain for two seconds at most: how many rows, the head, or the first row that is not whole."""
    part = audit.verify_part(after=after, most_s=CHECKED_S)
    values: dict[str, Any] = {
        "whole": part.first_problem is None,
        "first_problem": part.first_problem,
        "verified": part.rows,
        "complete": part.is_complete,
        "last": str(part.last),
        "head": str(part.head) if part.head else None,
        "pruned": part.pruned,
    }
    is_more = not part.is_complete and part.first_problem is None
    notes = [f"there are more rows: go on with head {part.last}"] if is_more else []
    return Listed(values, [], 0, notes)


def row_of(row: AuditRow) -> dict[str, Any]:
    """Return a row without what it does not have."""
    shown = {
        "number": row.number,
        "at": row.at.isoformat(timespec="milliseconds"),
        "user": row.principal,
        "via": row.via,
        "operation": row.operation,
        "target": row.target,
        "outcome": str(row.outcome),
        "error": row.error_code,
        "ms": round(row.duration_ms, 1),
        "bytes": row.result_bytes,
        "call_id": row.call_id,
        "parameters": dict(row.parameters),
    }
    return {name: value for name, value in shown.items() if value or name == "number"}
