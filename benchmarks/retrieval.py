"""Retrieval quality on judged collections: `stackroom eval`, with the values of each query."""

from pathlib import Path
from typing import Any

from libraries import DATA, link_models

from stackroom.assembly.app import App
from stackroom.assembly.model_choice import get_embedder, want_model
from stackroom.grading.judged import evaluate, judged_spec, load_collection
from stackroom.grading.metrics import Figure
from stackroom.settings import Settings

COLLECTIONS = DATA / "benchmarks"
NOT_GAINS = {"cranfield": "the lowest of Cranfield's grades mixes minimum interest with none"}
"""Collections by folder name whose grades are no gains, and why."""


def measure(home: Path) -> dict[str, Any]:
    """Evaluate every collection of the data folder; the indexes are kept as `stackroom eval` keeps
    them.
    """
    folder = home / "eval"
    link_models(folder)
    app = App(Settings(home=folder))
    measured = {path.name: evaluate_one(app, path) for path in sorted(COLLECTIONS.iterdir())}
    app.close()
    return measured


def evaluate_one(app: App, path: Path) -> dict[str, Any]:
    """Evaluate a collection; the default search with the values of each query, the others as means
    only.
    """
    is_binary = path.name in NOT_GAINS
    collection = load_collection(path, is_binary=is_binary)
    work = app.settings.home / "evaluations" / path.name
    embedder = get_embedder(app, want_model(app, judged_spec(), None))
    found = evaluate(collection, embedder=embedder, work=work, progress=lambda _: None)
    measured: dict[str, Any] = {
        "queries": len(collection.queries),
        "grades": "binary" if is_binary else "used",
        "model": embedder.model.name,
    }
    for method, quality in found.items():
        figures = {"ndcg@10": quality["ndcg_10"], "recall@100": quality["recall_100"]}
        measured[method] = (
            figures if method == "hybrid" else {name: as_mean(one) for name, one in figures.items()}
        )
    return measured


def as_mean(value: Figure) -> Figure:
    return Figure(mean=value.mean, low=value.low, high=value.high)
