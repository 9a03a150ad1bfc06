"""`GET /metrics`: the counters, with what is true at the moment."""

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response

from pinakes.errors import ForbiddenError
from pinakes.model.principal import Action, Principal
from pinakes.serve.http.endpoints import asking
from pinakes.serve.http.health import cache_statistics, is_ready
from pinakes.serve.http.metrics import Readings
from pinakes.serve.http.service import Service

ALLOWED = (Action.VIEW_ANALYTICS, Action.SERVER_ADMIN)


class MetricsEndpoint:
    """The counters, for those who may see how the server is used."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def show(self, request: Request) -> Response:
        """Answer in the form that Prometheus asks for."""
        _require_may_look(asking(request).principal)
        readings, accept = self._read(), request.headers.get("accept", "")
        body, media_type = await anyio.to_thread.run_sync(lambda: self._service.metrics.render(readings, accept=accept))
        return Response(body, headers={"Content-Type": media_type, "Cache-Control": "no-store"})

    def _read(self) -> Readings:
        service = self._service
        return Readings(
            streams=len(service.streams),
            calls_in_flight=service.workers.in_flight,
            is_ready=is_ready(service.phase),
            cache=cache_statistics(service),
        )


def _require_may_look(principal: Principal) -> None:
    if principal.actions.isdisjoint(ALLOWED):
        raise ForbiddenError(f"this needs one of the permissions {' and '.join(ALLOWED)}, and you have neither")
