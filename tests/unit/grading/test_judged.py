"""Judged collections: whether grades are used, and what is said about it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from stackroom.grading.judged import choose_grades, evaluate, load_collection

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


def test_grades_are_kept_and_documents_judged_irrelevant_are_not(folder: Path) -> None:
    collection = load_collection(
        write_collection(folder, {"d1": 1, "d2": 2, "d3": 0}), split="test"
    )
    assert collection.grades == {"q": {"d1": 1, "d2": 2}}
    assert collection.is_graded


def test_grades_are_used_unless_binary_is_asked_for(folder: Path) -> None:
    collection = load_collection(write_collection(folder, {"d1": 1, "d2": 2}), split="test")
    used, says = choose_grades(collection, binary=None)
    assert used.grades == {"q": {"d1": 1, "d2": 2}}
    assert says.startswith("used")
    binary, says = choose_grades(collection, binary=True)
    assert binary.grades == {"q": {"d1": 1, "d2": 1}}
    assert says.startswith("binary")


def test_the_grades_of_cranfield_are_read_as_binary_unless_they_are_asked_for(
    tmp_path: Path,
) -> None:
    collection = load_collection(
        write_collection(tmp_path / "cranfield", {"d1": 1, "d2": 4}), split="test"
    )
    by_default, says = choose_grades(collection, binary=None)
    assert by_default.grades == {"q": {"d1": 1, "d2": 1}}
    assert "Cranfield" in says
    asked, says = choose_grades(collection, binary=False)
    assert asked.grades == {"q": {"d1": 1, "d2": 4}}
    assert says.startswith("used")


def test_equal_judgements_are_binary_whatever_is_asked_for(folder: Path) -> None:
    collection = load_collection(write_collection(folder, {"d1": 1, "d2": 1}), split="test")
    assert choose_grades(collection, binary=False)[1].startswith("binary")


def test_an_evaluation_scores_by_the_grades(folder: Path, tmp_path: Path, embedder: Any) -> None:
    graded = load_collection(write_collection(folder, {"d1": 5, "d3": 1}), split="test")

    def ndcg_of(collection: Any) -> float:
        found = evaluate(
            collection, embedder=embedder, work=tmp_path / "work", progress=lambda _: None
        )
        return found["lexical"].ndcg_10.mean

    assert ndcg_of(graded) > ndcg_of(graded.as_binary())
