"""Whether the server lives, whether it can answer, and what is not as it should be.

Nothing here waits for the catalogues to load. Names of catalogues, and why something is degraded, are told only to
callers who are known and may see them.
"""

import time
from collections.abc import Mapping
from typing import Any

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response

from pinakes import __version__
from pinakes.gate.cache import CacheStatistics
from pinakes.model.principal import Principal
from pinakes.serve.http.replies import JSONReply
from pinakes.serve.http.service import Phase, Service

CATALOGUE = "catalogue"
NEUTRAL_REASON = "not as it should be; log in to see why"
FRESH = {"Cache-Control": "no-store"}
COME_BACK = {**FRESH, "Retry-After": "1"}


class HealthEndpoints:
    """For people, load balancers and whatever restarts the process."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def show(self, request: Request) -> Response:
        """Answer with everything; 503 while no calls are answered."""
        service = self._service
        identity = await service.authenticator.identify(request.headers)
        problems = await self._find_problems()
        phase, cache = service.phase, cache_statistics(service)
        report = {
            "status": _status(phase, problems),
            "live": True,
            "ready": is_ready(phase),
            "version": __version__,
            "uptime_s": round(time.monotonic() - service.started_at, 1),
            "degraded": shown_problems(problems, identity.principal if identity else None),
            "cache": {
                "entries": cache.entries,
                "size": cache.size,
                "hits": cache.hits,
                "misses": cache.misses,
                "hit_rate": round(cache.hit_rate, 4),
            },
            "streams": len(service.streams),
            "calls_in_flight": service.workers.in_flight,
        }
        return _reply(report, is_well=is_ready(phase))

    async def show_live(self, _request: Request) -> Response:
        """Answer, which is all that there is to say."""
        return _reply({"live": True}, is_well=True)

    async def show_ready(self, _request: Request) -> Response:
        """Answer with whether calls are answered."""
        ready = is_ready(self._service.phase)
        return _reply({"ready": ready, "status": _status(self._service.phase, {})}, is_well=ready)

    async def _find_problems(self) -> Mapping[str, str]:
        phase = self._service.phase
        if phase.load_problem:
            return {"catalogues": phase.load_problem}
        return await anyio.to_thread.run_sync(self._service.find_problems) if phase.is_loaded else {}


def is_ready(phase: Phase) -> bool:
    """Tell whether calls are answered now."""
    return phase.is_loaded and not phase.is_ending


def cache_statistics(service: Service) -> CacheStatistics:
    """Return how often an answer was there already; nothing yet while the catalogues are loading."""
    cache = service.loaded_gate().cache if service.phase.is_loaded else None
    size = service.settings.server.cache_size
    return cache.statistics() if cache else CacheStatistics(entries=0, size=size, hits=0, misses=0)


def shown_problems(problems: Mapping[str, str], principal: Principal | None) -> list[dict[str, str]]:
    """Return what is degraded, as far as this caller may know; how many catalogues are is not told to others."""
    shown: list[dict[str, str]] = []
    for part, reason in sorted(problems.items()):
        entry = {"part": part, "reason": reason}
        if not _may_know(part, principal):
            entry = {"part": CATALOGUE if part.startswith(CATALOGUE) else part, "reason": NEUTRAL_REASON}
        if entry not in shown:
            shown.append(entry)
    return shown


def _may_know(part: str, principal: Principal | None) -> bool:
    if principal is None:
        return False
    kind, _, name = part.partition(" ")
    return kind != CATALOGUE or principal.visibility.sees_catalogue(name)


def _status(phase: Phase, problems: Mapping[str, str]) -> str:
    if phase.is_ending:
        return "ending"
    if phase.load_problem or (problems and phase.is_loaded):
        return "degraded"
    return "ok" if phase.is_loaded else "starting"


def _reply(report: Mapping[str, Any], *, is_well: bool) -> Response:
    return JSONReply(report, status_code=200 if is_well else 503, headers=FRESH if is_well else COME_BACK)
