"""Progress and outcome of a build, for people."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from pinakes.cli.safe_streams import terminal_stream
from pinakes.ingest.pipeline import IngestReport
from pinakes.ingest.pipeline import Progress as Report
from pinakes.text.safe import safe_line

ETA = TimeRemainingColumn(compact=True)


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


@contextmanager
def progress_bar(label: str, *, total: int | None = None, hidden: bool) -> Iterator[Report]:
    """Show the progress of a build on standard error."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), ETA)
    console = Console(file=terminal_stream(is_error=True), stderr=True)
    shown = escape(safe_line(label))
    with Progress(*columns, console=console, disable=hidden or not console.is_terminal, transient=True) as progress:
        task = progress.add_task(shown, total=total)

        def report(done: IngestReport) -> None:
            progress.update(task, completed=done.rows, description=f"{shown} ({done.embedded} embedded)")

        yield report
