"""Administration that no tool offers: catalogues by who sees them, everybody's sessions and tokens, calls over time.

Changes and lists go through the gate, so that they are limited and audited; the timeline of calls is only counters, as
the metrics are.
"""

from collections.abc import Callable, Iterable
from datetime import datetime
from functools import partial
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, StringConstraints
from starlette.responses import Response

from pinakes.control.accounts.credentials import Credential
from pinakes.control.accounts.restrictions import Restriction
from pinakes.control.control import Control
from pinakes.errors import ForbiddenError
from pinakes.gate.gate import CallContext, Gate
from pinakes.model.principal import Action, Cost, Principal
from pinakes.serve.http.bodies import SMALL_BODY
from pinakes.serve.http.endpoints import ServerRequest
from pinakes.serve.http.health import cache_statistics, require_may_see_metrics
from pinakes.serve.http.replies import NO_STORE, model_reply
from pinakes.serve.http.service import Service
from pinakes.serve.http.timeline import SPANS, CallCounts
from pinakes.tools.endpoint import BodyParams, EndpointResult, EndpointSpec, QueryParams

MANAGES_ACCESS = (Action.MANAGE_PERMISSIONS, Action.SERVER_ADMIN)
MOST_NAMES = 1_000

ResultT = TypeVar("ResultT")
Name = Annotated[str, StringConstraints(min_length=1, max_length=256)]


class RestrictParams(BodyParams):
    """The users and roles that may see a catalogue, besides those who administer the server."""

    users: list[Name] = Field(default_factory=list, max_length=MOST_NAMES, description="names of users")
    roles: list[Name] = Field(default_factory=list, max_length=MOST_NAMES, description="names of roles")


class AccessResult(EndpointResult):
    """A catalogue, and who may see it."""

    catalogue: str
    restricted: bool
    users: list[str]
    roles: list[str]


class AccessListResult(EndpointResult):
    """The catalogues that the caller sees, and who may see each."""

    catalogues: list[AccessResult]


class HeldCredential(EndpointResult):
    """A valid session or token of a user, without its secret."""

    id: str
    kind: Literal["session", "token"]
    user: str
    name: str
    scopes: list[str] | None
    catalogues: list[str] | None
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    is_this: bool


class CredentialsResult(EndpointResult):
    """The valid sessions and tokens of all users, by user and newest first."""

    credentials: list[HeldCredential]


class CallsParams(QueryParams):
    """The span of the timeline."""

    span: Literal["hour", "day"] = Field(default="hour", description="the last hour in slots of 10 s, or the last day")


class SlotResult(EndpointResult):
    """The calls of one slot; durations in milliseconds."""

    at: int
    calls: int
    errors: int
    p50_ms: float | None
    p95_ms: float | None


class ToolCallsResult(EndpointResult):
    """The calls of a tool since the server started."""

    tool: str
    calls: int
    errors: int
    p50_ms: float | None
    p95_ms: float | None


class CacheCounts(EndpointResult):
    """The answer cache since the server started."""

    hits: int
    misses: int
    entries: int
    size: int


class CallsResult(EndpointResult):
    """Calls over time, in the whole span and by slots; slots without calls are left out."""

    now: int
    step_s: int
    calls: int
    errors: int
    p50_ms: float | None
    p95_ms: float | None
    slots: list[SlotResult]
    tools: list[ToolCallsResult]
    cache: CacheCounts
    in_flight: int
    streams: int


def admin_endpoints(service: Service) -> list[EndpointSpec]:
    """Return the endpoints of administration."""
    admin = AdminEndpoints(service)
    declare = partial(EndpointSpec, tag="admin", needs_accounts=True, max_body_bytes=SMALL_BODY, refusals=(403,))
    change = partial(
        declare, path_parameters={"catalogue": "its name"}, result=AccessResult, refusals=(403, 404), status=200
    )
    return [
        declare("GET", "/v1/access", admin.list_access, result=AccessListResult),
        change("PUT", "/v1/access/{catalogue}", admin.restrict_catalogue, body=RestrictParams),
        change("DELETE", "/v1/access/{catalogue}", admin.open_catalogue),
        declare("GET", "/v1/credentials", admin.list_credentials, result=CredentialsResult),
        EndpointSpec(
            "GET",
            "/v1/calls",
            admin.show_calls,
            tag="admin",
            query=CallsParams,
            result=CallsResult,
            refusals=(403,),
        ),
    ]


class AdminEndpoints:
    """Endpoints of administrators: access to catalogues, sessions and tokens of all users, and figures of the calls."""

    def __init__(self, service: Service) -> None:
        self._service = service

    @property
    def _control(self) -> Control:
        assert self._service.control is not None, "endpoints that need accounts are refused without them"
        return self._service.control

    async def list_access(self, request: ServerRequest) -> Response:
        """List the catalogues that the caller sees, and who may see each."""
        principal = request.caller.principal

        def work(gate: Gate) -> list[AccessResult]:
            _require_one_of(principal, MANAGES_ACCESS)
            known = self._control.access.list_restrictions()
            served = {one.name for one in gate.toolbox_of(principal).catalogues}
            seen = sorted(name for name in served | set(known) if principal.visibility.sees_catalogue(name))
            return [_access(name, known.get(name)) for name in seen]

        return model_reply(AccessListResult(catalogues=await self._perform(request, "list_access", work)))

    async def restrict_catalogue(self, request: ServerRequest) -> Response:
        """Restrict a catalogue to users and roles, in place of its earlier restriction."""
        wanted: RestrictParams = request.body
        principal, name = request.caller.principal, str(request.http.path_params["catalogue"])

        def work(gate: Gate) -> AccessResult:
            _require_one_of(principal, MANAGES_ACCESS)
            gate.require_catalogues(principal, [name], field="catalogue")
            return _access(name, self._control.access.restrict(principal, name, users=wanted.users, roles=wanted.roles))

        noted = wanted.model_dump(mode="json")
        return model_reply(await self._perform(request, "restrict_catalogue", work, target=name, noted=noted))

    async def open_catalogue(self, request: ServerRequest) -> Response:
        """Remove the restriction of a catalogue: everybody sees it."""
        principal, name = request.caller.principal, str(request.http.path_params["catalogue"])

        def work(_gate: Gate) -> AccessResult:
            self._control.access.open_to_all(principal, name)
            return _access(name, None)

        return model_reply(await self._perform(request, "open_catalogue", work, target=name, noted={}))

    async def list_credentials(self, request: ServerRequest) -> Response:
        """List the valid sessions and tokens of all users."""
        identity = request.identity
        principal = identity.principal

        def work(_gate: Gate) -> list[HeldCredential]:
            _require_one_of(principal, MANAGES_ACCESS)
            held = self._control.credentials.list_live()
            return [_held(one, principal, is_this=one.id == identity.credential_id) for one in held]

        return model_reply(CredentialsResult(credentials=await self._perform(request, "list_credentials", work)))

    async def show_calls(self, request: ServerRequest) -> Response:
        """Return calls over time, with percentiles of their durations; needs ViewAnalytics or ServerAdmin."""
        require_may_see_metrics(request.caller.principal)
        service, span = self._service, request.query.span
        timeline, cache = service.metrics.timeline, cache_statistics(service)
        slots, whole = timeline.slots(span), CallCounts()
        for slot in slots:
            whole.include(slot.counts)
        by_tool = sorted(timeline.by_tool().items(), key=lambda one: (-one[1].calls, one[0]))
        result = CallsResult(
            now=timeline.now(),
            step_s=SPANS[span][0],
            **_figures(whole),
            slots=[SlotResult(at=slot.at, **_figures(slot.counts)) for slot in slots],
            tools=[ToolCallsResult(tool=tool, **_figures(counts)) for tool, counts in by_tool],
            cache=CacheCounts(hits=cache.hits, misses=cache.misses, entries=cache.entries, size=cache.size),
            in_flight=service.workers.in_flight,
            streams=len(service.streams),
        )
        return model_reply(result, headers=NO_STORE)

    async def _perform(
        self,
        request: ServerRequest,
        operation: str,
        work: Callable[[Gate], ResultT],
        *,
        target: str = "",
        noted: dict[str, object] | None = None,
    ) -> ResultT:
        """Run an operation through the gate; one whose parameters are noted is a change."""
        context = CallContext(
            principal=request.caller.principal,
            via="rest",
            operation=f"admin/{operation}",
            target=target,
            parameters=noted or {},
            cost=Cost.READ if noted is None else Cost.WRITE,
        )
        return await self._service.gate.perform(context, work)


def _require_one_of(principal: Principal, actions: Iterable[Action]) -> None:
    if principal.actions.isdisjoint(actions):
        raise ForbiddenError(f"this needs one of the permissions {' and '.join(actions)}, and you have neither")


def _access(name: str, restriction: Restriction | None) -> AccessResult:
    users, roles = (restriction.users, restriction.roles) if restriction else ((), ())
    return AccessResult(catalogue=name, restricted=restriction is not None, users=sorted(users), roles=sorted(roles))


def _held(credential: Credential, viewer: Principal, *, is_this: bool) -> HeldCredential:
    """Return a credential as the viewer may see it: without the names of catalogues that are kept from them."""
    seen = [name for name in sorted(credential.catalogues or ()) if viewer.visibility.sees_catalogue(name)]
    return HeldCredential(
        id=credential.id,
        kind=credential.kind,
        user=credential.user,
        name=credential.name,
        scopes=None if credential.scopes is None else sorted(credential.scopes),
        catalogues=None if credential.catalogues is None else seen,
        created_at=credential.created_at,
        expires_at=credential.expires_at,
        last_used_at=credential.last_used_at,
        is_this=is_this,
    )


def _figures(counts: CallCounts) -> dict[str, Any]:
    return {
        "calls": counts.calls,
        "errors": counts.errors,
        "p50_ms": counts.percentile_ms(0.5),
        "p95_ms": counts.percentile_ms(0.95),
    }
