"""`job`: background jobs; all its commands but `run` are derived from operations."""

from functools import partial

import click

from stackroom.admin.jobs import JOB_OPERATIONS, RunShape
from stackroom.analytics.events import EventLog
from stackroom.assembly.builtin_jobs import build_server_parts, open_board
from stackroom.cli.opening import open_app
from stackroom.cli.operations import build_group, look_at_control, make_control, perform
from stackroom.cli.output import HELP, json_option, print_as_json, shortened
from stackroom.cli.progress import progress_line
from stackroom.control.control import Control
from stackroom.jobs.board import JobBoard
from stackroom.jobs.job import JobRun, RunReport, RunState
from stackroom.jobs.scheduler import Scheduler
from stackroom.model.principal import LOCAL_USER
from stackroom.text.safe import safe_line, safe_text

SHOWN_LENGTH = 60


def _open_board(control: Control) -> JobBoard:
    """Return the jobs of the library."""
    app = open_app()
    return open_board(app, control, build_server_parts(app, control, EventLog(control.database)))


job_command = build_group("job", HELP["job"], JOB_OPERATIONS, open_board=_open_board)


@job_command.command("run", help=HELP["job run"])
@click.argument("job_id")
@json_option
@click.pass_context
def run_job_command(ctx: click.Context, job_id: str) -> None:
    """Run the job JOB_ID now, in this process, and print its output."""
    with look_at_control() as control:
        name = _open_board(control).get_spec(job_id).name  # before a database is made
    with make_control() as control:
        board = _open_board(control)
        with progress_line(name) as line:

            def hint(_run: JobRun, report: RunReport) -> None:
                """Show how far a run is."""
                count = f"{report.done}{f' of {report.total}' if report.total else ''} "
                progress = count if report.done is not None else ""
                line.hint(f"{progress}{shortened(report.message, SHOWN_LENGTH)}")

            work = partial(Scheduler(board).run_now, name, by=LOCAL_USER.name, show=hint)
            run = perform(control, "job/run", name, {}, work)
        output = board.find_output(str(run.id))
    text = output.text if output else ""
    shown = RunShape.model_validate(run).model_dump(mode="json")
    if not print_as_json({"run": shown, "output": text}):
        click.echo(safe_text(text), nl=False)
        click.echo(
            f"{run.job}: {run.state}{f': {safe_line(run.error)}' if run.error else ''}", err=True
        )
    if run.state is not RunState.DONE:
        ctx.exit(1)
