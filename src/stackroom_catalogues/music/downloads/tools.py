"""`downloads.query` and `downloads.action`: the download queue, and requests to it."""

from collections.abc import Callable
from datetime import datetime
from operator import attrgetter
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from stackroom.api import (
    Action,
    Cost,
    ForbiddenError,
    OffsetParams,
    PricedResult,
    Principal,
    ToolSpec,
    result_text,
    shorten_texts,
)
from stackroom.api.server import (
    BARE_LIST,
    BARE_OBJECT_OR_NULL,
    LARGEST,
    GenericParams,
    GenericResult,
    require_argument,
)
from stackroom_catalogues.music.downloads.downloads import Downloads
from stackroom_catalogues.music.downloads.items import USUAL_PRIORITY, Download, DownloadFile, DownloadState


class DownloadsQueryParams(OffsetParams, GenericParams):
    """The arguments of `downloads.query`."""

    query_type: Literal["stats", "queue", "item"]
    id: int | None = Field(default=None, ge=1, le=LARGEST, description="For item.")
    state: DownloadState | None = Field(default=None, description="For queue; else what is open.")
    limit: int = Field(default=20, ge=1, le=100)


class DownloadsActionParams(GenericParams):
    """The arguments of `downloads.action`."""

    action: Literal["request", "retry", "cancel", "status"]
    id: int | None = Field(default=None, ge=1, le=LARGEST, description="For retry, cancel, status.")
    artist: str | None = None
    album: str | None = None
    url: str | None = Field(default=None, description="A track or manifest instead.")
    provider: str | None = Field(default=None, description="Of status.")
    priority: int | None = Field(default=None, ge=0, le=9, description="9 first; usually 5.")
    offset: int = Field(default=0, ge=0, le=LARGEST)


class FileShown(GenericResult):
    """A file of a download."""

    name: str
    size_bytes: int | None
    sha256: str | None
    fetched: bool


class DownloadShown(GenericResult):
    """A download."""

    headline: ClassVar[str] = ""

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


class DownloadsResult(PricedResult, GenericResult):
    """The answer of `downloads.query`: counts, or a page of downloads, or one with its files."""

    stats: Annotated[StatsShown | None, BARE_OBJECT_OR_NULL]
    downloads: Annotated[list[DownloadShown], BARE_LIST]
    files: Annotated[list[FileShown], BARE_LIST]
    total: int
    has_more: bool

    @property
    def item_count(self) -> int:
        """The number of downloads, or of the files of one."""
        return len(self.files) or len(self.downloads)

    def first(self, count: int) -> Self:
        """Return the answer with its first downloads, or the first files of one."""
        cut = {"files": self.files[:count]} if self.files else {"downloads": self.downloads[:count]}
        return self.model_copy(update={**cut, "has_more": True})

    def shortened(self, chars: int) -> Self:
        """Return the answer with long errors and addresses cut."""
        return self.model_copy(update={"downloads": [shorten_texts(one, LONG, chars) for one in self.downloads]})


LONG = ("error", "url", "folder")


def _left_out() -> Any:
    """Declare a part of an answer that is left out where it is empty."""
    return Field(default=None, exclude_if=lambda value: not value)


class OwnDownloads(GenericResult):
    """A page of the caller's downloads, and the providers that more can be requested from."""

    items: list[DownloadShown]
    total: int
    has_more: bool
    providers: list[str]


OWN_SHOWN = 15
"""How many of the caller's downloads are shown at once."""


class DownloadsActionResult(GenericResult):
    """The answer of `downloads.action`: the download that it is about, or with `status` those of the caller."""

    download: Annotated[DownloadShown | None, BARE_OBJECT_OR_NULL] = None
    created: bool = False
    files: Annotated[list[FileShown], SkipJsonSchema()] = _left_out()
    own: Annotated[OwnDownloads | None, BARE_OBJECT_OR_NULL] = _left_out()


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
        """Request, retry or cancel a download of the caller's, or show theirs; an administrator may act on all."""
        self._require_visible(principal)
        if params.action == "request":
            return self._request(principal, params, call_id)
        owner = None if Action.SERVER_ADMIN in principal.actions else principal.name
        if params.action == "status":
            return self._status(principal, params, owner)
        download_id = require_argument("id", params.id, params.action)
        act = self._desk.retry if params.action == "retry" else self._desk.cancel
        return DownloadsActionResult(download=_shown(act(download_id, user=owner)))

    def _status(self, principal: Principal, params: DownloadsActionParams, owner: str | None) -> DownloadsActionResult:
        """Return the caller's downloads, or one with its files."""
        if params.id is None:
            page, total = self._desk.queue.list_of_user(principal.name, limit=OWN_SHOWN, offset=params.offset)
            own = OwnDownloads(
                items=[_shown(download) for download in page],
                total=total,
                has_more=params.offset + len(page) < total,
                providers=self._desk.provider_names,
            )
            return DownloadsActionResult(own=own)
        download = self._desk.queue.get(params.id, user=owner)
        files = [_file_shown(file) for file in self._desk.queue.list_files(download.id)]
        return DownloadsActionResult(download=_shown(download), files=files)

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
        return self._result(page, total=total, has_more=params.offset + len(page) < total)

    def _item(self, params: DownloadsQueryParams) -> DownloadsResult:
        download = self._desk.queue.get(require_argument("id", params.id, params.query_type))
        files = self._desk.queue.list_files(download.id)
        page = files[params.offset : params.offset + params.limit]
        has_more = params.offset + len(page) < len(files)
        return self._result([download], total=len(files), has_more=has_more, files=page)

    def _result(
        self, page: list[Download], *, total: int, has_more: bool, files: list[DownloadFile] | None = None
    ) -> DownloadsResult:
        return DownloadsResult(
            stats=None,
            downloads=[_shown(download) for download in page],
            files=[_file_shown(file) for file in files or []],
            total=total,
            has_more=has_more,
        )


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
            text=result_text,
            count_of=attrgetter("total"),
        ),
        ToolSpec(
            name="downloads.action",
            description="Request an album to be downloaded, retry or cancel a download; status of yours.",
            params=DownloadsActionParams,
            result=DownloadsActionResult,
            action=Action.REQUEST_CONTENT,
            cost=Cost.WRITE,
            costs=lambda arguments: Cost.READ if arguments.get("action") == "status" else Cost.WRITE,
            read_only=False,
            wants_call_id=True,
            run=tools.act,
            text=result_text,
        ),
    ]


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
