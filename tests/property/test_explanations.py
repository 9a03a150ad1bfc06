"""Explanations of searches, for random queries and records, against brute force."""

import random
from typing import Any

import pytest

from stackroom.model.record import Record
from support.explained import Counts, ExplanationCheck, SearchTool
from support.libraries import Library

pytestmark = pytest.mark.row("N3")


def anime_filters(chance: random.Random, record: Record) -> dict[str, Any]:
    """Draw filters, some that a record meets, and some that it may not meet."""
    year = record.get("year") or 2000
    drawn = [{}, {}, {"yearMin": year, "yearMax": year}, {"yearMax": 2005}, {"type": ["MOVIE"]}]
    filters = chance.choice(drawn)
    return {"filters": filters} if filters else {}


ANIME = SearchTool(
    name="search_anime",
    catalogue="anime",
    ids=lambda answer: [one["id"] for one in answer["results"]],
    filters=anime_filters,
)


MUSIC = SearchTool(
    name="catalog.search",
    catalogue="music",
    ids=lambda answer: [one["id"] for one in answer["tracks"]["items"]],
    pages=({"limit": 50}, {"limit": 50, "offset": 50}),
    kind="track",
)


def check(library: Library, tool: SearchTool, *, queries: int, each: int) -> Counts:
    counts = ExplanationCheck(library, tool).run(queries, each=each)
    assert counts.pairs == queries * each
    return counts


def test_of_200_pairs_with_vectors_every_sum_and_every_reason_is_right(sample: Library) -> None:
    counts = check(sample, ANIME, queries=20, each=10)
    assert counts.missing >= 100
    assert len(counts.by_cut) >= 3, counts


def test_of_80_pairs_by_words_alone_every_sum_and_every_reason_is_right(whole: Library) -> None:
    counts = check(whole, MUSIC, queries=8, each=10)
    assert counts.missing >= 40
    assert len(counts.by_cut) >= 2, counts
