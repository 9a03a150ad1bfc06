"""Judged collections: whether grades are used, and what is said about it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from stackroom.grading.judged import evaluate, load_collection

TEXTS = {
    "d1": "Bees dance to show the others where the flowers are.",
    "d2": "A hive of bees keeps warm in winter by shivering.",
    "d3": "Bridges hang from cables of steel.",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A collection of three documents and one query, without judgements, called `small`."""
    return write_collection(tmp_path / "small", {})


def write_collection(folder: Path, grades: Mapping[str, int]) -> Path:
    """Write the three documents with the grades that they have for the one query."""
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    corpus = [json.dumps({"_id": name, "title": "", "text": text}) for name, text in TEXTS.items()]
    (folder / "corpus.jsonl").write_text("\n".join(corpus))
    (folder / "queries.jsonl").write_text(json.dumps({"_id": "q", "text": "how do bees keep warm"}))
    lines = [
        "query-id\tcorpus-id\tscore",
        *(f"q\t{name}\t{grade}" for name, grade in grades.items()),
    ]
    (folder / "qrels" / "test.tsv").write_text("\n".join(lines))
    return folder


def test_grades_are_kept_unless_binary_ones_are_asked_for(folder: Path) -> None:
    write_collection(folder, {"d1": 1, "d2": 2, "d3": 0})
    assert load_collection(folder).grades == {"q": {"d1": 1, "d2": 2}}
    assert load_collection(folder, is_binary=True).grades == {"q": {"d1": 1, "d2": 1}}


def test_an_evaluation_scores_by_the_grades(folder: Path, tmp_path: Path, embedder: Any) -> None:
    write_collection(folder, {"d1": 5, "d3": 1})

    def ndcg_of(collection: Any) -> float:
        found = evaluate(
            collection, embedder=embedder, work=tmp_path / "work", progress=lambda _: None
        )
        return found["lexical"]["ndcg_10"].mean

    assert ndcg_of(load_collection(folder)) > ndcg_of(load_collection(folder, is_binary=True))
