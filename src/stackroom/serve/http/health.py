"""Liveness, readiness, what is degraded, and the counters for Prometheus.

Nothing here waits for the catalogues to load, nor long for a part that hangs. Names of catalogues, and why something is
degraded, are shown only to authenticated callers who may see them, and paths of the server only to its administrators.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Literal

import anyio.to_thread
from pydantic import Field
from starlette.responses import Response

from stackroom import __version__
from stackroom.assembly.measures import Reading
from stackroom.background.processes import list_children
from stackroom.background.task import TaskStatus
from stackroom.background.threads import list_threads
from stackroom.errors import ForbiddenError, StorageError
from stackroom.gate.answer import CacheStatistics
from stackroom.model.principal import Action, Principal
from stackroom.serve.http.endpoints import ServerRequest
from stackroom.serve.http.replies import NO_STORE, model_reply
from stackroom.serve.http.service import Service
from stackroom.tools.endpoint import EndpointResult, EndpointSpec
from stackroom.tools.schema import is_none

CATALOGUE = "catalogue"
NEUTRAL_REASON = "not as it should be; log in to see why"
COME_BACK = {**NO_STORE, "Retry-After": "1"}
MAY_SEE_METRICS = (Action.VIEW_ANALYTICS, Action.SERVER_ADMIN)

Status = Literal["ok", "degraded", "starting", "ending"]


class DegradedPart(EndpointResult):
    """A part of the server that does not work as it should."""

    part: str
    reason: str


class PartResult(EndpointResult):
    """A part of the server and its state."""

    part: str
    state: Literal["ok", "degraded"]
    detail: str | None = Field(default=None, exclude_if=is_none, description="what it is busy with, or what is wrong")


class CacheResult(EndpointResult):
    """Statistics of the answer cache."""

    entries: int
    size: int
    hits: int
    misses: int
    hit_rate: float


class HealthResult(EndpointResult):
    """The state of the server; strangers are told whether it is well, and nothing else."""

    status: Status
    live: bool
    ready: bool
    version: str | None = Field(default=None, exclude_if=is_none)
    uptime_s: float | None = Field(default=None, exclude_if=is_none)
    degraded: list[DegradedPart] | None = Field(default=None, exclude_if=is_none)
    parts: list[PartResult] | None = Field(default=None, exclude_if=is_none)
    cache: CacheResult | None = Field(default=None, exclude_if=is_none)
    streams: int | None = Field(default=None, exclude_if=is_none)
    calls_in_flight: int | None = Field(default=None, exclude_if=is_none)


class LiveResult(EndpointResult):
    """The process answers."""

    live: bool


class ReadyResult(EndpointResult):
    """The readiness of the server."""

    ready: bool
    status: Status


class ChildResult(EndpointResult):
    """A process that the server has started."""

    name: str
    pid: int


class StatusResult(EndpointResult):
    """The tasks and processes in the background of the server."""

    tasks: list[TaskStatus]
    processes: list[ChildResult]
    threads: list[str] = Field(description="the names of its threads")


async def show_health(request: ServerRequest) -> Response:
    """Tell whether the server lives, is ready, and what is degraded."""
    service, viewer = request.service, await _find_viewer(request)
    problems, ready = await _find_problems(service), await _is_ready(service)
    report = HealthResult(status=_status(service, problems), live=True, ready=ready)
    if viewer is not None:
        states = await anyio.to_thread.run_sync(service.health.states)
        cache, parts = cache_statistics(service), viewer.shown_parts(states, problems)
        degraded = [one for one in parts if one.state == "degraded"]
        report = report.model_copy(
            update={
                "version": __version__,
                "uptime_s": round(time.monotonic() - service.started_at, 1),
                "degraded": [DegradedPart(part=one.part, reason=one.detail or "") for one in degraded],
                "parts": parts,
                "cache": CacheResult(**asdict(cache), hit_rate=round(cache.hit_rate, 4)),
                "streams": len(service.streams),
                "calls_in_flight": service.workers.in_flight,
            }
        )
    return _reply(report, is_well=ready)


async def show_live(_request: ServerRequest) -> Response:
    """Tell whether the process answers."""
    return _reply(LiveResult(live=True))


async def show_ready(request: ServerRequest) -> Response:
    """Tell whether calls are answered."""
    service, ready = request.service, await _is_ready(request.service)
    problems = {} if ready or not is_up(service) else {"server": NEUTRAL_REASON}
    return _reply(ReadyResult(ready=ready, status=_status(service, problems)), is_well=ready)


async def show_metrics(request: ServerRequest) -> Response:
    """Return counters for Prometheus; needs ViewAnalytics or ServerAdmin."""
    service, viewer = request.service, _require_viewer(request)
    states, problems = await anyio.to_thread.run_sync(service.health.states), await _find_problems(service)
    measures = await anyio.to_thread.run_sync(service.health.readings)
    cache = cache_statistics(service)
    readings = [
        Reading("ready", await _is_ready(service)),
        Reading("streams_open", len(service.streams)),
        Reading("calls_in_flight", service.workers.in_flight),
        Reading("cache_entries", cache.entries),
        Reading("cache_hits_total", cache.hits),
        Reading("cache_misses_total", cache.misses),
        *(Reading("part_ok", one.state == "ok", {"part": one.part}) for one in viewer.shown_parts(states, problems)),
        *(reading for reading in measures if viewer.may_read(reading)),
    ]
    accept = request.http.headers.get("accept", "")
    body, media_type = await anyio.to_thread.run_sync(lambda: service.metrics.render(readings, accept=accept))
    return Response(body, headers={"Content-Type": media_type, **NO_STORE})


async def show_status(request: ServerRequest) -> Response:
    """List the tasks, threads and processes of the server; needs ViewAnalytics or ServerAdmin."""
    viewer = _require_viewer(request)
    report = StatusResult(
        tasks=[viewer.shown_task(task) for task in request.service.health.tasks()],
        processes=[ChildResult(name=viewer.plain(name), pid=pid) for name, pid in list_children()],
        threads=list_threads(),
    )
    return _reply(report)


def _require_viewer(request: ServerRequest) -> "Viewer":
    """Return the caller; refuse one who may not see counters of calls."""
    principal = request.caller.principal
    if principal.actions.isdisjoint(MAY_SEE_METRICS):
        needed = " and ".join(MAY_SEE_METRICS)
        raise ForbiddenError(f"this needs one of the permissions {needed}, and you have neither")
    return Viewer(principal=principal, hide_places=request.service.hide_places)


async def _find_viewer(request: ServerRequest) -> "Viewer | None":
    """Return who is asking, without a principal where that cannot be found out now; None for a stranger."""
    hide_places = request.service.hide_places
    try:
        identity = await request.service.authenticator.identify(request.http.headers)
    except StorageError:
        return Viewer(principal=None, hide_places=hide_places)
    return Viewer(principal=identity.principal, hide_places=hide_places) if identity else None


async def _is_ready(service: Service) -> bool:
    """Tell whether calls are answered now: the server is up, and somebody can be served."""
    return is_up(service) and await anyio.to_thread.run_sync(service.health.find_unready) is None


async def _find_problems(service: Service) -> Mapping[str, str]:
    problem = service.gate.find_problem()
    loading = {"catalogues": problem} if problem else {}
    return loading | await anyio.to_thread.run_sync(service.health.problems)


def is_up(service: Service) -> bool:
    """Tell whether the server has loaded its catalogues, and does not end."""
    return service.gate.find_loaded() is not None and not service.is_ending


def cache_statistics(service: Service) -> CacheStatistics:
    """Return the cache's counters; zeros while the catalogues are loading."""
    loaded, size = service.gate.find_loaded(), service.settings.server.cache_size
    if loaded is None or loaded.cache is None:
        return CacheStatistics(entries=0, size=size, hits=0, misses=0)
    return loaded.cache.statistics()


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewer:
    """The caller who asks for the health, None while that cannot be found out: what they may know of each part."""

    principal: Principal | None
    hide_places: Callable[[str], str]

    def shown_parts(self, states: Mapping[str, str], problems: Mapping[str, str]) -> list[PartResult]:
        """Return every part that the caller may know, with its state."""
        shown: list[PartResult] = []
        for part, state in sorted({**states, **problems}.items()):
            is_ok = part not in problems
            if is_ok and not self._may_know(part) and part.startswith(CATALOGUE):
                continue
            entry = PartResult(
                part=self._name_of(part),
                state="ok" if is_ok else "degraded",
                detail=None if state == "ok" else self._reason_of(part, state),
            )
            if entry not in shown:
                shown.append(entry)
        return shown

    def may_read(self, reading: Reading) -> bool:
        """Tell whether the caller may see a measure: one of a catalogue is for those who see it."""
        return CATALOGUE not in reading.labels or self._may_know(f"{CATALOGUE} {reading.labels[CATALOGUE]}")

    def shown_task(self, task: TaskStatus) -> TaskStatus:
        """Return a task; its reports without places where the caller does not administer the server."""
        return replace(
            task,
            description=self.plain(task.description),
            note=self.plain(task.note),
            last_error=self.plain(task.last_error),
        )

    def plain(self, text: str) -> str:
        """Return a text as the caller may see it."""
        is_admin = self.principal is not None and Action.SERVER_ADMIN in self.principal.actions
        return text if is_admin else self.hide_places(text)

    def _name_of(self, part: str) -> str:
        return part if self._may_know(part) or not part.startswith(CATALOGUE) else CATALOGUE

    def _reason_of(self, part: str, reason: str) -> str:
        return self.plain(reason) if self._may_know(part) else NEUTRAL_REASON

    def _may_know(self, part: str) -> bool:
        if self.principal is None:
            return False
        kind, _, name = part.partition(" ")
        return kind != CATALOGUE or self.principal.visibility.sees_catalogue(name)


def _status(service: Service, problems: Mapping[str, str]) -> Status:
    if service.is_ending:
        return "ending"
    is_loaded = service.gate.find_loaded() is not None
    if service.gate.find_problem() or (problems and is_loaded):
        return "degraded"
    return "ok" if is_loaded else "starting"


def _reply(report: EndpointResult, *, is_well: bool = True) -> Response:
    return model_reply(report, status=200 if is_well else 503, headers=NO_STORE if is_well else COME_BACK)


_declare = partial(EndpointSpec, tag="server")
HEALTH_ENDPOINTS = (
    _declare("GET", "/health", show_health, result=HealthResult, result_refusals=(503,), is_public=True),
    _declare("GET", "/health/live", show_live, result=LiveResult, is_public=True),
    _declare("GET", "/health/ready", show_ready, result=ReadyResult, result_refusals=(503,), is_public=True),
    _declare("GET", "/status", show_status, result=StatusResult),
    _declare("GET", "/metrics", show_metrics, media_type="text/plain"),
)
