"""Schedules of jobs: an interval, a cron expression in UTC, or manual."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cronsim import CronSim, CronSimError

from stackroom.errors import InputError

MANUAL = "manual"
"""The schedule of a job that only runs when it is triggered."""
LONGEST_STEPS = (59, 23, 31, 12, 7)
"""For each cron field: minute, hour, day of month, month, day of week."""
STEP = re.compile(r"/([0-9]+)")
LEAST = timedelta(minutes=1)
MOST = timedelta(days=366)
UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
INTERVAL = re.compile(r"([0-9]+)\s*([smhdw])")
MOST_COUNT = 10**8
"""More than a year, in every unit."""
MOST_CHARS = 100
FORMS = (
    "write an interval such as 30m, 6h or 1d (units s, m, h, d, w), five fields of cron in UTC such as "
    f"'0 3 * * *' (minute, hour, day of month, month, day of week), or {MANUAL}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """A schedule with either `interval` or `cron`; with neither the job is manual."""

    text: str
    """The schedule in its normal form."""
    interval: timedelta | None = None
    cron: str | None = None

    def next_after(self, moment: datetime) -> datetime | None:
        """Return the first due time after a time; None for a manual schedule."""
        if self.interval is not None:
            return moment + self.interval
        if self.cron is not None:
            return next(CronSim(self.cron, moment.astimezone(UTC)), None)
        return None


def parse_schedule(text: str) -> Schedule:
    """Parse a schedule; refuse others with the valid forms."""
    written = " ".join(text[: MOST_CHARS + 1].split())
    if len(text) > MOST_CHARS or not written:
        raise InputError(f"'schedule' is {'empty' if not written else 'too long'}; {FORMS}")
    if written.lower() == MANUAL:
        return Schedule(text=MANUAL)
    found = INTERVAL.fullmatch(written.lower())
    if found is not None:
        return _every(written, int(found[1]), UNITS[found[2]])
    if written.isascii() and len(written.split(" ")) == len(LONGEST_STEPS):
        return _at(written)
    raise InputError(f"'schedule': {written[:60]!r} is not understood; {FORMS}")


def _every(written: str, count: int, unit: str) -> Schedule:
    interval = timedelta(**{unit: min(count, MOST_COUNT)})
    if not LEAST <= interval <= MOST:
        raise InputError(f"'schedule': {written!r} is not between a minute and a year")
    return Schedule(text=written.replace(" ", "").lower(), interval=interval)


def _at(written: str) -> Schedule:
    for field, longest in zip(written.split(" "), LONGEST_STEPS, strict=True):
        step = max(map(int, STEP.findall(field)), default=0)
        if step > longest:
            raise InputError(
                f"'schedule': {written!r}: a step of {step} is longer than its field; {longest} is the longest"
            )
    try:
        first = next(CronSim(written, datetime(2024, 1, 1, tzinfo=UTC)), None)
    except CronSimError as error:
        reason = str(error)
        raise InputError(f"'schedule': {written!r}: {reason[:1].lower()}{reason[1:]}; {FORMS}") from error
    if first is None:
        raise InputError(f"'schedule': {written!r} names no day that ever comes")
    return Schedule(text=written, cron=written)
