"""Retrieval quality on judged collections: `stackroom eval`, with the values of each query."""

from pathlib import Path
from typing import Any

from libraries import DATA, link_models

from stackroom.assembly.app import App
from stackroom.assembly.model_choice import get_embedder, want_model
from stackroom.grading.judged import choose_grades, evaluate, judged_spec, load_collection
from stackroom.grading.metrics import Figure
from stackroom.settings import Settings

COLLECTIONS = DATA / "benchmarks"


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
    collection, grades = choose_grades(load_collection(path, split="test"), binary=None)
    work = app.settings.home / "evaluations" / collection.name
    embedder = get_embedder(app, want_model(app, judged_spec(), None))
    found = evaluate(collection, embedder=embedder, work=work, progress=lambda _: None)
    measured: dict[str, Any] = {
        "queries": len(collection.queries),
        "grades": grades,
        "model": embedder.model.name,
    }
    for method, quality in found.items():
        figures = {"ndcg@10": quality.ndcg_10, "recall@100": quality.recall_100}
        measured[method] = (
            figures if method == "hybrid" else {name: as_mean(one) for name, one in figures.items()}
        )
    return measured


def as_mean(value: Figure) -> Figure:
    return Figure(mean=value.mean, low=value.low, high=value.high)
