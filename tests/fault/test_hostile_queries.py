"""Every hostile query there is a list of, through the search tool on the sample library."""

import json
from pathlib import Path
from typing import Any

import pytest

from support.work import count_calls

pytestmark = [pytest.mark.model, pytest.mark.row("A3")]

OURS = [
    *("", " ", "   ", "\n", "\u2003\u200b", "\ufeff\u00a0", "\x1c\x1d"),
    *("'a'*1_000_001", "'x y '*500_000", "'\u202e'*100_000", "'\U0001f600'*50_000"),
]
"""More of the kind: without a word, and far too long."""
CASES: list[dict[str, str]] = [
    *json.loads((Path(__file__).parent / "fts_queries.json").read_text(encoding="utf-8")),
    *({"gen": query} if "*" in query else {"q": query} for query in OURS),
]
MOST_CALLS = 30_000

OBVIOUS = {
    "re:zero": "Re:Zero kara Hajimeru Isekai Seikatsu",
    "steins;gate": "Steins;Gate",
    "K-On!": "K-On!",
    "what's your name": "Kimi no Na wa.",
    "slice-of-life": "Yuru Camp△",
    "進撃": "Shingeki no Kyojin",
    "の巨人": "Shingeki no Kyojin",
    "カウボーイ": "Cowboy Bebop",
    "비밥": "Cowboy Bebop",
    "命运石": "Steins;Gate",
    "ＭＵＳＨＩＳＨＩ": "Mushishi",
    "mu\u200bshishi mushishi": "Mushishi",
    "Mushishi\x00": "Mushishi",
    "'; DROP TABLE records; -- mushishi": "Mushishi",
}
"""Queries whose answer is beyond doubt, and the title that must be among the first ten."""


def query_of(case: dict[str, str]) -> str:
    """Return the query of a case; long ones are written as the expression that makes them."""
    generated: str = (
        eval(case["gen"], {"__builtins__": {}, "range": range}) if case.get("gen") else case["q"]
    )
    return generated


def is_half_a_character(text: str) -> bool:
    return any("\ud800" <= letter <= "\udfff" for letter in text)


def test_the_list_of_hostile_queries_is_whole() -> None:
    assert len(CASES) == 156 + len(OURS)
    assert sum(is_half_a_character(query_of(case)) for case in CASES) == 1


@pytest.mark.parametrize("number", range(len(CASES)))
def test_a_hostile_query_is_answered_without_an_error_and_with_bounded_work(
    sample: Any, number: int
) -> None:
    query = query_of(CASES[number])
    answer = sample.call("search_anime", query=query)
    if is_half_a_character(query):
        # transports replace such halves; within, they are refused
        assert answer.error_code == "invalid_input"
        return
    assert not answer.is_error, answer.text
    assert answer.structured["totalMatches"] >= sum(
        hit["relevance"] is not None for hit in answer.structured["results"]
    )
    assert count_calls(lambda: sample.call("search_anime", query=f"{query} ")) < MOST_CALLS


@pytest.mark.parametrize(("query", "title"), OBVIOUS.items())
def test_what_is_plainly_asked_for_is_found_whatever_the_signs_around_it(
    sample: Any, query: str, title: str
) -> None:
    found = sample.structured("search_anime", query=query)
    assert title in [hit["title"] for hit in found["results"]]


def test_the_note_on_a_cut_query_is_not_kept_for_its_beginning(sample: Any) -> None:
    cut = sample.structured("search_anime", query="gardens " * 1_000)
    whole = sample.structured("search_anime", query=("gardens " * 1_000)[:2_000])
    assert any("were searched for" in note for note in cut["notes"])
    assert not any("were searched for" in note for note in whole.get("notes", []))


@pytest.mark.parametrize(
    "case", [case for case in CASES if not case.get("gen")], ids=lambda case: repr(case["q"])
)
def test_hostile_text_is_safe_in_every_other_argument(sample: Any, case: dict[str, str]) -> None:
    text = case["q"]
    calls: list[tuple[str, dict[str, Any]]] = [
        ("search_anime", {"query": "x", "filters": {"tags": [text]}}),
        (
            "recommend_similar",
            {"titles": ["Mushishi"], "preferences": text, "excludeTitles": [text]},
        ),
        ("recommend_similar", {"titles": [text]}),
        ("get_anime_details", {"title": text}),
        ("get_anime_details", {"id": text}),
        ("browse_taxonomy", {"search": text}),
    ]
    for tool, arguments in calls:
        answer = sample.call(tool, **arguments)
        assert answer.error_code in (None, "invalid_input")
