"""Clients of one interface over every transport: MCP, REST, and the gate itself."""

import base64
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import anyio
import anyio.from_thread
import httpx
from mcp import Client, types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from websockets.asyncio.client import connect as open_websocket
from websockets.typing import Subprotocol

from stackroom.background.threads import new_pool
from stackroom.errors import ExpectedError
from stackroom.gate.gate import Gate
from stackroom.model.principal import LOCAL_USER, Principal
from stackroom.serve.async_gate import AsyncGate, Callers, Workers
from stackroom.serve.mcp_server import Handlers
from stackroom.settings import ToolNames
from stackroom.tools.operation import origin_of

ERAS = ("legacy", "2026-07-28")
MCP_WAYS = [
    f"{transport} {era}" for transport in ("http", "sse", "websocket", "stdio") for era in ERAS
]
NETWORK_WAYS = [way for way in MCP_WAYS if not way.startswith("stdio")] + ["rest"]
WAYS = [*MCP_WAYS, "rest"]
INVALID_PARAMS = str(types.INVALID_PARAMS)
ResultT = TypeVar("ResultT")
UNKNOWN_CODES = ("unknown_tool", "unknown_resource")


@dataclass(frozen=True, kw_only=True)
class Request:
    """Something to ask, whatever the way."""

    operation: str
    target: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        arguments = json.dumps(dict(self.arguments), ensure_ascii=False)
        return f"{self.operation} {self.target} {arguments}"[:80]


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What came back, whatever the way: a value, or an error's code and message. `text` is None
    where there is none.
    """

    value: Any = None
    text: str | None = None
    error: str | None = None
    message: str = ""
    retry_after_s: int | None = None

    def without_text(self) -> "Reply":
        """Return what a way without texts gives."""
        return Reply(
            value=self.value,
            error=self.error,
            message=self.message,
            retry_after_s=self.retry_after_s,
        )


class McpAsker:
    """Asks by the SDK's client."""

    def __init__(self, client: Client, portal: anyio.from_thread.BlockingPortal) -> None:
        self.client = client
        self._portal = portal

    def ask(self, request: Request) -> Reply:
        """Ask, and return the answer in the common form."""
        return self._portal.call(self.ask_async, request)

    async def ask_async(self, request: Request) -> Reply:
        """Ask within the event loop."""
        try:
            return await _MCP_ASKS[request.operation](self.client, request)
        except MCPError as error:
            data = error.error.data if isinstance(error.error.data, dict) else {}
            code = data.get("code") or str(error.error.code)
            return Reply(
                error=code, message=error.error.message, retry_after_s=data.get("retryAfterS")
            )


async def _list_tools(client: Client, _request: Request) -> Reply:
    result = await client.list_tools(cache_mode="bypass")
    return Reply(value=[_plain(one) for one in result.tools])


async def _call_tool(client: Client, request: Request) -> Reply:
    result = await client.call_tool(request.target, dict(request.arguments))
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    if not result.is_error:
        return Reply(value=result.structured_content, text=content.text)
    code, _, message = content.text.partition(": ")
    assert result.structured_content is None
    return Reply(
        error=code,
        message=message,
        retry_after_s=(result.meta or {}).get("io.stackroom/retryAfterS"),
    )


async def _list_resources(client: Client, request: Request) -> Reply:
    result = await client.list_resources(
        cursor=request.arguments.get("cursor"), cache_mode="bypass"
    )
    return Reply(value=[_plain(one) for one in result.resources], text=result.next_cursor or "")


async def _list_templates(client: Client, _request: Request) -> Reply:
    result = await client.list_resource_templates(cache_mode="bypass")
    return Reply(value=[_plain(one) for one in result.resource_templates])


async def _read_resource(client: Client, request: Request) -> Reply:
    (content,) = (await client.read_resource(request.target, cache_mode="bypass")).contents
    body = (
        content.text.encode()
        if isinstance(content, types.TextResourceContents)
        else base64.b64decode(content.blob)
    )
    return Reply(value=(content.mime_type, body))


@asynccontextmanager
async def websocket_streams(url: str, headers: Mapping[str, str]) -> AsyncIterator[Any]:
    """Open a WebSocket as the SDK's client wants a transport: a stream of messages each way."""
    async with (
        open_websocket(
            url, additional_headers=headers, subprotocols=[Subprotocol("mcp")], max_size=None
        ) as socket,
        anyio.create_task_group() as tasks,
    ):
        assert socket.subprotocol == "mcp"
        to_client, from_server = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        to_server, from_client = anyio.create_memory_object_stream[SessionMessage](0)

        async def receive() -> None:
            async with to_client:
                async for text in socket:
                    await to_client.send(
                        SessionMessage(types.jsonrpc_message_adapter.validate_json(text))
                    )

        async def send() -> None:
            async with from_client:
                async for one in from_client:
                    await socket.send(
                        one.message.model_dump_json(by_alias=True, exclude_unset=True)
                    )

        tasks.start_soon(receive)
        tasks.start_soon(send)
        yield from_server, to_server
        tasks.cancel_scope.cancel()


_MCP_ASKS = {
    "tools/list": _list_tools,
    "tools/call": _call_tool,
    "resources/list": _list_resources,
    "resources/templates/list": _list_templates,
    "resources/read": _read_resource,
}


def _plain(value: Any) -> Any:
    return value.model_dump(mode="json", by_alias=True, exclude_none=True)


class RestAsker:
    """Asks by REST."""

    def __init__(self, client: httpx.Client) -> None:
        self.client = client

    def ask(self, request: Request) -> Reply:
        """Ask, and return the answer in the common form."""
        response = self._send(request)
        if response.is_success:
            return self._success(request, response)
        error = response.json()["error"]
        code = error["code"]
        is_protocol = code in UNKNOWN_CODES or (
            code == "invalid_input" and request.operation != "tools/call"
        )
        assert response.status_code == {"unknown_tool": 404, "unknown_resource": 404}.get(
            code, response.status_code
        )
        retry = response.headers.get("retry-after")
        return Reply(
            error=INVALID_PARAMS if is_protocol else code,
            message=error["message"],
            retry_after_s=int(retry) if retry else None,
        )

    def _send(self, request: Request) -> httpx.Response:
        if request.operation == "tools/list":
            return self.client.get("/v1/tools")
        if request.operation == "tools/call":
            return self.client.post(f"/v1/tools/{request.target}", json=dict(request.arguments))
        if request.operation == "resources/list":
            return self.client.get("/v1/resources", params=dict(request.arguments))
        if request.operation == "resources/templates/list":
            return self.client.get("/v1/resource-templates")
        assert request.operation == "resources/read"
        return self.client.get("/v1/resources/read", params={"uri": request.target})

    @staticmethod
    def _success(request: Request, response: httpx.Response) -> Reply:
        if request.operation == "tools/call":
            return Reply(value=response.json())
        if request.operation == "resources/list":
            return Reply(
                value=response.json()["resources"], text=response.json().get("nextCursor", "")
            )
        if request.operation == "resources/read":
            return Reply(
                value=(response.headers["content-type"].partition(";")[0], response.content)
            )
        (value,) = response.json().values()
        return Reply(value=value)


def always(principal: Principal, via: str = "stdio") -> Callers:
    """Return a resolver that gives every request the same caller."""
    caller = origin_of(principal, via=via)
    return lambda _context: caller


def build_server(
    find_gate: Callable[[], Gate], callers: Callers, *, tool_names: ToolNames = "dotted"
) -> Server[Any]:
    """Return a server over a gate that may still be loading; `callers` returns the caller of a
    request.
    """
    gate = AsyncGate(new_pool("gate", 1).submit(find_gate), Workers())
    return Handlers(gate, callers, tool_names=tool_names).build_server()


def talk_to(
    find_gate: Callable[[], Gate],
    work: Callable[[Client], Awaitable[ResultT]],
    *,
    mode: str = "legacy",
    principal: Principal = LOCAL_USER,
    tool_names: ToolNames = "dotted",
    **options: Any,
) -> ResultT:
    """Run work with the SDK's client of a server in this process, and return its result."""

    async def run() -> ResultT:
        server = build_server(find_gate, always(principal), tool_names=tool_names)
        async with Client(server, mode=mode, **options) as client:
            return await work(client)

    return anyio.run(run)


class GateAsker:
    """Asks a gate in this process: what every way is to answer."""

    def __init__(self, gate: Gate, principal: Principal = LOCAL_USER) -> None:
        self._gate = gate
        self._principal = principal

    def ask(self, request: Request) -> Reply:
        """Ask, and return the answer in the common form."""
        try:
            return self._asked(request)
        except ExpectedError as error:
            return Reply(error=INVALID_PARAMS, message=error.message)

    def _asked(self, request: Request) -> Reply:
        gate, principal, arguments = self._gate, self._principal, request.arguments
        if request.operation == "tools/list":
            return Reply(value=[self._tool(tool) for tool in gate.list_tools(principal)])
        if request.operation == "tools/call":
            answer = gate.call(principal, request.target, arguments)
            if answer.error:
                return Reply(error=answer.error.code, message=answer.error.message)
            return Reply(value=json.loads(answer.encoded), text=answer.text)
        if request.operation == "resources/list":
            page = gate.list_resources(principal, arguments.get("cursor"))
            return Reply(
                value=[self._entry(one) for one in page.entries], text=page.next_cursor or ""
            )
        if request.operation == "resources/templates/list":
            return Reply(value=[self._template(one) for one in gate.list_templates(principal)])
        if request.operation == "resources/read":
            content = gate.read(principal, request.target)
            body = content.blob if content.blob is not None else (content.text or "").encode()
            return Reply(value=(content.mime_type, body))
        raise ValueError(f"no operation {request.operation!r}")

    @staticmethod
    def _tool(tool: Any) -> Any:
        shown = {
            "name": tool.name,
            "title": tool.face.title or None,
            "description": tool.description,
            "inputSchema": tool.listed_schema,
            "outputSchema": tool.output_schema,
            "annotations": {"readOnlyHint": tool.operation.is_read},
        }
        return {key: value for key, value in shown.items() if value is not None}

    @staticmethod
    def _entry(entry: Any) -> Any:
        shown = {
            "uri": entry.uri,
            "name": entry.name,
            "title": entry.title,
            "mimeType": entry.mime_type,
        }
        return {key: value for key, value in shown.items() if value}

    @staticmethod
    def _template(resource: Any) -> Any:
        return {
            "uriTemplate": resource.template,
            "name": resource.name,
            "description": resource.description,
            "mimeType": resource.template_mime_type,
        }


Connect = Callable[..., AbstractContextManager[Any]]
