"""The admin side of a shared server: jobs, analytics, logs, admin tools, and the parts of catalogue
packages.
"""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stackroom.admin.analytics import analytics_tool
from stackroom.admin.jobs import jobs_resources, jobs_tools
from stackroom.admin.logs import LogRing, log_resources
from stackroom.admin.server import Inspector, Server, config_resources, inspect_tool, server_tool
from stackroom.admin.sql.tool import SqlChildren, sql_tool
from stackroom.admin.users import USERS_TOOLS
from stackroom.analytics.events import EventLog, EventReports
from stackroom.assembly.app import App
from stackroom.assembly.builtin_jobs import build_server_parts, open_board
from stackroom.assembly.server_health import ServerHealth
from stackroom.control.control import Control
from stackroom.control.database.tables import utc_now
from stackroom.gate.auditing import redacted
from stackroom.jobs.scheduler import Scheduler
from stackroom.model.principal import Identity
from stackroom.tools.operation import Office
from stackroom.tools.own_storage import OwnStorage
from stackroom.tools.toolbox import ServerTools


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
                inspect_tool(Inspector(self._ring)),
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
