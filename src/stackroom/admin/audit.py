"""The audit: operations that list rows by user, tool, outcome and time, and that verify its
chain.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from stackroom.admin.declare import FORMS, admin_operation, parse_range
from stackroom.control.accounts.users import fold_name
from stackroom.control.audit import MOST_COUNTED, AuditFilter, AuditLog, AuditRow
from stackroom.control.database.tables import utc_now
from stackroom.errors import ForbiddenError, StorageError
from stackroom.model.principal import Outcome, Principal
from stackroom.model.scope import SEES_EVERYTHING
from stackroom.tools.operation import (
    Call,
    Command,
    CommandOption,
    ListParams,
)
from stackroom.tools.spec import GenericParams, GenericResult, one_of, optional

CHECKED_S = 2.0  # how long one call checks rows
LONGEST_TEXT = 200


class ListAudit(ListParams):
    """Which rows of the audit are listed."""

    user: str | None = optional(
        "only calls of this user; local is the user of this machine", max_length=LONGEST_TEXT
    )
    tool: str | None = optional(
        "only this tool, resource, or operation such as account/login", max_length=LONGEST_TEXT
    )
    outcome: Annotated[Outcome | None, one_of(Outcome)] = optional(
        f"only calls with this outcome: {', '.join(Outcome)}"
    )
    since: str | None = optional(f"only calls since then: {FORMS}", max_length=LONGEST_TEXT)
    until: str | None = optional("only calls before then", max_length=LONGEST_TEXT)
    limit: Annotated[int, CommandOption("-n")] = Field(
        default=20, ge=1, le=1000, description="how many rows at most"
    )


class AuditResult(GenericResult):
    """A page of the audit, newest first."""

    rows: list[dict[str, Any]]
    total: int
    has_more: bool
    notes: list[str]


class VerifyAudit(GenericParams):
    """The head that the audit is checked against."""

    expect: Annotated[str | None, CommandOption("--expect", "NUMBER:HASH")] = optional(
        "a head that was printed before; its row must still be there", max_length=LONGEST_TEXT
    )


class VerifiedAudit(GenericResult):
    """The result of checking every row of the audit."""

    whole: bool
    rows: int
    first_problem: str | None
    head: str
    pruned: int


def _filter_of(params: ListAudit, *, now: datetime) -> AuditFilter:
    """Return the filter of these parameters; a tool with a slash, such as account/login, is an
    operation.
    """
    since, until = parse_range(params.since, params.until, now=now)
    is_operation = params.tool is not None and "/" in params.tool and "://" not in params.tool
    user = None if params.user is None else fold_name(params.user)
    called: dict[str, Any] = {"operation" if is_operation else "target": params.tool}
    return AuditFilter(principal=user, **called, outcome=params.outcome, since=since, until=until)


def list_calls(
    audit: AuditLog, principal: Principal, params: ListAudit, *, now: datetime
) -> AuditResult:
    """Return a page of the audit, newest first; only to a caller from whom no catalogue is kept."""
    if principal.visibility != SEES_EVERYTHING:
        problem = (
            "the audit has calls about every catalogue, and some are kept from you; ask an"
            " administrator"
        )
        raise ForbiddenError(problem)
    with _strange_values("find the row: stackroom audit verify"):
        page = audit.page(_filter_of(params, now=now), offset=params.offset, limit=params.limit)
    is_cut = page.total == MOST_COUNTED
    notes = [f"at least {MOST_COUNTED:,} rows match; they are counted no further"] if is_cut else []
    has_more = params.offset + len(page.rows) < page.total
    if has_more and params.until is None:
        notes.append("calls go on meanwhile: for pages that agree, give 'until'")
    rows = [_shown(row) for row in page.rows]
    return AuditResult(rows=rows, total=page.total, has_more=has_more, notes=notes)


def check_calls(audit: AuditLog, *, after: str | None) -> tuple[dict[str, Any], list[str]]:
    """Verify the chain for two seconds at most; return how far it is whole, and what to do about
    the rest.
    """
    report = audit.verify(after=after, most_s=CHECKED_S)
    is_whole = report.first_problem is None
    values = {
        "whole": is_whole,
        "first_problem": report.first_problem,
        "verified": report.rows,
        "complete": report.is_complete,
        "last": report.last,
        "head": report.head,
        "pruned": report.pruned,
    }
    is_more = not report.is_complete and is_whole
    return values, [f"there are more rows: go on with head {report.last}"] if is_more else []


@contextmanager
def _strange_values(advice: str) -> Iterator[None]:
    """Turn a value that Stackroom never writes, such as text in place of a number, into a
    StorageError.
    """
    try:
        yield
    except (ValueError, TypeError, OverflowError) as error:
        raise StorageError(
            f"the audit has a value that Stackroom did not write ({error}); {advice}"
        ) from error


def _shown(row: AuditRow) -> dict[str, Any]:
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


def _verified_text(result: VerifiedAudit) -> str:
    if not result.whole:
        return f"{result.rows} rows are as they were written"
    pruned = f"; {result.pruned} older ones were pruned" if result.pruned else ""
    keep = "keep it elsewhere, to check against it later: stackroom audit verify --expect HEAD"
    return f"{result.rows} rows, all as they were written{pruned}\nhead: {result.head}\n{keep}"


@admin_operation(
    "audit/list",
    "GET /v1/audit",
    Command(
        "audit tail",
        example="-n 50 --user ada --outcome refused --since 2d",
        table="rows",
        columns=(
            *("number", "at", "user", "via", "operation"),
            *("target", "outcome", "error", "ms"),
        ),
        empty="the audit has no such rows",
    ),
)
def list_audit(call: Call, params: ListAudit) -> AuditResult:
    """List the last rows of the audit, newest first."""
    return list_calls(call.control.audit, call.principal, params, now=utc_now())


@admin_operation(
    "audit/verify",
    command=Command(
        "audit verify",
        example="--expect 214:9c1f…",
        find_failure=lambda result: (
            None if result.whole else f"the audit is not whole: {result.first_problem}"
        ),
    ),
    text=_verified_text,
)
def verify_audit(call: Call, params: VerifyAudit) -> VerifiedAudit:
    """Verify that every row of the audit is as it was written.

    If one was changed or is missing, the first such row is named, and the exit code is 1. The
    printed head stands for every row up to the last. Keep it elsewhere: given as --expect later, it
    proves that the audit was not rewritten as a whole.
    """
    with _strange_values("it cannot be checked further"):
        report = call.control.audit.verify(expect=params.expect)
    problem, head = report.first_problem, report.head or report.last
    return VerifiedAudit(
        whole=not problem, rows=report.rows, first_problem=problem, head=head, pruned=report.pruned
    )


AUDIT_OPERATIONS = (list_audit, verify_audit)
