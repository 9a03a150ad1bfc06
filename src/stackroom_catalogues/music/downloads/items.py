"""Values of the download queue: requests, downloads and their files."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

USUAL_PRIORITY = 5


class DownloadState(StrEnum):
    """The state of a download."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


OPEN_STATES = (DownloadState.QUEUED, DownloadState.RUNNING)


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadRequest:
    """A request for an album: by name from a provider, or by URL."""

    provider: str
    artist: str | None = None
    album: str | None = None
    url: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AlbumFile:
    """A file of an album, as a provider lists it."""

    name: str
    url: str
    size: int | None = None
    sha256: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Album:
    """An album as a provider offers it for a request."""

    artist: str
    title: str
    files: tuple[AlbumFile, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadFile(AlbumFile):
    """A file of a download. Size and checksum are the provider's until it is fetched, then the actual ones."""

    number: int
    is_fetched: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Download:
    """A requested download and its progress."""

    id: int
    key: str
    user: str
    request: DownloadRequest
    folder: str | None
    """The album's folder below the music folder; None until its files are known."""
    priority: int
    state: DownloadState
    attempts: int
    """Attempts since it was last requested or retried, including the successful one."""
    next_attempt_at: datetime
    is_installing: bool
    """Whether its files are being installed; then it cannot be cancelled."""
    received_bytes: int
    total_bytes: int | None
    error_code: str | None
    error: str | None
    """Why it failed; of a finished one, a note about files that were left out."""
    created_at: datetime
    updated_at: datetime
    call_id: str | None
    """The id of the call that requested it, if known."""
    found_artist: str | None
    found_album: str | None
    """The provider's name of the album, if it gives one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueStats:
    """Totals of the queue."""

    by_state: dict[DownloadState, int] = field(default_factory=dict)
    received_bytes: int = 0
    """Bytes received of all downloads in the queue."""
    users: int = 0
    oldest_queued_at: datetime | None = None
