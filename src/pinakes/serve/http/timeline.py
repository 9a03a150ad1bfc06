"""Calls over time, kept in memory for the page's charts: how many, how many failed, and how long they took."""

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from pinakes.model.audit import AuditEntry, Outcome

SPANS: Mapping[str, tuple[int, int]] = {"hour": (10, 360), "day": (300, 288)}
"""Name of a span → seconds a slot, and how many slots are kept."""
SHORTEST_MS = 0.1
GROWTH = 1.2
"""A bucket of durations ends so many times later than the one before: percentiles are within a tenth of the truth."""
BUCKETS = 72
MOST_NOTED = 4096
"""So many calls are noted before they are counted."""
GOOD = frozenset({Outcome.OK})


@dataclass(slots=True)
class CallCounts:
    """Counts of calls, and of their durations by bucket."""

    calls: int = 0
    errors: int = 0
    durations: list[int] = field(default_factory=lambda: [0] * BUCKETS)

    def add(self, bucket: int, *, is_error: bool) -> None:
        """Count a call."""
        self.calls += 1
        self.errors += is_error
        self.durations[bucket] += 1

    def percentile_ms(self, share: float) -> float | None:
        """Return the duration within which this share of the calls ended; None where there were none."""
        wanted, seen = self.calls * share, 0
        for bucket, count in enumerate(self.durations):
            seen += count
            if count and seen >= wanted:
                return round(SHORTEST_MS * math.pow(GROWTH, bucket + 0.5), 2)
        return None

    def include(self, other: "CallCounts") -> None:
        """Count the calls of another, too."""
        self.calls += other.calls
        self.errors += other.errors
        self.durations = [one + more for one, more in zip(self.durations, other.durations, strict=True)]

    def copied(self) -> "CallCounts":
        """Return the counts as they are now."""
        return CallCounts(self.calls, self.errors, list(self.durations))


@dataclass(frozen=True, slots=True)
class Slot:
    """The calls that ended within one step of time."""

    at: int
    """Its beginning, in seconds since 1970."""
    counts: CallCounts = field(default_factory=CallCounts)


class _NotedCall(NamedTuple):
    """A call that is not counted yet."""

    at: float
    tool: str
    duration_ms: float
    is_error: bool


class CallTimeline:
    """Counts calls by slots of time, and by tool since the server started.

    A call is only noted when it ends, which costs next to nothing; notes are counted when somebody looks, or when there
    are many.
    """

    def __init__(self, *, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._noted: deque[_NotedCall] = deque()
        self._slots: dict[str, deque[Slot]] = {name: deque(maxlen=kept) for name, (_, kept) in SPANS.items()}
        self._by_tool: dict[str, CallCounts] = {}
        self._guard = threading.Lock()

    def add(self, entry: AuditEntry, tool: str) -> None:
        """Note a call; `tool` is one of a bounded number of names, empty where it is not about a tool."""
        self._noted.append(_NotedCall(self._now(), tool, entry.duration_ms, entry.outcome not in GOOD))
        if len(self._noted) >= MOST_NOTED:
            with self._guard:
                self._count()

    def now(self) -> int:
        """Return the time that slots are counted by, in seconds since 1970."""
        return int(self._now())

    def slots(self, span: str) -> list[Slot]:
        """Return the slots of a span that had calls, oldest first."""
        step_s, kept = SPANS[span]
        oldest = self._now() - step_s * kept
        with self._guard:
            self._count()
            return [Slot(slot.at, slot.counts.copied()) for slot in self._slots[span] if slot.at >= oldest]

    def by_tool(self) -> dict[str, CallCounts]:
        """Return the counts of each tool."""
        with self._guard:
            self._count()
            return {tool: counts.copied() for tool, counts in self._by_tool.items()}

    def _count(self) -> None:
        """Count the calls that are noted; the caller holds the guard."""
        for _ in range(len(self._noted)):
            call = self._noted.popleft()
            bucket = _bucket_of(call.duration_ms)
            for name, (step_s, _kept) in SPANS.items():
                slots, at = self._slots[name], int(call.at // step_s * step_s)
                if not slots or slots[-1].at < at:
                    slots.append(Slot(at))
                slots[-1].counts.add(bucket, is_error=call.is_error)
            if call.tool:
                self._by_tool.setdefault(call.tool, CallCounts()).add(bucket, is_error=call.is_error)


def _bucket_of(duration_ms: float) -> int:
    if duration_ms <= SHORTEST_MS:
        return 0
    return min(int(math.log(duration_ms / SHORTEST_MS, GROWTH)), BUCKETS - 1)
