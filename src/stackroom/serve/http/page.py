"""`GET /` for programs: the addresses of the server; and the OAuth metadata beside it. Browsers get `page_paths`."""

from functools import partial

from pydantic import Field
from starlette.responses import Response

from stackroom import __version__
from stackroom.errors import OverloadedError
from stackroom.model.principal import Action, Identity
from stackroom.serve.http.endpoints import ServerRequest, base_url
from stackroom.serve.http.guard import METADATA_PATH
from stackroom.serve.http.replies import PRIVATE, model_reply
from stackroom.serve.http.service import Service
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


def page_endpoints(service: Service) -> list[EndpointSpec]:
    """Return the root, and the OAuth metadata of the server."""
    page, declare = PageEndpoints(service), partial(EndpointSpec, tag="server", is_public=True)
    declare_metadata = partial(declare, result=ResourceMetadata, needs_accounts=True)
    return [
        declare("GET", "/", page.show_server, result=ServerDescription),
        declare_metadata("GET", METADATA_PATH, page.show_metadata),
        declare_metadata("GET", f"{METADATA_PATH}/mcp", page.show_metadata, operation_id="showMcpMetadata"),
    ]


class PageEndpoints:
    """The root of the server."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def show_server(self, request: ServerRequest) -> Response:
        """Describe this server and where its parts are; a page for browsers."""
        identity = await self._service.authenticator.identify(request.http.headers)
        settings, has_accounts = self._service.settings, self._service.control is not None
        base = base_url(settings, request.http.scope)
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
            audio=await self._find_audio(identity),
            user=identity.principal.name if identity else None,
        )
        return model_reply(description, headers=ALSO_BY_ACCEPT)

    async def _find_audio(self, identity: Identity | None) -> bool | None:
        """Tell whether a catalogue that the caller may see has audio; None where that is not known without waiting."""
        gate = self._service.gate
        if identity is None or gate.find_loaded() is None:
            return None
        principal = identity.principal
        try:
            return await gate.run(
                principal, lambda loaded: any(one.has_audio for one in loaded.toolbox_of(principal).media)
            )
        except OverloadedError:
            return None

    async def show_metadata(self, request: ServerRequest) -> Response:
        """Tell which resource this is, and how a token is shown (RFC 9728)."""
        settings = self._service.settings
        address = f"{base_url(settings, request.http.scope)}/mcp"
        return model_reply(ResourceMetadata(resource=address, scopes_supported=sorted(Action)), headers={})


def _mcp_addresses(base: str) -> McpAddresses:
    socket_base = base.replace("http", "ws", 1)
    return McpAddresses(streamable_http=f"{base}/mcp", sse=f"{base}/sse", websocket=f"{socket_base}/v1/mcp")
