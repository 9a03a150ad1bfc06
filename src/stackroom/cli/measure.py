"""`eval`: the quality of a catalogue with its tuning, or of search on judged questions."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import click

from stackroom.assembly.app import App
from stackroom.assembly.model_choice import get_embedder, want_model
from stackroom.cli.opening import open_app
from stackroom.cli.output import FILE, HELP, command, flag, json_option, print_as_json, print_table
from stackroom.cli.progress import build_progress, progress_line
from stackroom.cli.workshop import require_model
from stackroom.errors import InputError
from stackroom.grading.golden_set import DEFAULT_QUESTIONS, TO_TUNE_BY
from stackroom.grading.grade import BY_VECTORS
from stackroom.grading.graded_catalogue import (
    GradedCatalogue,
    grade_catalogue,
    keep_own_questions,
    tune_catalogue,
)
from stackroom.grading.judged import evaluate, judged_spec, load_collection
from stackroom.grading.metrics import MRR, NDCG, Figure, Quality, figure_json
from stackroom.grading.tuning import TUNED_FILE, Tuning, describe_weights, difference, find_tuned
from stackroom.library import QUESTIONS_FILE, remove_file

WHEN = ("before", "after")
BINARY = "binary: every grade above 0 is relevant"
GRADED = "used: the gain of a document is its grade"


@command("eval")
@click.argument("target", metavar="CATALOGUE_OR_FOLDER")
@click.option("--questions", type=click.IntRange(20, 10_000), help=HELP["eval --questions"])
@click.option("--golden", type=FILE, help=HELP["eval --golden"])
@flag("--tune", help="Tune the weights of the ranking, and keep them if they do not lose.")
@flag("--reset", help="Remove the tuned weights, then grade.")
@click.option("--split", help="Of a folder: which qrels/SPLIT.tsv to judge by; by default test.")
@flag("--binary", help="Of a folder: count every grade above 0 as 1.")
@click.option(
    "--model", help="Of a folder: the embedding model; by default granite, or an endpoint."
)
@json_option
def eval_command(
    target: str,
    questions: int | None,
    golden: Path | None,
    tune: bool,
    reset: bool,
    split: str | None,
    binary: bool,
    model: str | None,
) -> None:
    """Grade a catalogue by questions that it writes itself, or search by the questions of a
    folder.
    """
    app = open_app()
    of_catalogue = {"--questions": questions, "--golden": golden, "--tune": tune, "--reset": reset}
    of_folder = {"--split": split, "--binary": binary, "--model": model}
    if app.library.find_installed(target) is None and Path(target).is_dir():
        _refuse(of_catalogue, f"{target} is a folder", "is for a catalogue")
        _judge_folder(app, Path(target), split or "test", model, is_binary=binary)
        return
    _refuse(of_folder, f"'{target}' is a catalogue", "is for a folder of judged questions")
    tuned = app.library.get_installed(target).folder / TUNED_FILE
    if golden is not None:
        keep_own_questions(app, target, golden)
    was_tuned = reset and remove_file(tuned)
    with progress_line(target) as line:
        count = questions or (TO_TUNE_BY if tune else DEFAULT_QUESTIONS)
        graded = grade_catalogue(app, target, count, asking=partial(line.show, "questions asked"))
        line.hint("tuning" if tune else "")
        tuning = tune_catalogue(graded) if tune else None
    if print_as_json(_plain(target, graded, tuning)):
        return
    if was_tuned:
        click.echo("the tuned weights were removed")
    _print_grade(target, graded, tuning)


def _print_grade(name: str, graded: GradedCatalogue, tuning: Tuning | None) -> None:
    grade = graded.grade
    print_table(
        ("", "questions", "nDCG@10", "Recall@50", "MRR@10"),
        [
            (
                kind,
                len(one[NDCG].values),
                _cell(one[NDCG]),
                f"{one['recall_50'].mean:.4f}",
                f"{one[MRR].mean:.4f}",
            )
            for kind, one in grade.kinds.items()
        ],
        title=f"{name}, {grade.records} records, {grade.model}",
    )
    if BY_VECTORS not in grade.kinds:
        click.echo(
            "searched by words alone: there are no vectors, or queries cannot be embedded"
            " (stackroom doctor)"
        )
    click.echo(f"questions: {graded.folder / QUESTIONS_FILE}")
    if tuning is None:
        if (tuned := find_tuned(graded.folder / TUNED_FILE)) is not None:
            click.echo(
                f"searched with tuned weights: {describe_weights(tuned)}; to remove them: --reset"
            )
        return
    halves = (("tuned on", tuning.tuned_half), ("held out", tuning.other_half))
    click.echo()
    rows = [(half, *map(_cell, figures)) for half, figures in halves]
    print_table(("half", "nDCG@10 before", "after"), rows, title="tuning")
    if tuning.is_accepted:
        tried = describe_weights(difference(tuning.tried, graded.spec.search))
        click.echo(f"kept from now on: {tried}; to remove them: --reset")
    else:
        click.echo(f"the weights stay as they are: {tuning.reason}")


def _plain(name: str, graded: GradedCatalogue, tuning: Tuning | None) -> dict[str, Any]:
    grade = graded.grade
    plain = {
        "catalogue": name,
        "at": grade.at.isoformat(),
        "records": grade.records,
        "model": grade.model,
        "kinds": {
            kind: {"questions": len(one[NDCG].values), **_plain_figures(one)}
            for kind, one in grade.kinds.items()
        },
    }
    if tuning is not None:
        plain["tuning"] = {
            "accepted": tuning.is_accepted,
            "reason": tuning.reason,
            "weights": difference(tuning.tried, graded.spec.search),
            "tuned_half": dict(zip(WHEN, map(figure_json, tuning.tuned_half), strict=True)),
            "other_half": dict(zip(WHEN, map(figure_json, tuning.other_half), strict=True)),
        }
    return plain


def _refuse(options: Mapping[str, object], what: str, purpose: str) -> None:
    """Refuse options that have no effect."""
    given = [name for name, value in options.items() if value not in (None, False)]
    if given:
        raise InputError(f"{what}, and {given[0]} {purpose}; leave it out")


def _judge_folder(
    app: App, folder: Path, split: str, model: str | None, *, is_binary: bool
) -> None:
    """Measure every search method on a judged collection, and print the figures."""
    choice = want_model(app, judged_spec(), None, asked=model)
    require_model(app, choice)
    embedder = get_embedder(app, choice)
    collection = load_collection(folder, split=split, is_binary=is_binary)
    grades = BINARY if is_binary else GRADED
    work = app.settings.home / "evaluations" / folder.resolve().name
    with build_progress(folder.name) as progress:
        found = evaluate(collection, embedder=embedder, work=work, progress=progress)
    name, queries = embedder.model.name, len(collection.queries)
    told = {"folder": str(folder), "split": split, "model": name, "queries": queries}
    results = {method: _plain_figures(quality) for method, quality in found.items()}
    if print_as_json({**told, "grades": grades, "results": results}):
        return
    print_table(
        ("", "nDCG@10", "Recall@100", "MRR@10"),
        [(method, *map(_cell, quality.values())) for method, quality in found.items()],
        title=f"{folder.name}, {queries} queries, {name}",
    )
    click.echo(f"grades {grades}")


def _plain_figures(found: Quality) -> dict[str, dict[str, float]]:
    """Return each metric with its interval."""
    return {name: figure_json(figure) for name, figure in found.items()}


def _cell(value: Figure) -> str:
    return f"{value.mean:.4f} [{value.low:.3f}, {value.high:.3f}]"
