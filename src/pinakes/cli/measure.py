"""`eval` and `bench`: retrieval quality and speed."""

from dataclasses import asdict
from pathlib import Path

import click

from pinakes.assembly.app import App
from pinakes.assembly.model_choice import get_embedder
from pinakes.cli.build import progress_bar, require_model
from pinakes.cli.json_output import json_option, print_json
from pinakes.cli.tables import print_table
from pinakes.measure.beir import choose_grades, load_collection
from pinakes.measure.bench import bench, serve_command, time_start
from pinakes.measure.evaluate import Quality, evaluate, want_evaluated_model
from pinakes.measure.metrics import Estimate
from pinakes.model.principal import LOCAL_USER
from pinakes.model.scope import WHOLE
from pinakes.settings import load_settings


@click.command("eval")
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--split", default="test", show_default=True, help="Which qrels/SPLIT.tsv to judge by.")
@click.option(
    "--binary/--graded",
    default=None,
    help="Count every grade above 0 as 1, or use the grades; by default they are used, except for Cranfield's.",
)
@click.option("--model", help="The embedding model; by default granite, which is best for prose, or an endpoint.")
@json_option
def eval_command(folder: Path, split: str, binary: bool | None, model: str | None, as_json: bool) -> None:
    """Measure retrieval quality on a judged collection in the BEIR layout (plain, .zst or .gz).

    nDCG@10, Recall@100 and MRR@10 of keywords alone, vectors alone, reciprocal rank fusion, and the default hybrid,
    each with a 95 % bootstrap interval. The index is kept in the library, so that a second run does not embed again.

    nDCG uses the grades of the judgements as gains, as trec_eval and BEIR's published figures do. Recall and MRR count
    every document with a grade above 0.
    """
    app = App(load_settings())
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


@click.command("bench")
@click.argument("catalogue")
@click.option("--questions", default=200, show_default=True, type=click.IntRange(20, 10_000))
@json_option
def bench_command(catalogue: str, questions: int, as_json: bool) -> None:
    """Measure CATALOGUE: wall and CPU time of each kind of query, start-up time and memory of a server."""
    app = App(load_settings())
    opened = app.open_catalogue(catalogue)
    timings = bench(opened, queries=questions)
    tools = app.build_gate([catalogue]).list_tools(LOCAL_USER)
    search_tool = next(tool.name for tool in tools if "query" in tool.input_schema["properties"])
    start_s, memory_mb = time_start(serve_command(catalogue), search_tool, {"query": "light"})
    records = opened.shelf.reader().count(WHOLE)
    if as_json:
        print_json(
            {
                "catalogue": catalogue,
                "records": records,
                "timings": {name: asdict(timing) for name, timing in timings.items()},
                "start_s": round(start_s, 3),
                "memory_mb": round(memory_mb, 1),
            }
        )
        return
    rows = [(name, timing.p50_ms, timing.p95_ms, timing.cpu_ms) for name, timing in timings.items()]
    print_table(
        ("", "p50 ms", "p95 ms", "CPU ms"), rows, title=f"{catalogue}, {records} records, {questions} questions"
    )
    click.echo(f"server: first answer after {start_s:.2f} s, {memory_mb:.0f} MB resident")


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
