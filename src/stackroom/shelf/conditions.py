"""Conditions of catalogues: the failing ones, with the time, the reason and the next attempt.

Failing calls, the opening of catalogues and background checks report here; `/health`, `doctor`,
`server.query` and the notes of answers read it. Reasons contain no path of the server, since
callers see them.

There are two kinds. A catalogue that *cannot be read* is skipped, and tried again after a pause
that grows with each failure, with some jitter; between two attempts its calls fail at once. A
catalogue in which a check found *damage* is served as far as possible, until the check finds it
whole.
"""

import logging
import random
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import NamedTuple

from stackroom.frozen import frozen

logger = logging.getLogger(__name__)

FIRST_PAUSE_S = 0.04
GROWTH = 4.0
"""The growth of a pause. The first two are short enough for the retries of the call that failed."""
LONGEST_PAUSE_S = 5.0
# a pause is up to this share longer, so that the catalogues of one disk are not all tried at once
JITTER = 0.25


class ConditionKind(StrEnum):
    """The kind of a condition."""

    UNREADABLE = "unreadable"
    DAMAGED = "damaged"


@frozen
class Condition:
    """The condition of a damaged or failing catalogue."""

    catalogue: str
    cause: ConditionKind
    reason: str
    since: datetime
    # in how many seconds a catalogue that cannot be read is tried again
    retry_in_s: float | None = None


class _Failing(NamedTuple):
    """A catalogue that cannot be read."""

    condition: Condition
    failures: int
    retry_at: float


class CatalogueConditions:
    """The conditions of the catalogues of one library. Thread-safe."""

    def __init__(
        self,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._monotonic = monotonic
        self._now = now
        self._jitter = jitter
        self.failing: dict[str, _Failing] = {}
        """The catalogues that could not be read when that was last tried."""
        self._damaged: dict[str, Condition] = {}
        self._guard = threading.Lock()

    def report(self, name: str, reason: str) -> None:
        """Note damage that a check found, until `clear`; the reason replaces an earlier one."""
        with self._guard:
            known = self._damaged.get(name)
            since = known.since if known else self._now()
            self._damaged[name] = Condition(
                catalogue=name, cause=ConditionKind.DAMAGED, reason=reason, since=since
            )
        if known is None or known.reason != reason:
            logger.warning("catalogue '%s' is damaged: %s", name, reason)

    def clear(self, name: str) -> None:
        """Note that a check found a catalogue whole."""
        with self._guard:
            known = self._damaged.pop(name, None)
        if known is not None:
            logger.info("catalogue '%s' is whole again", name)

    def note_failure(self, name: str, reason: str, *, is_gone: bool = False) -> float:
        """Note that a catalogue cannot be read, and return the seconds until the next attempt."""
        with self._guard:
            known = self.failing.get(name)
            # to look whether it is back costs little
            failures = known.failures + 1 if known and not is_gone else 1
            pause_s = min(FIRST_PAUSE_S * GROWTH ** min(failures - 1, 10), LONGEST_PAUSE_S)
            pause_s *= 1 + JITTER * self._jitter()
            since = known.condition.since if known else self._now()
            condition = Condition(
                catalogue=name, cause=ConditionKind.UNREADABLE, reason=reason, since=since
            )
            self.failing[name] = _Failing(condition, failures, self._monotonic() + pause_s)
        if known is None or known.condition.reason != reason:
            logger.warning("catalogue '%s' cannot be read and is skipped: %s", name, reason)
        return pause_s

    def note_success(self, name: str) -> None:
        """Note that a catalogue can be read."""
        with self._guard:
            known = self.failing.pop(name, None)
        if known is not None:
            logger.info("catalogue '%s' can be read again, after %d failures", name, known.failures)

    def forget(self, name: str) -> None:
        """Forget a catalogue that was removed, or is opened again."""
        with self._guard:
            self.failing.pop(name, None)
            self._damaged.pop(name, None)

    def begin_try(self, name: str) -> Condition | None:
        """Return None if a catalogue may be read now, else its condition.

        After the pause of a failing catalogue one caller may try; the others wait for the result.
        """
        with self._guard:
            if (known := self.failing.get(name)) is None:
                return None
            if self._monotonic() >= known.retry_at:
                self.failing[name] = known._replace(retry_at=self._monotonic() + LONGEST_PAUSE_S)
                return None
            return self._shown(known)

    def list_due(self) -> list[str]:
        """Return the failing catalogues whose pause is over."""
        with self._guard:
            now = self._monotonic()
            return [name for name, known in self.failing.items() if now >= known.retry_at]

    def list_conditions(self) -> list[Condition]:
        """Return every condition, those that cannot be read first, sorted by name."""
        with self._guard:
            failing = [self._shown(known) for _name, known in sorted(self.failing.items())]
            return failing + [known for _name, known in sorted(self._damaged.items())]

    def _shown(self, known: _Failing) -> Condition:
        return replace(known.condition, retry_in_s=max(0.0, known.retry_at - self._monotonic()))
