"""The caller of a request, and the transport that it came by."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mcp.server.context import ServerRequestContext

from stackroom.errors import UnauthenticatedError
from stackroom.model.principal import Identity, Principal
from stackroom.settings import ToolNames

CALLER = "stackroom.caller"
"""The key of the caller in an HTTP request's scope."""

Context = ServerRequestContext[Any]
Callers = Callable[[Context], "Caller"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """A principal, and the transport of their request."""

    principal: Principal
    via: str
    identity: Identity | None = None
    """The principal with their credential, on transports that authenticate."""
    tool_names: ToolNames | None = None
    """The form of tool names that the address asks for."""


def always(principal: Principal, via: str = "stdio") -> Callers:
    """Return a resolver that gives every request the same caller."""
    caller = Caller(principal=principal, via=via)
    return lambda _context: caller


def caller_of(context: Context) -> Caller:
    """Return the caller that the transport has authenticated: in the request's scope, or in place of the request."""
    request: Any = context.request
    found = request if isinstance(request, Caller) else request.scope.get(CALLER) if request else None
    if not isinstance(found, Caller):
        raise UnauthenticatedError("authentication required: send a bearer token or log in")
    return found
