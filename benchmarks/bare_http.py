"""The bare server of `bare_server.py` over the network: the SDK's own transports, and 30 lines for
WebSocket.

No accounts, no limits, no audit, no checks of Host or Origin: what the SDK, Starlette and uvicorn
cost by themselves. `python benchmarks/bare_http.py --port N [--answers FILE]`.
"""

import sys
from contextlib import asynccontextmanager
from functools import partial

import anyio
import uvicorn
from bare_server import build_bare_server, read_answers
from mcp.server.sse import SseServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.shared.message import SessionMessage
from mcp.types import jsonrpc_message_adapter
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocketDisconnect


def build_app(server, answers):
    """Return the application with every transport."""
    manager = StreamableHTTPSessionManager(server)
    sse = SseServerTransport("/messages")

    async def open_sse(request):
        async with sse.connect_sse(request.scope, request.receive, request._send) as (
            incoming,
            outgoing,
        ):
            await server.run(incoming, outgoing, server.create_initialization_options())
        return Response()

    async def call_tool(request):
        await request.json()
        return JSONResponse(answers[request.path_params["name"]]["structured"])

    @asynccontextmanager
    async def lifespan(_app):
        async with manager.run():
            yield

    routes = [
        Route("/mcp", StreamableHTTPASGIApp(manager)),
        Route("/sse", open_sse),
        Route("/messages", _AsgiApp(sse.handle_post_message)),
        WebSocketRoute("/v1/mcp", partial(serve_websocket, server)),
        Route("/health", lambda _request: Response()),
        Route("/v1/tools/{name}", call_tool, methods=["POST"]),
    ]
    return Starlette(routes=routes, lifespan=lifespan)


class _AsgiApp:
    """An ASGI application as the object that Starlette wants one to be: a bare function would be
    taken for a view.
    """

    def __init__(self, app):
        self._app = app

    async def __call__(self, scope, receive, send):
        await self._app(scope, receive, send)


async def serve_websocket(server, websocket):
    """Serve one WebSocket: a text frame is a JSON-RPC message."""
    await websocket.accept()
    to_server, incoming = anyio.create_memory_object_stream(0)
    outgoing, from_server = anyio.create_memory_object_stream(0)

    async def read():
        async with to_server:
            try:
                while True:
                    text = await websocket.receive_text()
                    await to_server.send(
                        SessionMessage(jsonrpc_message_adapter.validate_json(text, by_name=False))
                    )
            except WebSocketDisconnect:
                return

    async def write():
        async with from_server:
            async for message in from_server:
                await websocket.send_text(
                    message.message.model_dump_json(by_alias=True, exclude_unset=True)
                )

    async with anyio.create_task_group() as group:
        group.start_soon(read)
        group.start_soon(write)
        await server.run(incoming, outgoing, server.create_initialization_options())
        group.cancel_scope.cancel()


def main():
    answers = read_answers(sys.argv)
    port = int(sys.argv[sys.argv.index("--port") + 1])
    app = build_app(build_bare_server(answers), answers)
    uvicorn.run(
        app,
        port=port,
        loop="uvloop",
        http="httptools",
        ws="websockets-sansio",
        access_log=False,
        log_level="warning",
        ws_per_message_deflate=False,
        timeout_graceful_shutdown=5,
    )


if __name__ == "__main__":
    main()
