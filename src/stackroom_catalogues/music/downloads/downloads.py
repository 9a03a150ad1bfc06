"""Requests for downloads, and the background task that works on them."""

from collections.abc import Callable
from datetime import datetime

from stackroom.api import (
    InputError,
    InvalidUrlError,
    NotFoundError,
    UnavailableError,
    did_you_mean,
)
from stackroom.api.server import ControlDatabase, FileLease, Task, TaskContext, utc_now
from stackroom_catalogues.music.downloads.manifest import DownloadRequest, require_words
from stackroom_catalogues.music.downloads.providers import BY_URL, Outside, build_providers
from stackroom_catalogues.music.downloads.queue import Download, DownloadQueue
from stackroom_catalogues.music.downloads.worker import DownloadHooks, DownloadSettings, DownloadWorker

TASK = "downloads"
SWEEP_S = 60.0


class Downloads:
    """Queues requests, and works on them in a background task. Safe to use from several threads."""

    def __init__(
        self,
        settings: DownloadSettings,
        database: ControlDatabase,
        hooks: DownloadHooks,
        *,
        outside: Outside | None = None,
        now: Callable[[], datetime] = utc_now,
        wake: Callable[[str], None] = lambda _task: None,
    ) -> None:
        """`wake` has the task run now."""
        self._settings = settings
        self._outside = outside or Outside(limits=settings.limits)
        self._providers = build_providers(settings.providers, url_rules=settings.url_rules, outside=self._outside)
        self._wake = wake
        self._swept_at = float("-inf")
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
    def tasks(self) -> list[Task]:
        """The task that works on downloads, in one process at a time; none on an offline server."""
        task = Task(
            name=TASK,
            description="Fetches requested albums into the music folder.",
            run=self._work,
            period_s=self._settings.poll_s,
            lease=FileLease(self.worker.staging.lock_file),
        )
        return [] if self._settings.offline else [task]

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

    def _work(self, context: TaskContext) -> None:
        """Work on what is due, one download after the other, and remove leftovers now and then."""
        while self.worker.work_once(is_stopping=lambda: context.is_stopping):
            context.check_stopped()
        now = self._outside.clock.monotonic()
        if now - self._swept_at >= SWEEP_S:
            self.worker.sweep()
            self._swept_at = now
