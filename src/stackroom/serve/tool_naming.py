"""Which form of tool names a client is shown: its provider may allow no dots."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qs

from stackroom.errors import InputError
from stackroom.serve.caller import Caller, Context
from stackroom.settings import McpSettings, ToolNames

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
        names = frozenset(name.casefold() for name in settings.plain_names_for)
        return cls(is_plain=settings.tool_names == "plain", plain_for=KNOWN_CLIENTS | names)

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
