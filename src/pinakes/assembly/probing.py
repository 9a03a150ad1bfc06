"""Probing catalogues: one record of each is read now and then, so that a failure is noticed before a call meets it.

Probes run in a thread that ends with them: a new thread has connections of its own, which do not answer from what was
read before the files were damaged. There is one such thread at a time, so a disk that hangs blocks no more than it.
"""

import logging
import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from pinakes.errors import ExpectedError
from pinakes.shelf.conditions import CatalogueConditions
from pinakes.shelf.watched import WatchedShelf

logger = logging.getLogger(__name__)

LOOKS_A_ROUND = 10
"""Each catalogue is probed once in so many looks, where they are not very many."""
MOST_A_LOOK = 5
FRESH_S = 15.0
"""A round of probes that is so old is no longer taken for the present state."""
CLOSE_S = 2.0
STUCK_S = 10.0
"""A probe that takes so long is reported: its disk does not answer."""


class Prober:
    """Probes the catalogues that are served, some at each look."""

    def __init__(
        self,
        shelves: Callable[[], Mapping[str, WatchedShelf]],
        conditions: CatalogueConditions,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._shelves = shelves
        self._conditions = conditions
        self._monotonic = monotonic
        self._waiting: list[str] = []
        self._thread: threading.Thread | None = None
        self._now_probed: tuple[str, float] | None = None
        self._looked_at: float | None = None
        self._is_suspecting = False

    def suspect(self) -> None:
        """Probe every catalogue at the next look: storage failed in a call."""
        self._is_suspecting = True

    def look(self) -> None:
        """Begin to probe failing catalogues whose pause is over, and the next of the others; do not wait."""
        self._looked_at = self._monotonic()
        if self._is_running():
            return
        shelves = self._shelves()
        self._waiting = [name for name in self._waiting if name in shelves] or list(shelves)
        usual = min(math.ceil(len(shelves) / LOOKS_A_ROUND), MOST_A_LOOK)
        count = len(shelves) if self._is_suspecting else usual
        some, self._waiting = self._waiting[:count], self._waiting[count:]
        due = [name for name in self._conditions.list_due() if name in shelves]
        self._is_suspecting = False
        self._begin(shelves, list(dict.fromkeys([*due, *some])))

    def look_at_all(self, *, wait_s: float) -> None:
        """Probe every catalogue and wait for it, unless looks have done so and no call failed since."""
        is_fresh = self._looked_at is not None and self._monotonic() - self._looked_at < FRESH_S
        if is_fresh and not self._is_suspecting:
            return
        self._join(wait_s)
        if not self._is_running():
            self._is_suspecting = False
            shelves = self._shelves()
            self._begin(shelves, list(shelves))
            self._join(wait_s)

    def close(self) -> None:
        """Wait for the probe that runs, so that no connection is in use."""
        self._join(CLOSE_S)

    def find_stuck(self) -> tuple[str, float] | None:
        """Return the catalogue whose probe does not end, and for how many seconds it has run."""
        now_probed = self._now_probed
        if now_probed is None or not self._is_running():
            return None
        name, since = now_probed
        return (name, self._monotonic() - since) if self._monotonic() - since >= STUCK_S else None

    def _is_running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _join(self, wait_s: float) -> None:
        if self._thread is not None:
            self._thread.join(wait_s)

    def _begin(self, shelves: Mapping[str, WatchedShelf], names: Sequence[str]) -> None:
        if names:
            self._thread = threading.Thread(target=self._probe, args=(shelves, names), name="probe", daemon=True)
            self._thread.start()

    def _probe(self, shelves: Mapping[str, WatchedShelf], names: Sequence[str]) -> None:
        for name in names:
            self._now_probed = name, self._monotonic()
            try:
                with suppress(ExpectedError):  # noted where it fails
                    shelves[name].probe()
            except Exception:
                logger.exception("catalogue '%s' could not be probed", name)
        self._now_probed = None
