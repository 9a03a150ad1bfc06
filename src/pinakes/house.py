"""The house: jobs, downloads, analytics and logs of a shared server, and the tools to run all that by."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pinakes.app import App
from pinakes.build import add_catalogue, builtin_recipe, open_rows
from pinakes.control.control import Control
from pinakes.control.event_reports import EventReports
from pinakes.control.events import EventLog, EventRecorder
from pinakes.control.moments import utc_now
from pinakes.duties import build_duties
from pinakes.gate.redact import redacted
from pinakes.jobs.board import JobBoard
from pinakes.jobs.bodies import house_jobs
from pinakes.jobs.downloads.desk import DownloadDesk
from pinakes.jobs.downloads.items import Download
from pinakes.jobs.downloads.providers import HttpProviderSpec
from pinakes.jobs.downloads.settings import DownloadSettings
from pinakes.jobs.downloads.worker import Landing
from pinakes.jobs.scheduler import Scheduler
from pinakes.model.principal import Identity
from pinakes.net.addresses import AddressRules
from pinakes.settings import DownloadsSettings, Settings
from pinakes.tools.admin.analytics import analytics_tools
from pinakes.tools.admin.config import config_resources
from pinakes.tools.admin.downloads import downloads_tools
from pinakes.tools.admin.inspect import Inspector, inspect_tools
from pinakes.tools.admin.jobs import jobs_resources, jobs_tools
from pinakes.tools.admin.logs import LogRing, log_resources
from pinakes.tools.admin.server import ServerState, server_tools
from pinakes.tools.admin.sql import SqlTool, sql_tools
from pinakes.tools.admin.users import users_tools
from pinakes.tools.toolbox import HouseTools

MUSIC = "music"


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What the house is told by the server that it stands in."""

    identities: Callable[[], Sequence[Identity]]
    """Whose streams are open, one for each."""
    counters: Callable[[], Mapping[str, Any]]


class House:
    """A shared library's household."""

    def __init__(self, app: App, control: Control, surroundings: Surroundings) -> None:
        settings = app.settings
        self._app = app
        self._events = EventLog(control.database)
        self.recorder = EventRecorder(self._events)
        """Notes searches, plays and downloads; one of the gate's observers."""
        self._ring = LogRing(redact=redacted)
        self._sql = SqlTool(app.list_open)
        downloads = _download_settings(settings)
        self._desk = DownloadDesk(
            downloads, control.database, Landing(on_album=self._take_in, on_finished=self._note_download)
        )
        prunings = {
            "events": self._events.prune,
            "downloads": lambda before: self._desk.queue.prune(older_than=utc_now() - before),
        }
        self._duties = build_duties(app, control, prunings=prunings)
        board = JobBoard(control.database, house_jobs(lambda: self._duties))
        self._scheduler = Scheduler(board)
        self.tools = HouseTools(
            tools=[
                *users_tools(control.accounts),
                *analytics_tools(EventReports(control.database, self._events), app.list_open),
                *downloads_tools(self._desk),
                *server_tools(
                    ServerState(
                        settings=settings,
                        started_at=utc_now(),
                        catalogues=app.list_open,
                        identities=surroundings.identities,
                        problems=app.problems,
                        counters=surroundings.counters,
                    )
                ),
                *jobs_tools(board),
                *sql_tools(self._sql),
                *inspect_tools(Inspector(app.list_open, self._ring)),
            ],
            resources=[*log_resources(self._ring), *config_resources(settings), *jobs_resources(board)],
        )

    def start(self) -> None:
        """Begin to run jobs and downloads, and to keep the log."""
        logging.getLogger().addHandler(self._ring)
        self._scheduler.start()
        self._desk.start()

    def stop(self) -> None:
        """Let what runs reach a point where it can go on later, and end."""
        self._desk.stop()
        self._scheduler.stop()
        self._sql.close()
        self._events.close()
        logging.getLogger().removeHandler(self._ring)
        self._ring.close()

    def _take_in(self, _album: Path) -> None:
        """Bring the music catalogue up to its folder, with an album that came."""
        folder = str(_download_settings(self._app.settings).folder)
        add_catalogue(
            self._app,
            open_rows(MUSIC, folder),
            recipe=builtin_recipe(MUSIC),
            name=MUSIC,
            progress=lambda _report: None,
        )

    def _note_download(self, download: Download) -> None:
        self.recorder.record_download(download.user, str(download.id), download.received_bytes, catalogue=MUSIC)


def _download_settings(settings: Settings) -> DownloadSettings:
    asked: DownloadsSettings = settings.downloads
    rules = AddressRules.of(hosts=asked.allowed_hosts, networks=asked.allowed_networks)
    return DownloadSettings(
        folder=Path(asked.folder).expanduser() if asked.folder else settings.home / MUSIC,
        providers={
            name: HttpProviderSpec(manifest=manifest, headers={}, rules=rules)
            for name, manifest in settings.download_providers.items()
        },
        url_rules=rules,
        offline=settings.offline,
    )
