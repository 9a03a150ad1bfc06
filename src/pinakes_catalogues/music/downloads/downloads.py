"""Requests for downloads, and the worker threads behind them."""

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
"""How long `stop` waits for workers to reach a point from which the next one can continue."""
SWEEP_S = 60.0


class Downloads:
    """Queues requests, and works on them between `start` and `stop`. Safe to use from several threads."""

    def __init__(
        self,
        settings: DownloadSettings,
        database: ControlDatabase,
        hooks: DownloadHooks,
        *,
        outside: Outside | None = None,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._settings = settings
        self._outside = outside or Outside(limits=settings.limits)
        self._providers = build_providers(settings.providers, url_rules=settings.url_rules, outside=self._outside)
        self._is_stopping = threading.Event()
        self._has_work = threading.Condition()
        self._threads: list[threading.Thread] = []
        self.queue = DownloadQueue(database, settings.queue, now=now)
        self.worker = DownloadWorker(self.queue, self._providers, settings, hooks, clock=self._outside.clock)

    @property
    def provider_names(self) -> list[str]:
        """The names of the configured providers."""
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
        """Queue a request; return its download and whether that is new."""
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
            raise UnavailableError("downloads are off: 'offline' is set (RAG_STRICT_OFFLINE)")
        queued = self.queue.request(user, request, priority=priority, call_id=call_id)
        self._wake_workers()
        return queued

    def retry(self, download_id: int, *, user: str | None) -> Download:
        """Retry a download; with `user`, only one of theirs."""
        download = self.queue.retry(download_id, user=user)
        self._wake_workers()
        return download

    def cancel(self, download_id: int, *, user: str | None) -> Download:
        """Cancel a download; with `user`, only one of theirs."""
        download = self.queue.cancel(download_id, user=user)
        self._wake_workers()
        return download

    def start(self) -> None:
        """Start the workers; none on an offline server."""
        if self._settings.offline or self._threads:
            return
        self._is_stopping.clear()
        for number in range(self._settings.workers):
            thread = threading.Thread(target=self._work, name=f"downloads {number + 1}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def stop(self) -> None:
        """Stop the workers; the next one to claim their downloads continues them."""
        self._is_stopping.set()
        self._wake_workers()
        ends_at = time.monotonic() + STOP_S
        for thread in self._threads:
            thread.join(max(0.0, ends_at - time.monotonic()))
        self._threads.clear()

    def _require_fetchable(self, url: str) -> None:
        """Refuse a URL by the address it resolves to now, before any other check of the request."""
        guard = self._outside.guard(self._settings.url_rules)
        if self._settings.offline:
            guard.require_well_formed(url)  # without a name server
            return
        try:
            guard.require(url)
        except UnavailableError as error:
            raise InvalidUrlError(f"{error.message}; check the spelling") from error

    def _provider_name(self, provider: str | None, url: str | None) -> str:
        name = provider or (BY_URL if url is not None else None)
        known = self.provider_names
        if name is None and len(known) == 1:
            return known[0]
        if name is None:
            choices = f"one of {', '.join(known)}" if known else "none is configured"
            raise InputError(f"'provider' is missing ({choices}); or give a 'url'")
        if name not in self._providers:
            listed = ", ".join(known) or "none"
            raise NotFoundError(f"no provider '{name[:80]}'{did_you_mean(name, known)}; providers: {listed}")
        return name

    def _wake_workers(self) -> None:
        with self._has_work:
            self._has_work.notify_all()

    def _work(self) -> None:
        """Work on downloads until `stop`; a failing database is tried again later."""
        swept_at = float("-inf")
        while not self._is_stopping.is_set():
            try:
                if self.worker.work_once(is_stopping=self._is_stopping.is_set):
                    continue
                swept_at = self._sweep_when_due(swept_at)
            except StorageError as error:
                LOG.warning("downloads: %s", error.message)
            except Exception:
                LOG.exception("downloads: unexpected error")
            with self._has_work:
                if not self._is_stopping.is_set():
                    self._has_work.wait(self._settings.poll_s)

    def _sweep_when_due(self, swept_at: float) -> float:
        """Remove leftovers every `SWEEP_S`; return when that was last done."""
        now = self._outside.clock.monotonic()
        if now - swept_at < SWEEP_S:
            return swept_at
        self.worker.sweep()
        return now
