"""The worker: takes a download, lists its files, fetches them, installs the album, closes the download.

The process may be killed after every step; the next worker repeats the step, or sees that it is done:

    files known      the plan is in the queue
    file fetched     it is complete in the staging folder; the queue has its checksum
    album readable   at least one file is audio; else the download fails and its files are removed
    still allowed    the user still has the right, also checked at the start; else as above
    album installed  its files have moved from the staging folder to the album's
    album ingested   `on_album` has returned; calling it again is idempotent
    done             the queue says so: the commit point
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from stackroom.api import (
    ExpectedError,
    ForbiddenError,
    InputError,
    NotFoundError,
    StorageError,
    TooLargeError,
    UnavailableError,
)
from stackroom.api.server import Clock, FetchCancelledError, TransferError, WantedFile, back_off_s
from stackroom_catalogues.music.downloads.items import Album, Download, DownloadFile
from stackroom_catalogues.music.downloads.names import AUDIO_SUFFIXES, component, suffix_of
from stackroom_catalogues.music.downloads.providers import DownloadProvider
from stackroom_catalogues.music.downloads.queue import DownloadCancelledError, DownloadQueue
from stackroom_catalogues.music.downloads.settings import DownloadSettings
from stackroom_catalogues.music.downloads.staging import Staging, drop_unproven

LOG = logging.getLogger(__name__)
FINAL_ERRORS = (InputError, NotFoundError, ForbiddenError)
"""Errors that a retry cannot mend."""
LONGEST_RETRY_AFTER_S = 24 * 3600.0

OnAlbum = Callable[[Path, Download], str | None]
OnFinished = Callable[[Download], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadHooks:
    """Callbacks of a worker."""

    on_album: OnAlbum
    """Ingests an installed album from its folder; returns a note about files that were left out.

    May be called more than once for the same album; raises where it cannot ingest any file.
    """
    on_finished: OnFinished = lambda _download: None
    """Called at most once for a download that is done."""
    find_problem: Callable[[Path], str | None] = lambda _file: None
    """Returns why a file cannot be read as audio; None where it can."""
    find_refusal: Callable[[Download], str | None] = lambda _download: None
    """Returns why the user of a download may no longer have it; None where they may."""


class Progress:
    """How far a download is: reported every few seconds, which also notices that it was cancelled."""

    def __init__(
        self,
        queue: DownloadQueue,
        download: Download,
        *,
        every_s: float,
        clock: Clock,
        is_stopping: Callable[[], bool],
    ) -> None:
        self.received_bytes = download.received_bytes
        self._queue = queue
        self._download = download
        self._every_s = every_s
        self._clock = clock
        self._is_stopping = is_stopping
        self._next_at = clock.monotonic() + every_s

    def is_cancelled(self) -> bool:
        """Tell whether the work is to end: the server stops, or the download was cancelled."""
        if self._is_stopping():
            return True
        now = self._clock.monotonic()
        if now < self._next_at:
            return False
        self._next_at = now + self._every_s
        try:
            self._queue.note_progress(self._download, received_bytes=self.received_bytes)
        except DownloadCancelledError:
            self._next_at = now
            return True
        except StorageError as error:
            LOG.warning("download %d: %s", self._download.id, error.message)
        return False


class DownloadWorker:
    """Works on one download at a time; one worker at a time may share a queue."""

    def __init__(
        self,
        queue: DownloadQueue,
        providers: Mapping[str, DownloadProvider],
        settings: DownloadSettings,
        hooks: DownloadHooks,
        *,
        clock: Clock,
    ) -> None:
        self._queue = queue
        self._providers = providers
        self._settings = settings
        self._hooks = hooks
        self._clock = clock
        self.staging = Staging(settings.folder)

    def work_once(self, *, is_stopping: Callable[[], bool] = lambda: False) -> bool:
        """Take the next download and work on it to its end or next attempt; tell whether there was one."""
        download = self._queue.take_next()
        if download is None:
            return False
        progress = Progress(
            self._queue, download, every_s=self._settings.poll_s, clock=self._clock, is_stopping=is_stopping
        )
        try:
            self._work_on(download, progress)
        except (DownloadCancelledError, FetchCancelledError):
            if not self._queue.release(download):
                self.staging.remove(download.key)
        self.staging.remove_empty(download.key)
        return True

    def sweep(self) -> None:
        """Remove the staging folders of closed downloads."""
        self.staging.sweep(self._queue.states_of)

    def _work_on(self, download: Download, progress: Progress) -> None:
        """Fetch an album, and record why where that fails."""
        try:
            self._fetch_album(download, progress)
        except (DownloadCancelledError, FetchCancelledError):
            raise
        except ExpectedError as error:
            self._settle_failure(download, error, progress)
        except Exception as error:
            LOG.exception("download %d: unexpected error", download.id)
            unexpected = ExpectedError(f"unexpected error ({type(error).__name__}); see the server's log")
            self._settle_failure(download, unexpected, progress)

    def _fetch_album(self, download: Download, progress: Progress) -> None:
        """Fetch an album from its provider into the music folder."""
        provider = self._providers.get(download.request.provider)
        if provider is None:
            raise NotFoundError(f"provider '{download.request.provider}' is no longer configured")
        attempt = _Attempt(
            download=download, provider=provider, staged=self.staging.open_folder(download.key), progress=progress
        )
        self._require_allowed(download)
        folder, files = self._plan(attempt)
        fetched = self._fetch_files(attempt, folder, files)
        self._require_music(attempt, folder, fetched)
        self._require_allowed(download)
        self._queue.begin_install(download, total_bytes=sum(file.size or 0 for file in fetched))
        note = self._ingest(self.staging.install(attempt.staged, folder, fetched), download)
        done = self._queue.finish(download, note=note)
        self.staging.remove(download.key)
        self._hooks.on_finished(done)

    def _plan(self, attempt: "_Attempt") -> tuple[str, list[DownloadFile]]:
        """Return the album's folder and files: as planned before, else as the provider lists them now."""
        download = attempt.download
        files = self._queue.list_files(download.id)
        if files and download.folder is not None:
            return download.folder, files
        album = attempt.provider.resolve(download.request, is_cancelled=attempt.progress.is_cancelled)
        self._require_bounded(album)
        folder = f"{component(album.artist)}/{component(album.title)}"
        drop_unproven(attempt.staged, album.files)  # before there is a plan, which trusts complete files
        self._queue.plan(download, album, folder=folder)
        return folder, self._queue.list_files(download.id)

    def _fetch_files(self, attempt: "_Attempt", folder: str, files: Sequence[DownloadFile]) -> list[DownloadFile]:
        """Fetch what is missing, one file after the other; return all files with their sizes and checksums."""
        complete: list[DownloadFile] = []
        before = 0
        for file in files:
            if attempt.progress.is_cancelled():
                raise FetchCancelledError
            installed = self.staging.find_installed(folder, file)
            if installed is not None:
                whole = replace(file, size=installed.stat().st_size, is_fetched=True)
            else:
                whole = attempt.fetch_file(file, before, max_bytes=self._settings.max_album_bytes - before)
            if not file.is_fetched:
                self._queue.note_fetched(attempt.download, whole)
            complete.append(whole)
            before += whole.size or 0
            attempt.progress.received_bytes = before
        return complete

    def _require_bounded(self, album: Album) -> None:
        limit = self._settings.max_album_bytes
        if sum(file.size or 0 for file in album.files) > limit:
            raise TooLargeError(f"the album is larger than the limit of {limit:,} bytes")

    def _require_allowed(self, download: Download) -> None:
        """Refuse a download whose user has lost the right, and remove its files, unless installing has begun."""
        refusal = None if download.is_installing else self._hooks.find_refusal(download)
        if refusal is not None:
            self.staging.remove(download.key)
            raise ForbiddenError(refusal)

    def _require_music(self, attempt: "_Attempt", folder: str, files: Sequence[DownloadFile]) -> None:
        """Refuse an album without any readable audio file, and remove its files."""
        first_problem = ""
        for file in files:
            if suffix_of(file.name) not in AUDIO_SUFFIXES:
                continue
            fresh = attempt.staged / file.name
            path = fresh if fresh.exists() else self.staging.find_installed(folder, file)
            problem = self._hooks.find_problem(path) if path is not None else None
            if problem is None:
                return
            first_problem = first_problem or f"'{file.name}': {problem}"
        self.staging.remove(attempt.download.key)
        raise TransferError(f"nothing of it can be read as music; {first_problem}", is_final=True)

    def _ingest(self, target: Path, download: Download) -> str | None:
        try:
            return self._hooks.on_album(target, download)
        except ExpectedError as error:
            raise StorageError(
                f"the album is installed, but could not be added to the catalogue: {error.message}"
            ) from error

    def _settle_failure(self, download: Download, error: ExpectedError, progress: Progress) -> None:
        is_final = isinstance(error, FINAL_ERRORS) or (isinstance(error, TransferError) and error.is_final)
        if is_final:
            self._queue.fail(download, error)
            return
        backed_off_s = back_off_s(
            download.attempts + 1,
            first_s=self._settings.first_wait_s,
            longest_s=self._settings.longest_wait_s,
            chance=self._clock.chance(),
        )
        asked_s = (error.retry_after_s or 0.0) if isinstance(error, UnavailableError) else 0.0
        wait_s = max(backed_off_s, min(asked_s, LONGEST_RETRY_AFTER_S))
        self._queue.put_off(download, error, wait_s=wait_s, received_bytes=progress.received_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Attempt:
    """One attempt at a download: where its files come from, and where they gather."""

    download: Download
    provider: DownloadProvider
    staged: Path
    progress: Progress

    def fetch_file(self, file: DownloadFile, before: int, *, max_bytes: int) -> DownloadFile:
        """Fetch one file, after so many bytes of those before it."""

        def on_progress(received: int) -> None:
            self.progress.received_bytes = before + received

        wanted = WantedFile(url=file.url, destination=self.staged / file.name, size=file.size, sha256=file.sha256)
        fetched = self.provider.fetcher.fetch_file(
            wanted, max_bytes=max_bytes, is_cancelled=self.progress.is_cancelled, on_progress=on_progress
        )
        return replace(file, size=fetched.size, sha256=fetched.sha256, is_fetched=True)
