"""Who a request comes from, and by which way."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mcp.server import ServerRequestContext

from pinakes.errors import UnauthenticatedError
from pinakes.model.principal import Principal

CALLER = "pinakes.caller"
"""Where an HTTP request's scope has its caller."""

Context = ServerRequestContext[Any]
Callers = Callable[[Context], "Caller"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """A principal, and the transport that they use."""

    principal: Principal
    via: str


def always(principal: Principal, via: str = "stdio") -> Callers:
    """Return callers that are all the same one."""
    caller = Caller(principal=principal, via=via)
    return lambda _context: caller


def caller_of(context: Context) -> Caller:
    """Return whom a transport has found a request to be from: noted in the request's scope, or in its place."""
    request: Any = context.request
    found = request if isinstance(request, Caller) else request.scope.get(CALLER) if request else None
    if not isinstance(found, Caller):
        raise UnauthenticatedError("authentication required: send a bearer token or log in")
    return found
