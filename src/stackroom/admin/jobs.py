"""Jobs: the operations, the tools `jobs.query` and `jobs.action` that choose among them, and
`jobs://{job_id}/output`.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from operator import attrgetter
from typing import Annotated, Any, ClassVar, Literal
from urllib.parse import unquote

from pydantic import AliasPath, Field

from stackroom.admin.declare import admin_operation
from stackroom.errors import NotFoundError
from stackroom.jobs.board import MOST_LISTED, JobBoard
from stackroom.model.principal import Action, Principal
from stackroom.tools.budget import OffsetParams, PricedResult
from stackroom.tools.faces.mcp import Words
from stackroom.tools.operation import (
    AnyOperation,
    Audit,
    Call,
    Command,
    CommandOption,
    Faces,
    ListParams,
    Operation,
    Tool,
    choice,
)
from stackroom.tools.resources import ResourceContent, ResourceEntry, ResourceSpec
from stackroom.tools.spec import BARE_LIST, BARE_OBJECT, GenericParams, GenericResult, optional

SCHEME = "jobs://"
OUTPUT = "/output"
PLAIN_TEXT = "text/plain"
NO_RUNNER = "; no server runs jobs at present: it waits for one"


class JobsQueryParams(OffsetParams, GenericParams):
    """The arguments of `jobs.query`."""

    query_type: Literal["list", "get", "history"]
    job_id: str | None = optional("Needed by get.", max_length=200)
    limit: int = Field(default=20, ge=1, le=MOST_LISTED)


class JobsActionParams(GenericParams):
    """The arguments of `jobs.action`."""

    action: Literal["trigger", "enable", "disable", "cancel", "schedule"]
    job_id: str = Field(max_length=200, description="From jobs.query")
    schedule: str | None = optional("'6h', five cron fields in UTC, or 'manual'.", max_length=200)


class RunShape(GenericResult):
    """A run."""

    run_id: int = Field(validation_alias="id")
    job_id: str = Field(validation_alias="job")
    state: str
    cause: str
    requested_by: str
    queued_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    progress: str
    error: str | None


class JobShape(GenericResult):
    """A job."""

    job_id: str = Field(validation_alias=AliasPath("spec", "name"))
    description: str = Field(validation_alias=AliasPath("spec", "description"))
    schedule: str = Field(validation_alias=AliasPath("timing", "schedule", "text"))
    enabled: bool = Field(validation_alias=AliasPath("timing", "enabled"))
    next_run_at: datetime | None = Field(validation_alias=AliasPath("timing", "next_at"))
    last_run: RunShape | None


class JobsQueryResult(PricedResult, GenericResult):
    """The answer of `jobs.query`: a page of jobs or runs, of `total`."""

    paged: ClassVar[tuple[str, ...]] = ("jobs", "runs")
    long_parts: ClassVar[tuple[str, ...]] = (
        "jobs.last_run.progress",
        "jobs.last_run.error",
        "runs.progress",
        "runs.error",
    )

    jobs: Annotated[list[JobShape], BARE_LIST]
    runs: Annotated[list[RunShape], BARE_LIST]
    total: int
    has_more: bool


class JobsActionResult(GenericResult):
    """The answer of `jobs.action`: the job after it."""

    done: str
    job: Annotated[JobShape, BARE_OBJECT]


class JobOutputResult(GenericResult):
    """A run, and the kept part of what it wrote."""

    run: RunShape
    output: str = Field(validation_alias="text")
    dropped_bytes: int


class NamedJob(GenericParams):
    """A job by name."""

    job_id: str = Field(max_length=200, description="the job's name")


class ListRuns(ListParams):
    """Which runs are listed."""

    job_id: str | None = optional("only those of this job", max_length=200)
    limit: Annotated[int, CommandOption("-n")] = Field(
        default=20, ge=1, le=MOST_LISTED, description="how many to list at most"
    )


class ScheduleJob(NamedJob):
    """A job, and when it runs."""

    schedule: str = Field(max_length=200, description="'6h', five cron fields in UTC, or 'manual'")


_run, _job = RunShape.model_validate, JobShape.model_validate
_output = JobOutputResult.model_validate
_command = partial(Command, without_accounts=True)


@admin_operation(
    "job/list",
    "GET /v1/jobs",
    _command(
        "job list",
        example="--json",
        table="jobs",
        columns=("job_id", "schedule", "enabled", "next_run_at", "last_run"),
        empty="there are no jobs",
    ),
)
def list_jobs(call: Call, params: ListParams) -> JobsQueryResult:
    """List the jobs, when each is due, and the outcome of its last run."""
    jobs = call.board.list_jobs()
    shown, has_more = params.page_of(jobs)
    return JobsQueryResult(
        jobs=[_job(one) for one in shown], runs=[], total=len(jobs), has_more=has_more
    )


@admin_operation(
    "job/get",
    "GET /v1/jobs/{job_id}",
    _command(
        "job show",
        example="backup",
        table="jobs",
        columns=("job_id", "description", "schedule", "enabled", "next_run_at", "last_run"),
        is_single=True,
    ),
)
def get_job(call: Call, params: NamedJob) -> JobsQueryResult:
    """Show the job JOB_ID: its description, schedule and last run."""
    return JobsQueryResult(
        jobs=[_job(call.board.get_job(params.job_id))], runs=[], total=1, has_more=False
    )


@admin_operation(
    "job/history",
    "GET /v1/jobs/{job_id}/runs",
    _command(
        "job history",
        ("job_id",),
        example="backup",
        table="runs",
        columns=(
            *("run_id", "job_id", "state", "cause", "requested_by"),
            *("started_at", "ended_at", "progress", "error"),
        ),
        empty="nothing has run yet",
    ),
)
def list_runs(call: Call, params: ListRuns) -> JobsQueryResult:
    """List the last runs of the job JOB_ID, or of all jobs, newest first."""
    runs, total = call.board.list_runs(params.job_id, limit=params.limit, offset=params.offset)
    has_more = params.offset + len(runs) < total
    return JobsQueryResult(
        jobs=[], runs=[_run(run) for run in runs], total=total, has_more=has_more
    )


def _acted(call: Call, params: NamedJob, done: str) -> JobsActionResult:
    return JobsActionResult(done=done, job=_job(call.board.get_job(params.job_id)))


def output_text(output: JobOutputResult) -> str:
    """Return the output of a run, after a line with the run and its outcome."""
    run = output.run
    lines = [f"{run.job_id}, run {run.run_id}: {run.state}{_times(run)}"]
    if run.error:
        lines.append(f"error: {run.error}")
    if output.dropped_bytes:
        lines.append(
            f"({output.dropped_bytes} bytes were written before what follows, and are not kept)"
        )
    return "\n".join([*lines, "", output.output])


def _times(run: RunShape) -> str:
    begun = f"; started {run.started_at:%Y-%m-%d %H:%M:%S}Z" if run.started_at else ""
    return begun + (f", ended {run.ended_at:%Y-%m-%d %H:%M:%S}Z" if run.ended_at else "")


@admin_operation(
    "job/output",
    "GET /v1/jobs/{job_id}/output",
    _command("job output", example="backup"),
    text=output_text,
)
def get_output(call: Call, params: NamedJob) -> JobOutputResult:
    """Print the output of the last run of the job JOB_ID, which may be the number of a run."""
    name = params.job_id
    found = call.board.find_output(name)
    if found is None:
        if not name.isdecimal():
            call.board.get_spec(name)
        raise NotFoundError(
            f"'{name[:80]}' has not run, or its run is not kept any more; run it to see its output"
        )
    return _output(found)


def _action(
    verb: str, example: str, *, makes_accounts: bool = True
) -> Callable[[Callable[[Call, Any], JobsActionResult]], Operation[Any, JobsActionResult]]:
    """Declare a change of a job."""
    return admin_operation(
        f"job/{verb}",
        f"POST /v1/jobs/{{job_id}}/{verb}",
        _command(
            f"job {verb}",
            example=example,
            makes_accounts=makes_accounts,
            check=lambda call, params: call.board.get_spec(params.job_id),
        ),
    )


@_action("trigger", "backup")
def trigger(call: Call, params: NamedJob) -> JobsActionResult:
    """Queue the job JOB_ID for the server to run as soon as it can."""
    run = call.board.trigger(params.job_id, by=call.principal.name)
    return _acted(
        call, params, f"queued as run {run.id}{'' if call.board.find_runner() else NO_RUNNER}"
    )


@_action("enable", "refresh_sources")
def enable(call: Call, params: NamedJob) -> JobsActionResult:
    """Let the job JOB_ID run by its schedule."""
    call.board.change(params.job_id, enabled=True)
    return _acted(call, params, "enabled")


@_action("disable", "backup")
def disable(call: Call, params: NamedJob) -> JobsActionResult:
    """Stop running the job JOB_ID by its schedule; it can still be triggered."""
    call.board.change(params.job_id, enabled=False)
    return _acted(call, params, "disabled: it runs only when it is triggered")


@_action("cancel", "rescan_folders", makes_accounts=False)
def cancel(call: Call, params: NamedJob) -> JobsActionResult:
    """Cancel the job JOB_ID: remove it from the queue, or stop it at its next checkpoint."""
    run = call.board.cancel(params.job_id)
    ended = "ends at its next checkpoint" if run.is_live else "is taken from the queue"
    return _acted(call, params, f"run {run.id} {ended}")


@_action("schedule", "backup '30 2 * * *'")
def schedule(call: Call, params: ScheduleJob) -> JobsActionResult:
    """Set the schedule of the job JOB_ID: 6h, '0 3 * * *' (UTC), or manual."""
    status = call.board.change(params.job_id, schedule=params.schedule)
    return _acted(call, params, f"scheduled: {status.timing.schedule.text}")


QUERIES: Mapping[str, AnyOperation] = {"list": list_jobs, "get": get_job, "history": list_runs}
ACTIONS: Mapping[str, AnyOperation] = {
    one.name.removeprefix("job/"): one for one in (trigger, enable, disable, cancel, schedule)
}
JOB_OPERATIONS = (*QUERIES.values(), get_output, *ACTIONS.values())


QUERY = choice(
    "jobs.query",
    "query_type",
    QUERIES,
    JobsQueryParams,
    summary="The server's jobs, one of them, or the history of their runs.",
    faces=Faces(audit=Audit(count_of=attrgetter("total"))),
)
ACTION = choice(
    "jobs.action",
    "action",
    ACTIONS,
    JobsActionParams,
    summary="Trigger, cancel, enable, disable or schedule a job.",
)


def jobs_tools(board: JobBoard) -> list[AnyOperation]:
    """Declare the tools over the jobs of a library, which their schema names."""
    names = {"job_id": {"type": "string", "enum": sorted(board.specs)}}
    face = Tool(words=lambda _catalogues: Words(properties=names))
    return [QUERY, replace(ACTION, faces=Faces(tool=face))]


def jobs_resources(board: JobBoard) -> list[ResourceSpec]:
    """Declare the output of jobs as resources."""

    def entries(_principal: Principal) -> list[ResourceEntry]:
        ran = [job.spec.name for job in board.list_jobs() if job.last_run is not None]
        return [ResourceEntry(uri=f"{SCHEME}{name}{OUTPUT}", name=f"{name} output") for name in ran]

    return [
        ResourceSpec(
            prefix=SCHEME,
            action=Action.SERVER_ADMIN,
            entries=entries,
            read=lambda _principal, rest: _read_output(board, rest),
            template=f"{SCHEME}{{job_id}}{OUTPUT}",
            name="job output",
            description="What a job wrote in its last run, or in the run of this number.",
            template_mime_type=PLAIN_TEXT,
        )
    ]


def _read_output(board: JobBoard, rest: str) -> ResourceContent | None:
    """Return the output of a job's last run, or of the run with this number."""
    if not rest.endswith(OUTPUT):
        return None
    job_id = unquote(rest.removesuffix(OUTPUT))
    found = board.find_output(job_id)
    if found is not None:
        return ResourceContent(mime_type=PLAIN_TEXT, text=output_text(_output(found)))
    if job_id in board.specs:
        return ResourceContent(mime_type=PLAIN_TEXT, text=f"{job_id} has not run yet\n")
    return None
