"""`downloads.query` and `downloads.action`: the download queue, and requests to it."""

from collections.abc import Callable
from datetime import datetime
from operator import attrgetter
from typing import Annotated, Literal, Self

from pydantic import Field

from pinakes.api import (
    Action,
    Cost,
    ForbiddenError,
    OffsetParams,
    PricedResult,
    Principal,
    ToolSpec,
    fields_text,
    shorten_texts,
)
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


class DownloadsQueryParams(OffsetParams, GenericParams):
    """The arguments of `downloads.query`."""

    query_type: Literal["stats", "queue", "item"]
    id: int | None = Field(default=None, ge=1, le=LARGEST, description="For item.")
    state: DownloadState | None = Field(default=None, description="For queue; else what is open.")
    limit: int = Field(default=20, ge=1, le=100)


class DownloadsActionParams(GenericParams):
    """The arguments of `downloads.action`."""

    action: Literal["request", "retry", "cancel"]
    id: int | None = Field(default=None, ge=1, le=LARGEST, description="For retry and cancel.")
    artist: str | None = Field(default=None, description="For request.")
    album: str | None = Field(default=None, description="For request.")
    url: str | None = Field(default=None, description="A track or manifest, instead of a provider's album.")
    provider: str | None = Field(default=None, description="Of stats.")
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
    plain = one.model_dump(mode="json", exclude={"id"})
    return f"{one.id}. {fields_text({name: value for name, value in plain.items() if value is not None})}"


def _query_text(result: DownloadsResult) -> str:
    plain = result.stats.model_dump(mode="json") if result.stats else {}
    counts = [fields_text(plain.pop("by_state")), fields_text(plain)] if plain else []
    files = [f"  {fields_text(file.model_dump(mode='json', exclude_none=True))}" for file in result.files]
    shown = len(result.files) or len(result.downloads)
    more = [f"{shown} of {result.total} are shown; has more"] if result.has_more else []
    head = f"{result.total} {'files' if result.files else 'downloads'}"
    return "\n".join([head, *counts, *map(_line, result.downloads), *files, *more, *result.notes])


def _action_text(result: DownloadsActionResult) -> str:
    return f"{'created' if result.created else 'there already'}: {_line(result.download)}"
