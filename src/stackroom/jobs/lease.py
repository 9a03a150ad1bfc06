"""The lease by which one process at a time runs jobs: a row of the control database that its holder
renews.

Clocks may differ between machines, so wall-clock times are not compared between processes: a holder
counts as dead when its row has not changed for the length of a lease by the watcher's own monotonic
clock, or when its process is certainly gone. The holder counts from before its last renewal, so it
stops before another takes over.

Commit point of taking over: the update whose condition is the row as it was seen.
"""

import secrets
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import select, update

from stackroom.background.processes import (
    identity_of_this_process,
    is_certainly_gone,
    place_of_this_process,
)
from stackroom.control.database.engine import ControlDatabase
from stackroom.control.database.tables import job_lease, utc_now
from stackroom.frozen import frozen


@frozen
class LeaseTimes:
    """Length of a lease, interval of renewal, and the margin before its end at which the holder
    stops.
    """

    length_s: float = 20.0
    renewed_every_s: float = 4.0
    margin_s: float = 4.0


USUAL_TIMES = LeaseTimes()
NOBODY = {"holder": None, "place": None, "process": None, "expires_at": None}
"""Values of the row while the lease is free."""


@frozen
class Holder:
    """The holder of the lease."""

    id: str
    place: str  # host and process, for messages
    expires_at: datetime  # by the clock of the holder's machine
    beat: int
    is_gone: bool  # whether its process has certainly ended


class Lease:
    """The lease from the view of one candidate. Not thread-safe."""

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
        """When it was last renewed; None: not held by this process."""
        self._seen_beat = -1
        self._seen_at = 0.0

    @property
    def is_held(self) -> bool:
        """Whether this process certainly holds it."""
        if self._renewed_at is None:
            return False
        return self._monotonic() < self._renewed_at + self._times.length_s - self._times.margin_s

    @property
    def is_due(self) -> bool:
        """Whether it is due for renewal."""
        return (
            self._renewed_at is None
            or self._monotonic() >= self._renewed_at + self._times.renewed_every_s
        )

    def find_holder(self) -> Holder | None:
        """Return the holder; None where it is free."""
        with self._database.read() as connection:
            row = connection.execute(select(job_lease)).one()
        if row.holder is None:
            return None
        return Holder(
            id=row.holder,
            place=row.place,
            expires_at=row.expires_at,
            beat=row.beat,
            is_gone=is_certainly_gone(row.process),
        )

    def take(self) -> bool:
        """Take it where it is free or its holder is dead; tell whether this process holds it
        now.
        """
        holder = self.find_holder()
        if holder is None:
            return self._hold(job_lease.c.holder.is_(None))
        if holder.id != self.id and not holder.is_gone:
            if holder.beat != self._seen_beat:
                self._seen_beat, self._seen_at = holder.beat, self._monotonic()
            if self._monotonic() < self._seen_at + self._times.length_s:
                return False
        return self._hold(job_lease.c.beat == holder.beat)

    def renew(self) -> bool:
        """Renew it; tell whether this process still held it."""
        return self._hold(job_lease.c.holder == self.id)

    def release(self) -> None:
        """Release it, if this process holds it."""
        self._renewed_at = None
        with self._database.begin() as connection:
            ours = update(job_lease).where(job_lease.c.holder == self.id)
            connection.execute(ours.values(beat=job_lease.c.beat + 1, **NOBODY))

    def _hold(self, condition: Any) -> bool:
        started = self._monotonic()
        ours = (
            update(job_lease)
            .where(job_lease.c.id == 1, condition)
            .values(
                holder=self.id,
                place=place_of_this_process(),
                process=identity_of_this_process(),
                beat=job_lease.c.beat + 1,
                expires_at=self._now() + timedelta(seconds=self._times.length_s),
            )
        )
        with self._database.begin() as connection:
            is_held = connection.execute(ours).rowcount == 1
        self._renewed_at = started if is_held else None
        return is_held
