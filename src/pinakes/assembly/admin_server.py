"""The admin side of a shared server: jobs, analytics, logs, admin tools, and the parts of catalogue packages."""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from pinakes.analytics.events import EventLog, EventRecorder
from pinakes.analytics.reports import EventReports
from pinakes.assembly.app import App
from pinakes.assembly.audit_gaps import repair_of
from pinakes.assembly.maintenance import build_maintenance, list_catalogue_jobs
from pinakes.assembly.server_health import ServerHealth
from pinakes.assembly.server_parts import build_server_parts
from pinakes.control.control import Control
from pinakes.control.database.time_columns import utc_now
from pinakes.gate.redact import redacted
from pinakes.jobs.board import JobBoard
from pinakes.jobs.builtin_jobs import list_builtin_jobs
from pinakes.jobs.scheduler import Scheduler
from pinakes.model.principal import Identity
from pinakes.tools.admin.analytics import analytics_tools
from pinakes.tools.admin.config import config_resources
from pinakes.tools.admin.inspect import Inspector, inspect_tools
from pinakes.tools.admin.jobs import jobs_resources, jobs_tools
from pinakes.tools.admin.logs import LogRing, log_resources
from pinakes.tools.admin.server import ServerState, server_tools
from pinakes.tools.admin.users import users_tools
from pinakes.tools.own_kinds import OwnStorage
from pinakes.tools.sql.tool import SqlTool, sql_tools
from pinakes.tools.toolbox import ServerTools

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeStatus:
    """The state of the transport, for admin tools."""

    identities: Callable[[], Sequence[Identity]]
    """Returns the identities of the open streams, one for each."""
    counters: Callable[[], Mapping[str, Any]]


class AdminServer:
    """Jobs, analytics, admin tools and package parts of one shared server."""

    def __init__(self, app: App, control: Control, runtime: RuntimeStatus) -> None:
        settings = app.settings
        self._events = EventLog(control.database)
        self.recorder = EventRecorder(self._events)
        """Records events for analytics; one of the gate's observers."""
        app.own_records.keep_in(OwnStorage(database=control.database, record_play=self.recorder.record_play))
        self._ring = LogRing(redact=redacted)
        self._sql = SqlTool(app.list_served)
        self._state_lock = threading.Lock()
        self._is_stopped = False
        self.parts = parts = build_server_parts(app, control, self.recorder)
        maintenance = build_maintenance(app, control, parts=parts)
        board = JobBoard(
            control.database,
            [*list_builtin_jobs(lambda: maintenance), *parts.jobs],
            list_more=lambda: list_catalogue_jobs(app, lambda: maintenance),
        )
        self._scheduler = Scheduler(board)
        self._services = (*parts.services, self._scheduler, repair_of(control.database, app.list_served))
        self.health = ServerHealth(app, control, find_jobs_problem=self._scheduler.find_problem)
        state = ServerState(
            settings=settings,
            started_at=utc_now(),
            catalogues=app.list_served,
            identities=runtime.identities,
            problems=self.health.problems,
            credentials=lambda used_since: control.credentials.list_live(used_since=used_since),
            audit=control.audit,
            counters=lambda: {**runtime.counters(), "events_dropped": self._events.dropped},
        )
        self.tools = ServerTools(
            tools=[
                *users_tools(control.accounts),
                *analytics_tools(EventReports(control.database, self._events), app.list_served),
                *parts.tools,
                *server_tools(state),
                *jobs_tools(board),
                *sql_tools(self._sql),
                *inspect_tools(Inspector(app.list_served, self._ring, tools=app.list_tools)),
            ],
            resources=[
                *log_resources(self._ring),
                *config_resources(settings),
                *jobs_resources(board),
                *parts.resources,
            ],
        )

    def start(self) -> None:
        """Start the scheduler, the services of packages and the log; no effect after `stop`."""
        with self._state_lock:
            if self._is_stopped:
                return
            logging.getLogger().addHandler(self._ring)
            for service in reversed(self._services):
                _run_logged(service.start)

    def stop(self) -> None:
        """Stop all services at points from which they can resume, and close the log."""
        with self._state_lock:
            self._is_stopped = True
        with ThreadPoolExecutor(len(self._services), "stopping") as pool:  # at once: there is little time to end
            for service in self._services:
                pool.submit(_run_logged, service.stop)
        self._sql.close()
        self._events.close()
        logging.getLogger().removeHandler(self._ring)
        self._ring.close()


def _run_logged(step: Callable[[], None]) -> None:
    """Start or stop one service; log its failure, which must not keep the others from it."""
    try:
        step()
    except Exception:  # may be foreign code
        logger.exception("a service of this server could not be started or stopped")
