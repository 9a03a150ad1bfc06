"""The downloads: where downloads are asked for, and where the workers behind it are started and stopped."""

import logging
import threading
import time
from collections.abc import Callable
from datetime import datetime

from pinakes.api import InputError, InvalidUrlError, NotFoundError, StorageError, UnavailableError, did_you_mean
from pinakes.api.server import ControlDatabase, utc_now
from pinakes_catalogues.music.downloads.items import USUAL_PRIORITY, Download, DownloadRequest
from pinakes_catalogues.music.downloads.names import require_words
from pinakes_catalogues.music.downloads.providers import BY_URL, Outside, build_providers
from pinakes_catalogues.music.downloads.queue import DownloadQueue
from pinakes_catalogues.music.downloads.settings import DownloadSettings
from pinakes_catalogues.music.downloads.worker import DownloadHooks, DownloadWorker

LOG = logging.getLogger(__name__)
STOP_S = 3.0
"""How long workers have to reach a point where they can be left; a process that ends does not wait for more."""
SWEEP_S = 60.0


class Downloads:
    """Takes wishes for one library, and works on them between `start` and `stop`. Safe to use from several threads."""

    def __init__(
        self,
        settings: DownloadSettings,
        database: ControlDatabase,
        landing: DownloadHooks,
        *,
        outside: Outside | None = None,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._settings = settings
        self._outside = outside or Outside(limits=settings.limits)
        self._providers = build_providers(settings.providers, url_rules=settings.url_rules, outside=self._outside)
        self._is_stopping = threading.Event()
        self._has_news = threading.Condition()
        self._threads: list[threading.Thread] = []
        self.queue = DownloadQueue(database, settings.queue, now=now)
        self.worker = DownloadWorker(self.queue, self._providers, settings, landing, clock=self._outside.clock)

    @property
    def provider_names(self) -> list[str]:
        """The names of the providers that albums can be asked for by name."""
        return [name for name in self._providers if name != BY_URL]

    def request(
        self,
        user: str,
        *,
        provider: str | None = None,
        artist: str | None = None,
        album: str | None = None,
        url: str | None = None,
        priority: int = USUAL_PRIORITY,
        call_id: str | None = None,
    ) -> tuple[Download, bool]:
        """Queue a request that was made in this call; return it, and whether it is new."""
        if url is not None:
            self._require_fetchable(url)
        request = DownloadRequest(
            provider=self._provider_name(provider, url),
            artist=None if artist is None else require_words(artist, field="artist"),
            album=None if album is None else require_words(album, field="album"),
            url=url,
        )
        self._providers[request.provider].require_request(request)
        if self._settings.offline:
            raise UnavailableError("nothing is downloaded: 'offline' is set (RAG_STRICT_OFFLINE)")
        queued = self.queue.request(user, request, priority=priority, call_id=call_id)
        self._tell()
        return queued

    def retry(self, download_id: int, *, user: str | None) -> Download:
        """Try a download again; with `user`, only one of theirs."""
        download = self.queue.retry(download_id, user=user)
        self._tell()
        return download

    def cancel(self, download_id: int, *, user: str | None) -> Download:
        """Take a download out of the queue; with `user`, only one of theirs."""
        download = self.queue.cancel(download_id, user=user)
        self._tell()
        return download

    def start(self) -> None:
        """Start the workers; where nothing may be fetched, none."""
        if self._settings.offline or self._threads:
            return
        self._is_stopping.clear()
        for number in range(self._settings.workers):
            thread = threading.Thread(target=self._work, name=f"downloads {number + 1}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def stop(self) -> None:
        """Stop the workers; what they were at, done or not, is gone on with by whoever claims it next."""
        self._is_stopping.set()
        self._tell()
        ends_at = time.monotonic() + STOP_S
        for thread in self._threads:
            thread.join(max(0.0, ends_at - time.monotonic()))
        self._threads.clear()

    def _require_fetchable(self, url: str) -> None:
        """Refuse an address, by what it resolves to now, before anything else is said of the request."""
        guard = self._outside.guard(self._settings.url_rules)
        if self._settings.offline:
            guard.require_well_formed(url)  # asks no name server
            return
        try:
            guard.require(url)
        except UnavailableError as error:
            raise InvalidUrlError(f"{error.message}; is it written right?") from error

    def _provider_name(self, provider: str | None, url: str | None) -> str:
        name = provider or (BY_URL if url is not None else None)
        known = self.provider_names
        if name is None and len(known) == 1:
            return known[0]
        if name is None:
            told = f"one of {', '.join(known)}" if known else "none is configured"
            raise InputError(f"'provider' is missing ({told}); or give a 'url'")
        if name not in self._providers:
            there = ", ".join(known) or "none"
            raise NotFoundError(f"no provider '{name[:80]}'{did_you_mean(name, known)}; there are {there}")
        return name

    def _tell(self) -> None:
        with self._has_news:
            self._has_news.notify_all()

    def _work(self) -> None:
        """Work on downloads until the downloads stops; what cannot be read now is looked for again later."""
        swept_at = float("-inf")
        while not self._is_stopping.is_set():
            try:
                if self.worker.work_once(is_stopping=self._is_stopping.is_set):
                    continue
                swept_at = self._swept(swept_at)
            except StorageError as error:
                LOG.warning("downloads: %s", error.message)
            except Exception:
                LOG.exception("downloads: a bug")
            with self._has_news:
                if not self._is_stopping.is_set():
                    self._has_news.wait(self._settings.poll_s)

    def _swept(self, swept_at: float) -> float:
        """Sweep where it is time to; return when it last was."""
        now = self._outside.clock.monotonic()
        if now - swept_at < SWEEP_S:
            return swept_at
        self.worker.sweep()
        return now
