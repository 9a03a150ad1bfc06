"""`serve --http`: a shared server with accounts, limits, an audit, jobs, analytics, admin tools and
the parts of catalogue packages.
"""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import click

from stackroom.admin.analytics import analytics_tool
from stackroom.admin.jobs import jobs_resources, jobs_tools
from stackroom.admin.logs import LogRing, log_resources
from stackroom.admin.owner_page import OwnerPages
from stackroom.admin.server import Server, config_resources, inspect_tool, server_tool
from stackroom.admin.sql_tool import SqlChildren, sql_tool
from stackroom.admin.uploads import Uploads
from stackroom.admin.users import USERS_TOOLS
from stackroom.analytics.events import EventLog, EventReports
from stackroom.api.server import NO_PARTS
from stackroom.assembly.app import App
from stackroom.assembly.builtin_jobs import build_server_parts, list_operations, open_board
from stackroom.assembly.server_health import ServerHealth
from stackroom.assembly.upkeep import MapTask, add_upkeep
from stackroom.background.threads import new_pool
from stackroom.control.control import Control
from stackroom.control.database.tables import utc_now
from stackroom.gate.auditing import Observer, redacted
from stackroom.gate.gate import Gate
from stackroom.jobs.scheduler import Scheduler
from stackroom.model.principal import Identity
from stackroom.serve.async_gate import Workers
from stackroom.serve.connections import Streams
from stackroom.serve.http.app import require_may_listen, serve_http
from stackroom.serve.http.metrics import Metrics
from stackroom.serve.http.service import Service
from stackroom.serve.logs import CallLog, set_up_logging
from stackroom.settings import Settings
from stackroom.tools.operation import Office
from stackroom.tools.own_storage import OwnStorage
from stackroom.tools.toolbox import ServerTools

Load = Callable[..., Gate]  # builds the gate with a limiter, observers and the tools of the server


class AdminServer:
    """Jobs, analytics, admin tools and package parts of one shared server."""

    def __init__(
        self,
        app: App,
        control: Control,
        *,
        identities: Callable[[], Sequence[Identity]] = tuple,
        counters: Callable[[], Mapping[str, Any]] = dict,
    ) -> None:
        """`identities` returns those of the open streams, and `counters` what the transport
        counts.
        """
        settings = app.settings
        self.events = EventLog(control.database)
        """Records events for analytics; one of the gate's observers."""
        app.own_records.keep_in(
            OwnStorage(database=control.database, record_play=self.events.record_play)
        )
        self._ring = LogRing(redact=redacted)
        self._state_lock = threading.Lock()
        self._is_stopped = False
        self.parts = parts = build_server_parts(app, control, self.events)
        app.background.add(*parts.tasks)
        self.board = board = open_board(app, control, parts)
        self._scheduler = Scheduler(board)
        self._scheduler.start_in(app.background)
        self.health = ServerHealth(app, control)
        server = Server(
            settings=settings,
            started_at=utc_now(),
            identities=identities,
            problems=self.health.problems,
            credentials=lambda used_since: control.credentials.list_all(used_since=used_since),
            audit=control.audit,
            counters=lambda: {**counters(), "events_dropped": self.events.dropped},
        )
        self.office = Office(control=control, open_board=lambda: board, library=app.library)
        self.tools = ServerTools(
            tools=[
                *USERS_TOOLS,
                analytics_tool(EventReports(control.database, self.events)),
                *parts.tools,
                server_tool(server),
                *jobs_tools(board),
                sql_tool(SqlChildren()),
                inspect_tool(self._ring),
            ],
            resources=[
                *log_resources(self._ring),
                *config_resources(settings),
                *jobs_resources(board),
                *parts.resources,
            ],
        )

    def start(self) -> None:
        """Keep the log; no effect after `stop`. The tasks are started with the app's background."""
        with self._state_lock:
            if not self._is_stopped:
                logging.getLogger().addHandler(self._ring)

    def stop(self) -> None:
        """Stop the job that runs, and close the log; to be called when the background has ended."""
        with self._state_lock:
            self._is_stopped = True
        self._scheduler.stop()
        self.events.close()
        logging.getLogger().removeHandler(self._ring)
        self._ring.close()


def host(app: App, settings: Settings, load: Load) -> None:
    """Serve over the network; `load` builds the gate while the server already listens."""
    require_may_listen(settings.server)
    set_up_logging(level=settings.log_level, form=settings.server.log_format)
    workers = Workers(threads=settings.server.threads, queue=settings.server.queue)
    streams = Streams(settings.server.streams)
    metrics = Metrics()
    observers: list[Observer] = [metrics, CallLog()]
    control = Control.open(settings) if settings.server.accounts else None
    load = partial(load, office=Office(library=app.library))
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
        load = partial(load, limiter=control.limiter, server_tools=admin.tools, office=admin.office)
    loader = new_pool("loader", 1)
    uploads = Uploads(app)
    owners = OwnerPages(app, find_file=uploads.find_file)
    add_upkeep(app, control.database if control else None)
    health = admin.health if admin else ServerHealth(app, None)
    app.background.add(MapTask(app).task(), uploads.task(), health.task())
    try:
        gate = loader.submit(load, observers=observers)
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
                *list_operations(app.packages, admin.parts if admin else NO_PARTS),
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
