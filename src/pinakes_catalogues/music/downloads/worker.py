"""A worker: claims a download, lists its files, fetches them, installs the album, closes the download.

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
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from pinakes.api import (
    ExpectedError,
    ForbiddenError,
    InputError,
    NotFoundError,
    StorageError,
    TooLargeError,
    UnavailableError,
)
from pinakes.api.server import Clock, FetchCancelledError, TransferError, WantedFile, back_off_s
from pinakes_catalogues.music.downloads.items import Album, Claim, Download, DownloadFile, DownloadState
from pinakes_catalogues.music.downloads.names import AUDIO_SUFFIXES, component, suffix_of
from pinakes_catalogues.music.downloads.providers import DownloadProvider
from pinakes_catalogues.music.downloads.queue import ClaimLostError, DownloadQueue
from pinakes_catalogues.music.downloads.settings import DownloadSettings
from pinakes_catalogues.music.downloads.staging import Staging, drop_unproven

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


class Heartbeat:
    """Renews a claim in a thread, and notices when it is lost. A context manager."""

    def __init__(self, queue: DownloadQueue, claim: Claim, *, every_s: float) -> None:
        self.received_bytes = claim.download.received_bytes
        self._queue = queue
        self._claim = claim
        self._every_s = every_s
        self._is_over = threading.Event()
        self._is_lost = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"download {claim.download.id}", daemon=True)

    def __enter__(self) -> "Heartbeat":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over.set()
        self._thread.join()

    def is_lost(self) -> bool:
        """Tell whether the claim was lost: the download is cancelled, or another worker has it."""
        return self._is_lost.is_set()

    def _run(self) -> None:
        while not self._is_over.wait(self._every_s):
            try:
                self._queue.renew(self._claim, received_bytes=self.received_bytes)
            except ClaimLostError:
                self._is_lost.set()
                return
            except StorageError as error:
                LOG.warning("download %d: %s", self._claim.download.id, error.message)


class DownloadWorker:
    """Works on one download at a time. Several may share a queue, in one process or many."""

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
        self._staging = Staging(settings.folder)

    def work_once(self, *, is_stopping: Callable[[], bool] = lambda: False) -> bool:
        """Claim the next download and work on it to its end or next attempt; tell whether there was one."""
        claim = self._queue.claim()
        if claim is None:
            return False
        error: BaseException | None = None
        with Heartbeat(self._queue, claim, every_s=self._every_s()) as beat:
            try:
                self._fetch_album(claim, beat, is_stopping)
            except Exception as raised:
                error = raised
        try:
            self._settle(claim, error, beat, is_stopping=is_stopping() and not beat.is_lost())
        except ClaimLostError:
            self._leave(claim)
        self._staging.remove_empty(claim.download.key)
        return True

    def sweep(self) -> None:
        """Remove the staging folders of closed downloads."""
        self._staging.sweep(self._queue.states_of)

    def _every_s(self) -> float:
        return min(self._settings.queue.lease_s / 4, self._settings.poll_s)

    def _fetch_album(self, claim: Claim, beat: Heartbeat, is_stopping: Callable[[], bool]) -> None:
        """Fetch an album from its provider into the music folder."""

        def is_cancelled() -> bool:
            return beat.is_lost() or is_stopping()

        download = claim.download
        provider = self._providers.get(download.request.provider)
        if provider is None:
            raise NotFoundError(f"provider '{download.request.provider}' is no longer configured")
        with self._staging.held(download.key) as staged:
            self._require_allowed(download)
            folder, files = self._plan(claim, provider, staged, is_cancelled)
            fetching = _Fetching(
                queue=self._queue,
                claim=claim,
                provider=provider,
                staging=self._staging,
                max_album_bytes=self._settings.max_album_bytes,
                beat=beat,
            )
            fetched = fetching.run(staged, folder, files, is_cancelled)
            self._require_music(claim, staged, folder, fetched)
            self._require_allowed(download)
            self._queue.begin_install(claim, total_bytes=sum(file.size or 0 for file in fetched))
            note = self._ingest(self._staging.install(staged, folder, fetched), download)
            done = self._queue.finish(claim, note=note)
            self._staging.remove(download.key)
        self._hooks.on_finished(done)

    def _plan(
        self, claim: Claim, provider: DownloadProvider, staged: Path, is_cancelled: Callable[[], bool]
    ) -> tuple[str, list[DownloadFile]]:
        """Return the album's folder and files: as planned before, else as the provider lists them now."""
        download = claim.download
        files = self._queue.list_files(download.id)
        if files and download.folder is not None:
            return download.folder, files
        album = provider.resolve(download.request, is_cancelled=is_cancelled)
        self._require_bounded(album)
        folder = f"{component(album.artist)}/{component(album.title)}"
        drop_unproven(staged, album.files)  # before there is a plan, which trusts complete files
        self._queue.plan(claim, album, folder=folder)
        return folder, self._queue.list_files(download.id)

    def _require_bounded(self, album: Album) -> None:
        limit = self._settings.max_album_bytes
        if sum(file.size or 0 for file in album.files) > limit:
            raise TooLargeError(f"the album is larger than the limit of {limit:,} bytes")

    def _require_allowed(self, download: Download) -> None:
        """Refuse a download whose user has lost the right, and remove its files, unless installing has begun."""
        refusal = None if download.is_installing else self._hooks.find_refusal(download)
        if refusal is not None:
            self._staging.remove(download.key)
            raise ForbiddenError(refusal)

    def _require_music(self, claim: Claim, staged: Path, folder: str, files: Sequence[DownloadFile]) -> None:
        """Refuse an album without any readable audio file, and remove its files."""
        first_problem = ""
        for file in files:
            if suffix_of(file.name) not in AUDIO_SUFFIXES:
                continue
            fresh = staged / file.name
            path = fresh if fresh.exists() else self._staging.find_installed(folder, file)
            problem = self._hooks.find_problem(path) if path is not None else None
            if problem is None:
                return
            first_problem = first_problem or f"'{file.name}': {problem}"
        self._staging.remove(claim.download.key)
        raise TransferError(f"nothing of it can be read as music; {first_problem}", is_final=True)

    def _ingest(self, target: Path, download: Download) -> str | None:
        try:
            return self._hooks.on_album(target, download)
        except ExpectedError as error:
            raise StorageError(
                f"the album is installed, but could not be added to the catalogue: {error.message}"
            ) from error

    def _settle(self, claim: Claim, error: BaseException | None, beat: Heartbeat, *, is_stopping: bool) -> None:
        """Record the outcome of a download in the queue."""
        if error is None:
            return
        if isinstance(error, ClaimLostError | FetchCancelledError):
            if not is_stopping:
                raise ClaimLostError
            self._queue.release(claim)
        elif isinstance(error, ExpectedError):
            self._settle_failure(claim, error, beat)
        else:
            LOG.error("download %d: unexpected error", claim.download.id, exc_info=error)
            unexpected = ExpectedError(f"unexpected error ({type(error).__name__}); see the server's log")
            self._settle_failure(claim, unexpected, beat)

    def _settle_failure(self, claim: Claim, error: ExpectedError, beat: Heartbeat) -> None:
        is_final = isinstance(error, FINAL_ERRORS) or (isinstance(error, TransferError) and error.is_final)
        if is_final:
            self._queue.fail(claim, error)
            return
        backed_off_s = back_off_s(
            claim.download.attempts + 1,
            first_s=self._settings.first_wait_s,
            longest_s=self._settings.longest_wait_s,
            chance=self._clock.chance(),
        )
        asked_s = (error.retry_after_s or 0.0) if isinstance(error, UnavailableError) else 0.0
        wait_s = max(backed_off_s, min(asked_s, LONGEST_RETRY_AFTER_S))
        self._queue.put_off(claim, error, wait_s=wait_s, received_bytes=beat.received_bytes)

    def _leave(self, claim: Claim) -> None:
        """Leave a download whose claim was lost; remove the files of a cancelled one."""
        with suppress(NotFoundError):
            if self._queue.get(claim.download.id).state is DownloadState.CANCELLED:
                self._staging.remove_unheld(claim.download.key)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fetching:
    """Fetches the files of one download, one after the other."""

    queue: DownloadQueue
    claim: Claim
    provider: DownloadProvider
    staging: Staging
    max_album_bytes: int
    beat: Heartbeat

    def run(
        self, staged: Path, folder: str, files: Sequence[DownloadFile], is_cancelled: Callable[[], bool]
    ) -> list[DownloadFile]:
        """Fetch what is missing; return all files with their sizes and checksums."""
        complete: list[DownloadFile] = []
        before = 0
        for file in files:
            if is_cancelled():
                raise FetchCancelledError
            found = self._find_installed(folder, file)
            complete.append(found or self._fetched(staged, file, before, is_cancelled))
            before += complete[-1].size or 0
            self.beat.received_bytes = before
        return complete

    def _find_installed(self, folder: str, file: DownloadFile) -> DownloadFile | None:
        path = self.staging.find_installed(folder, file)
        if path is None or file.sha256 is None:
            return None
        return self._record(file, size=path.stat().st_size, sha256=file.sha256)

    def _fetched(self, staged: Path, file: DownloadFile, before: int, is_cancelled: Callable[[], bool]) -> DownloadFile:
        def on_progress(received: int) -> None:
            self.beat.received_bytes = before + received

        wanted = WantedFile(url=file.url, destination=staged / file.name, size=file.size, sha256=file.sha256)
        fetched = self.provider.fetcher.fetch_file(
            wanted,
            max_bytes=self.max_album_bytes - before,
            is_cancelled=is_cancelled,
            on_progress=on_progress,
        )
        return self._record(file, size=fetched.size, sha256=fetched.sha256)

    def _record(self, file: DownloadFile, *, size: int, sha256: str) -> DownloadFile:
        if not file.is_fetched:
            self.queue.note_fetched(self.claim, file.number, size=size, sha256=sha256)
        return DownloadFile(number=file.number, name=file.name, url=file.url, size=size, sha256=sha256, is_fetched=True)
