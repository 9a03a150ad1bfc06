"""The server about itself: its addresses for programs, OAuth metadata, liveness, what is degraded,
and counters.

Nothing here waits for the catalogues to load, nor long for a part that hangs. Names of catalogues,
and why something is degraded, are shown only to authenticated callers who may see them, and paths
of the server only to its administrators.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import anyio.to_thread
from pydantic import Field
from starlette.responses import Response

from stackroom import __version__
from stackroom.assembly.server_health import Reading
from stackroom.background.background import TaskStatus
from stackroom.background.processes import list_children
from stackroom.background.threads import list_threads
from stackroom.errors import ForbiddenError, OverloadedError, StorageError
from stackroom.frozen import frozen
from stackroom.gate.answer import AnswerCache, CacheStatistics
from stackroom.model.principal import Action, Identity, Principal
from stackroom.serve.async_gate import AsyncGate
from stackroom.serve.http.guard import METADATA_PATH
from stackroom.serve.http.replies import NO_STORE, PRIVATE, model_reply
from stackroom.serve.http.service import ServerRequest, Service
from stackroom.tools.faces.rest import ANYBODY, Door
from stackroom.tools.operation import Rest
from stackroom.tools.spec import GenericResult, is_none, when_known

ALSO_BY_ACCEPT = {**PRIVATE, "Vary": f"Accept, {PRIVATE['Vary']}"}
"""Headers of an answer at a path where browsers get a page."""
CATALOGUE = "catalogue"
NEUTRAL_REASON = "not as it should be; log in to see why"
COME_BACK = {**NO_STORE, "Retry-After": "1"}
MAY_SEE_METRICS = (Action.VIEW_ANALYTICS, Action.SERVER_ADMIN)

Status = Literal["ok", "degraded", "starting", "ending"]


class McpAddresses(GenericResult):
    """The addresses of MCP."""

    streamable_http: str
    sse: str
    websocket: str


class ServerDescription(GenericResult):
    """The server's name, version and addresses, and the caller's name."""

    name: str
    version: str
    mcp: McpAddresses | None
    rest: str
    openapi: str
    health: str
    docs: str
    authorization: str | None = when_known()
    accounts: bool
    chat: bool
    audio: bool | None = Field(
        description="whether a catalogue that the caller sees has audio; null while they load"
    )
    user: str | None


class ResourceMetadata(GenericResult):
    """The protected resource, MCP at `/mcp`, as RFC 9728 describes it to MCP clients."""

    resource: str
    bearer_methods_supported: tuple[str, ...] = ("header",)
    scopes_supported: list[str]
    resource_name: str = "Stackroom"


class DegradedPart(GenericResult):
    """A part of the server that does not work as it should."""

    part: str
    reason: str


class PartResult(GenericResult):
    """A part of the server and its state."""

    part: str
    state: Literal["ok", "degraded"]
    detail: str | None = Field(
        default=None, exclude_if=is_none, description="what it is busy with, or what is wrong"
    )


class HealthResult(GenericResult):
    """The state of the server; strangers are told whether it is well, and nothing else."""

    status: Status
    live: bool
    ready: bool
    version: str | None = when_known()
    uptime_s: float | None = when_known()
    degraded: list[DegradedPart] | None = when_known()
    parts: list[PartResult] | None = when_known()
    cache: CacheStatistics | None = when_known()
    streams: int | None = when_known()
    calls_in_flight: int | None = when_known()


class LiveResult(GenericResult):
    """The process answers."""

    live: bool


class ReadyResult(GenericResult):
    """The readiness of the server."""

    ready: bool
    status: Status


class ChildResult(GenericResult):
    """A process that the server has started."""

    name: str
    pid: int


class StatusResult(GenericResult):
    """The tasks and processes in the background of the server."""

    tasks: list[TaskStatus]
    processes: list[ChildResult]
    threads: list[str] = Field(description="the names of its threads")


async def show_server(request: ServerRequest) -> Response:
    """Describe this server and where its parts are; a page for browsers."""
    service, base = request.service, request.base_url
    identity = await service.authenticator.identify(request.http.headers)
    settings, has_accounts = service.settings, service.control is not None
    socket = f"{base.replace('http', 'ws', 1)}/v1/mcp"
    mcp = McpAddresses(streamable_http=f"{base}/mcp", sse=f"{base}/sse", websocket=socket)
    description = ServerDescription(
        name="stackroom",
        version=__version__,
        mcp=mcp if settings.mcp.enabled else None,
        rest=f"{base}/v1/tools",
        openapi=f"{base}/openapi.json",
        health=f"{base}/health",
        docs=f"{base}/docs/",
        authorization=f"{base}{METADATA_PATH}" if has_accounts else None,
        accounts=has_accounts,
        chat=settings.web.page and settings.web.chat,
        audio=await _find_audio(service.gate, identity),
        user=identity.principal.name if identity else None,
    )
    return model_reply(description, headers=ALSO_BY_ACCEPT)


async def _find_audio(gate: AsyncGate, identity: Identity | None) -> bool | None:
    """Tell whether a catalogue that the caller may see has audio; None where that is not known
    without waiting.
    """
    if identity is None or gate.find_loaded() is None:
        return None
    try:
        return await gate.look(
            identity.principal,
            lambda loaded, caller: any(one.has_audio for one in loaded.toolbox_of(caller).media),
        )
    except OverloadedError:
        return None


async def show_metadata(request: ServerRequest) -> Response:
    """Tell which resource this is, and how a token is shown (RFC 9728)."""
    metadata = ResourceMetadata(resource=f"{request.base_url}/mcp", scopes_supported=sorted(Action))
    return model_reply(metadata, headers={})


async def show_health(request: ServerRequest) -> Response:
    """Tell whether the server lives, is ready, and what is degraded."""
    service, viewer = request.service, await _find_viewer(request)
    problems, ready = await _find_problems(service), await _is_ready(service)
    details: dict[str, Any] = {}
    if viewer is not None:
        parts = viewer.shown_parts(await anyio.to_thread.run_sync(service.health.states), problems)
        degraded = [one for one in parts if one.state == "degraded"]
        details = {
            "version": __version__,
            "uptime_s": round(time.monotonic() - service.started_at, 1),
            "degraded": [DegradedPart(part=one.part, reason=one.detail or "") for one in degraded],
            "parts": parts,
            "cache": _cache_statistics(service),
            "streams": len(service.streams),
            "calls_in_flight": service.workers.in_flight,
        }
    return _reply(
        HealthResult(status=_status(service, problems), live=True, ready=ready, **details),
        is_well=ready,
    )


async def show_live(_request: ServerRequest) -> Response:
    """Tell whether the process answers."""
    return _reply(LiveResult(live=True))


async def show_ready(request: ServerRequest) -> Response:
    """Tell whether calls are answered."""
    service, ready = request.service, await _is_ready(request.service)
    problems = {} if ready else {"server": NEUTRAL_REASON}
    return _reply(ReadyResult(ready=ready, status=_status(service, problems)), is_well=ready)


async def show_metrics(request: ServerRequest) -> Response:
    """Return counters for Prometheus; needs ViewAnalytics or ServerAdmin."""
    service, viewer = request.service, _require_viewer(request)
    states = await anyio.to_thread.run_sync(service.health.states)
    problems = await _find_problems(service)
    measures = await anyio.to_thread.run_sync(service.health.readings)
    cache = _cache_statistics(service)
    readings = [
        Reading("ready", await _is_ready(service)),
        Reading("streams_open", len(service.streams)),
        Reading("calls_in_flight", service.workers.in_flight),
        Reading("cache_entries", cache.entries),
        Reading("cache_hits_total", cache.hits),
        Reading("cache_misses_total", cache.misses),
        *(
            Reading("part_ok", one.state == "ok", {"part": one.part})
            for one in viewer.shown_parts(states, problems)
        ),
        *(reading for reading in measures if viewer.may_read(reading)),
    ]
    accept = request.http.headers.get("accept", "")
    body, media_type = await anyio.to_thread.run_sync(
        lambda: service.metrics.render(readings, accept=accept)
    )
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
    """Return who is asking, without a principal where that cannot be found out now; None for a
    stranger.
    """
    hide_places = request.service.hide_places
    try:
        identity = await request.service.authenticator.identify(request.http.headers)
    except StorageError:
        return Viewer(principal=None, hide_places=hide_places)
    return Viewer(principal=identity.principal, hide_places=hide_places) if identity else None


async def _is_ready(service: Service) -> bool:
    """Tell whether calls are answered now: the catalogues are loaded, it does not end, and somebody
    can be served.
    """
    is_up = service.gate.find_loaded() is not None and not service.is_ending
    return is_up and await anyio.to_thread.run_sync(service.health.find_unready) is None


async def _find_problems(service: Service) -> Mapping[str, str]:
    problem = service.gate.find_problem()
    loading = {"catalogues": problem} if problem else {}
    return loading | await anyio.to_thread.run_sync(service.health.problems)


def _cache_statistics(service: Service) -> CacheStatistics:
    """Return the cache's counters; zeros while the catalogues are loading."""
    loaded = service.gate.find_loaded()
    return (
        (loaded and loaded.cache) or AnswerCache(service.settings.server.cache_size)
    ).statistics()


@frozen
class Viewer:
    """The caller who asks for the health, None while that cannot be found out: what they may know
    of each part.
    """

    principal: Principal | None
    hide_places: Callable[[str], str]

    def shown_parts(
        self, states: Mapping[str, str], problems: Mapping[str, str]
    ) -> list[PartResult]:
        """Return every part that the caller may know, with its state."""
        shown: list[PartResult] = []
        for part, state in sorted({**states, **problems}.items()):
            is_ok, may_know = part not in problems, self._may_know(part)
            name = part if may_know or not part.startswith(CATALOGUE) else CATALOGUE
            reason = self.plain(state) if may_know else NEUTRAL_REASON
            detail = None if state == "ok" else reason
            entry = PartResult(part=name, state="ok" if is_ok else "degraded", detail=detail)
            if entry not in shown and not (is_ok and name != part):
                shown.append(entry)
        return shown

    def may_read(self, reading: Reading) -> bool:
        """Tell whether the caller may see a measure: one of a catalogue is for those who see it."""
        return CATALOGUE not in reading.labels or self._may_know(
            f"{CATALOGUE} {reading.labels[CATALOGUE]}"
        )

    def shown_task(self, task: TaskStatus) -> TaskStatus:
        """Return a task; its reports without places where the caller does not administer the
        server.
        """
        description, note, last_error = map(
            self.plain, (task.description, task.note, task.last_error)
        )
        return replace(task, description=description, note=note, last_error=last_error)

    def plain(self, text: str) -> str:
        """Return a text as the caller may see it."""
        is_admin = self.principal is not None and Action.SERVER_ADMIN in self.principal.actions
        return text if is_admin else self.hide_places(text)

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


def _reply(report: GenericResult, *, is_well: bool = True) -> Response:
    return model_reply(
        report, status=200 if is_well else 503, headers=NO_STORE if is_well else COME_BACK
    )


_rest = partial(Rest, tag="server")
_metadata = partial(
    Door, behind=show_metadata, needs=replace(ANYBODY, accounts=True), result=ResourceMetadata
)
SERVER_DOORS = (
    Door(_rest("GET /"), show_server, ANYBODY, result=ServerDescription),
    _metadata(_rest(f"GET {METADATA_PATH}")),
    _metadata(_rest(f"GET {METADATA_PATH}/mcp", operation_id="showMcpMetadata")),
    Door(_rest("GET /health", result_refusals=(503,)), show_health, ANYBODY, result=HealthResult),
    Door(_rest("GET /health/live"), show_live, ANYBODY, result=LiveResult),
    Door(
        _rest("GET /health/ready", result_refusals=(503,)), show_ready, ANYBODY, result=ReadyResult
    ),
    Door(_rest("GET /status"), show_status, result=StatusResult),
    Door(_rest("GET /metrics", media_type="text/plain"), show_metrics),
)
