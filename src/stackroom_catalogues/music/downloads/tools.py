"""What a shared server gets of music: downloads into the music folder, with `downloads.query` and
`downloads.action`, the tools of the queue.
"""

from collections.abc import Callable
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from stackroom import api
from stackroom.api.server import AddressRules, ServerContext, ServerParts
from stackroom.api.shapes import (
    BARE_LIST,
    BARE_OBJECT_OR_NULL,
    LARGEST,
    optional,
    require_argument,
)
from stackroom_catalogues.music.downloads.albums import NAME, AlbumCatalogue
from stackroom_catalogues.music.downloads.downloads import Downloads, DownloadSettings
from stackroom_catalogues.music.downloads.queue import (
    Download,
    DownloadShown,
    DownloadState,
    QueueStats,
)
from stackroom_catalogues.music.downloads.settings import DownloadsSettings
from stackroom_catalogues.music.tables import METADATA


class DownloadsQueryParams(api.OffsetParams, api.GenericParams):
    """The arguments of `downloads.query`."""

    query_type: Literal["stats", "queue", "item"]
    id: int | None = optional("Download to show", ge=1, le=LARGEST)
    state: DownloadState | None = optional("Of the queue; default: open ones")
    limit: int = Field(default=20, ge=1, le=100)


class DownloadsActionParams(api.GenericParams):
    """The arguments of `downloads.action`."""

    action: Literal["request", "retry", "cancel", "status"]
    id: int | None = optional("Download to retry, cancel or see", ge=1, le=LARGEST)
    artist: str | None = None
    album: str | None = None
    url: str | None = optional("A track or manifest instead.")
    provider: str | None = None


class DownloadsResult(api.PricedResult, api.GenericResult):
    """The answer of `downloads.query`: counts, or a page of downloads, or one."""

    paged: ClassVar[str] = "downloads"
    long_texts: ClassVar[tuple[str, ...]] = ("error", "url", "folder")

    stats: Annotated[QueueStats | None, BARE_OBJECT_OR_NULL]
    downloads: Annotated[list[DownloadShown], BARE_LIST]
    total: int
    has_more: bool


class DownloadsActionResult(api.GenericResult):
    """The answer of `downloads.action`: the download that it is about, and whether it is new."""

    download: Annotated[DownloadShown, BARE_OBJECT_OR_NULL]
    created: bool = False


class DownloadsTools:
    """The tools of the download queue."""

    def __init__(self, downloads: Downloads, catalogue: Callable[[], str]) -> None:
        self._downloads = downloads
        self._catalogue = catalogue

    def query(self, call: api.Call, params: DownloadsQueryParams) -> DownloadsResult:
        """Return totals, a page of the queue, or one download."""
        self._require_visible(call.principal)
        queue, shown = self._downloads.queue, None
        if params.query_type == "stats":
            shown, page = queue.stats(self._downloads.providers.names), []
            total = sum(shown.by_state.values())
        elif params.query_type == "item":
            page, total = [queue.get(require_argument("id", params.id, params.query_type))], 1
        else:
            page, total = queue.list_downloads(
                params.state, limit=params.limit, offset=params.offset
            )
        has_more = params.query_type == "queue" and params.offset + len(page) < total
        return DownloadsResult(
            stats=shown, downloads=list(map(_shown, page)), total=total, has_more=has_more
        )

    def act(self, call: api.Call, params: DownloadsActionParams) -> DownloadsActionResult:
        """Request an album to be downloaded, retry or cancel a download, or its status."""
        principal = call.principal
        self._require_visible(principal)
        if params.action == "request":
            wanted = params.model_dump(include={"provider", "artist", "album", "url"})
            download, is_new = self._downloads.request(
                principal.name, **wanted, call_id=call.call_id
            )
            return DownloadsActionResult(download=_shown(download), created=is_new)
        # who may act on all
        owner = None if api.Action.SERVER_ADMIN in principal.actions else principal.name
        act: dict[str, Callable[..., Download]] = {
            "retry": self._downloads.retry,
            "cancel": self._downloads.cancel,
            "status": self._downloads.queue.get,
        }
        download_id = require_argument("id", params.id, params.action)
        return DownloadsActionResult(download=_shown(act[params.action](download_id, user=owner)))

    def _require_visible(self, principal: api.Principal) -> None:
        """Refuse a caller who may not see the catalogue that albums are added to; its name is not
        disclosed.
        """
        if not principal.visibility.sees_catalogue(self._catalogue()):
            raise api.ForbiddenError(
                "downloaded albums are added to a catalogue that you may not see; ask an"
                " administrator for access"
            )


def downloads_tools(
    downloads: Downloads, catalogue: Callable[[], str]
) -> list[api.Operation[Any, Any]]:
    """Declare the tools of the queue, for callers who may see the catalogue that albums are added
    to.
    """
    tools = DownloadsTools(downloads, catalogue)
    query = api.operation(
        "downloads.query",
        action=api.Action.VIEW_ANALYTICS,
        summary="The download queue: counts, its items, or one item.",
        count_of=attrgetter("total"),
    )
    act = api.operation(
        "downloads.action",
        action=api.Action.REQUEST_CONTENT,
        writes=True,
        only_looks=lambda values: values.get("action") == "status",
    )
    return [query(tools.query), act(tools.act)]


def _shown(download: Download) -> DownloadShown:
    """Return a download without the query of its URL, which often has a key, and without an attempt
    that is over.
    """
    values = {name: getattr(download, name) for name in DownloadShown.model_fields}
    if download.url is not None:
        values["url"] = download.url.partition("?")[0]
    if download.state is not DownloadState.QUEUED:
        values["next_attempt_at"] = None
    return DownloadShown(**values)


def build_server_parts(context: ServerContext) -> ServerParts:
    """Build the download queue with its workers and tools; the tools need a music catalogue or a
    configured folder.
    """
    section = context.read_settings("downloads", DownloadsSettings)
    settings = download_settings(context, section)
    albums = AlbumCatalogue(context, settings.folder)
    downloads = Downloads(settings, context.database, albums, now=context.now, wake=context.wake)
    is_offered = section.folder or section.providers or albums.find_name()
    return ServerParts(
        tools=downloads_tools(downloads, albums.get_name) if is_offered else (),
        tasks=downloads.tasks,
        tables=METADATA,
        prunings={"downloads": downloads.queue.prune},
    )


def download_settings(context: ServerContext, section: DownloadsSettings) -> DownloadSettings:
    """Return the settings of the downloads as a section configures them; refuse address rules that
    are not valid.
    """
    try:
        rules = AddressRules.of(
            hosts=section.allowed_hosts,
            networks=section.allowed_networks,
            ports=section.allowed_ports,
        )
    except api.InputError as error:
        raise api.InputError(f"the section 'downloads': {error.message}") from error
    return DownloadSettings(
        folder=Path(section.folder).expanduser() if section.folder else context.home / NAME,
        providers=section.providers,
        rules=rules,
        offline=context.offline,
    )
