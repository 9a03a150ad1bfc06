"""Progress and outcome of a build, for people: a bar on a terminal, lines at intervals in a log or a pipe."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, Task, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.text import Text

from stackroom.cli.safe_streams import terminal_stream
from stackroom.ingest.pipeline import IngestReport
from stackroom.ingest.pipeline import Progress as Report
from stackroom.text.safe import safe_line

LINE_S = 5.0
"""The time between two lines of progress, where there is no terminal."""
ROWS, TEXTS = "rows read", "texts embedded"


def summary(report: IngestReport) -> str:
    """Return the counts of an ingest in one sentence."""
    parts = [f"{report.rows} rows: {report.written} written", f"{report.unchanged} unchanged"]
    parts += [f"{report.duplicates} duplicates", f"{report.rejected} rejected"]
    parts += [f"{report.metadata} metadata"] if report.metadata else []
    parts += [f"{report.removed} removed"] if report.removed else []
    parts += [f"{report.dangling} ids that name no record"] if report.dangling else []
    parts += [f"{report.edited} left as edited by hand"] if report.edited else []
    if report.unplaced:
        parts.append(f"{report.unplaced} of unknown origin kept (the ledger was lost, so removed rows are not known)")
    return f"{', '.join(parts)}; {report.embedded} texts embedded"


class PhaseProgress(NamedTuple):
    """How far one phase of a build is: rows that are read, or texts that are embedded."""

    unit: str
    done: int
    total: int | None

    @classmethod
    def of(cls, report: IngestReport, *, rows: int | None) -> "PhaseProgress":
        """Return the phase that a report is of; `rows` is how many rows there are, if that is known."""
        if report.to_embed:
            return cls(TEXTS, report.embedded, report.to_embed)
        return cls(ROWS, report.rows, rows)

    def describe(self, elapsed_s: float) -> str:
        """Return the progress in words, with the rate and the time that is left."""
        counted = f"{self.done:,} {self.unit}" if self.total is None else f"{self.done:,} of {self.total:,} {self.unit}"
        rate = self.done / elapsed_s if elapsed_s > 0 else 0.0
        if not rate:
            return counted
        left = f", about {_duration((self.total - self.done) / rate)} left" if self.total else ""
        return f"{counted}, {rate:,.0f}/s{left}" if rate >= 1 else f"{counted}, {rate:.2f}/s{left}"


def _duration(seconds: float) -> str:
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(seconds, 1):.0f} s"


class _Display(Protocol):
    """A way to show progress."""

    def show(self, phase: PhaseProgress) -> None:
        """Show how far a phase is."""

    def say(self, line: str) -> None:
        """Show a line that stays."""


@dataclass(slots=True, kw_only=True)
class ProgressLines:
    """Implements `_Display` by lines at intervals."""

    label: str
    say_line: Callable[[str], None]
    monotonic: Callable[[], float] = time.monotonic
    _unit: str = ""
    _began_at: float = 0.0
    _said_at: float = 0.0

    def show(self, phase: PhaseProgress) -> None:
        """Say how far a phase is, unless that was said a moment ago."""
        now = self.monotonic()
        if phase.unit != self._unit:
            self._unit, self._began_at, self._said_at = phase.unit, now, now
        if now - self._said_at >= LINE_S:
            self._said_at = now
            self.say(f"{self.label}: {phase.describe(now - self._began_at)}")

    def say(self, line: str) -> None:
        """Say a line."""
        self.say_line(line)


class _RateColumn(ProgressColumn):
    """How many rows or texts a second."""

    def render(self, task: Task) -> Text:
        """Return the rate, once it is known."""
        return Text(f"{task.speed:,.0f}/s" if task.speed else "")


@dataclass(slots=True, kw_only=True)
class _ProgressBar:
    """Implements `_Display` by a bar for each phase."""

    label: str
    bar: Bar
    tasks: dict[str, TaskID] = field(default_factory=dict)

    def show(self, phase: PhaseProgress) -> None:
        """Move the bar of a phase; that of the phase before is hidden."""
        if phase.unit not in self.tasks:
            for task in self.tasks.values():
                self.bar.update(task, visible=False)
            self.tasks[phase.unit] = self.bar.add_task(f"{self.label}: {phase.unit}", total=phase.total)
        self.bar.update(self.tasks[phase.unit], completed=phase.done, total=phase.total)

    def say(self, line: str) -> None:
        """Print a line above the bar."""
        self.bar.console.print(escape(line), highlight=False)


@contextmanager
def progress_bar(label: str, *, total: int | None = None, hidden: bool, when_searchable: str = "") -> Iterator[Report]:
    """Show the progress of a build on standard error; `when_searchable` is said when its records can be searched."""
    console = Console(file=terminal_stream(is_error=True), stderr=True)
    shown = safe_line(label)
    if hidden:
        yield lambda _report: None
    elif console.is_terminal:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), _RateColumn())
        with Bar(*columns, TimeRemainingColumn(compact=True), console=console, transient=True) as bar:
            yield _reporting(_ProgressBar(label=escape(shown), bar=bar), total, when_searchable)
    else:
        lines = ProgressLines(label=shown, say_line=lambda line: click.echo(line, err=True))
        yield _reporting(lines, total, when_searchable)


def _reporting(display: _Display, rows: int | None, when_searchable: str) -> Report:
    waiting = [when_searchable] if when_searchable else []

    def report(done: IngestReport) -> None:
        if done.to_embed and done.rows and waiting:
            display.say(waiting.pop())
        display.show(PhaseProgress.of(done, rows=rows))

    return report
