"""The caller of a request, the transport that it came by, and the form of tool names that their client is shown."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

from mcp.server.context import ServerRequestContext

from stackroom.errors import InputError, UnauthenticatedError
from stackroom.model.principal import Identity, Principal
from stackroom.settings import McpSettings, ToolNames

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


KNOWN_CLIENTS = frozenset({"openai-mcp", "claude-ai", "cursor-vscode", "cursor"})
"""Clients that need plain names, by the name that they give themselves: ChatGPT and the Responses API, Claude's apps
(not Claude Code), and Cursor. docs/clients.md has the reports."""
QUERY = "tool_names"
FORMS: Mapping[str, ToolNames] = {"plain": "plain", "dotted": "dotted"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolNaming:
    """Plain names for every client, or for those that give themselves certain names."""

    is_plain: bool = False
    plain_for: Collection[str] = KNOWN_CLIENTS
    """The names of these clients, in lower case."""

    @classmethod
    def of(cls, settings: McpSettings) -> "ToolNaming":
        """Return the naming that the settings ask for."""
        return cls(is_plain=settings.tool_names == "plain", plain_for=KNOWN_CLIENTS)

    def is_plain_for(self, context: Context, caller: Caller) -> bool:
        """Tell whether the client of a request is shown plain names; what its address asks for comes first."""
        if caller.tool_names is not None:
            return caller.tool_names == "plain"
        client = context.session.client_params
        return self.is_plain or (client is not None and client.client_info.name.casefold() in self.plain_for)


def asked_names(query: bytes) -> ToolNames | None:
    """Return the form of tool names that the query of an address asks for, as in `/mcp?tool_names=plain`."""
    given = parse_qs(query.decode("latin-1"), keep_blank_values=True).get(QUERY)
    if given is None:
        return None
    if len(given) != 1 or given[0] not in FORMS:
        raise InputError(f"'{QUERY}': '{', '.join(given)[:40]}' is not valid; one of: {', '.join(FORMS)}")
    return FORMS[given[0]]
