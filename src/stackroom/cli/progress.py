"""Progress of a command, on standard error: a line that is rewritten on a terminal, lines at
intervals elsewhere.
"""

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TextIO

from stackroom.background.threads import hearing_ctrl_c
from stackroom.cli.output import wants_json
from stackroom.ingest.pipeline import IngestReport
from stackroom.ingest.pipeline import Progress as Report
from stackroom.text.safe import safe_line, terminal_stream

LINE_S = 5.0  # the time between two lines, where there is no terminal
REWRITTEN_S = 0.1
CLEARED = "\r\x1b[2K"
ROWS, TEXTS = "rows read", "texts embedded"
STOPPING = "stopping …"


def summary(report: IngestReport) -> str:
    """Return the counts of an ingest in one sentence."""
    parts = [f"{report.rows} rows: {report.written} written", f"{report.unchanged} unchanged"]
    parts += [f"{report.duplicates} duplicates", f"{report.rejected} rejected"]
    others = {
        "metadata": report.metadata,
        "removed": report.removed,
        "ids that name no record": report.dangling,
        "left as edited by hand": report.edited,
        "of unknown origin kept (the ledger was lost, so removed rows are not known)": (
            report.unplaced
        ),
    }
    parts += [f"{count} {what}" for what, count in others.items() if count]
    return f"{', '.join(parts)}; {report.embedded} texts embedded"


@dataclass(slots=True, kw_only=True)
class ProgressLine:
    """How far a command is: the step that it is at, with the rate and the time that is left."""

    label: str
    hidden: bool = False
    monotonic: Callable[[], float] = time.monotonic
    _stream: TextIO = field(default_factory=lambda: terminal_stream(is_error=True))
    _step: str = ""
    _began_at: float = 0.0
    _shown_at: float = 0.0
    _done: dict[str, int] = field(default_factory=dict)

    def show(self, step: str, done: int, total: int | None = None) -> None:
        """Show how far a step is, such as `rows read`, unless that was shown a moment ago."""
        now = self.monotonic()
        if step != self._step:
            self._step, self._began_at, self._shown_at = step, now, now
        if now - self._shown_at >= (REWRITTEN_S if self._stream.isatty() else LINE_S):
            self._shown_at = now
            self.say(
                f"{self.label}: {describe_step(step, done, total, now - self._began_at)}",
                stays=False,
            )

    def add(self, step: str, more: int, total: int | None = None) -> None:
        """Show how far a step is by how much was done since the last call."""
        self._done[step] = self._done.get(step, 0) + more
        self.show(step, self._done[step], total)

    def hint(self, words: str = "") -> None:
        """Show on a terminal what is being done, where nothing is counted."""
        if self._stream.isatty():
            self.say(f"{self.label}: {words}" if words else self.label, stays=False)

    def say(self, text: str, *, stays: bool = True) -> None:
        """Write a line that stays, or on a terminal one that is rewritten."""
        if self.hidden:
            return
        line, is_terminal = f"{safe_line(text)}\n", self._stream.isatty()
        if is_terminal and not stays:
            line = line[: shutil.get_terminal_size().columns - 1].rstrip("\n")
        self._stream.write(f"{CLEARED}{line}" if is_terminal else line)
        self._stream.flush()

    def clear(self) -> None:
        """Take the line that is rewritten away."""
        if self._stream.isatty() and not self.hidden:
            self._stream.write(CLEARED)
            self._stream.flush()


def describe_step(step: str, done: int, total: int | None, elapsed_s: float) -> str:
    """Return the progress of a step in words, with its rate so far and the time that is left."""
    counted = f"{done:,} {step}" if total is None else f"{done:,} of {total:,} {step}"
    rate = done / elapsed_s if elapsed_s > 0 else 0.0
    if not rate:
        return counted
    left = ""
    if total:
        seconds = max((total - done) / rate, 1)
        unit, size = next(
            (unit for unit in (("h", 3600), ("min", 60)) if seconds >= 2 * unit[1]), ("s", 1)
        )
        left = f", about {seconds / size:.0f} {unit} left"
    return f"{counted}, {rate:,.0f}/s{left}" if rate >= 1 else f"{counted}, {rate:.2f}/s{left}"


@contextmanager
def progress_line(label: str) -> Iterator[ProgressLine]:
    """Show the progress of a command while the block runs, unless it was asked for JSON."""
    line = ProgressLine(label=label, hidden=wants_json())
    with hearing_ctrl_c(partial(line.say, STOPPING)):
        try:
            yield line
        finally:
            line.clear()


@contextmanager
def build_progress(
    name: str, *, total: int | None = None, when_searchable: str = ""
) -> Iterator[Report]:
    """Show the progress of a build; `when_searchable` is said when its records can be searched."""
    waiting = [when_searchable] if when_searchable else []
    with progress_line(name) as line:

        def report(done: IngestReport) -> None:
            if done.to_embed and done.rows and waiting:
                line.say(waiting.pop())
            embedding = (TEXTS, done.embedded, done.to_embed)
            line.show(*(embedding if done.to_embed else (ROWS, done.rows, total)))

        yield report
