"""The grade of a catalogue, as `eval` prints it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from stackroom.assembly.app import App
from stackroom.assembly.self_grading import (
    Asking,
    GradedCatalogue,
    grade_catalogue,
    keep_own_questions,
    reset_tuning,
    tune_catalogue,
)
from stackroom.cli.json_output import print_json
from stackroom.cli.tables import print_table
from stackroom.grading.golden_set import GoldenSetRequest
from stackroom.grading.grade import BY_VECTORS, KindGrade, plain_kind
from stackroom.grading.metrics import as_json as plain_figure
from stackroom.grading.tuned_file import TUNED_FILE, difference, find_tuned
from stackroom.grading.tuning import Tuning
from stackroom.library import QUESTIONS_FILE

WHEN = ("before", "after")


@dataclass(frozen=True, slots=True, kw_only=True)
class GradingRequest:
    """The options of `eval` for a catalogue."""

    golden_set: GoldenSetRequest
    own: Path | None = None
    tunes: bool = False
    resets: bool = False


def grade_command(app: App, name: str, request: GradingRequest, *, as_json: bool) -> None:
    """Grade a catalogue, tune it if asked to, and print the figures."""
    app.library.get_installed(name)
    if request.own is not None:
        keep_own_questions(app, name, request.own)
    was_tuned = reset_tuning(app, name) if request.resets else False
    with _asking_bar(name, hidden=as_json) as asking:
        graded = grade_catalogue(app, name, request.golden_set, asking=asking)
    tuning = _tuned(graded, hidden=as_json) if request.tunes else None
    if as_json:
        print_json(_plain(name, graded, tuning))
        return
    if was_tuned:
        click.echo("the tuned weights were removed")
    _print_grade(name, graded)
    if tuning is not None:
        _print_tuning(graded, tuning)
    elif (tuned := find_tuned(graded.folder / TUNED_FILE)) is not None:
        click.echo(f"searched with tuned weights: {tuned.describe()}; to remove them: --reset")


def _tuned(graded: GradedCatalogue, *, hidden: bool) -> Tuning:
    """Tune the weights, with a sign of life on standard error."""
    console = Console(stderr=True, quiet=hidden)
    with console.status("tuning") if console.is_terminal else nullcontext():
        return tune_catalogue(graded)


def _print_grade(name: str, graded: GradedCatalogue) -> None:
    grade = graded.grade
    print_table(
        ("", "questions", "nDCG@10", "Recall@50", "MRR@10"),
        [(kind, one.questions, *_cells(one)) for kind, one in grade.kinds.items()],
        title=f"{name}, {grade.records} records, {grade.model}",
    )
    if BY_VECTORS not in grade.kinds:
        click.echo("searched by words alone: there are no vectors, or queries cannot be embedded (stackroom doctor)")
    click.echo(f"questions: {graded.folder / QUESTIONS_FILE}")


def _print_tuning(graded: GradedCatalogue, tuning: Tuning) -> None:
    rows = [
        (half, *(f"{figure.mean:.4f} [{figure.low:.3f}, {figure.high:.3f}]" for figure in figures))
        for half, figures in (("tuned on", tuning.tuned_half), ("held out", tuning.other_half))
    ]
    click.echo()
    print_table(("half", "nDCG@10 before", "after"), rows, title="tuning")
    tried = difference(tuning.tried, graded.catalogue.spec.search).describe()
    if tuning.is_accepted:
        click.echo(f"kept from now on: {tried}; to remove them: --reset")
    else:
        click.echo(f"the weights stay as they are: {tuning.reason}")


def _cells(kind: KindGrade) -> Sequence[str]:
    ndcg, recall, mrr = kind.ndcg_10, kind.recall_50, kind.mrr_10
    return f"{ndcg.mean:.4f} [{ndcg.low:.3f}, {ndcg.high:.3f}]", f"{recall.mean:.4f}", f"{mrr.mean:.4f}"


def _plain(name: str, graded: GradedCatalogue, tuning: Tuning | None) -> dict[str, Any]:
    grade = graded.grade
    plain = {
        "catalogue": name,
        "at": grade.at.isoformat(),
        "records": grade.records,
        "model": grade.model,
        "kinds": {kind: plain_kind(one, with_values=False) for kind, one in grade.kinds.items()},
    }
    return plain if tuning is None else {**plain, "tuning": _plain_tuning(graded, tuning)}


def _plain_tuning(graded: GradedCatalogue, tuning: Tuning) -> dict[str, Any]:
    halves = {"tuned_half": tuning.tuned_half, "other_half": tuning.other_half}
    return {
        "accepted": tuning.is_accepted,
        "reason": tuning.reason,
        "weights": difference(tuning.tried, graded.catalogue.spec.search).plain(),
        **{
            name: {when: plain_figure(replace(one, values=())) for when, one in zip(WHEN, figures, strict=True)}
            for name, figures in halves.items()
        },
    }


@contextmanager
def _asking_bar(name: str, *, hidden: bool) -> Iterator[Asking]:
    """Show how many questions were asked, on standard error."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=hidden or not console.is_terminal, transient=True) as progress:
        task = progress.add_task(f"grading {name}", total=None)
        yield lambda done, all_questions: progress.update(task, completed=done, total=all_questions)
