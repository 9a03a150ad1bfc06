"""Jobs: the operations, the tools `jobs.query` and `jobs.action` that choose among them, and
`jobs://{job_id}/output`.
"""

from datetime import datetime
from functools import partial
from typing import Annotated, Any, ClassVar, Literal
from urllib.parse import unquote

from pydantic import AliasPath, ConfigDict, Field

from stackroom.admin.declare import declare, declare_change_tool, declare_query_tool, optional
from stackroom.errors import NotFoundError
from stackroom.jobs.board import MOST_LISTED, JobBoard, JobOutput
from stackroom.model.principal import Action, Cost, Principal
from stackroom.tools.budget import OffsetParams, PricedResult
from stackroom.tools.operation import (
    CommandOption,
    ListParams,
    OperationCall,
    OperationChoice,
    identity_of,
)
from stackroom.tools.resources.resource import ResourceContent, ResourceEntry, ResourceSpec
from stackroom.tools.result_text import result_text
from stackroom.tools.spec import BARE_LIST, BARE_OBJECT, GenericParams, GenericResult, ToolSpec

SCHEME = "jobs://"
OUTPUT = "/output"
PLAIN_TEXT = "text/plain"
NO_RUNNER = "; no server runs jobs at present: it waits for one"


class JobsQueryParams(OffsetParams, GenericParams):
    """The arguments of `jobs.query`."""

    query_type: Literal["list", "get", "history"]
    job_id: str | None = Field(default=None, max_length=200, description="Needed by get.")
    limit: int = Field(default=20, ge=1, le=MOST_LISTED)


class JobsActionParams(GenericParams):
    """The arguments of `jobs.action`."""

    action: Literal["trigger", "enable", "disable", "cancel", "schedule"]
    job_id: str = Field(max_length=200, description="From jobs.query")
    schedule: str | None = optional("'6h', five cron fields in UTC, or 'manual'.", max_length=200)


class RunShape(GenericResult):
    """A run."""

    model_config = ConfigDict(from_attributes=True)

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

    model_config = ConfigDict(from_attributes=True)

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
    output: str
    dropped_bytes: int


class NamedJob(GenericParams):
    """A job by name."""

    job_id: str = Field(max_length=200, description="the job's name")


class ListRuns(ListParams):
    """Which runs are listed."""

    job_id: str | None = Field(default=None, max_length=200, description="only those of this job")
    limit: Annotated[int, CommandOption("-n")] = Field(
        default=20, ge=1, le=MOST_LISTED, description="how many to list at most"
    )


class ScheduleJob(NamedJob):
    """A job, and when it runs."""

    schedule: str = Field(max_length=200, description="'6h', five cron fields in UTC, or 'manual'")


_run, _job = RunShape.model_validate, JobShape.model_validate


def _list_jobs(call: OperationCall, params: ListParams) -> JobsQueryResult:
    jobs = call.board.list_jobs()
    shown, has_more = params.page_of(jobs)
    return JobsQueryResult(
        jobs=[_job(one) for one in shown], runs=[], total=len(jobs), has_more=has_more
    )


def _get_job(call: OperationCall, params: NamedJob) -> JobsQueryResult:
    return JobsQueryResult(
        jobs=[_job(call.board.get_job(params.job_id))], runs=[], total=1, has_more=False
    )


def _list_runs(call: OperationCall, params: ListRuns) -> JobsQueryResult:
    runs, total = call.board.list_runs(params.job_id, limit=params.limit, offset=params.offset)
    has_more = params.offset + len(runs) < total
    return JobsQueryResult(
        jobs=[], runs=[_run(run) for run in runs], total=total, has_more=has_more
    )


def _get_output(call: OperationCall, params: NamedJob) -> JobOutputResult:
    name = params.job_id
    found = call.board.find_output(name)
    if found is None:
        if not name.isdecimal():
            call.board.get_spec(name)
        raise NotFoundError(
            f"'{name[:80]}' has not run, or its run is not kept any more; run it to see its output"
        )
    return _output(found)


def _output(found: JobOutput) -> JobOutputResult:
    return JobOutputResult(
        run=_run(found.run), output=found.text, dropped_bytes=found.dropped_bytes
    )


def _trigger(call: OperationCall, params: NamedJob) -> JobsActionResult:
    run = call.board.trigger(params.job_id, by=call.principal.name)
    return _acted(
        call, params, f"queued as run {run.id}{'' if call.board.find_runner() else NO_RUNNER}"
    )


def _enable_or_disable(enabled: bool, call: OperationCall, params: NamedJob) -> JobsActionResult:
    call.board.change(params.job_id, enabled=enabled)
    return _acted(
        call, params, "enabled" if enabled else "disabled: it runs only when it is triggered"
    )


def _cancel(call: OperationCall, params: NamedJob) -> JobsActionResult:
    run = call.board.cancel(params.job_id)
    ended = "ends at its next checkpoint" if run.is_live else "is taken from the queue"
    return _acted(call, params, f"run {run.id} {ended}")


def _schedule(call: OperationCall, params: ScheduleJob) -> JobsActionResult:
    status = call.board.change(params.job_id, schedule=params.schedule)
    return _acted(call, params, f"scheduled: {status.timing.schedule.text}")


def _acted(call: OperationCall, params: NamedJob, done: str) -> JobsActionResult:
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


_declare = partial(
    declare, actions=(Action.SERVER_ADMIN,), needs_accounts=False, arguments=("job_id",)
)
_declare_query = partial(_declare, result=JobsQueryResult, cost=Cost.READ)
_declare_action = partial(
    _declare, result=JobsActionResult, cost=Cost.WRITE, target="job_id", makes_accounts=True
)
LIST_JOBS = _declare_query("job/list", ListParams, _list_jobs, arguments=())
GET_JOB = _declare_query("job/get", NamedJob, _get_job)
LIST_RUNS = _declare_query("job/history", ListRuns, _list_runs)
GET_OUTPUT = _declare(
    "job/output", NamedJob, _get_output, result=JobOutputResult, cost=Cost.READ, text=output_text
)
TRIGGER = _declare_action("job/trigger", NamedJob, _trigger)
CANCEL = _declare_action("job/cancel", NamedJob, _cancel, makes_accounts=False)
ENABLE = _declare_action("job/enable", NamedJob, partial(_enable_or_disable, True))
DISABLE = _declare_action("job/disable", NamedJob, partial(_enable_or_disable, False))
SCHEDULE = _declare_action("job/schedule", ScheduleJob, _schedule)
QUERIES = {"list": LIST_JOBS, "get": GET_JOB, "history": LIST_RUNS}
ACTIONS = {
    "trigger": TRIGGER,
    "enable": ENABLE,
    "disable": DISABLE,
    "cancel": CANCEL,
    "schedule": SCHEDULE,
}
JOB_OPERATIONS = (*QUERIES.values(), GET_OUTPUT, *ACTIONS.values())


def jobs_tools(board: JobBoard) -> list[ToolSpec]:
    """Declare the tools over the jobs of a library."""

    def perform(choice: OperationChoice, principal: Principal, params: GenericParams) -> Any:
        return choice.perform(
            OperationCall(identity=identity_of(principal), open_board=lambda: board), params
        )

    query = partial(perform, OperationChoice("query_type", QUERIES))
    act = partial(perform, OperationChoice("action", ACTIONS))
    told = {"result": JobsActionResult, "text": result_text}
    names = {"job_id": {"type": "string", "enum": sorted(board.specs)}}
    return [
        declare_query_tool(
            "jobs.query", JobsQueryParams, query, result=JobsQueryResult, text=result_text
        ),
        declare_change_tool(
            "jobs.action",
            JobsActionParams,
            act,
            action=Action.SERVER_ADMIN,
            properties=names,
            **told,
        ),
    ]


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
