"""`audit tail|verify`: the last entries of the audit, and a check of its hash chain."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from typing import Any

import click
import orjson

from pinakes.cli.control import find_control, moment, open_control, print_list, printable
from pinakes.cli.json_output import json_option, print_json
from pinakes.cli.tables import shortened
from pinakes.control.audit.log import MOST_LISTED, AuditLog, AuditReport, AuditRow
from pinakes.control.database.time_columns import utc_now
from pinakes.errors import StorageError
from pinakes.model.audit import Outcome
from pinakes.tools.admin.audit import AuditQuery, filter_of
from pinakes.tools.admin.moments import FORMS

LOOK_EVERY_S = 1.0
SHOWN_LENGTH = 60

ReadRows = Callable[..., list[AuditRow]]


@click.group("audit")
def audit_command() -> None:
    """Show and verify the audit of every call and every change of an account.

    It is written once there are accounts.
    """


@audit_command.command("tail")
@click.option(
    "-n", "count", default=20, show_default=True, type=click.IntRange(1, MOST_LISTED), help="How many rows at most."
)
@click.option("--user", "user_name", metavar="NAME", help="Only calls of this user; local is the user of this machine.")
@click.option("--tool", metavar="NAME", help="Only calls of this tool, resource or account.")
@click.option("--operation", help="Only this operation, such as tools/call or account/login.")
@click.option(
    "--outcome",
    type=click.Choice([str(outcome) for outcome in Outcome], case_sensitive=False),
    help="Only calls with this outcome.",
)
@click.option("--since", metavar="TIME", help=f"Only calls since then: {FORMS}.")
@click.option("--until", metavar="TIME", help="Only calls before then; a day means its end.")
@click.option("--follow", is_flag=True, help="Follow new rows, one line each, until Ctrl-C.")
@json_option
def tail_command(count: int, follow: bool, as_json: bool, **asked: str | None) -> None:
    """Show the last rows of the audit, newest last.

    With --json and --follow, each row is one line of JSON.

    Example: pinakes audit tail -n 50 --user ada --outcome refused --since 2d
    """
    wanted = _wanted(**asked)
    if follow:
        _follow(count, wanted, as_json=as_json)
        return
    with find_control() as control:
        rows = [] if control is None else _read(control.audit, **wanted, limit=count)
    headings = ("row", "at", "who", "via", "operation", "target", "outcome")
    print_list(rows, _fields, headings, _cells, empty="the audit has no such rows", as_json=as_json)


@audit_command.command("verify")
@click.option(
    "--expect", metavar="NUMBER:HASH", help="A head that was printed before; its row must still be in the audit."
)
@json_option
@click.pass_context
def verify_command(ctx: click.Context, expect: str | None, as_json: bool) -> None:
    """Verify that every row is as it was written.

    If one was changed or is missing, the first such row is named, and the exit code is 1.

    The printed head stands for every row up to the last. Keep it elsewhere: given as --expect later, it proves that
    the audit was not rewritten as a whole.

    Example: pinakes audit verify --expect 214:9c1f…
    """
    with open_control() as control, _strange_values("it cannot be checked further"):
        report = control.audit.verify(expect=expect)
    if as_json:
        print_json({"whole": report.first_problem is None, **asdict(report)})
    else:
        _print_report(report)
    if report.first_problem is not None:
        ctx.exit(1)


def follow_rows(read: ReadRows, *, after: int, wait: Callable[[], None], show: Callable[[AuditRow], None]) -> None:
    """Show rows after a number as they are written, until interrupted."""
    while True:
        wait()
        for row in read(limit=MOST_LISTED, after=after):
            show(row)
            after = row.number


def wait_a_second() -> None:
    """Wait until the next poll."""
    time.sleep(LOOK_EVERY_S)


def _follow(count: int, wanted: Mapping[str, Any], *, as_json: bool) -> None:
    show = _print_json_line if as_json else _print_line
    try:
        with open_control() as control:
            read = partial(_read, control.audit, **wanted)
            rows = read(limit=count)
            for row in rows:
                show(row)
            follow_rows(read, after=rows[-1].number if rows else 0, wait=wait_a_second, show=show)
    except KeyboardInterrupt:
        return  # Ctrl-C is how to end it


def _wanted(
    *,
    user_name: str | None,
    tool: str | None,
    operation: str | None,
    outcome: str | None,
    since: str | None,
    until: str | None,
) -> dict[str, Any]:
    """Return the filters of the options."""
    asked = AuditQuery(user=user_name, tool=tool, outcome=outcome, since=since, until=until, up_to=None)
    wanted = asdict(filter_of(asked, now=utc_now()))
    if operation is not None:
        wanted["operation"] = operation
    return {name: value for name, value in wanted.items() if value is not None}


def _read(audit: AuditLog, **wanted: Any) -> list[AuditRow]:
    with _strange_values("find the row: pinakes audit verify"):
        return audit.tail(**wanted)


@contextmanager
def _strange_values(advice: str) -> Iterator[None]:
    """Turn a value that Pinakes never writes, such as text in place of a number, into a StorageError."""
    try:
        yield
    except (ValueError, TypeError, OverflowError) as error:
        raise StorageError(f"the audit has a value that Pinakes did not write ({error}); {advice}") from error


def _fields(row: AuditRow) -> dict[str, Any]:
    return {"number": row.number, **asdict(row)}


def _cells(row: AuditRow) -> Sequence[object]:
    """Return the cells of a row's table; JSON has all of it."""
    target = shortened(row.target, SHOWN_LENGTH)
    return row.number, moment(row.at), row.principal, row.via, row.operation, target, row.outcome


def _print_line(row: AuditRow) -> None:
    parameters = shortened(orjson.dumps(row.parameters, default=str).decode(), SHOWN_LENGTH)
    cells = (*_cells(row), row.error_code or "", f"{row.duration_ms:.0f} ms", parameters)
    click.echo("  ".join(printable(cell) for cell in cells if cell != ""))


def _print_json_line(row: AuditRow) -> None:
    click.echo(orjson.dumps(_fields(row), default=str))


def _print_report(report: AuditReport) -> None:
    if report.first_problem is not None:
        click.echo(f"{report.rows} rows are as they were written")
        click.echo(f"pinakes: the audit is not whole: {report.first_problem}", err=True)
        return
    pruned = f"; {report.pruned} older ones were pruned" if report.pruned else ""
    click.echo(f"{report.rows} rows, all as they were written{pruned}")
    click.echo(f"head: {report.head}")
    click.echo("keep the head elsewhere, to check against it later: pinakes audit verify --expect HEAD", err=True)
