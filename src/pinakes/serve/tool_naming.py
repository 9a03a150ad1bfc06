"""Which form of tool names a client is shown: its provider may allow no dots."""

from collections.abc import Collection
from dataclasses import dataclass

from pinakes.serve.caller import Context
from pinakes.settings import McpSettings

KNOWN_CLIENTS = frozenset({"openai-mcp"})
"""Clients that need plain names, by the name that they give themselves: ChatGPT and the Responses API."""


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

    def is_plain_for(self, context: Context) -> bool:
        """Tell whether the client of a request is shown plain names."""
        client = context.session.client_params
        return self.is_plain or (client is not None and client.client_info.name.casefold() in self.plain_for)
