"""The ASGI application: every transport and page of the one port, behind the guard."""

import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, nullcontext
from typing import Any

import anyio
from mcp.server.lowlevel import Server
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from stackroom.serve.http.guard import Authenticated, Authenticator, Bodies, Guard, KnownHosts, WithBody, refuse_upgrade
from stackroom.serve.http.mcp_http import MESSAGES_PATH, SSE, StreamableHTTP, refuse_message
from stackroom.serve.http.page_paths import with_page
from stackroom.serve.http.replies import status_reply
from stackroom.serve.http.streams import Streams
from stackroom.serve.http.websocket import WebSocketEndpoint
from stackroom.settings import Settings

logger = logging.getLogger(__name__)

SESSION_IDLE_S = 300.0
"""The lifetime of an idle session of Streamable HTTP (up to 2025-11-25) without an open stream."""

Task = Callable[[], Coroutine[Any, Any, None]]


def build_app(
    server: Server[Any] | None,
    settings: Settings,
    *,
    authenticator: Authenticator,
    streams: Streams,
    bodies: Bodies | None = None,
    routes: Sequence[BaseRoute] = (),
    tasks: Sequence[Task] = (),
) -> ASGIApp:
    """Return the application that serves an MCP server on every transport, if there is one, and these routes beside it.

    `bodies` bounds the memory of request bodies together with the routes; `tasks` run as long as the application does.
    """
    run_sessions: Callable[[], Any] = nullcontext
    every = with_page(routes, settings.web, authenticator=authenticator)
    if server is not None:
        most_sessions = settings.server.streams
        streamable = StreamableHTTP(server, streams, session_idle_s=SESSION_IDLE_S, most_sessions=most_sessions)
        run_sessions = streamable.run
        every = [*_mcp_routes(server, streamable, authenticator, streams, bodies or Bodies()), *every]
    return Guard(build_router(every, lifespan=_lifespan(run_sessions, tasks)), KnownHosts(settings.server))


def _mcp_routes(
    server: Server[Any], streamable: StreamableHTTP, authenticator: Authenticator, streams: Streams, bodies: Bodies
) -> list[BaseRoute]:
    sse = SSE(server, streams)

    def authenticated(app: ASGIApp, *, via: str) -> ASGIApp:
        return Authenticated(WithBody(app, bodies, refuse=refuse_message), authenticator, via=via)

    return [
        Route("/mcp", authenticated(streamable, via="http"), methods=["GET", "POST", "DELETE"]),
        Route("/sse", authenticated(sse.stream, via="sse"), methods=["GET"]),
        Route(MESSAGES_PATH, authenticated(sse.messages, via="sse"), methods=["POST"]),
        WebSocketRoute("/v1/mcp", WebSocketEndpoint(server, authenticator, streams)),
    ]


def build_router(routes: Sequence[BaseRoute], *, lifespan: Any) -> Starlette:
    """Return an application of these routes; unknown paths and methods are answered in the form of every error."""
    app = Starlette(
        routes=[*routes, WebSocketRoute("/{path:path}", _NoWebSocket())],
        lifespan=lifespan,
        exception_handlers={404: _no_such_path, 405: _no_such_method, 500: _bug},
    )
    app.router.redirect_slashes = False
    return app


def _lifespan(run_sessions: Callable[[], Any], tasks: Sequence[Task]) -> Any:
    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with run_sessions(), anyio.create_task_group() as group:
            for task in tasks:
                group.start_soon(_run_task, task)
            yield
            group.cancel_scope.cancel()

    return lifespan


async def _run_task(task: Task) -> None:
    """Run a background task; its failure is a bug, and must not end the server."""
    try:
        await task()
    except Exception:
        logger.exception("a background task of the server failed")


class _NoWebSocket:
    """ASGI: refuses a WebSocket on a path that has none."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        reply = status_reply(
            404, "not_found", "there is no WebSocket at this path; MCP's is /v1/mcp, where it is enabled"
        )
        await refuse_upgrade(reply, scope, receive, send)


async def _no_such_path(_request: Request, _error: Exception) -> Response:
    reply = status_reply(404, "not_found", "there is nothing at this path; /openapi.json lists the paths")
    reply.headers["Vary"] = "Accept"  # browsers get a page
    return reply


async def _bug(_request: Request, _error: Exception) -> Response:
    return status_reply(500, "internal", "internal error; the server's log has the details")


async def _no_such_method(request: Request, error: Exception) -> Response:
    reply = status_reply(405, "method_not_allowed", f"{request.method[:20]} is not allowed on this path")
    reply.headers.update(getattr(error, "headers", None) or {})
    return reply
