"""The question sets under benchmarks/ have the form that their page describes."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

ASKED = ("query", "name", "wish", "question")
SETS = Path(__file__).resolve().parents[2] / "benchmarks" / "sets"


def rows_of(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (SETS / name).read_text(encoding="utf-8").splitlines()]


def test_a_plot_is_asked_in_six_to_thirty_words_and_has_an_answer() -> None:
    plots = rows_of("anime-plots.jsonl")

    assert len(plots) >= 80
    for plot in plots:
        assert 6 <= len(plot["query"].split()) <= 30, plot["query"]
        assert plot["answers"], plot["query"]


def test_a_list_has_at_least_eight_graded_records() -> None:
    lists = rows_of("anime-lists.jsonl")

    assert len(lists) >= 60
    for one in lists:
        assert len(one["answers"]) >= 8, one["query"]
        assert set(one["answers"].values()) <= {1, 2}, one["query"]


def test_a_name_has_an_answer_unless_it_is_of_no_anime() -> None:
    names = rows_of("anime-names.jsonl")
    kinds = Counter(name["kind"] for name in names)

    for kind, at_least in {"english": 100, "japanese": 50, "short": 30, "none": 20}.items():
        assert kinds[kind] >= at_least, kind
    assert all(bool(name["answers"]) == (name["kind"] != "none") for name in names)


def test_no_question_is_asked_twice_in_a_set_for_one_catalogue() -> None:
    for path in sorted(SETS.glob("*.jsonl")):
        asked = Counter(
            (row.get("catalogue"), *(row[name] for name in ASKED if name in row))
            for row in rows_of(path.name)
        )
        assert {question for question, count in asked.items() if count > 1} == set(), path.name


def test_only_questions_with_an_answer_name_right_records() -> None:
    for path in sorted(SETS.glob("*-abstention.jsonl")):
        for row in rows_of(path.name):
            assert row["kind"] in ("answer", "near", "far"), row
            assert row["kind"] == "answer" or not row["answers"], row
