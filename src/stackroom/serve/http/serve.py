"""`stackroom serve --http`: builds the application of the one port and serves until a signal."""

import logging
from collections.abc import Callable
from concurrent.futures import Future

import anyio
import anyio.to_thread
from starlette.types import ASGIApp

from stackroom.control.control import Control
from stackroom.errors import ExpectedError, InputError
from stackroom.gate.gate import Gate
from stackroom.model.principal import Identity
from stackroom.serve.async_gate import caller_of
from stackroom.serve.http.app import Task, build_app
from stackroom.serve.http.guard import is_loopback
from stackroom.serve.http.routes import build_routes
from stackroom.serve.http.run import listen, run, url_of
from stackroom.serve.http.service import Service
from stackroom.serve.http.streams import Streams
from stackroom.serve.list_changes import ListChanges, watch_library
from stackroom.serve.mcp_server import Handlers
from stackroom.settings import ServerSettings

logger = logging.getLogger(__name__)

LOOK_AGAIN_S = 0.25
"""The interval at which open streams are checked for changed rights."""


def require_may_listen(settings: ServerSettings) -> None:
    """Refuse to listen beyond this machine without accounts."""
    if not settings.accounts and not is_loopback(settings.host):
        raise InputError(
            f"without accounts the server listens on this machine only, not on '{settings.host}'; "
            "leave out --no-accounts, or listen on 127.0.0.1"
        )


def serve_http(service: Service, *, on_listening: Callable[[str], None]) -> None:
    """Serve until a signal; the gate may still be loading, and `on_listening` is called with the address."""
    server, control = service.settings.server, service.control
    require_may_listen(server)
    listener = listen(server.host, server.port)
    service.opened_gate.add_done_callback(_log_failure)
    app = _build_app(service)
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


def _build_app(service: Service) -> ASGIApp:
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
    """End the streams of credentials that are no longer valid; tell the connections of callers whose rights changed."""

    def look() -> dict[Identity, Identity | None]:
        control.identities.refresh()
        open_now = list({*streams.identities(), *lists.identities()})
        now = control.identities.current(open_now)
        return {before: after for before, after in zip(open_now, now, strict=True) if after != before}

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
