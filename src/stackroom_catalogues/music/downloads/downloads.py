"""Requests for downloads, and the background task that works on them, one album after the other.

The process may be killed after every step; the next worker repeats the step, or sees that it is
done:

    files known      the provider is asked again
    file fetched     it is complete in the staging folder
    album readable   at least one file is audio; else the download fails and its files are removed
    still allowed    the user still has the right, also checked at the start; else as above
    installing       the queue says so; from here on the provider is not asked again
    album installed  its files have moved from the staging folder to the album's
    album ingested   `add_album` has returned; calling it again is idempotent
    done             the queue says so: the commit point
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path

from stackroom import api
from stackroom.api import server
from stackroom_catalogues.music.downloads import manifest
from stackroom_catalogues.music.downloads.albums import AlbumCatalogue
from stackroom_catalogues.music.downloads.providers import AlbumProviders
from stackroom_catalogues.music.downloads.queue import (
    Download,
    DownloadCancelledError,
    DownloadQueue,
    QueueRules,
)
from stackroom_catalogues.music.downloads.staging import Staging

LOG = logging.getLogger(__name__)
TASK = "downloads"
SWEEP_S = 60.0
# errors that a retry cannot mend
FINAL_ERRORS = (api.InputError, api.NotFoundError, api.ForbiddenError)
LONGEST_RETRY_AFTER_S = 24 * 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadSettings:
    """The effective settings of downloads."""

    folder: Path  # the music folder
    providers: Mapping[str, str] = field(default_factory=dict)
    """The URL templates of manifests, by the name of their provider."""
    rules: server.AddressRules = field(default_factory=server.AddressRules)
    """Addresses that are allowed besides public ones."""
    queue: QueueRules = field(default_factory=QueueRules)
    limits: server.FetchLimits = field(
        default_factory=lambda: server.FetchLimits(max_bytes=2 << 30)
    )
    """Limits for each file."""
    max_album_bytes: int = 8 << 30
    # the longest wait after the first failure; it doubles with each further one
    first_wait_s: float = 30.0
    longest_wait_s: float = 3600.0
    poll_s: float = 2.0
    """How often the worker looks for downloads queued or cancelled by other processes, and reports
    its progress.
    """
    offline: bool = False


@dataclass(slots=True, kw_only=True)
class Progress:
    """How far a download is: reported every few seconds, which also notices that it was
    cancelled.
    """

    queue: DownloadQueue
    download: Download
    every_s: float
    clock: server.Clock
    is_stopping: Callable[[], bool]
    received_bytes: int
    next_at: float

    def note(self, *parts: int) -> None:
        """Note how many bytes are here, in parts."""
        self.received_bytes = sum(parts)

    def is_cancelled(self) -> bool:
        """Tell whether the work is to end: the server stops, or the download was cancelled."""
        if self.is_stopping():
            return True
        now = self.clock.monotonic()
        if now < self.next_at:
            return False
        self.next_at = now + self.every_s
        try:
            self.queue.note(self.download, received_bytes=self.received_bytes)
        except DownloadCancelledError:
            self.next_at = now
            return True
        except api.StorageError as error:
            LOG.warning("download %d: %s", self.download.id, error.message)
        return False


class Downloads:
    """Queues requests, and works on them in a background task. Safe to use from several threads."""

    def __init__(
        self,
        settings: DownloadSettings,
        database: server.ControlDatabase,
        albums: AlbumCatalogue,
        *,
        resolve: server.Resolve | None = None,
        clock: server.Clock | None = None,
        now: Callable[[], datetime] = server.utc_now,
        wake: Callable[[str], None] = lambda _task: None,
    ) -> None:
        """`wake` has the task run now."""
        self._settings = settings
        self._clock = clock or server.Clock()
        self._guard = server.AddressGuard(settings.rules, resolve=resolve)
        self._fetcher = server.Fetcher(self._guard, limits=settings.limits, clock=clock)
        self.providers = AlbumProviders(settings.providers, self._guard, self._fetcher)
        self._albums = albums
        self._wake = wake
        self._swept_at = float("-inf")
        self.queue = DownloadQueue(database, settings.queue, now=now)
        self._staging = Staging(settings.folder)

    def request(
        self,
        user: str,
        *,
        provider: str | None = None,
        artist: str | None = None,
        album: str | None = None,
        url: str | None = None,
        call_id: str | None = None,
    ) -> tuple[Download, bool]:
        """Queue a request; return its download and whether that is new."""
        if url is not None:
            self._require_fetchable(url)
        request = manifest.DownloadRequest(
            provider=self.providers.choose(provider, url),
            artist=None if artist is None else manifest.require_words(artist, field="artist"),
            album=None if album is None else manifest.require_words(album, field="album"),
            url=url,
        )
        self.providers.require_request(request)
        if self._settings.offline:
            raise api.UnavailableError(
                "downloads are off: 'offline' is set (RAG_STRICT_OFFLINE); unset it to request"
                " albums"
            )
        queued = self.queue.request(user, request, call_id=call_id)
        self._wake(TASK)
        return queued

    def retry(self, download_id: int, *, user: str | None) -> Download:
        """Retry a download; with `user`, only one of theirs."""
        download = self.queue.retry(download_id, user=user)
        self._wake(TASK)
        return download

    def cancel(self, download_id: int, *, user: str | None) -> Download:
        """Cancel a download; with `user`, only one of theirs."""
        download = self.queue.cancel(download_id, user=user)
        self._wake(TASK)
        return download

    @property
    def tasks(self) -> list[server.Task]:
        """The task that works on downloads, in one process at a time; none on an offline server."""
        task = server.Task(
            name=TASK,
            description="Fetches requested albums into the music folder.",
            run=self._work,
            period_s=self._settings.poll_s,
            lease=server.FileLease(self._staging.lock_file),
        )
        return [] if self._settings.offline else [task]

    def _require_fetchable(self, url: str) -> None:
        """Refuse a URL by the address it resolves to now, before any other check of the request."""
        try:
            if self._settings.offline:  # without a name server
                self._guard.require_well_formed(url)
            else:
                self._guard.require(url)
        except api.UnavailableError as error:
            raise server.InvalidUrlError(f"{error.message}; check the spelling") from error

    def _work(self, context: server.TaskContext) -> None:
        """Work on what is due, one download after the other, and remove leftovers now and then."""
        while self.work_once(is_stopping=lambda: context.is_stopping):
            context.check_stopped()
        now = self._clock.monotonic()
        if now - self._swept_at >= SWEEP_S:
            self.sweep()
            self._swept_at = now

    def work_once(self, *, is_stopping: Callable[[], bool] = lambda: False) -> bool:
        """Take the next download and work on it to its end or next attempt; tell whether there was
        one.
        """
        download = self.queue.take_next()
        if download is None:
            return False
        every_s = self._settings.poll_s
        progress = Progress(
            queue=self.queue,
            download=download,
            every_s=every_s,
            clock=self._clock,
            is_stopping=is_stopping,
            received_bytes=download.received_bytes,
            next_at=self._clock.monotonic() + every_s,
        )
        try:
            self._fetch_album(download, progress)
        except (DownloadCancelledError, server.FetchCancelledError):
            self._release(download)
        except Exception as error:
            if not isinstance(error, api.ExpectedError):
                LOG.exception("download %d: unexpected error", download.id)
                error = api.ExpectedError(
                    f"unexpected error ({type(error).__name__}); see the server's log"
                )
            try:
                self._settle_failure(download, error)
            except DownloadCancelledError:
                self._release(download)
        self._staging.remove_empty(download.key)
        return True

    def _release(self, download: Download) -> None:
        if not self.queue.release(download):
            self._staging.remove(download.key)

    def sweep(self) -> None:
        """Remove the staging folders of downloads that are done, cancelled or forgotten."""
        self._staging.sweep(self.queue.list_kept_keys())

    def _fetch_album(self, download: Download, progress: Progress) -> None:
        """Fetch an album from its provider into the music folder."""
        staged = self._staging.open_folder(download.key)
        folder = download.folder or ""
        if not download.is_installing:
            self._require_allowed(download)
            folder = self._fetch_files(download, staged, progress)
            self._require_music(download, staged)
            self._require_allowed(download)
            self.queue.begin_install(download, total_bytes=progress.received_bytes)
        album = self._staging.install(staged, folder)
        try:
            note = self._albums.add_album(album, download)
        except api.ExpectedError as error:
            raise api.StorageError(
                "the album is installed, but not in the catalogue yet, which is tried again:"
                f" {error.message}"
            ) from error
        done = self.queue.finish(download, note=note)
        self._staging.remove(download.key)
        self._albums.record_download(done)

    def _fetch_files(self, download: Download, staged: Path, progress: Progress) -> str:
        """Fetch what is missing of the files that the provider lists, one by one; return the
        album's folder.
        """
        album = self.providers.resolve(download.request, is_cancelled=progress.is_cancelled)
        before, limit = 0, self._settings.max_album_bytes
        if sum(file.size or 0 for file in album.files) > limit:
            raise server.TooLargeError(
                f"the album is larger than the limit of {limit:,} bytes; request tracks by 'url'"
            )
        folder = f"{manifest.component(album.artist)}/{manifest.component(album.title)}"
        self.queue.note(download, folder=folder, total_bytes=album.size)
        for file in album.files:
            if progress.is_cancelled():
                raise server.FetchCancelledError
            wanted = server.WantedFile(
                url=file.url, destination=staged / file.name, size=file.size, sha256=file.sha256
            )
            before += self._fetcher.fetch_file(
                wanted,
                max_bytes=limit - before,
                is_cancelled=progress.is_cancelled,
                on_progress=partial(progress.note, before),
            )
            progress.note(before)
        self._staging.keep_only(staged, {file.name for file in album.files})
        return folder

    def _require_allowed(self, download: Download) -> None:
        """Refuse a download whose user has lost the right, and remove its files."""
        refusal = self._albums.find_refusal(download)
        if refusal is not None:
            self._staging.remove(download.key)
            raise api.ForbiddenError(refusal)

    def _require_music(self, download: Download, staged: Path) -> None:
        """Refuse an album without any readable audio file, and remove its files."""
        problems: list[str] = []
        for path in sorted(staged.iterdir()):
            if manifest.suffix_of(path.name) in manifest.AUDIO_SUFFIXES:
                problem = self._albums.find_problem(path)
                if problem is None:
                    return
                problems.append(f"'{path.name}': {problem}")
        self._staging.remove(download.key)
        raise server.TransferError(
            f"nothing of it can be read as music; {problems[0]}; request it of another provider",
            is_final=True,
        )

    def _settle_failure(self, download: Download, error: api.ExpectedError) -> None:
        if isinstance(error, FINAL_ERRORS) or (
            isinstance(error, server.TransferError) and error.is_final
        ):
            self.queue.fail(download, error)
            return
        backed_off_s = server.back_off_s(
            download.attempts + 1,
            first_s=self._settings.first_wait_s,
            longest_s=self._settings.longest_wait_s,
            chance=self._clock.chance(),
        )
        asked_s = (error.retry_after_s or 0.0) if isinstance(error, api.UnavailableError) else 0.0
        wait_s = max(backed_off_s, min(asked_s, LONGEST_RETRY_AFTER_S))
        self.queue.put_off(download, error, wait_s=wait_s)
