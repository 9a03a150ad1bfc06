"""Dependencies of the HTTP endpoints; and the audit of requests that no endpoint sees, since they have not their form.

Those are audited with what was wrong, and counted against the rate limit.
"""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import Scope

from stackroom.assembly.server_health import ServerHealth
from stackroom.control.accounts.limits import LoginLimiter
from stackroom.control.control import Control
from stackroom.errors import ExpectedError, RateLimitedError
from stackroom.gate.gate import Gate
from stackroom.jobs.board import JobBoard
from stackroom.model.principal import ANONYMOUS
from stackroom.serve.async_gate import CALLER, AsyncGate, Caller, RefusalThrottle, Workers
from stackroom.serve.http.guard import Authenticator, Bodies
from stackroom.serve.http.metrics import Metrics
from stackroom.serve.http.streams import Streams
from stackroom.settings import Settings
from stackroom.text.safe import hide_places
from stackroom.tools.endpoint import Endpoint

STRANGER = Caller(principal=ANONYMOUS, via="rest")


class InvalidRequests:
    """Audits refused requests; of unauthenticated callers only so many a minute as may try to log in."""

    def __init__(self, gate: AsyncGate) -> None:
        self._gate = gate
        self._unauthenticated = LoginLimiter()

    async def refused(
        self, request: Request, operation: str, error: ExpectedError, *, target: str = ""
    ) -> ExpectedError:
        """Audit a request that is refused by an error, and return the error that it is answered with."""
        caller: Caller | None = request.scope.get(CALLER)
        if caller is None and not self._is_within_limit(request):
            return error
        problem = {"problem": error.message}  # no value of a body is in it
        answered = await self._gate.refuse_invalid((caller or STRANGER).asking(operation, target, problem), error)
        return answered if isinstance(answered, RateLimitedError) else error

    def _is_within_limit(self, request: Request) -> bool:
        try:
            self._unauthenticated.require("", request.client.host if request.client else "")
        except RateLimitedError:
            return False
        return True


def base_url(settings: Settings, scope: Scope) -> str:
    """Return the address that clients use for this server: the configured one, else that of this request."""
    scheme = "https" if scope["scheme"] in ("https", "wss") else "http"
    return settings.server.public_url or f"{scheme}://{Headers(scope=scope).get('host', '')}"


@dataclass(slots=True, kw_only=True)
class Service:
    """The gate, and what the endpoints need beside it."""

    settings: Settings
    opened_gate: "Future[Gate]"
    """It listens before the catalogues are loaded."""
    control: Control | None
    """Accounts and audit; None on a server without accounts."""
    workers: Workers
    streams: Streams
    metrics: Metrics
    health: ServerHealth
    """Tells which parts of the server work."""
    hide_places: Callable[[str], str] = hide_places
    """Takes paths and addresses out of a reason, for callers who do not administer the server."""
    open_board: Callable[[], JobBoard] | None = None
    """Returns the jobs of the library; None where the server runs none."""
    endpoints: Sequence[Endpoint] = ()
    """Endpoints that catalogue packages bring."""
    bodies: Bodies = field(default_factory=Bodies)
    """The bounds on the memory of request bodies."""
    gate: AsyncGate = field(init=False)
    authenticator: Authenticator = field(init=False)
    invalid: InvalidRequests = field(init=False)
    """Audits requests that have not their form."""
    started_at: float = field(default_factory=time.monotonic)
    is_ending: bool = False
    """Whether it takes no more requests, and drains before it stops."""

    def __post_init__(self) -> None:
        """Make what follows from gate and accounts."""
        throttle = RefusalThrottle()
        self.gate = AsyncGate(self.opened_gate, self.workers, throttle=throttle)
        self.invalid = InvalidRequests(self.gate)
        identities = self.control.identities if self.control else None
        self.authenticator = Authenticator(identities, base_url=partial(base_url, self.settings), throttle=throttle)
