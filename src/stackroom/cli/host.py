"""`serve --http`: a shared server with accounts, limits and an audit."""

from collections.abc import Callable

import click

from stackroom.admin.owner_page import OwnerPages
from stackroom.admin.uploads import Uploads
from stackroom.api.server import NO_PARTS
from stackroom.assembly.admin_server import AdminServer
from stackroom.assembly.app import App
from stackroom.assembly.builtin_jobs import list_operations
from stackroom.assembly.server_health import ServerHealth
from stackroom.assembly.upkeep import MapTask, add_upkeep
from stackroom.background.threads import new_pool
from stackroom.control.control import Control
from stackroom.gate.auditing import Observer
from stackroom.gate.gate import Gate
from stackroom.serve.async_gate import Workers
from stackroom.serve.http.app import require_may_listen, serve_http
from stackroom.serve.http.metrics import Metrics
from stackroom.serve.http.service import Service
from stackroom.serve.http.streams import Streams
from stackroom.serve.logs import CallLog, set_up_logging
from stackroom.settings import Settings
from stackroom.tools.operation import Office
from stackroom.tools.toolbox import NO_SERVER_TOOLS

Load = Callable[..., Gate]  # builds the gate with a limiter, observers and the tools of the server


def host(app: App, settings: Settings, load: Load) -> None:
    """Serve over the network; `load` builds the gate while the server already listens."""
    require_may_listen(settings.server)
    set_up_logging(level=settings.log_level, form=settings.server.log_format)
    workers = Workers(threads=settings.server.threads, queue=settings.server.queue)
    streams = Streams(settings.server.streams)
    metrics = Metrics()
    observers: list[Observer] = [metrics, CallLog()]
    control = Control.open(settings) if settings.server.accounts else None
    admin = None
    if control:
        if (secret := control.accounts.create_first_admin()) is not None:
            click.echo(
                "stackroom: this is the first start, so there is a first user now:\n"
                f"    user      admin\n    password  {secret}\n"
                "  The password works once, to log in and choose your own; it is not shown again.\n"
                "  Or make a token for a client:  stackroom token add laptop --user admin",
                err=True,
            )
        admin = AdminServer(
            app,
            control,
            identities=streams.identities,
            counters=lambda: {"calls_in_flight": workers.in_flight, "streams": len(streams)},
        )
        observers = [control.audit, admin.events, *observers]
    parts = admin.parts if admin else NO_PARTS
    limiter = control.limiter if control else None
    tools = admin.tools if admin else NO_SERVER_TOOLS
    office = admin.office if admin else Office(library=app.library)
    loader = new_pool("loader", 1)
    uploads = Uploads(app)
    owners = OwnerPages(app, find_file=uploads.find_file)
    add_upkeep(app, control.database if control else None)
    health = admin.health if admin else ServerHealth(app, None)
    app.background.add(MapTask(app).task(), uploads.task(), health.task())
    try:
        gate = loader.submit(
            load, limiter=limiter, observers=observers, server_tools=tools, office=office
        )
        gate.add_done_callback(lambda _gate: admin.start() if admin else None)
        gate.add_done_callback(lambda _gate: app.background.start())
        service = Service(
            settings=settings,
            opened_gate=gate,
            control=control,
            metrics=metrics,
            workers=workers,
            streams=streams,
            operations=[
                *list_operations(app.packages, parts),
                *uploads.operations(),
                *owners.operations(),
            ],
            health=health,
            hide_places=app.hide_places,
        )
        access = "accounts are on" if control else "no accounts: every caller is the local user"
        serve_http(
            service,
            on_listening=lambda address: click.echo(
                f"stackroom: serving at {address} ({access}); MCP at {address}/mcp; Ctrl-C ends it",
                err=True,
            ),
        )
    finally:
        loader.shutdown(wait=False, cancel_futures=True)
        app.background.stop()
        uploads.stop()
        owners.stop()
        if admin:
            admin.stop()
        if control:
            control.close()
        app.close()
