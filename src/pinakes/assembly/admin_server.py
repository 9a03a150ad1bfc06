"""The house: jobs, downloads, analytics and logs of a shared server, and the tools to run all that by."""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pinakes.analytics.events import EventLog, EventRecorder
from pinakes.analytics.reports import EventReports
from pinakes.assembly.app import App
from pinakes.assembly.build import add_catalogue, open_rows, package_recipe
from pinakes.assembly.maintenance import build_maintenance, refresh_from_source
from pinakes.control.control import Control
from pinakes.control.database.time_columns import utc_now
from pinakes.errors import InputError, NotFoundError
from pinakes.gate.redact import redacted
from pinakes.ingest.pipeline import IngestReport, IngestRequest
from pinakes.jobs.board import JobBoard
from pinakes.jobs.builtin_jobs import Source, list_builtin_jobs
from pinakes.jobs.downloads.desk import Downloads
from pinakes.jobs.downloads.items import Download
from pinakes.jobs.downloads.providers import HttpProviderSpec
from pinakes.jobs.downloads.settings import DownloadSettings
from pinakes.jobs.downloads.worker import DownloadHooks
from pinakes.jobs.scheduler import Scheduler
from pinakes.model.principal import LOCAL_USER, Action, Identity
from pinakes.net.addresses import AddressRules
from pinakes.settings import DownloadsSettings, Settings
from pinakes.shelf.port import Author
from pinakes.tools.admin.analytics import analytics_tools
from pinakes.tools.admin.config import config_resources
from pinakes.tools.admin.downloads import downloads_tools
from pinakes.tools.admin.inspect import Inspector, inspect_tools
from pinakes.tools.admin.jobs import jobs_resources, jobs_tools
from pinakes.tools.admin.logs import LogRing, log_resources
from pinakes.tools.admin.server import ServerState, server_tools
from pinakes.tools.admin.users import users_tools
from pinakes.tools.sql.tool import SqlTool, sql_tools
from pinakes.tools.toolbox import ServerTools
from pinakes_catalogues.music.audio.sound import find_problem

logger = logging.getLogger(__name__)

MUSIC = "music"


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeStatus:
    """What the house is told by the server that it stands in."""

    identities: Callable[[], Sequence[Identity]]
    """Whose streams are open, one for each."""
    counters: Callable[[], Mapping[str, Any]]


class AdminServer:
    """A shared library's household."""

    def __init__(self, app: App, control: Control, runtime: RuntimeStatus) -> None:
        settings = app.settings
        self._app = app
        self._control = control
        self._events = EventLog(control.database)
        self.recorder = EventRecorder(self._events)
        """Notes searches, plays and downloads; one of the gate's observers."""
        self._ring = LogRing(redact=redacted)
        self._sql = SqlTool(app.list_open)
        downloads = _download_settings(settings)
        self._music_folder = downloads.folder
        self._turn = threading.Lock()
        self._is_over = False
        self._desk = Downloads(
            downloads,
            control.database,
            DownloadHooks(
                on_album=self._take_in,
                on_finished=self._note_download,
                find_problem=find_problem,
                find_refusal=self._find_refusal,
            ),
        )
        maintenance = build_maintenance(app, control)
        board = JobBoard(control.database, list_builtin_jobs(lambda: maintenance))
        self._scheduler = Scheduler(board)
        state = ServerState(
            settings=settings,
            started_at=utc_now(),
            catalogues=app.list_open,
            identities=runtime.identities,
            problems=app.problems,
            counters=lambda: {**runtime.counters(), "events_dropped": self._events.dropped},
        )
        self.tools = ServerTools(
            tools=[
                *users_tools(control.accounts),
                *analytics_tools(EventReports(control.database, self._events), app.list_open),
                *(downloads_tools(self._desk, self._albums_catalogue) if self._has_downloads() else ()),
                *server_tools(state),
                *jobs_tools(board),
                *sql_tools(self._sql),
                *inspect_tools(Inspector(app.list_open, self._ring)),
            ],
            resources=[*log_resources(self._ring), *config_resources(settings), *jobs_resources(board)],
        )

    def _has_downloads(self) -> bool:
        """Tell whether albums have a place to come to: there is music, or the settings say where."""
        settings = self._app.settings
        return bool(settings.downloads.folder or settings.downloads.providers or self._find_music())

    def start(self) -> None:
        """Begin to run jobs and downloads, and to keep the log; not once it was told to end, while it was loading."""
        with self._turn:
            if self._is_over:
                return
            logging.getLogger().addHandler(self._ring)
            self._scheduler.start()
            self._desk.start()

    def stop(self) -> None:
        """Let what runs reach a point where it can go on later, and end."""
        with self._turn:
            self._is_over = True
        with ThreadPoolExecutor(2, "stopping") as pool:  # both at once: the server has little time to end
            stopped = [pool.submit(self._desk.stop), pool.submit(self._scheduler.stop)]
        for one in stopped:
            one.result()
        self._sql.close()
        self._events.close()
        logging.getLogger().removeHandler(self._ring)
        self._ring.close()

    def _find_refusal(self, download: Download) -> str | None:
        """Return why a user may not have downloads any more; None where they could ask for the same today."""
        if download.user == LOCAL_USER.name:
            return None
        try:
            user = self._control.accounts.get_user(download.user)
        except NotFoundError:
            return f"user '{download.user}', who asked for it, is there no more"
        if user.disabled:
            return f"user '{user.name}', who asked for it, is disabled"
        principal = self._control.identities.principal_of(user)
        if Action.REQUEST_CONTENT not in principal.actions:
            return f"user '{user.name}', who asked for it, has the permission {Action.REQUEST_CONTENT} no more"
        if not principal.visibility.sees_catalogue(self._albums_catalogue()):
            return f"user '{user.name}', who asked for it, may not see the catalogue any more that albums come to"
        return None

    def _take_in(self, album: Path, download: Download) -> str | None:
        """Bring the catalogue of the music folder up to it, with an album that came; tell what is left out of it.

        An album that was deleted from the catalogue comes back: somebody has asked for it.
        """
        folder, name, below = str(self._music_folder), self._find_music(), album.relative_to(self._music_folder)
        request = IngestRequest(
            author=Author(principal=download.user, call_id=download.call_id or ""),
            asks_for=lambda place: place.startswith(f"{below.as_posix()}/"),
        )
        if name is not None:
            source = Source(catalogue=name, location=folder, is_folder=True)
            report = refresh_from_source(self._app, source, lambda _rows: None, request=request)
        else:
            package = self._app.packages.get(MUSIC)
            rows, recipe = open_rows(package, folder), package_recipe(package)
            report = add_catalogue(
                self._app, rows, recipe=recipe, name=MUSIC, progress=lambda _report: None, request=request
            )
            logger.warning("catalogue '%s' is new; it is served from the next start on", MUSIC)
        return _left_out(report, below)

    def _find_music(self) -> str | None:
        """Return the catalogue that albums belong to: the one that was built from their folder, else one of music."""
        folder = self._music_folder.resolve()
        found = [
            one for one in self._app.library.list_installed() if one.spec_name == MUSIC and not one.own_declaration
        ]
        own = [one for one in found if any(Path(source).resolve() == folder for source in one.sources)]
        usual = [one for one in found if one.name == MUSIC]
        return next((one.name for one in (*own, *usual, *found)), None)

    def _albums_catalogue(self) -> str:
        """Return the name of the catalogue that albums come to, whether it is there yet or not."""
        return self._find_music() or MUSIC

    def _note_download(self, download: Download) -> None:
        catalogue = self._albums_catalogue()
        self.recorder.record_download(download.user, str(download.id), download.received_bytes, catalogue=catalogue)


def _left_out(report: IngestReport, album: Path) -> str | None:
    """Return which files of an album are not in the catalogue, and why; None where all are."""
    found = [(place, reason) for place, reason in report.rejects if Path(place).is_relative_to(album)]
    if not found:
        return None
    place, reason = found[0]
    return f"not in the catalogue: {len(found)} of its files, such as '{Path(place).name}': {reason}"


def _download_settings(settings: Settings) -> DownloadSettings:
    asked: DownloadsSettings = settings.downloads
    rules = _address_rules(asked)
    return DownloadSettings(
        folder=Path(asked.folder).expanduser() if asked.folder else settings.home / MUSIC,
        providers={
            name: HttpProviderSpec(manifest=manifest, rules=rules)
            for name, manifest in settings.downloads.providers.items()
        },
        url_rules=rules,
        offline=settings.offline,
    )


def _address_rules(asked: DownloadsSettings) -> AddressRules:
    try:
        return AddressRules.of(hosts=asked.allowed_hosts, networks=asked.allowed_networks, ports=asked.allowed_ports)
    except InputError as error:
        raise InputError(f"the section 'downloads': {error.message}") from error
