"""Tools and resources over REST: the same gate as MCP's, with HTTP's own statuses."""

import re
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from pinakes.errors import InputError
from pinakes.gate.gate import ResourcePage
from pinakes.serve.http.endpoints import CONTENT_HEADERS, PRIVATE, asking, find_parameter
from pinakes.serve.http.replies import JSONReply, error_reply
from pinakes.serve.http.service import Service
from pinakes.tools.resource import ResourceContent, ResourceEntry, ResourceSpec
from pinakes.tools.spec import ToolSpec

SHOWN_TYPES = frozenset(
    {
        "application/json",
        "image/gif",
        "image/jpeg",
        "image/png",
        "image/webp",
        "text/csv",
        "text/markdown",
        "text/plain",
    }
)
"""What a browser may show in its window: types that cannot run anything. The rest is downloaded."""
BYTES_TYPE = "application/octet-stream"

_MEDIA_TYPE = re.compile(r"[A-Za-z0-9!#$&^_.+-]{1,64}/[A-Za-z0-9!#$&^_.+-]{1,64}")


class RestEndpoints:
    """Tools and resources."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def list_tools(self, request: Request) -> Response:
        """Answer with the tools that the caller may use, in the same order as over MCP."""
        principal = asking(request).principal
        tools = await self._service.gate.run(principal, lambda gate: gate.list_tools(principal))
        return JSONReply({"tools": [tool_entry(tool) for tool in tools]}, headers=PRIVATE)

    async def call_tool(self, request: Request, arguments: dict[str, Any]) -> Response:
        """Run a tool; its structured content is the whole answer."""
        caller, name = asking(request), str(request.path_params["name"])
        answer = await self._service.gate.call(caller, name, arguments)
        if answer.error:
            return error_reply(answer.error)
        return Response(answer.encoded, media_type="application/json", headers=PRIVATE)

    async def list_resources(self, request: Request) -> Response:
        """Answer with a page of the resources that the caller may read."""
        principal, cursor = asking(request).principal, find_parameter(request, "cursor")
        page = await self._service.gate.run(principal, lambda gate: gate.list_resources(principal, cursor))
        return JSONReply(_resource_page(page), headers=PRIVATE)

    async def list_templates(self, request: Request) -> Response:
        """Answer with the templates of addresses that the caller may read."""
        principal = asking(request).principal
        templates = await self._service.gate.run(principal, lambda gate: gate.list_templates(principal))
        return JSONReply({"resourceTemplates": [_template_entry(one) for one in templates]}, headers=PRIVATE)

    async def read_resource(self, request: Request) -> Response:
        """Answer with what stands at an address, as it is."""
        caller, uri = asking(request), find_parameter(request, "uri")
        if not uri:
            raise InputError("'uri' is missing: /v1/resources/read?uri=ADDRESS; /v1/resources lists addresses")
        return content_reply(await self._service.gate.read(caller, uri))


def tool_entry(tool: ToolSpec) -> dict[str, Any]:
    """Return a tool as it is listed, with the same names as in MCP."""
    return {
        "name": tool.name,
        **({"title": tool.title} if tool.title else {}),
        "description": tool.description,
        "inputSchema": tool.input_schema,
        "outputSchema": tool.output_schema,
        "annotations": {"readOnlyHint": tool.read_only},
    }


def content_reply(content: ResourceContent) -> Response:
    """Return a resource under its own type; a browser downloads what could run something in its window."""
    is_plain = _MEDIA_TYPE.fullmatch(content.mime_type) is not None
    media_type = content.mime_type.lower() if is_plain else BYTES_TYPE
    shown = {} if media_type in SHOWN_TYPES else {"Content-Disposition": "attachment"}
    body = (content.text or "").encode("utf-8", "replace") if content.blob is None else content.blob
    charset = "; charset=utf-8" if content.blob is None and is_plain else ""
    return Response(body, headers={"Content-Type": f"{media_type}{charset}", **CONTENT_HEADERS, **shown})


def _resource_page(page: ResourcePage) -> dict[str, Any]:
    more = {"nextCursor": page.next_cursor} if page.next_cursor else {}
    return {"resources": [_resource_entry(entry) for entry in page.entries], **more}


def _resource_entry(entry: ResourceEntry) -> dict[str, Any]:
    title = {"title": entry.title} if entry.title else {}
    return {"uri": entry.uri, "name": entry.name, **title, "mimeType": entry.mime_type}


def _template_entry(resource: ResourceSpec) -> dict[str, Any]:
    return {
        "uriTemplate": resource.template,
        "name": resource.name,
        "description": resource.description,
        "mimeType": resource.template_mime_type,
    }
