"""The extension `io.modelcontextprotocol/ui` (MCP Apps, 2026-01-26): which clients show the view, beside which tools.

Clients that do not declare the extension get the same lists and answers as if there were none.
"""

from typing import Any

from mcp import types
from mcp.server.lowlevel import Server

from stackroom.serve.caller import Context
from stackroom.tools.spec import ToolSpec

EXTENSION = "io.modelcontextprotocol/ui"
URI = "ui://stackroom/hits.html"
MIME_TYPE = "text/html;profile=mcp-app"
TOOL_META: dict[str, Any] = {
    "ui": {"resourceUri": URI, "visibility": ["model", "app"]},
    "ui/resourceUri": URI,  # the name that it had before 2026-01-26
}
SETTINGS: dict[str, Any] = {"mimeTypes": [MIME_TYPE]}
VIEW_META: dict[str, Any] = {"ui": {"prefersBorder": True}}
"""It asks for no permission and no network: an assistant that shows it need not let it load anything."""


def declare_views(server: Server[Any]) -> None:
    """Declare the extension (from 2026-07-28)."""
    server.extensions[EXTENSION] = SETTINGS


def answer_extension(context: Context, capabilities: dict[str, Any]) -> None:
    """Declare the extension in an answer to `initialize` (up to 2025-11-25), to a client that declares it."""
    given = (context.params or {}).get("capabilities")
    declared = given.get("extensions") if isinstance(given, dict) else None
    if isinstance(declared, dict) and EXTENSION in declared:
        capabilities["extensions"] = {**capabilities.get("extensions", {}), EXTENSION: SETTINGS}


def shows_views(context: Context) -> bool:
    """Tell whether the client of a request declares that it shows views of this kind."""
    capabilities = context.session.client_capabilities
    settings = ((capabilities and capabilities.extensions) or {}).get(EXTENSION)
    kinds = settings.get("mimeTypes") if isinstance(settings, dict) else None
    return isinstance(kinds, list | tuple) and MIME_TYPE in kinds


def with_view(entry: types.Tool, tool: ToolSpec) -> types.Tool:
    """Return the entry of a tool with the view of its answers, where these are records that were found."""
    return entry.model_copy(update={"meta": TOOL_META}) if finds_records(tool) else entry


def finds_records(tool: ToolSpec) -> bool:
    """Tell whether a tool's answers list records that were found."""
    return tool.searches is not None or tool.recommends is not None or "results" in tool.result.model_fields


def view_contents(document: str) -> types.TextResourceContents:
    """Return the view as the content of its resource."""
    return types.TextResourceContents(uri=URI, mime_type=MIME_TYPE, text=document, _meta=VIEW_META)
