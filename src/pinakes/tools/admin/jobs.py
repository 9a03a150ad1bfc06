"""The tools `jobs.query` and `jobs.action`, and the output of jobs as `jobs://{job_id}/output`."""

from collections.abc import Callable, Mapping
from datetime import datetime
from enum import StrEnum
from operator import attrgetter
from typing import Annotated, Self
from urllib.parse import unquote

from pydantic import Field, TypeAdapter

from pinakes.errors import InputError
from pinakes.jobs.board import MOST_LISTED, JobBoard, JobOutput, JobStatus
from pinakes.jobs.runs import JobRun
from pinakes.model.principal import Action, Cost, Principal
from pinakes.tools.admin.row_text import more_text
from pinakes.tools.budget import OffsetParams, PricedResult, shorten_texts
from pinakes.tools.resources.resource import ResourceContent, ResourceEntry, ResourceSpec
from pinakes.tools.spec import BARE_LIST, BARE_OBJECT, GenericParams, GenericResult, ToolSpec, one_of

SCHEME = "jobs://"
OUTPUT = "/output"
PLAIN_TEXT = "text/plain"
NO_RUNNER = "; no server runs jobs at present: it waits for one"


class JobsQuery(StrEnum):
    """The queries of `jobs.query`."""

    LIST = "list"
    GET = "get"
    HISTORY = "history"


class JobsAction(StrEnum):
    """The actions of `jobs.action`."""

    TRIGGER = "trigger"
    ENABLE = "enable"
    DISABLE = "disable"
    CANCEL = "cancel"
    SCHEDULE = "schedule"


class JobsQueryParams(OffsetParams, GenericParams):
    """The arguments of `jobs.query`."""

    query_type: Annotated[JobsQuery, one_of(JobsQuery)]
    job_id: str | None = Field(default=None, max_length=200, description="Needed by get.")
    limit: int = Field(default=20, ge=1, le=MOST_LISTED)


class JobsActionParams(GenericParams):
    """The arguments of `jobs.action`."""

    action: Annotated[JobsAction, one_of(JobsAction)]
    job_id: str = Field(max_length=200, description="Of jobs.query")
    schedule: str | None = Field(
        default=None, max_length=200, description="'6h', five cron fields in UTC, or 'manual'."
    )


class RunShape(GenericResult):
    """A run."""

    run_id: int
    job_id: str
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

    job_id: str
    description: str
    schedule: str
    enabled: bool
    next_run_at: datetime | None
    last_run: RunShape | None


class JobsQueryResult(PricedResult, GenericResult):
    """The answer of `jobs.query`: a page of jobs or runs, of `total`."""

    jobs: Annotated[list[JobShape], BARE_LIST]
    runs: Annotated[list[RunShape], BARE_LIST]
    total: int
    has_more: bool

    @property
    def item_count(self) -> int:
        """The number of jobs or runs."""
        return len(self.jobs) + len(self.runs)

    def first(self, count: int) -> Self:
        """Return the answer with its first jobs or runs only."""
        return self.model_copy(update={"jobs": self.jobs[:count], "runs": self.runs[:count], "has_more": True})

    def shortened(self, chars: int) -> Self:
        """Return the answer with long errors and messages cut."""
        runs = {one.job_id: _shorter(one.last_run, chars) for one in self.jobs if one.last_run}
        jobs = [one.model_copy(update={"last_run": runs.get(one.job_id)}) for one in self.jobs]
        return self.model_copy(update={"jobs": jobs, "runs": [_shorter(one, chars) for one in self.runs]})


def _shorter(run: RunShape, chars: int) -> RunShape:
    return shorten_texts(run, ("progress", "error"), chars)


class JobsActionResult(GenericResult):
    """The answer of `jobs.action`: the job after it."""

    done: str
    job: Annotated[JobShape, BARE_OBJECT]


class JobTools:
    """The tools and resources over a board of jobs."""

    def __init__(self, board: JobBoard) -> None:
        self._board = board
        self._queries: Mapping[JobsQuery, Callable[[JobsQueryParams], JobsQueryResult]] = {
            JobsQuery.LIST: self._list,
            JobsQuery.GET: self._get,
            JobsQuery.HISTORY: self._history,
        }
        self._actions: Mapping[JobsAction, Callable[[Principal, JobsActionParams], str]] = {
            JobsAction.TRIGGER: self._trigger,
            JobsAction.ENABLE: self._enable,
            JobsAction.DISABLE: self._disable,
            JobsAction.CANCEL: self._cancel,
            JobsAction.SCHEDULE: self._schedule,
        }

    def query(self, _principal: Principal, params: JobsQueryParams) -> JobsQueryResult:
        """Answer `jobs.query`."""
        return self._queries[params.query_type](params)

    def act(self, principal: Principal, params: JobsActionParams) -> JobsActionResult:
        """Do an action of `jobs.action`."""
        if params.schedule is not None and params.action is not JobsAction.SCHEDULE:
            raise InputError("'schedule' is for the action 'schedule' only")
        done = self._actions[params.action](principal, params)
        return JobsActionResult(done=done, job=_job(self._board.get_job(params.job_id)))

    def entries(self, _principal: Principal) -> list[ResourceEntry]:
        """List the outputs of the jobs that have run."""
        return [
            ResourceEntry(uri=f"{SCHEME}{one.spec.name}{OUTPUT}", name=f"{one.spec.name} output")
            for one in self._board.list_jobs()
            if one.last_run is not None
        ]

    def read(self, _principal: Principal, rest: str) -> ResourceContent | None:
        """Return the output of a job's last run, or of the run with this number."""
        if not rest.endswith(OUTPUT):
            return None
        job_id = unquote(rest.removesuffix(OUTPUT))
        found = self._board.find_output(job_id)
        if found is not None:
            return ResourceContent(mime_type=PLAIN_TEXT, text=output_text(found))
        if job_id in self._board.specs:
            return ResourceContent(mime_type=PLAIN_TEXT, text=f"{job_id} has not run yet\n")
        return None

    def complete(self, _principal: Principal, variable: str, typed: str, _others: dict[str, str]) -> list[str]:
        """Complete the name of a job."""
        names = sorted(self._board.specs) if variable == "job_id" else []
        return [name for name in names if name.startswith(typed)]

    def _list(self, params: JobsQueryParams) -> JobsQueryResult:
        jobs = self._board.list_jobs()
        end = params.offset + params.limit
        shown = [_job(one) for one in jobs[params.offset : end]]
        return JobsQueryResult(jobs=shown, runs=[], total=len(jobs), has_more=end < len(jobs))

    def _get(self, params: JobsQueryParams) -> JobsQueryResult:
        if params.job_id is None:
            raise InputError("'job_id' is missing; list gives those there are")
        return JobsQueryResult(jobs=[_job(self._board.get_job(params.job_id))], runs=[], total=1, has_more=False)

    def _history(self, params: JobsQueryParams) -> JobsQueryResult:
        runs, total = self._board.list_runs(params.job_id, limit=params.limit, offset=params.offset)
        has_more = params.offset + len(runs) < total
        return JobsQueryResult(jobs=[], runs=[_run(one) for one in runs], total=total, has_more=has_more)

    def _trigger(self, principal: Principal, params: JobsActionParams) -> str:
        run = self._board.trigger(params.job_id, by=principal.name)
        return f"queued as run {run.id}{'' if self._board.find_runner() else NO_RUNNER}"

    def _enable(self, _principal: Principal, params: JobsActionParams) -> str:
        self._board.set_enabled(params.job_id, enabled=True)
        return "enabled"

    def _disable(self, _principal: Principal, params: JobsActionParams) -> str:
        self._board.set_enabled(params.job_id, enabled=False)
        return "disabled: it runs only when it is triggered"

    def _cancel(self, _principal: Principal, params: JobsActionParams) -> str:
        return cancelled_text(self._board.cancel(params.job_id))

    def _schedule(self, _principal: Principal, params: JobsActionParams) -> str:
        if params.schedule is None:
            raise InputError("'schedule' is missing; '6h', five cron fields in UTC, or 'manual'")
        status = self._board.set_schedule(params.job_id, params.schedule)
        return f"scheduled: {status.timing.schedule.text}"


def jobs_tools(board: JobBoard) -> list[ToolSpec]:
    """Declare the tools over the jobs of a library."""
    tools = JobTools(board)
    names = {"job_id": {"type": "string", "enum": sorted(board.specs)}}
    return [
        ToolSpec(
            name="jobs.query",
            description="The server's jobs, one of them, or the history of their runs.",
            params=JobsQueryParams,
            result=JobsQueryResult,
            action=Action.SERVER_ADMIN,
            cost=Cost.READ,
            run=tools.query,
            text=_query_text,
            count_of=attrgetter("total"),
        ),
        ToolSpec(
            name="jobs.action",
            description="Trigger, cancel, enable, disable or schedule a job.",
            params=JobsActionParams,
            result=JobsActionResult,
            action=Action.SERVER_ADMIN,
            cost=Cost.WRITE,
            read_only=False,
            run=tools.act,
            text=lambda result: f"{result.done}\n{_job_line(result.job)}",
            properties=names,
        ),
    ]


def jobs_resources(board: JobBoard) -> list[ResourceSpec]:
    """Declare the output of jobs as resources."""
    tools = JobTools(board)
    return [
        ResourceSpec(
            prefix=SCHEME,
            action=Action.SERVER_ADMIN,
            entries=tools.entries,
            read=tools.read,
            template=f"{SCHEME}{{job_id}}{OUTPUT}",
            name="job output",
            description="What a job wrote in its last run, or in the run of this number.",
            template_mime_type=PLAIN_TEXT,
            complete=tools.complete,
        )
    ]


def output_text(output: JobOutput) -> str:
    """Return the output of a run, after a line with the run and its outcome."""
    run = output.run
    lines = [f"{run.job}, run {run.id}: {run.state}{_times(run)}"]
    if run.error:
        lines.append(f"error: {run.error}")
    if output.dropped_bytes:
        lines.append(f"({output.dropped_bytes} bytes were written before what follows, and are not kept)")
    return "\n".join([*lines, "", output.text])


def cancelled_text(run: JobRun) -> str:
    """Return what happens to a cancelled run."""
    return f"run {run.id} {'ends at its next checkpoint' if run.is_live else 'is taken from the queue'}"


def progress_of(run: JobRun) -> str:
    """Return the progress of a run as text."""
    count = "" if run.done is None else str(run.done) if run.total is None else f"{run.done} of {run.total}"
    return ", ".join(part for part in (count, run.message) if part)


def _times(run: JobRun) -> str:
    begun = f"; started {run.started_at:%Y-%m-%d %H:%M:%S}Z" if run.started_at else ""
    return begun + (f", ended {run.ended_at:%Y-%m-%d %H:%M:%S}Z" if run.ended_at else "")


def _job(status: JobStatus) -> JobShape:
    return JobShape(
        job_id=status.spec.name,
        description=status.spec.description,
        schedule=status.timing.schedule.text,
        enabled=status.timing.enabled,
        next_run_at=status.timing.next_at,
        last_run=None if status.last_run is None else _run(status.last_run),
    )


def _run(run: JobRun) -> RunShape:
    return RunShape(
        run_id=run.id,
        job_id=run.job,
        state=run.state,
        cause=run.cause,
        requested_by=run.requested_by,
        queued_at=run.queued_at,
        started_at=run.started_at,
        ended_at=run.ended_at,
        progress=progress_of(run),
        error=run.error,
    )


def _query_text(result: JobsQueryResult) -> str:
    lines = [_job_line(job) for job in result.jobs] + [_run_line(run) for run in result.runs]
    more = more_text(len(lines), result.total, has_more=result.has_more)
    kind = "runs" if result.runs else "jobs" if result.jobs else "found"
    return "\n".join([f"{result.total} {kind}", *lines, *more, *result.notes])


def _job_line(job: JobShape) -> str:
    last = f"last {_run_line(job.last_run)}" if job.last_run else "never run"
    state = f"enabled, schedule {job.schedule}" if job.enabled else f"disabled (schedule {job.schedule})"
    return f"{job.job_id}: {state}; {last}{_next_run(job)}; {job.description}"


def _next_run(job: JobShape) -> str:
    return f"; next at {_moment(job.next_run_at)}" if job.next_run_at else ""


def _run_line(run: RunShape) -> str:
    times = {"queued": run.queued_at, "started": run.started_at, "ended": run.ended_at}
    shown = ", ".join(f"{name} {_moment(at)}" for name, at in times.items() if at)
    what = "".join(f"; {name}: {text}" for name, text in (("progress", run.progress), ("error", run.error)) if text)
    return f"run {run.run_id} of {run.job_id}: {run.state}, {shown}, by {run.requested_by} ({run.cause}){what}"


def _moment(at: datetime) -> str:
    """Return a time as the structured answer has it."""
    return str(_MOMENT.dump_python(at, mode="json"))


_MOMENT = TypeAdapter(datetime)
