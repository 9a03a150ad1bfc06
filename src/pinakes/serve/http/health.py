"""Liveness, readiness, what is degraded, and the counters for Prometheus.

Nothing here waits for the catalogues to load. Names of catalogues, and why something is degraded, are shown only to
authenticated callers who may see them.
"""

import time
from collections.abc import Mapping
from functools import partial
from typing import Literal

import anyio.to_thread
from starlette.responses import Response

from pinakes import __version__
from pinakes.errors import ForbiddenError
from pinakes.gate.cache import CacheStatistics
from pinakes.model.principal import Action, Principal
from pinakes.serve.http.endpoints import ServerRequest
from pinakes.serve.http.metrics import Readings
from pinakes.serve.http.replies import NO_STORE, model_reply
from pinakes.serve.http.service import Phase, Service
from pinakes.tools.endpoint import EndpointResult, EndpointSpec

CATALOGUE = "catalogue"
NEUTRAL_REASON = "not as it should be; log in to see why"
COME_BACK = {**NO_STORE, "Retry-After": "1"}
MAY_SEE_METRICS = (Action.VIEW_ANALYTICS, Action.SERVER_ADMIN)

Status = Literal["ok", "degraded", "starting", "ending"]


class DegradedPart(EndpointResult):
    """A part of the server that does not work as it should."""

    part: str
    reason: str


class CacheResult(EndpointResult):
    """Statistics of the answer cache."""

    entries: int
    size: int
    hits: int
    misses: int
    hit_rate: float


class HealthResult(EndpointResult):
    """The state of the server."""

    status: Status
    live: bool
    ready: bool
    version: str
    uptime_s: float
    degraded: list[DegradedPart]
    cache: CacheResult
    streams: int
    calls_in_flight: int


class LiveResult(EndpointResult):
    """The process answers."""

    live: bool


class ReadyResult(EndpointResult):
    """The readiness of the server."""

    ready: bool
    status: Status


def health_endpoints(service: Service) -> list[EndpointSpec]:
    """Return the endpoints for people, load balancers and monitoring."""
    health, declare = HealthEndpoints(service), partial(EndpointSpec, tag="server", is_public=True)
    return [
        declare("GET", "/health", health.show_health, result=HealthResult, result_refusals=(503,)),
        declare("GET", "/health/live", health.show_live, result=LiveResult),
        declare("GET", "/health/ready", health.show_ready, result=ReadyResult, result_refusals=(503,)),
        EndpointSpec("GET", "/metrics", health.show_metrics, tag="server", media_type="text/plain", refusals=(403,)),
    ]


class HealthEndpoints:
    """Answers about the state of the server."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def show_health(self, request: ServerRequest) -> Response:
        """Tell whether the server lives, is ready, and what is degraded."""
        service = self._service
        identity = await service.authenticator.identify(request.http.headers)
        problems = await self._find_problems()
        phase, cache = service.phase, cache_statistics(service)
        report = HealthResult(
            status=_status(phase, problems),
            live=True,
            ready=is_ready(phase),
            version=__version__,
            uptime_s=round(time.monotonic() - service.started_at, 1),
            degraded=shown_problems(problems, identity.principal if identity else None),
            cache=CacheResult(
                entries=cache.entries,
                size=cache.size,
                hits=cache.hits,
                misses=cache.misses,
                hit_rate=round(cache.hit_rate, 4),
            ),
            streams=len(service.streams),
            calls_in_flight=service.workers.in_flight,
        )
        return _reply(report, is_well=is_ready(phase))

    async def show_live(self, _request: ServerRequest) -> Response:
        """Tell whether the process answers."""
        return _reply(LiveResult(live=True), is_well=True)

    async def show_ready(self, _request: ServerRequest) -> Response:
        """Tell whether calls are answered."""
        ready = is_ready(self._service.phase)
        return _reply(ReadyResult(ready=ready, status=_status(self._service.phase, {})), is_well=ready)

    async def show_metrics(self, request: ServerRequest) -> Response:
        """Return counters for Prometheus; needs ViewAnalytics or ServerAdmin."""
        _require_may_see_metrics(request.caller.principal)
        readings, accept = self._read(), request.http.headers.get("accept", "")
        body, media_type = await anyio.to_thread.run_sync(lambda: self._service.metrics.render(readings, accept=accept))
        return Response(body, headers={"Content-Type": media_type, **NO_STORE})

    def _read(self) -> Readings:
        service = self._service
        return Readings(
            streams=len(service.streams),
            calls_in_flight=service.workers.in_flight,
            is_ready=is_ready(service.phase),
            cache=cache_statistics(service),
        )

    async def _find_problems(self) -> Mapping[str, str]:
        phase = self._service.phase
        if phase.load_problem:
            return {"catalogues": phase.load_problem}
        return await anyio.to_thread.run_sync(self._service.find_problems) if phase.is_loaded else {}


def is_ready(phase: Phase) -> bool:
    """Tell whether calls are answered now."""
    return phase.is_loaded and not phase.is_ending


def cache_statistics(service: Service) -> CacheStatistics:
    """Return the cache's counters; zeros while the catalogues are loading."""
    cache = service.loaded_gate().cache if service.phase.is_loaded else None
    size = service.settings.server.cache_size
    return cache.statistics() if cache else CacheStatistics(entries=0, size=size, hits=0, misses=0)


def shown_problems(problems: Mapping[str, str], principal: Principal | None) -> list[DegradedPart]:
    """Return what is degraded, as far as the caller may know; others do not learn how many catalogues are."""
    shown: list[DegradedPart] = []
    for part, reason in sorted(problems.items()):
        entry = DegradedPart(part=part, reason=reason)
        if not _may_know(part, principal):
            neutral_part = CATALOGUE if part.startswith(CATALOGUE) else part
            entry = DegradedPart(part=neutral_part, reason=NEUTRAL_REASON)
        if entry not in shown:
            shown.append(entry)
    return shown


def _may_know(part: str, principal: Principal | None) -> bool:
    if principal is None:
        return False
    kind, _, name = part.partition(" ")
    return kind != CATALOGUE or principal.visibility.sees_catalogue(name)


def _status(phase: Phase, problems: Mapping[str, str]) -> Status:
    if phase.is_ending:
        return "ending"
    if phase.load_problem or (problems and phase.is_loaded):
        return "degraded"
    return "ok" if phase.is_loaded else "starting"


def _reply(report: EndpointResult, *, is_well: bool) -> Response:
    return model_reply(report, status=200 if is_well else 503, headers=NO_STORE if is_well else COME_BACK)


def _require_may_see_metrics(principal: Principal) -> None:
    if principal.actions.isdisjoint(MAY_SEE_METRICS):
        needed = " and ".join(MAY_SEE_METRICS)
        raise ForbiddenError(f"this needs one of the permissions {needed}, and you have neither")
