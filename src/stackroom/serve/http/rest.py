"""Tools and resources over REST: the same gate as MCP's, with HTTP's own statuses."""

import json
import re
from collections.abc import Sequence
from functools import partial

from mcp import types
from pydantic import Field
from starlette.responses import Response

from stackroom.errors import ExpectedError
from stackroom.gate.gate import Gate
from stackroom.gate.resources import read_resource
from stackroom.model.record import Flag
from stackroom.serve.http.replies import CONTENT_HEADERS, PRIVATE, JSONReply, error_reply
from stackroom.serve.http.service import TOOL_PATH, ServerRequest, read_object
from stackroom.serve.mcp_server import resource_entry, template_entry, tool_entry
from stackroom.tools.faces.rest import Door, list_doors
from stackroom.tools.operation import Rest
from stackroom.tools.resources import ResourceContent
from stackroom.tools.spec import GenericParams, GenericResult

SHOWN_TYPES = {
    "application/json",
    *("image/gif", "image/jpeg", "image/png", "image/webp"),
    *("text/csv", "text/markdown", "text/plain"),
}
"""Types that a browser may show in its window, since they cannot run anything. Others are
downloaded.
"""
FLAGGED_HEADER, NOTES_HEADER = "Stackroom-Flagged", "Stackroom-Notes"
FLAGS_IN_HEADER = 10
BYTES_TYPE = "application/octet-stream"

_MEDIA_TYPE = re.compile(r"[A-Za-z0-9!#$&^_.+-]{1,64}/[A-Za-z0-9!#$&^_.+-]{1,64}")


class ResourcesParams(GenericParams):
    """A page of resources."""

    cursor: str | None = Field(default=None, description="from the page before")


class ToolsResult(GenericResult):
    """The tools that the caller may use, as MCP lists them."""

    tools: list[types.Tool]


class ResourcesResult(GenericResult):
    """A page of resources, as MCP lists them."""

    resources: list[types.Resource]
    nextCursor: str | None = None


class TemplatesResult(GenericResult):
    """The templates of addresses that the caller may read, as MCP lists them."""

    resourceTemplates: list[types.ResourceTemplate]


async def list_tools(request: ServerRequest) -> Response:
    """List the tools that the caller may use, in the same order as over MCP."""
    tools = await request.look(
        lambda gate, principal: list(map(tool_entry, gate.list_tools(principal)))
    )
    return _list_reply(ToolsResult(tools=tools))


async def call_tool(request: ServerRequest) -> Response:
    """Run a tool; its structured content is the whole answer."""
    name = str(request.http.path_params["name"])
    try:
        arguments = await read_object(request.http)
    except ExpectedError as error:
        raise await request.service.refused(
            request.http, "tools/call", error, target=name
        ) from None
    answer = await request.service.gate.call(request.caller, name, arguments)
    if answer.error:
        return error_reply(answer.error)
    return Response(
        answer.encoded,
        media_type="application/json",
        headers={**PRIVATE, **_told_headers(answer.flags)},
    )


async def list_resources(request: ServerRequest) -> Response:
    """List a page of the resources that the caller may read."""
    cursor = request.params.cursor
    page = await request.look(lambda gate, principal: gate.list_resources(principal, cursor))
    entries = [resource_entry(entry) for entry in page.entries]
    return _list_reply(ResourcesResult(resources=entries, nextCursor=page.next_cursor))


async def list_resource_templates(request: ServerRequest) -> Response:
    """List the templates of addresses that the caller may read."""
    templates = await request.look(Gate.list_templates)
    return _list_reply(
        TemplatesResult(resourceTemplates=[template_entry(template) for template in templates])
    )


def content_reply(content: ResourceContent) -> Response:
    """Return a resource under its own type; a browser downloads types that could run something in
    its window.
    """
    is_plain = _MEDIA_TYPE.fullmatch(content.mime_type) is not None
    media_type = content.mime_type.lower() if is_plain else BYTES_TYPE
    shown = {} if media_type in SHOWN_TYPES else {"Content-Disposition": "attachment"}
    body = (content.text or "").encode("utf-8", "replace") if content.blob is None else content.blob
    charset = "; charset=utf-8" if content.blob is None and is_plain else ""
    told = _told_headers(content.flags, content.notes)
    return Response(
        body, headers={"Content-Type": f"{media_type}{charset}", **CONTENT_HEADERS, **shown, **told}
    )


def _told_headers(flags: Sequence[Flag], notes: Sequence[str] = ()) -> dict[str, str]:
    """Return, as JSON, the first places whose text reads like an instruction, and notes on the
    content.
    """
    told = {FLAGGED_HEADER: [flag.plain() for flag in flags[:FLAGS_IN_HEADER]], NOTES_HEADER: notes}
    return {name: json.dumps(some, separators=(",", ":")) for name, some in told.items() if some}


def _list_reply(result: GenericResult) -> Response:
    """Return a list as MCP has it: without the fields that its entries do not use."""
    return JSONReply(result.model_dump(by_alias=True, exclude_none=True), headers=PRIVATE)


_rest = partial(Rest, tag="resources")
REST_DOORS = (
    Door(Rest(f"POST {TOOL_PATH}", tag="tools", max_body_bytes=None), call_tool),
    Door(Rest("GET /v1/tools", tag="tools"), list_tools, result=ToolsResult),
    Door(
        _rest("GET /v1/resources"),
        list_resources,
        named="resources/list",
        query=ResourcesParams,
        result=ResourcesResult,
    ),
    Door(_rest("GET /v1/resource-templates"), list_resource_templates, result=TemplatesResult),
    *list_doors([read_resource]),
)
