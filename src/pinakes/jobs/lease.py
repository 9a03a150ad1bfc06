"""Who runs jobs: one process at a time, by a row of the control database that its holder renews.

Clocks may differ between machines, so nobody takes over by comparing the time of day with somebody else's: a holder is
held to be dead when its row has not moved for the length of a lease as the watcher's own stopwatch has it, or when it
is certain that its process is gone. Only a lease that ended long ago, longer than clocks differ, is taken at once, and
not from a process that is seen to run: then it was the clock that was set, or the machine that slept. The holder counts
from before its last renewal, so it stops before anybody takes over.

Commit point of taking over: the update that still finds the row as it was seen.
"""

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import select, update

from pinakes.control.database.engine import ControlDatabase
from pinakes.control.database.tables import job_lease
from pinakes.control.database.time_columns import utc_now
from pinakes.jobs.process import (
    identity_of_this_process,
    is_certainly_gone,
    is_certainly_running,
    place_of_this_process,
)

CLOCKS_DIFFER = timedelta(seconds=60)
"""How much the clocks of two machines may differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseTimes:
    """How long a lease lasts, how often it is renewed, and how long before its end its holder stops."""

    length_s: float = 20.0
    renewed_every_s: float = 4.0
    margin_s: float = 4.0


USUAL_TIMES = LeaseTimes()
NOBODY = {"holder": None, "place": None, "process": None, "expires_at": None}
"""What the row has where nobody holds the lease."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Who holds the lease."""

    id: str
    place: str
    """Where its process is, for people."""
    expires_at: datetime
    """By the clock of its machine."""
    beat: int
    is_gone: bool
    """Whether its process certainly runs no more."""
    is_running: bool
    """Whether its process is on this machine and has not ended."""


class Lease:
    """The lease as one would-be holder sees it. Used by one thread."""

    def __init__(
        self,
        database: ControlDatabase,
        *,
        times: LeaseTimes = USUAL_TIMES,
        now: Callable[[], datetime] = utc_now,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.id = secrets.token_hex(8)
        self._database = database
        self._times = times
        self._now = now
        self._monotonic = monotonic
        self._renewed_at: float | None = None
        """When it was last renewed; None: it is not ours."""
        self._seen_beat = -1
        self._seen_at = 0.0

    @property
    def is_held(self) -> bool:
        """Whether it is ours for certain."""
        if self._renewed_at is None:
            return False
        return self._monotonic() < self._renewed_at + self._times.length_s - self._times.margin_s

    @property
    def is_due(self) -> bool:
        """Whether it is time to renew it."""
        return self._renewed_at is None or self._monotonic() >= self._renewed_at + self._times.renewed_every_s

    def find_holder(self) -> Holder | None:
        """Return who holds it, None where nobody does."""
        return self._look()[1]

    def take(self) -> bool:
        """Take it where nobody holds it, or its holder is dead; tell whether it is ours."""
        beat, holder = self._look()
        if holder is not None and not self._may_take_from(holder):
            return False
        started = self._monotonic()
        return self._hold(started, job_lease.c.beat == beat)

    def renew(self) -> bool:
        """Keep it; tell whether it was still ours."""
        return self._hold(self._monotonic(), job_lease.c.holder == self.id)

    def release(self) -> None:
        """Give it back, where it is ours."""
        self._renewed_at = None
        with self._database.begin() as connection:
            connection.execute(
                update(job_lease).where(job_lease.c.holder == self.id).values(beat=job_lease.c.beat + 1, **NOBODY)
            )

    def _look(self) -> tuple[int, Holder | None]:
        """Return how often the row has moved, and who holds the lease."""
        with self._database.read() as connection:
            row = connection.execute(select(job_lease)).one()
        if row.holder is None:
            return row.beat, None
        return row.beat, Holder(
            id=row.holder,
            place=row.place,
            expires_at=row.expires_at,
            beat=row.beat,
            is_gone=is_certainly_gone(row.process),
            is_running=is_certainly_running(row.process),
        )

    def _may_take_from(self, holder: Holder) -> bool:
        is_long_over = holder.expires_at < self._now() - CLOCKS_DIFFER
        if holder.id == self.id or holder.is_gone or (is_long_over and not holder.is_running):
            return True
        if holder.beat != self._seen_beat:
            self._seen_beat, self._seen_at = holder.beat, self._monotonic()
        return self._monotonic() >= self._seen_at + self._times.length_s

    def _hold(self, started: float, condition: Any) -> bool:
        values = {
            "holder": self.id,
            "place": place_of_this_process(),
            "process": identity_of_this_process(),
            "expires_at": self._now() + timedelta(seconds=self._times.length_s),
        }
        with self._database.begin() as connection:
            held = connection.execute(
                update(job_lease).where(job_lease.c.id == 1, condition).values(beat=job_lease.c.beat + 1, **values)
            )
            is_ours = held.rowcount == 1
        self._renewed_at = started if is_ours else None
        return is_ours
