"""The durable queue of downloads in the control database: requests, their order, and their outcome.

    request ──► queued ──► running ──► done
                  ▲ ▲         │ ├────► failed ──► (retry) queued
                  │ └ put off ┘ └────► cancelled
                  └── the worker died

Any process may request, retry and cancel. One worker at a time takes downloads, one after the
other: so a download that runs when the next one is taken was left by a worker that died. Each step
of the worker is one transaction that applies only while the download runs, so that a cancelled one
is not changed. Commit point of a download: the end of `finish`'s transaction.
"""

import hashlib
import json
import secrets
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, ClassVar

from sqlalchemy import (
    ColumnElement,
    Connection,
    case,
    func,
    insert,
    null,
    select,
    text,
    true,
    update,
)

from stackroom.api import (
    ConflictError,
    ExpectedError,
    GenericResult,
    NotFoundError,
)
from stackroom.api.server import ControlDatabase, RateLimitedError, shortened, utc_now
from stackroom_catalogues.music.downloads.manifest import DownloadRequest
from stackroom_catalogues.music.tables import downloads

DAY = timedelta(days=1)
# key of the PostgreSQL advisory lock under which requests are counted
REQUEST_LOCK = 0x50494E414B444C


class DownloadState(StrEnum):
    """The state of a download."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


OPEN_STATES = (DownloadState.QUEUED, DownloadState.RUNNING)


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
    folder: str | None  # the album's, below the music folder; None until its files are known
    attempts: int  # since it was last requested or retried, including the successful one
    next_attempt_at: datetime | None
    received_bytes: int
    total_bytes: int | None
    error_code: str | None
    error: str | None  # why it failed; of a finished one, a note about files that were left out
    created_at: datetime
    updated_at: datetime


class Download(DownloadShown):
    """A requested download and its progress, with what answers do not have."""

    key: str
    """The name of its staging folder."""
    is_installing: bool
    """Whether its files are being installed; then it cannot be cancelled."""
    call_id: str | None
    """The id of the call that requested it, if known."""

    @property
    def request(self) -> DownloadRequest:
        """The request that it was made for."""
        return DownloadRequest(
            provider=self.provider, artist=self.artist, album=self.album, url=self.url
        )


class QueueStats(GenericResult):
    """Totals of the queue, and the configured providers."""

    by_state: dict[DownloadState, int]
    received_bytes: int
    """Bytes received of all downloads in the queue."""
    users: int
    oldest_queued_at: datetime | None
    providers: list[str]


class DownloadCancelledError(Exception):
    """The download does not run any more: it was cancelled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRules:
    """Limits for each user, and how often a download is attempted."""

    max_open_per_user: int = 20
    max_per_day: int = 100  # new requests of a user in any 24 hours
    # attempts that fail, or whose worker dies, after which a download is given up
    attempts: int = 5


class DownloadQueue:
    """All downloads of one control database. Safe to use from several threads and processes."""

    def __init__(
        self, database: ControlDatabase, rules: QueueRules, *, now: Callable[[], datetime] = utc_now
    ) -> None:
        database.create_missing(downloads.metadata)
        self.rules = rules
        self._database = database
        self._now = now

    def request(
        self, user: str, request: DownloadRequest, *, call_id: str | None = None
    ) -> tuple[Download, bool]:
        """Queue a request; return its download and whether that is new: an open request is not
        queued twice.
        """
        now = self._now()
        open_key = _open_key(user, request)
        with self._database.begin() as connection:
            self._lock_requests(connection)
            row = connection.execute(
                select(downloads).where(downloads.c.open_key == open_key)
            ).one_or_none()
            if row is not None:
                return _download(row), False
            self._require_room(connection, user)
            self._require_day(connection, user, now)
            values = {
                "key": secrets.token_hex(16),
                "open_key": open_key,
                "user_name": user,
                **asdict(request),
                "state": DownloadState.QUEUED,
                "next_attempt_at": now,
                "created_at": now,
                "updated_at": now,
                "call_id": call_id,
            }
            download_id = connection.execute(
                insert(downloads).values(values).returning(downloads.c.id)
            ).scalar_one()
            return _get(connection, download_id), True

    def retry(self, download_id: int, *, user: str | None) -> Download:
        """Queue a failed or cancelled download again, or let a waiting one try now; with `user`,
        only one of theirs.
        """
        now = self._now()
        with self._database.begin() as connection:
            self._lock_requests(connection)
            download = _get(connection, download_id, user=user, lock=True)
            if download.state in (DownloadState.RUNNING, DownloadState.DONE):
                raise ConflictError(
                    f"download {download_id} is {download.state}; only a failed, cancelled or"
                    " queued one can be retried"
                )
            if download.state is not DownloadState.QUEUED:
                self._reopen(connection, download)
            changes = {"attempts": 0, "next_attempt_at": now, "error_code": None, "error": None}
            _change(connection, download_id, state=DownloadState.QUEUED, updated_at=now, **changes)
            return _get(connection, download_id)

    def cancel(self, download_id: int, *, user: str | None) -> Download:
        """Cancel a download; its worker stops at its next check. With `user`, only one of
        theirs.
        """
        with self._database.begin() as connection:
            download = _get(connection, download_id, user=user, lock=True)
            if download.state in (DownloadState.DONE, DownloadState.CANCELLED):
                raise ConflictError(
                    f"download {download_id} is {download.state} and cannot be cancelled; an open"
                    " or failed one can"
                )
            if download.is_installing and download.state in OPEN_STATES:
                raise ConflictError(
                    f"download {download_id} is being installed and cannot be cancelled; delete it"
                    " when it is done"
                )
            no_error = {"error_code": None, "error": None}
            _change(
                connection,
                download_id,
                updated_at=self._now(),
                **_closed(DownloadState.CANCELLED),
                **no_error,
            )
            return _get(connection, download_id)

    def get(self, download_id: int, *, user: str | None = None) -> Download:
        """Return a download; refuse an unknown id, and with `user`, another user's."""
        with self._database.read() as connection:
            return _get(connection, download_id, user=user)

    def list_downloads(
        self, state: DownloadState | None = None, *, limit: int = 20, offset: int = 0
    ) -> tuple[list[Download], int]:
        """Return a page and the total: open downloads in the order of their turn, closed ones
        newest first.
        """
        is_open = state is None or state in OPEN_STATES
        wanted = downloads.c.state.in_(OPEN_STATES if state is None else (state,))
        is_waiting = downloads.c.state == DownloadState.QUEUED
        order = (
            (is_waiting, downloads.c.id)
            if is_open
            else (downloads.c.updated_at.desc(), downloads.c.id.desc())
        )
        with self._database.read() as connection:
            rows = connection.execute(
                select(downloads).where(wanted).order_by(*order).limit(limit).offset(offset)
            )
            return [_download(row) for row in rows], _count(connection, wanted)

    def stats(self, providers: list[str]) -> QueueStats:
        """Count downloads by state, their bytes and users."""
        with self._database.read() as connection:
            counts = connection.execute(
                select(downloads.c.state, func.count()).group_by(downloads.c.state)
            ).all()
            received, users = connection.execute(
                select(
                    func.sum(downloads.c.received_bytes),
                    func.count(downloads.c.user_name.distinct()),
                )
            ).one()
            oldest = select(func.min(downloads.c.created_at)).where(
                downloads.c.state == DownloadState.QUEUED
            )
            return QueueStats(
                by_state={
                    **dict.fromkeys(DownloadState, 0),
                    **{DownloadState(state): n for state, n in counts},
                },
                received_bytes=int(received or 0),
                users=int(users),
                oldest_queued_at=connection.execute(oldest).scalar_one(),
                providers=providers,
            )

    def list_kept_keys(self) -> set[str]:
        """Return the keys of the downloads whose staging folders are kept: those that are open, or
        failed.
        """
        kept = downloads.c.state.in_((*OPEN_STATES, DownloadState.FAILED))
        with self._database.read() as connection:
            return set(connection.execute(select(downloads.c.key).where(kept)).scalars())

    def prune(self, before: datetime) -> int:
        """Delete downloads closed before a time; those of the last day stay, since requests are
        counted by them.
        """
        before = min(before, self._now() - DAY)
        is_closed = downloads.c.state.not_in(OPEN_STATES)
        is_old = (downloads.c.updated_at < before) & (downloads.c.created_at < before)
        with self._database.begin() as connection:
            return connection.execute(downloads.delete().where(is_closed, is_old)).rowcount

    def take_next(self) -> Download | None:
        """Take the next due download, after requeueing what a dead worker left; None where nothing
        is due.

        Only the one worker calls this, between two downloads.
        """
        now = self._now()
        is_work = _is_due(now) | (downloads.c.state == DownloadState.RUNNING)
        with self._database.read() as connection:  # without the write lock
            if connection.execute(select(true()).where(is_work).limit(1)).first() is None:
                return None
        with self._database.begin() as connection:
            self._requeue_lost(connection, now)
            due = select(downloads.c.id).where(_is_due(now)).order_by(downloads.c.id).limit(1)
            download_id = connection.execute(due.with_for_update()).scalar_one_or_none()
            if download_id is None:
                return None
            _change(connection, download_id, state=DownloadState.RUNNING, updated_at=now)
            return _get(connection, download_id)

    def begin_install(self, download: Download, *, total_bytes: int) -> None:
        """Record that installing begins: from here on the download cannot be cancelled."""
        self.note(download, is_installing=True, total_bytes=total_bytes, received_bytes=total_bytes)

    def finish(self, download: Download, *, note: str | None = None) -> Download:
        """Close a download whose album is installed, with an optional note for its user."""
        return self._close(
            download, DownloadState.DONE, error_code=None, error=note and shortened(note)
        )

    def fail(self, download: Download, error: ExpectedError) -> Download:
        """Close a download that failed for good."""
        return self._close(download, DownloadState.FAILED, **_error_values(error))

    def put_off(self, download: Download, error: ExpectedError, *, wait_s: float) -> Download:
        """Requeue a download for a later attempt, unless it has failed too often."""
        attempts = download.attempts + 1
        if attempts >= self.rules.attempts:
            return self.fail(download, error)
        later = self._now() + timedelta(seconds=wait_s)
        values = {"state": DownloadState.QUEUED, "attempts": attempts, "next_attempt_at": later}
        self.note(download, **values, **_error_values(error))
        return self.get(download.id)

    def release(self, download: Download) -> bool:
        """Requeue a download that the worker stops to work on; tell whether it was still
        running.
        """
        try:
            self.note(download, state=DownloadState.QUEUED)
        except DownloadCancelledError:
            return False
        return True

    def _close(self, download: Download, state: DownloadState, **values: Any) -> Download:
        self.note(download, **_closed(state), attempts=download.attempts + 1, **values)
        return self.get(download.id)

    def note(self, download: Download, **values: Any) -> None:
        """Record the progress of a download that runs; raise `DownloadCancelledError` where it does
        no more.
        """
        running = (downloads.c.id == download.id, downloads.c.state == DownloadState.RUNNING)
        changed = update(downloads).where(*running).values(updated_at=self._now(), **values)
        with self._database.begin() as connection:
            if connection.execute(changed).rowcount != 1:
                raise DownloadCancelledError

    def _requeue_lost(self, connection: Connection, now: datetime) -> None:
        """Requeue the downloads of dead workers; fail those that too many workers died with."""
        attempts = downloads.c.attempts + 1
        is_too_much = attempts >= self.rules.attempts
        changes = {
            "state": case((is_too_much, DownloadState.FAILED), else_=DownloadState.QUEUED),
            "open_key": case((is_too_much, null()), else_=downloads.c.open_key),
            "error_code": case((is_too_much, "internal"), else_=downloads.c.error_code),
            "error": case((is_too_much, "its worker died too often"), else_=downloads.c.error),
        }
        left = update(downloads).where(downloads.c.state == DownloadState.RUNNING)
        connection.execute(
            left.values(**changes, attempts=attempts, next_attempt_at=now, updated_at=now)
        )

    def _lock_requests(self, connection: Connection) -> None:
        """Serialise requests over all processes; on SQLite a write transaction does that."""
        if self._database.dialect == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": REQUEST_LOCK})

    def _reopen(self, connection: Connection, download: Download) -> None:
        """Make a closed download open again."""
        open_key = _open_key(download.user, download.request)
        other = select(downloads.c.id).where(downloads.c.open_key == open_key)
        found = connection.execute(other).scalar_one_or_none()
        if found is not None:
            raise ConflictError(
                f"the same request is queued already, as download {found}; wait for that one"
            )
        self._require_room(connection, download.user)
        _change(connection, download.id, open_key=open_key, is_installing=False)

    def _require_room(self, connection: Connection, user: str) -> None:
        limit = self.rules.max_open_per_user
        is_open = (downloads.c.user_name == user) & downloads.c.state.in_(OPEN_STATES)
        if _count(connection, is_open) >= limit:
            raise ConflictError(
                f"'{user}' has {limit} open downloads, which is the limit: wait until one is done,"
                " or cancel one"
            )

    def _require_day(self, connection: Connection, user: str, now: datetime) -> None:
        limit = self.rules.max_per_day
        is_recent = (downloads.c.user_name == user) & (downloads.c.created_at > now - DAY)
        latest = (
            select(downloads.c.created_at)
            .where(is_recent)
            .order_by(downloads.c.created_at.desc())
            .limit(limit)
        )
        recent = list(connection.execute(latest).scalars())
        if len(recent) >= limit:
            wait_s = max((min(recent, default=now) + DAY - now).total_seconds(), 1.0)
            raise RateLimitedError(
                f"'{user}' has requested {limit} downloads in 24 hours, which is the limit; try"
                " again later",
                retry_after_s=wait_s,
            )


def _is_due(now: datetime) -> ColumnElement[bool]:
    return (downloads.c.state == DownloadState.QUEUED) & (downloads.c.next_attempt_at <= now)


def _error_values(error: ExpectedError) -> dict[str, str]:
    return {"error_code": error.code, "error": shortened(error.message)}


def _closed(state: DownloadState) -> dict[str, Any]:
    return {"state": state, "open_key": None}


def _open_key(user: str, request: DownloadRequest) -> str:
    names = [name and name.casefold() for name in (request.artist, request.album)]
    return hashlib.sha256(
        json.dumps([user, request.provider, *names, request.url]).encode()
    ).hexdigest()


def _change(connection: Connection, download_id: int, **values: Any) -> None:
    connection.execute(update(downloads).where(downloads.c.id == download_id).values(**values))


def _count(connection: Connection, wanted: ColumnElement[bool]) -> int:
    return int(
        connection.execute(select(func.count()).select_from(downloads).where(wanted)).scalar_one()
    )


def _get(
    connection: Connection, download_id: int, *, user: str | None = None, lock: bool = False
) -> Download:
    """Return a download; with `user`, another user's is reported as unknown."""
    wanted = select(downloads).where(downloads.c.id == download_id)
    row = connection.execute(wanted.with_for_update() if lock else wanted).one_or_none()
    if row is None or user not in (None, row.user_name):
        raise NotFoundError(
            f"there is no download {download_id}; downloads.query lists those that you may see"
        )
    return _download(row)


def _download(row: Any) -> Download:
    values = {name: row._mapping[name] for name in Download.model_fields if name in downloads.c}
    return Download(**values, user=row.user_name)
