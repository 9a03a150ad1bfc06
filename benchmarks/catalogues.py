"""Papers and documents on the real data: latency with a year range, labels, collections and their
synced copies.

The catalogues are built under the work folder, once; the papers take most of an hour.
`benchmarks/README.md` says what is controlled for.
"""

import argparse
import json
import sys
import tarfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from real_anime import DEFAULT_WORK

from stackroom.assembly.app import App
from stackroom.assembly.build import add_catalogue, open_rows, package_recipe
from stackroom.assembly.sync import publish_catalogue, sync_place
from stackroom.embed.weights import pull_model
from stackroom.ingest.pipeline import IngestReport
from stackroom.model.principal import LOCAL_USER
from stackroom.model.scope import WHOLE
from stackroom.packages import PACKAGES
from stackroom.settings import Settings
from stackroom.zstd import zstd

DATA = Path(__file__).parents[2] / "shared" / "data"
COLLECTIONS = {"handbook": "handbook.tar.zst", "dnd": "dnd-srd.tar.zst"}
QUESTIONS = {
    "handbook": (
        "how do we review code", "parental leave", "expense limits when travelling",
        "what is our on-call rotation", "how to write a product brief",
        "interview process for engineers", "how bonuses are paid", "company values",
        "incident severity levels", "remote work equipment", "how to request access",
        "customer support escalation",
    ),
    "dnd": (
        "fireball damage", "how does initiative work", "grappling another creature",
        "long rest and hit dice", "red dragon breath weapon", "wizard spell slots",
        "conditions: blinded", "price of plate armour", "opportunity attack",
        "falling damage", "counterspell", "exhaustion levels",
    ),
}  # fmt: skip
UNRELATED = (
    "how to bake sourdough bread", "premier league football results", "mortgage interest rates",
    "coral reef bleaching", "knitting a baby blanket", "guitar chords for beginners",
    "cheap flights to Lisbon", "chess openings for black", "repairing a bicycle chain",
    "treatment of high blood pressure", "carburettor adjustment", "volcanic eruptions",
    "wine from the Loire valley", "growing tomatoes on a balcony", "swimming pool maintenance",
    "divorce law", "black hole mergers", "vegetarian lasagne recipe", "marathon training plan",
    "antibiotic resistance in hospitals",
)  # fmt: skip
RELATED = (
    "attention mechanism for machine translation", "word sense disambiguation",
    "speech recognition", "parsing", "sentiment analysis of tweets",
    "named entity recognition in clinical notes", "language model pretraining",
    "coreference resolution", "question answering over tables", "summarisation of meetings",
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, default=DEFAULT_WORK)
    parser.add_argument("--only", choices=("papers", "documents"))
    arguments = parser.parse_args()
    if not DATA.is_dir():
        sys.exit(f"skipped: the real data is not here ({DATA})")
    figures: dict[str, Any] = {}
    if arguments.only != "documents":
        figures["papers"] = papers(arguments.work / "papers-40k")
    if arguments.only != "papers":
        figures["documents"] = documents(arguments.work / "documents")
    print(json.dumps(figures, indent=1))


def papers(home: Path) -> dict[str, Any]:
    """Build the papers, and ask them."""
    app = opened(home)
    location = str(DATA / "papers" / "acl-40k.jsonl.zst")
    built = build(app, "papers", "papers", location)
    gate = app.build_gate(["papers"])

    def ask(**arguments: Any) -> Any:
        answer = gate.call(LOCAL_USER, "search_papers", arguments)
        assert answer.structured is not None, answer.text
        return answer.structured["papers"]

    reader = app.open_catalogue("papers").shelf.reader()
    titles = [
        reader.fetch([key], scope=WHOLE)[key].get("title")
        for key in reader.scan(scope=WHOLE, limit=20_000)[::97]
    ]
    walls = []
    for title in titles[:220]:
        started = time.perf_counter()
        ask(query=" ".join(title.split()[:6]), publish_year_range=[2010, 2018])
        walls.append((time.perf_counter() - started) * 1e3)
    labelled = {
        query: sum(1 for paper in ask(query=query) if paper["relevance"])
        for query in (*UNRELATED, *RELATED)
    }
    return {
        "build": built,
        "search with a year range, p50 ms": float(np.percentile(walls[20:], 50)),
        "search with a year range, p95 ms": float(np.percentile(walls[20:], 95)),
        "unrelated questions with a label": [query for query in UNRELATED if labelled[query]],
        "labels among ten, related questions": {query: labelled[query] for query in RELATED},
    }


def documents(work: Path) -> dict[str, Any]:
    """Build both collections, publish and sync them, and compare the documents that original and
    copy find.
    """
    figures: dict[str, Any] = {}
    original, copy = opened(work / "original"), opened(work / "copy")
    database = work / "lancedb"
    for name, archive in COLLECTIONS.items():
        folder = unpacked(DATA / "documents" / archive, work / "files" / name)
        built = build(original, "documents", name, str(folder))
        publish_catalogue(original, name, str(database), progress=lambda _rows: None)
        synced = sync(copy, name, str(database))
        pairs = [(top(original, name, query), top(copy, name, query)) for query in QUESTIONS[name]]
        overlaps = [len(one & other) / max(len(one), len(other), 1) for one, other in pairs]
        figures[name] = {
            "build": built,
            "sync": synced,
            "overlap of the first ten, mean": float(np.mean(overlaps)),
            "least": min(overlaps),
        }
    return figures


def top(app: App, name: str, query: str) -> set[str]:
    arguments = {"query": query, "sources": [name], "n_results": 10}
    answer = app.build_gate([name]).call(LOCAL_USER, "search_documents", arguments)
    assert answer.structured is not None, answer.text
    return {one["metadata"]["file_path"] for one in answer.structured["results"]}


def build(app: App, spec_name: str, name: str, location: str) -> dict[str, Any]:
    started = time.perf_counter()

    def show(report: IngestReport) -> None:
        print(f"\r{name}: {report.rows} rows, {report.embedded} embedded", end="", file=sys.stderr)

    package = PACKAGES.get(spec_name)
    source = open_rows(package, location, workshop=app)
    report = add_catalogue(app, source, recipe=package_recipe(package), name=name, progress=show)
    print(file=sys.stderr)
    counts = {
        key: getattr(report, key)
        for key in ("rows", "written", "unchanged", "duplicates", "rejected", "embedded")
    }
    return {**counts, "seconds": round(time.perf_counter() - started, 1)}


def sync(app: App, name: str, database: str) -> dict[str, Any]:
    started = time.perf_counter()
    (synced,) = sync_place(app, database, names=[name]).collections
    return {
        "outcome": synced.outcome,
        "rows": synced.rows,
        "seconds": round(time.perf_counter() - started, 1),
    }


def opened(home: Path) -> App:
    app = App(Settings(home=home))
    pull_model(app.settings.models_folder)
    return app


def unpacked(archive: Path, folder: Path) -> Path:
    if not folder.is_dir():
        with (
            archive.open("rb") as packed,
            zstd.ZstdFile(packed) as stream,
            tarfile.open(fileobj=stream, mode="r|") as tar,
        ):
            tar.extractall(folder, filter="data")
    return folder


if __name__ == "__main__":
    main()
