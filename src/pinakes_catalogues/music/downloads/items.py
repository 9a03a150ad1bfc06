"""The words of the queue: wishes, downloads and their files. Frozen values."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

USUAL_PRIORITY = 5


class DownloadState(StrEnum):
    """Where a download is in its life."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


OPEN_STATES = (DownloadState.QUEUED, DownloadState.RUNNING)


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadRequest:
    """What somebody asks for: an album by name from a provider, or what stands at an address."""

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
    """What a provider has for a request."""

    artist: str
    title: str
    files: tuple[AlbumFile, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadFile(AlbumFile):
    """A file of a download. Once it is fetched, its size and checksum are those that it has."""

    number: int
    is_fetched: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Download:
    """Something that was asked for, and how far it is."""

    id: int
    key: str
    user: str
    request: DownloadRequest
    folder: str | None
    """Where the album lands, below the music folder; None until its files are known."""
    priority: int
    state: DownloadState
    attempts: int
    """How often it was tried since somebody last asked for it; of one that is done, with the time that it worked."""
    next_attempt_at: datetime
    is_installing: bool
    """Whether its files are being put in place, so that it cannot be cancelled any more."""
    received_bytes: int
    total_bytes: int | None
    error_code: str | None
    error: str | None
    """Why it failed; of one that is done, what is to be said of it."""
    created_at: datetime
    updated_at: datetime
    call_id: str | None
    """The call that asked for it, where that is known."""
    found_artist: str | None
    found_album: str | None
    """What the provider calls the album, where it says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A download that one worker has, as long as the token is the row's."""

    download: Download
    token: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueStats:
    """What is in the queue."""

    by_state: dict[DownloadState, int] = field(default_factory=dict)
    received_bytes: int = 0
    """How much has come, of everything in the queue."""
    users: int = 0
    oldest_queued_at: datetime | None = None
