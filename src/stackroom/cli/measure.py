"""`eval`: the quality of a catalogue, or of search on judged questions."""

from collections.abc import Mapping
from pathlib import Path

import click

from stackroom.assembly.app import App
from stackroom.assembly.model_choice import get_embedder
from stackroom.cli.grade import GradingRequest, grade_command
from stackroom.cli.json_output import json_option, print_json
from stackroom.cli.opening import open_app
from stackroom.cli.progress import progress_bar
from stackroom.cli.tables import print_table
from stackroom.cli.workshop import require_model
from stackroom.errors import InputError
from stackroom.grading.golden_set import DEFAULT_QUESTIONS, TO_TUNE_BY, GoldenSetRequest
from stackroom.grading.metrics import Estimate
from stackroom.measure.beir import choose_grades, load_collection
from stackroom.measure.evaluate import Quality, evaluate, want_evaluated_model


@click.command("eval")
@click.argument("target", metavar="CATALOGUE_OR_FOLDER")
@click.option(
    "--questions",
    type=click.IntRange(20, 10_000),
    help="How many questions to write; by default 300, or 600 to tune by.",
)
@click.option("--seed", type=int, help="The seed that records are drawn by; by default 0.")
@click.option(
    "--golden", type=click.Path(path_type=Path), help="Your own questions, a golden.toml; kept with the catalogue."
)
@click.option("--tune", is_flag=True, help="Tune the weights of the ranking, and keep them if they do not lose.")
@click.option("--reset", is_flag=True, help="Remove the tuned weights, then grade.")
@click.option("--split", help="Of a folder: which qrels/SPLIT.tsv to judge by; by default test.")
@click.option(
    "--binary/--graded",
    default=None,
    help="Of a folder: count every grade above 0 as 1, or use the grades, as by default for all but Cranfield's.",
)
@click.option("--model", help="Of a folder: the embedding model; by default granite, or an endpoint.")
@json_option
def eval_command(
    target: str,
    questions: int | None,
    seed: int | None,
    golden: Path | None,
    tune: bool,
    reset: bool,
    split: str | None,
    binary: bool | None,
    model: str | None,
    as_json: bool,
) -> None:
    """Grade a catalogue by questions that it writes itself, or measure search on a judged collection.

    CATALOGUE: questions are made by rules from its records (misspelt and shortened titles, descriptions, values,
    relations), and taken from your golden.toml. nDCG@10, Recall@50 and MRR@10 are printed for each kind, with 95 %
    intervals. The questions and the grade are kept beside the catalogue; a later add that answers them worse, beyond
    noise, is refused.

    FOLDER in the BEIR layout (plain, .zst or .gz): nDCG@10, Recall@100 and MRR@10 of keywords alone, vectors alone,
    reciprocal rank fusion, and the default hybrid. The index is kept in the library, so that a second run does not
    embed again. nDCG uses the grades of the judgements as gains, as trec_eval and BEIR's published figures do; Recall
    and MRR count every document with a grade above 0.
    """
    app = open_app()
    of_catalogue = {"--questions": questions, "--seed": seed, "--golden": golden, "--tune": tune, "--reset": reset}
    of_folder = {"--split": split, "--binary": binary, "--model": model}
    if app.library.find_installed(target) is None and Path(target).is_dir():
        _refuse(of_catalogue, f"{target} is a folder", "is for a catalogue")
        _evaluate_folder(app, Path(target), split or "test", binary, model, as_json=as_json)
        return
    _refuse(of_folder, f"'{target}' is a catalogue", "is for a folder of judged questions")
    request = GradingRequest(
        golden_set=GoldenSetRequest(questions=questions or (TO_TUNE_BY if tune else DEFAULT_QUESTIONS), seed=seed or 0),
        own=golden,
        tunes=tune,
        resets=reset,
    )
    grade_command(app, target, request, as_json=as_json)


def _refuse(options: Mapping[str, object], what: str, purpose: str) -> None:
    """Refuse options that have no effect."""
    given = [name for name, value in options.items() if value not in (None, False)]
    if given:
        raise InputError(f"{what}, and {given[0]} {purpose}; leave it out")


def _evaluate_folder(
    app: App, folder: Path, split: str, binary: bool | None, model: str | None, *, as_json: bool
) -> None:
    """Measure every search method on a judged collection, and print the figures."""
    choice = want_evaluated_model(app, model)
    require_model(app, choice, quiet=as_json)
    embedder = get_embedder(app, choice)
    collection, grades = choose_grades(load_collection(folder, split=split), binary=binary)
    work = app.settings.home / "evaluations" / folder.resolve().name
    with progress_bar(folder.name, hidden=as_json) as progress:
        found = evaluate(collection, embedder=embedder, work=work, progress=progress)
    if as_json:
        print_json(
            {
                "folder": str(folder),
                "split": split,
                "model": embedder.model.name,
                "queries": len(collection.queries),
                "grades": grades,
                "results": {name: _as_json(quality) for name, quality in found.items()},
            }
        )
        return
    rows = [(name, _cell(q.ndcg_10), _cell(q.recall_100), _cell(q.mrr_10)) for name, q in found.items()]
    print_table(
        ("", "nDCG@10", "Recall@100", "MRR@10"),
        rows,
        title=f"{folder.name}, {len(collection.queries)} queries, {embedder.model.name}",
    )
    click.echo(f"grades {grades}")


def _as_json(quality: Quality) -> dict[str, dict[str, float]]:
    """Return each metric with its interval, without the values of single queries."""
    return {
        name: {"mean": value.mean, "low": value.low, "high": value.high}
        for name, value in (
            ("ndcg_10", quality.ndcg_10),
            ("recall_100", quality.recall_100),
            ("mrr_10", quality.mrr_10),
        )
    }


def _cell(value: Estimate) -> str:
    return f"{value.mean:.4f} [{value.low:.3f}, {value.high:.3f}]"
