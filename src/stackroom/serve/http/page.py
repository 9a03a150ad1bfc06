"""`GET /` for programs: the addresses of the server; and the OAuth metadata beside it. Browsers get `page_paths`."""

from functools import partial

from pydantic import Field
from starlette.responses import Response

from stackroom import __version__
from stackroom.errors import OverloadedError
from stackroom.model.principal import Action, Identity
from stackroom.serve.async_gate import AsyncGate
from stackroom.serve.http.endpoints import ServerRequest
from stackroom.serve.http.guard import METADATA_PATH
from stackroom.serve.http.replies import PRIVATE, model_reply
from stackroom.tools.endpoint import EndpointResult, EndpointSpec
from stackroom.tools.schema import is_none

RESOURCE_NAME = "Stackroom"
ALSO_BY_ACCEPT = {**PRIVATE, "Vary": f"Accept, {PRIVATE['Vary']}"}
"""Headers of an answer at a path where browsers get a page."""


class McpAddresses(EndpointResult):
    """The addresses of MCP."""

    streamable_http: str
    sse: str
    websocket: str


class ServerDescription(EndpointResult):
    """The server's name, version and addresses, and the caller's name."""

    name: str
    version: str
    mcp: McpAddresses | None
    rest: str
    openapi: str
    health: str
    docs: str
    authorization: str | None = Field(exclude_if=is_none, default=None)
    accounts: bool
    chat: bool
    audio: bool | None = Field(description="whether a catalogue that the caller sees has audio; null while they load")
    user: str | None


class ResourceMetadata(EndpointResult):
    """The protected resource, MCP at `/mcp`, as RFC 9728 describes it to MCP clients."""

    resource: str
    bearer_methods_supported: tuple[str, ...] = ("header",)
    scopes_supported: list[str]
    resource_name: str = RESOURCE_NAME


async def show_server(request: ServerRequest) -> Response:
    """Describe this server and where its parts are; a page for browsers."""
    service, base = request.service, request.base_url
    identity = await service.authenticator.identify(request.http.headers)
    settings, has_accounts = service.settings, service.control is not None
    description = ServerDescription(
        name="stackroom",
        version=__version__,
        mcp=_mcp_addresses(base) if settings.mcp.enabled else None,
        rest=f"{base}/v1/tools",
        openapi=f"{base}/openapi.json",
        health=f"{base}/health",
        docs=f"{base}/docs/",
        authorization=f"{base}{METADATA_PATH}" if has_accounts else None,
        accounts=has_accounts,
        chat=settings.web.page and settings.web.chat,
        audio=await _find_audio(service.gate, identity),
        user=identity.principal.name if identity else None,
    )
    return model_reply(description, headers=ALSO_BY_ACCEPT)


async def _find_audio(gate: AsyncGate, identity: Identity | None) -> bool | None:
    """Tell whether a catalogue that the caller may see has audio; None where that is not known without waiting."""
    if identity is None or gate.find_loaded() is None:
        return None
    principal = identity.principal
    try:
        return await gate.run(
            principal, lambda loaded: any(one.has_audio for one in loaded.toolbox_of(principal).media)
        )
    except OverloadedError:
        return None


async def show_metadata(request: ServerRequest) -> Response:
    """Tell which resource this is, and how a token is shown (RFC 9728)."""
    metadata = ResourceMetadata(resource=f"{request.base_url}/mcp", scopes_supported=sorted(Action))
    return model_reply(metadata, headers={})


def _mcp_addresses(base: str) -> McpAddresses:
    socket_base = base.replace("http", "ws", 1)
    return McpAddresses(streamable_http=f"{base}/mcp", sse=f"{base}/sse", websocket=f"{socket_base}/v1/mcp")


_declare = partial(EndpointSpec, tag="server", is_public=True)
_declare_metadata = partial(_declare, result=ResourceMetadata, needs_accounts=True)
PAGE_ENDPOINTS = (
    _declare("GET", "/", show_server, result=ServerDescription),
    _declare_metadata("GET", METADATA_PATH, show_metadata),
    _declare_metadata("GET", f"{METADATA_PATH}/mcp", show_metadata, operation_id="showMcpMetadata"),
)
