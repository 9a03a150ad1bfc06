"""The record of a drill: for each step where it was seen, its figures, and what was wrong."""

import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

PLACES = ("health", "doctor", "metrics", "audit")


@dataclass
class Step:
    """One step: what each place told of it, its figures, and what was not as it must be."""

    name: str
    seen: dict[str, str] = field(default_factory=dict)
    figures: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    skipped: str = ""
    took_s: float = 0.0

    def see(self, place: str, told: str, *, ok: object) -> None:
        """Note what a place tells, and whether that is what it must tell."""
        assert place in PLACES
        self.say(f"{place}: {told}")
        if ok:
            self.seen[place] = told
        else:
            self.blame(f"{place} does not tell it: {told}")

    def require(self, ok: object, told: str) -> None:
        """Note a fact, which must be so."""
        self.say(told)
        if not ok:
            self.blame(told)

    def count(self, figure: str) -> None:
        """Note a figure for the table."""
        self.say(figure)
        self.figures.append(figure)

    def blame(self, told: str) -> None:
        """Note what is wrong."""
        self.wrong.append(told)
        self.say(f"WRONG {told}")

    def say(self, line: str) -> None:
        """Print a line."""
        print(f"    {line[:300]}", flush=True)


@dataclass
class Drill:
    """The steps that were taken."""

    steps: list[Step] = field(default_factory=list)

    def run(self, name: str, take: Callable[[Step], None]) -> None:
        """Take a step; one that breaks is noted, and the next is taken."""
        step, began = Step(name), time.monotonic()
        self.steps.append(step)
        print(f"{name}", flush=True)
        try:
            take(step)
        except Exception as error:
            step.blame(f"{error!r} at {traceback.extract_tb(error.__traceback__)[-1]}")
        step.took_s = time.monotonic() - began

    def problems(self) -> list[str]:
        """Return everything that was not as it must be."""
        return [f"{step.name}: {told}" for step in self.steps for told in step.wrong]

    def report(self, *, minutes: float) -> str:
        """Return the table, as Markdown."""
        return "\n".join(self._lines(minutes)) + "\n"

    def _lines(self, minutes: float) -> Iterator[str]:
        yield (
            f"{minutes:.0f} minutes, {len(self.steps)} steps; not as it must be:"
            f" {len(self.problems()) or 'nothing'}."
        )
        yield ""
        yield f"| step | {' | '.join(PLACES)} | figures | took |"
        yield "|---|" + "---|" * (len(PLACES) + 2)
        for step in self.steps:
            seen = " | ".join(step.seen.get(place, "–") for place in PLACES)
            figures = f"not taken: {step.skipped}" if step.skipped else "; ".join(step.figures)
            yield f"| {step.name} | {seen} | {figures} | {step.took_s:.0f} s |"
        yield from (f"- {problem}" for problem in self.problems())
