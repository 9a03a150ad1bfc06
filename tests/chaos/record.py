"""The record of a chaos run: counts of calls, answers that were wrong, and what each fault did to
the health.
"""

import threading
import time
from collections import Counter
from dataclasses import dataclass, field


@dataclass
class FaultEntry:
    """One fault: when it began, when health told of it, when all was well again."""

    name: str
    began_at: float
    told_after_s: float | None = None
    """Seconds until health, the job or the closed port told of it; None where it did not in
    time.
    """
    well_after_s: float | None = None
    """Seconds from the fault's end until every server was healthy again; None where it did not
    become so in time.
    """
    needs_telling: bool = True
    told_by: str = ""

    @property
    def problem(self) -> str | None:
        """Return why this fault was not handled as it should be; None where it was."""
        if self.needs_telling and self.told_after_s is None:
            return "health did not tell of it"
        return "the servers were not healthy again in time" if self.well_after_s is None else None


@dataclass
class Record:
    """Everything that is noted during a run, by any thread."""

    started_at: float = field(default_factory=time.monotonic)
    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(actor, outcome) → how many calls."""
    wrong: list[str] = field(default_factory=list)
    """What must not have happened, each with its moment."""
    before_check: Counter[str] = field(default_factory=Counter)
    """Wrong answers about a damaged catalogue before its check had run, by catalogue."""
    notes: Counter[str] = field(default_factory=Counter)
    """Notes of answers that were not compared."""
    slowest_s: dict[str, float] = field(default_factory=dict)
    faults: list[FaultEntry] = field(default_factory=list)
    most_memory_mb: dict[str, float] = field(default_factory=dict)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def count(self, actor: str, outcome: str, seconds: float = 0.0) -> None:
        """Note the outcome of a call."""
        with self._guard:
            self.outcomes[actor, outcome] += 1
            self.slowest_s[actor] = max(seconds, self.slowest_s.get(actor, 0.0))

    def blame(self, what: str) -> None:
        """Note something that must not have happened."""
        with self._guard:
            self.wrong.append(f"at {self.elapsed():.0f} s: {what}")

    def elapsed(self) -> float:
        """Return the seconds since the start."""
        return time.monotonic() - self.started_at

    def problems(self) -> list[str]:
        """Return everything that makes the run a failure."""
        return [*self.wrong, *(f"{one.name}: {one.problem}" for one in self.faults if one.problem)]
