"""`job list|show|run|trigger|cancel|enable|disable|schedule|history|output`: background jobs."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from typing import Any, TypeVar

import click
from rich.console import Console
from rich.markup import escape

from pinakes.analytics.events import EventLog, EventRecorder
from pinakes.assembly.maintenance import build_maintenance, list_catalogue_jobs
from pinakes.assembly.server_parts import build_server_parts
from pinakes.cli.control import (
    find_control,
    make_control,
    moment,
    perform,
    print_list,
    print_result,
    print_rows,
    printable,
)
from pinakes.cli.json_output import json_option, print_json
from pinakes.cli.opening import open_app
from pinakes.cli.safe_streams import terminal_stream
from pinakes.cli.tables import shortened
from pinakes.control.control import Control
from pinakes.errors import ConflictError, NotFoundError
from pinakes.jobs.board import MOST_LISTED, JobBoard, JobStatus, get_named
from pinakes.jobs.builtin_jobs import MaintenanceOperations, list_builtin_jobs
from pinakes.jobs.runs import JobRun, RunReport, RunState
from pinakes.jobs.scheduler import Scheduler
from pinakes.jobs.spec import JobSpec
from pinakes.jobs.timetable import usual_timing
from pinakes.model.principal import LOCAL_USER
from pinakes.tools.admin.jobs import NO_RUNNER, cancelled_text, output_text, progress_of

AREA = "job"
SHOWN_LENGTH = 60

ResultT = TypeVar("ResultT")


@click.group("job")
def job_command() -> None:
    """List, run and schedule background jobs.

    A server runs jobs by their schedules, one at a time; of several servers of a library, one does. A schedule is an
    interval (30m, 6h, 1d), five fields of cron in UTC ('0 3 * * *'), or manual. The job refresh:CATALOGUE brings one
    catalogue up to its sources; it is listed once it has a schedule: pinakes job schedule refresh:films 6h
    """


@job_command.command("list")
@json_option
def list_jobs_command(as_json: bool) -> None:
    """List the jobs, when each is due, and the outcome of its last run.

    Example: pinakes job list
    """
    headings = ("job", "schedule", "enabled", "next", "last run")
    print_list(_list_jobs(), _fields, headings, _job_cells, empty="there are no jobs", as_json=as_json)


@job_command.command("show")
@click.argument("name")
@json_option
def show_job_command(name: str, as_json: bool) -> None:
    """Show the job NAME: its description, schedule and last run.

    Example: pinakes job show backup
    """
    _print_job(_get_job(name), as_json=as_json)


@job_command.command("run")
@click.argument("name")
@json_option
@click.pass_context
def run_job_command(ctx: click.Context, name: str, as_json: bool) -> None:
    """Run the job NAME now, in this process, and print its output.

    If a server of this library runs jobs, this is refused: use pinakes job trigger. The exit code is 1 if the job
    failed or was cancelled.

    Example: pinakes job run backup
    """
    with _make_board() as (control, board):
        spec = board.get_spec(name)
        scheduler = Scheduler(board)
        with _progress(spec.name, hidden=as_json) as show:
            work = partial(scheduler.run_now, spec.name, by=LOCAL_USER.name, show=show)
            run = _perform(control, "run", spec.name, {}, work)
        output = board.find_output(str(run.id))
    if as_json:
        print_json({**asdict(run), "output": output.text if output else ""})
    else:
        click.echo(printable_lines(output.text if output else ""), nl=False)
        click.echo(f"{run.job}: {run.state}{f': {printable(run.error)}' if run.error else ''}", err=True)
    if run.state is not RunState.DONE:
        ctx.exit(1)


@job_command.command("trigger")
@click.argument("name")
@json_option
def trigger_command(name: str, as_json: bool) -> None:
    """Queue the job NAME for the server to run as soon as it can.

    Example: pinakes job trigger rescan_folders
    """
    with _make_board() as (control, board):
        spec = board.get_spec(name)
        run = _perform(control, "trigger", spec.name, {}, partial(board.trigger, spec.name, by=LOCAL_USER.name))
        waits = "" if board.find_runner() else f"{NO_RUNNER}, or: pinakes job run {run.job}"
    print_result(asdict(run), f"{run.job}: queued as run {run.id}{waits}", as_json=as_json)


@job_command.command("cancel")
@click.argument("name")
@json_option
def cancel_command(name: str, as_json: bool) -> None:
    """Cancel the job NAME: remove it from the queue, or stop it at its next checkpoint.

    Example: pinakes job cancel rescan_folders
    """
    with _find_board() as (control, board):
        spec = board.get_spec(name)
        run = _perform(control, "cancel", spec.name, {}, partial(board.cancel, spec.name))
    print_result(asdict(run), f"{run.job}: {cancelled_text(run)}", as_json=as_json)


@job_command.command("enable")
@click.argument("name")
@json_option
def enable_command(name: str, as_json: bool) -> None:
    """Let the job NAME run by its schedule.

    Example: pinakes job enable refresh_sources
    """
    _set_enabled(name, enabled=True, as_json=as_json)


@job_command.command("disable")
@click.argument("name")
@json_option
def disable_command(name: str, as_json: bool) -> None:
    """Stop running the job NAME by its schedule; it can still be triggered.

    Example: pinakes job disable backup
    """
    _set_enabled(name, enabled=False, as_json=as_json)


@job_command.command("schedule")
@click.argument("name")
@click.argument("spec", metavar="SCHEDULE")
@json_option
def schedule_command(name: str, spec: str, as_json: bool) -> None:
    """Set the schedule of the job NAME: 6h, '0 3 * * *' (UTC), or manual.

    Example: pinakes job schedule backup '30 2 * * *'
    """
    with _make_board() as (control, board):
        named = board.get_spec(name).name
        work = partial(board.set_schedule, named, spec)
        job = _perform(control, "schedule", named, {"schedule": spec[:100]}, work)
    _print_job(job, as_json=as_json)


@job_command.command("history")
@click.argument("name", required=False)
@click.option(
    "-n", "count", default=20, show_default=True, type=click.IntRange(1, MOST_LISTED), help="How many at most."
)
@json_option
def history_command(name: str | None, count: int, as_json: bool) -> None:
    """List the last runs of the job NAME, or of all jobs, newest first.

    Example: pinakes job history backup
    """
    if name is not None:
        _require_job(name)
    with find_control() as control:
        runs = [] if control is None else _board(control).list_runs(name, limit=count)[0]
    headings = ("run", "job", "state", "because", "started", "took", "what")
    print_list(runs, asdict, headings, _cells, empty="nothing has run yet", as_json=as_json)


@job_command.command("output")
@click.argument("name")
@json_option
def output_command(name: str, as_json: bool) -> None:
    """Print the output of the last run of the job NAME; NAME may be the number of a run.

    Example: pinakes job output backup
    """
    with find_control() as control:
        found = None if control is None else _board(control).find_output(name)
    if found is None:
        if not name.isdecimal():
            _require_job(name)
        raise NotFoundError(f"'{printable(name[:80])}' has not run, or its run is not kept any more")
    if as_json:
        print_json({**asdict(found.run), "output": found.text, "output_dropped": found.dropped_bytes})
    else:
        click.echo(printable_lines(output_text(found)), nl=False)


def printable_lines(text: str) -> str:
    """Return lines without control characters."""
    return "".join(f"{printable(line)}\n" for line in text.splitlines())


@contextmanager
def _make_board() -> Iterator[tuple[Control, JobBoard]]:
    """Open the jobs of this library; the control database is created if it is missing."""
    with make_control() as control:
        yield control, _board(control)


@contextmanager
def _find_board() -> Iterator[tuple[Control, JobBoard]]:
    """Open the jobs of this library; raise ConflictError if no job was ever run or changed."""
    with find_control() as control:
        if control is None:
            raise ConflictError("no job is queued or running")
        yield control, _board(control)


def _board(control: Control) -> JobBoard:
    app = open_app()
    parts = build_server_parts(app, control, EventRecorder(EventLog(control.database)))
    maintenance = partial(build_maintenance, app, control, parts=parts)
    jobs = [*list_builtin_jobs(maintenance), *parts.jobs]
    return JobBoard(control.database, jobs, list_more=partial(list_catalogue_jobs, app, maintenance))


def _require_job(name: str) -> JobSpec:
    """Return a job that every library has; raise NotFoundError for an unknown one."""
    specs = [*list_builtin_jobs(_no_duties), *list_catalogue_jobs(open_app(), _no_duties)]
    return get_named({spec.name: spec for spec in specs}, name)


def _no_duties() -> MaintenanceOperations:
    raise NotImplementedError("nothing is run of a list")


def _list_jobs() -> list[JobStatus]:
    with find_control() as control:
        if control is not None:
            return _board(control).list_jobs()
    return [_unused(spec) for spec in list_builtin_jobs(_no_duties)]


def _get_job(name: str) -> JobStatus:
    with find_control() as control:
        if control is not None:
            return _board(control).get_job(name)
    return _unused(_require_job(name))


def _unused(spec: JobSpec) -> JobStatus:
    return JobStatus(spec=spec, timing=usual_timing(spec), last_run=None)


def _perform(
    control: Control, operation: str, name: str, parameters: Mapping[str, Any], work: Callable[[], ResultT]
) -> ResultT:
    return perform(control, operation, name, parameters, work, area=AREA)


def _set_enabled(name: str, *, enabled: bool, as_json: bool) -> None:
    with _make_board() as (control, board):
        named = board.get_spec(name).name
        work = partial(board.set_enabled, named, enabled=enabled)
        job = _perform(control, "enable" if enabled else "disable", named, {}, work)
    _print_job(job, as_json=as_json)


@contextmanager
def _progress(name: str, *, hidden: bool) -> Iterator[Callable[[JobRun, RunReport], None]]:
    """Show the progress of a run on standard error, if that is a terminal."""
    console = Console(file=terminal_stream(is_error=True), stderr=True)
    if hidden or not console.is_terminal:
        yield lambda _run, _report: None
        return
    with console.status(name) as status:

        def show(_run: JobRun, report: RunReport) -> None:
            count = "" if report.done is None else f" {report.done}{f' of {report.total}' if report.total else ''}"
            status.update(f"{name}:{count} {escape(printable(shortened(report.message, SHOWN_LENGTH)))}")

        yield show


def _print_job(job: JobStatus, *, as_json: bool) -> None:
    if as_json:
        print_json(_fields(job))
        return
    name, *others = zip(("job", "schedule", "enabled", "next", "last run"), _job_cells(job), strict=True)
    rows = [name, ("does", job.spec.description), *others]
    run = job.last_run
    if run is not None:
        rows += [("progress", progress_of(run) or "–"), ("error", run.error or "–")]
    print_rows(("", ""), rows)


def _fields(job: JobStatus) -> dict[str, Any]:
    return {
        "name": job.spec.name,
        "description": job.spec.description,
        "schedule": job.timing.schedule.text,
        "enabled": job.timing.enabled,
        "next_at": job.timing.next_at,
        "last_run": None if job.last_run is None else asdict(job.last_run),
    }


def _job_cells(job: JobStatus) -> tuple[object, ...]:
    timing = job.timing
    enabled = "yes" if timing.enabled else "no"
    return job.spec.name, timing.schedule.text, enabled, moment(timing.next_at, none="–"), _last(job)


def _cells(run: JobRun) -> tuple[object, ...]:
    what = shortened(run.error or progress_of(run), SHOWN_LENGTH)
    took = f"{(run.ended_at - run.started_at).total_seconds():.0f} s" if run.started_at and run.ended_at else "–"
    return run.id, run.job, run.state, run.cause, moment(run.started_at, none="–"), took, what


def _last(job: JobStatus) -> str:
    run = job.last_run
    return "never" if run is None else f"{run.state} {moment(run.ended_at or run.started_at or run.queued_at)}"
