"""`stackroom serve --http`: every transport and page of the one port, behind the guard, until a
signal.
"""

import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager, nullcontext
from typing import Any

import anyio
import anyio.to_thread
from mcp.server.lowlevel import Server
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.types import ASGIApp
from starlette.websockets import WebSocket

from stackroom.control.control import Control
from stackroom.errors import ExpectedError, InputError
from stackroom.gate.gate import Gate
from stackroom.model.principal import Identity
from stackroom.net.addresses import is_loopback
from stackroom.serve.async_gate import caller_of
from stackroom.serve.connections import ListChanges, Streams, watch_library
from stackroom.serve.http.guard import (
    Authenticated,
    Authenticator,
    Bodies,
    Guard,
    WithBody,
    refuse_upgrade,
)
from stackroom.serve.http.mcp_http import (
    MESSAGES_PATH,
    SSE,
    StreamableHTTP,
    WebSocketEndpoint,
    refuse_message,
)
from stackroom.serve.http.page_paths import with_page
from stackroom.serve.http.replies import status_reply
from stackroom.serve.http.routes import build_routes
from stackroom.serve.http.run import listen, run, url_of
from stackroom.serve.http.service import Service
from stackroom.serve.mcp_server import Handlers
from stackroom.settings import ServerSettings, Settings

logger = logging.getLogger(__name__)


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
    """Return the application of an MCP server, if there is one, and of these routes; `tasks` run as
    long as it.
    """
    run_sessions: Callable[[], Any] = nullcontext
    every = with_page(routes, settings.web, authenticator=authenticator)
    limits = bodies or Bodies()

    def authenticated(app: ASGIApp, *, via: str) -> ASGIApp:
        return Authenticated(WithBody(app, limits, refuse=refuse_message), authenticator, via=via)

    if server is not None:
        streamable = StreamableHTTP(server, streams, most=settings.server.streams)
        sse = SSE(server, streams)
        run_sessions = streamable.run
        every = [
            Route("/mcp", authenticated(streamable, via="http"), methods=["GET", "POST", "DELETE"]),
            Route("/sse", authenticated(sse.stream, via="sse"), methods=["GET"]),
            Route(MESSAGES_PATH, authenticated(sse.messages, via="sse"), methods=["POST"]),
            WebSocketRoute("/v1/mcp", WebSocketEndpoint(server, authenticator, streams)),
            *every,
        ]

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with run_sessions(), anyio.create_task_group() as group:
            for task in tasks:
                group.start_soon(_run_task, task)
            yield
            group.cancel_scope.cancel()

    return Guard(build_router(every, lifespan=lifespan), settings.server)


def build_router(routes: Sequence[BaseRoute], *, lifespan: Any) -> Starlette:
    """Return an application of these routes; unknown paths and methods are answered in the form of
    every error.
    """
    app = Starlette(
        routes=[*routes, WebSocketRoute("/{path:path}", _refuse_websocket)],
        lifespan=lifespan,
        exception_handlers={404: _no_such_path, 405: _no_such_method, 500: _bug},
    )
    app.router.redirect_slashes = False
    return app


async def _run_task(task: Task) -> None:
    """Run a background task; its failure is a bug, and must not end the server."""
    try:
        await task()
    except Exception:
        logger.exception("a background task of the server failed")


async def _refuse_websocket(socket: WebSocket) -> None:
    reply = status_reply(
        404,
        "not_found",
        "there is no WebSocket at this path; MCP's is /v1/mcp, where it is enabled",
    )
    await refuse_upgrade(reply, socket.scope, socket.receive, socket.send)


async def _no_such_path(_request: Request, _error: Exception) -> Response:
    reply = status_reply(
        404, "not_found", "there is nothing at this path; /openapi.json lists the paths"
    )
    reply.headers["Vary"] = "Accept"  # browsers get a page
    return reply


async def _bug(_request: Request, _error: Exception) -> Response:
    return status_reply(500, "internal", "internal error; the server's log has the details")


async def _no_such_method(request: Request, error: Exception) -> Response:
    reply = status_reply(
        405, "method_not_allowed", f"{request.method[:20]} is not allowed on this path"
    )
    reply.headers.update(getattr(error, "headers", None) or {})
    return reply


LOOK_AGAIN_S = 0.25  # the interval at which open streams are checked for changed rights


def require_may_listen(settings: ServerSettings) -> None:
    """Refuse to listen beyond this machine without accounts."""
    if not settings.accounts and not is_loopback(settings.host):
        raise InputError(
            f"without accounts the server listens on this machine only, not on '{settings.host}'; "
            "leave out --no-accounts, or listen on 127.0.0.1"
        )


def serve_http(service: Service, *, on_listening: Callable[[str], None]) -> None:
    """Serve until a signal; the gate may still be loading, and `on_listening` is called with the
    address.
    """
    server, control = service.settings.server, service.control
    require_may_listen(server)
    listener = listen(server.host, server.port)
    service.opened_gate.add_done_callback(_log_failure)
    app = _build_served_app(service)
    on_listening(url_of(server.host, listener))
    run(
        app,
        listener,
        workers=service.workers,
        streams=service.streams,
        shutdown_s=server.shutdown_s,
        proxies=server.trusted_proxies,
        on_end=lambda: setattr(service, "is_ending", True),
        on_stuck=control.close if control else lambda: None,
    )


def _log_failure(gate: "Future[Gate]") -> None:
    """Log why the catalogues could not be loaded, where they could not."""
    error = None if gate.cancelled() else gate.exception()
    if isinstance(error, ExpectedError):
        logger.error("the catalogues could not be loaded: %s", error.message)
    elif error is not None:
        logger.error("the catalogues could not be loaded", exc_info=error)


def _build_served_app(service: Service) -> ASGIApp:
    """Return the application of the one port, with its background tasks."""
    control, mcp, lists = service.control, service.settings.mcp, ListChanges()
    tasks: list[Task] = [lambda: watch_library(service.gate, lists)]
    if control:
        tasks.append(lambda: _watch_rights(control, service.streams, lists))
    handlers = Handlers(service.gate, caller_of, tool_names=mcp.tool_names, lists=lists)
    return build_app(
        handlers.build_server() if mcp.enabled else None,
        service.settings,
        authenticator=service.authenticator,
        streams=service.streams,
        bodies=service.bodies,
        routes=build_routes(service),
        tasks=tasks,
    )


async def _watch_rights(control: Control, streams: Streams, lists: ListChanges) -> None:
    """End the streams of credentials that are no longer valid; tell the connections of callers
    whose rights changed.
    """

    def look() -> dict[Identity, Identity | None]:
        control.identities.refresh()
        open_now = list({*streams.identities(), *lists.identities()})
        now = control.identities.current(open_now)
        return {
            before: after for before, after in zip(open_now, now, strict=True) if after != before
        }

    async with anyio.create_task_group() as telling:
        while True:
            try:
                changes = await anyio.to_thread.run_sync(look)
            except Exception:  # each message is authenticated again anyway
                logger.exception("changed rights could not be checked")
            else:
                streams.note_changed(changes)
                for tell in lists.note_changed(changes):
                    telling.start_soon(tell)
            await anyio.sleep(LOOK_AGAIN_S)
