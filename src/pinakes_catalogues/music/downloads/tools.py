"""`downloads.query` and `downloads.action`: the download queue, and requests to it."""

from collections.abc import Callable
from datetime import datetime
from operator import attrgetter
from typing import Annotated, Literal

from pydantic import Field

from pinakes.api import Action, Cost, ForbiddenError, Principal, ToolSpec
from pinakes.api.server import (
    BARE_LIST,
    BARE_OBJECT,
    BARE_OBJECT_OR_NULL,
    LARGEST,
    GenericParams,
    GenericResult,
    require_argument,
)
from pinakes_catalogues.music.downloads.downloads import Downloads
from pinakes_catalogues.music.downloads.items import USUAL_PRIORITY, Download, DownloadFile, DownloadState


class DownloadsQueryParams(GenericParams):
    """The arguments of `downloads.query`."""

    query_type: Literal["stats", "queue", "item"]
    id: int | None = Field(default=None, ge=1, le=LARGEST, description="For item.")
    state: DownloadState | None = Field(default=None, description="For queue; else what is open.")
    limit: int = Field(default=20, ge=1, le=100)
    offset: int = Field(default=0, ge=0, le=LARGEST)


class DownloadsActionParams(GenericParams):
    """The arguments of `downloads.action`."""

    action: Literal["request", "retry", "cancel"]
    id: int | None = Field(default=None, ge=1, le=LARGEST, description="For retry and cancel.")
    artist: str | None = None
    album: str | None = None
    url: str | None = Field(default=None, description="A track or manifest, instead of a provider's album.")
    provider: str | None = None
    priority: int | None = Field(default=None, ge=0, le=9, description="9 first; usually 5.")


class FileShown(GenericResult):
    """A file of a download."""

    name: str
    size_bytes: int | None
    sha256: str | None
    fetched: bool


class DownloadShown(GenericResult):
    """A download."""

    id: int
    state: DownloadState
    user: str
    provider: str
    artist: str | None
    album: str | None
    url: str | None
    folder: str | None
    priority: int
    attempts: int
    next_attempt_at: datetime | None
    received_bytes: int
    total_bytes: int | None
    error_code: str | None
    error: str | None
    created_at: datetime
    updated_at: datetime


SHOWN_AS_STORED = DownloadShown.model_fields.keys() & Download.__dataclass_fields__.keys() - {"next_attempt_at"}


class StatsShown(GenericResult):
    """Totals of the queue."""

    by_state: dict[DownloadState, int]
    received_bytes: int
    users: int
    oldest_queued_at: datetime | None
    providers: list[str]


class DownloadsResult(GenericResult):
    """The answer of `downloads.query`: counts, or a page of downloads, or one with its files."""

    stats: Annotated[StatsShown | None, BARE_OBJECT_OR_NULL]
    downloads: Annotated[list[DownloadShown], BARE_LIST]
    files: Annotated[list[FileShown], BARE_LIST]
    total: int
    has_more: bool


class DownloadsActionResult(GenericResult):
    """The answer of `downloads.action`."""

    download: Annotated[DownloadShown, BARE_OBJECT]
    created: bool


class DownloadsTools:
    """The tools of the download queue."""

    def __init__(self, downloads: Downloads, catalogue: Callable[[], str]) -> None:
        self._desk = downloads
        self._catalogue = catalogue

    def query(self, principal: Principal, params: DownloadsQueryParams) -> DownloadsResult:
        """Return totals, a page of the queue, or one download."""
        self._require_visible(principal)
        answers = {"stats": self._stats, "queue": self._queue, "item": self._item}
        return answers[params.query_type](params)

    def act(self, principal: Principal, params: DownloadsActionParams, call_id: str) -> DownloadsActionResult:
        """Request, retry or cancel a download of the caller's; an administrator may act on all."""
        self._require_visible(principal)
        if params.action == "request":
            return self._request(principal, params, call_id)
        download_id = require_argument("id", params.id, params.action)
        owner = None if Action.SERVER_ADMIN in principal.actions else principal.name
        act = self._desk.retry if params.action == "retry" else self._desk.cancel
        return DownloadsActionResult(download=_shown(act(download_id, user=owner)), created=False)

    def _require_visible(self, principal: Principal) -> None:
        """Refuse a caller who may not see the catalogue that albums are added to; its name is not disclosed."""
        if not principal.visibility.sees_catalogue(self._catalogue()):
            raise ForbiddenError("downloaded albums are added to a catalogue that you may not see")

    def _request(self, principal: Principal, params: DownloadsActionParams, call_id: str) -> DownloadsActionResult:
        download, is_new = self._desk.request(
            principal.name,
            provider=params.provider,
            artist=params.artist,
            album=params.album,
            url=params.url,
            priority=USUAL_PRIORITY if params.priority is None else params.priority,
            call_id=call_id,
        )
        return DownloadsActionResult(download=_shown(download), created=is_new)

    def _stats(self, _params: DownloadsQueryParams) -> DownloadsResult:
        stats = self._desk.queue.stats()
        shown = StatsShown(
            by_state={state: stats.by_state.get(state, 0) for state in DownloadState},
            received_bytes=stats.received_bytes,
            users=stats.users,
            oldest_queued_at=stats.oldest_queued_at,
            providers=self._desk.provider_names,
        )
        total = sum(stats.by_state.values())
        return DownloadsResult(stats=shown, downloads=[], files=[], total=total, has_more=False)

    def _queue(self, params: DownloadsQueryParams) -> DownloadsResult:
        page, total = self._desk.queue.list_downloads(params.state, limit=params.limit, offset=params.offset)
        return _result(page, total=total, has_more=params.offset + len(page) < total)

    def _item(self, params: DownloadsQueryParams) -> DownloadsResult:
        download = self._desk.queue.get(require_argument("id", params.id, params.query_type))
        files = self._desk.queue.list_files(download.id)
        page = files[params.offset : params.offset + params.limit]
        has_more = params.offset + len(page) < len(files)
        return _result([download], total=len(files), has_more=has_more, files=page)


def downloads_tools(downloads: Downloads, catalogue: Callable[[], str]) -> list[ToolSpec]:
    """Declare the tools of the queue, for callers who may see the catalogue that albums are added to."""
    tools = DownloadsTools(downloads, catalogue)
    return [
        ToolSpec(
            name="downloads.query",
            description="The download queue: counts, its items, or one item with its files.",
            params=DownloadsQueryParams,
            result=DownloadsResult,
            action=Action.VIEW_ANALYTICS,
            cost=Cost.READ,
            run=tools.query,
            text=_query_text,
            count_of=attrgetter("total"),
        ),
        ToolSpec(
            name="downloads.action",
            description="Request an album to be downloaded, retry or cancel a download.",
            params=DownloadsActionParams,
            result=DownloadsActionResult,
            action=Action.REQUEST_CONTENT,
            cost=Cost.WRITE,
            read_only=False,
            wants_call_id=True,
            run=tools.act,
            text=_action_text,
        ),
    ]


def _result(
    page: list[Download], *, total: int, has_more: bool, files: list[DownloadFile] | None = None
) -> DownloadsResult:
    return DownloadsResult(
        stats=None,
        downloads=[_shown(download) for download in page],
        files=[_file_shown(file) for file in files or []],
        total=total,
        has_more=has_more,
    )


def _file_shown(file: DownloadFile) -> FileShown:
    return FileShown(name=file.name, size_bytes=file.size, sha256=file.sha256, fetched=file.is_fetched)


def _shown(download: Download) -> DownloadShown:
    request = download.request
    return DownloadShown(
        **{name: getattr(download, name) for name in SHOWN_AS_STORED},
        provider=request.provider,
        artist=request.artist or download.found_artist,
        album=request.album or download.found_album,
        url=None if request.url is None else request.url.partition("?")[0],  # the query often has a key
        next_attempt_at=download.next_attempt_at if download.state is DownloadState.QUEUED else None,
    )


def _line(one: DownloadShown) -> str:
    named = one.folder or " – ".join(part for part in (one.artist, one.album) if part) or one.url or one.provider
    total = "" if one.total_bytes is None else f" of {one.total_bytes:,}"
    error = f": {one.error}" if one.error else ""
    return f"{one.id}. {named} [{one.state}, {one.received_bytes:,}{total} bytes, for {one.user}]{error}"


def _query_text(result: DownloadsResult) -> str:
    counts = [f"{state}: {count}" for state, count in result.stats.by_state.items()] if result.stats else []
    files = [f"  {file.name}{' (fetched)' if file.fetched else ''}" for file in result.files]
    return "\n".join([*counts, *map(_line, result.downloads), *files]) or "nothing"


def _action_text(result: DownloadsActionResult) -> str:
    return _line(result.download)
