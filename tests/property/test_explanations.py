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


def generic_search(catalogue: str) -> SearchTool:
    """Return the generic search of one catalogue."""
    return SearchTool(
        name="search",
        catalogue=catalogue,
        ids=lambda answer: [one["id"].removeprefix(f"{catalogue}/") for one in answer["results"]],
        filters=lambda _chance, _record: {"catalogue": catalogue},
    )


MUSIC = SearchTool(
    name="catalog.search",
    catalogue="music",
    ids=lambda answer: [one["id"] for one in answer["tracks"]["items"]],
    pages=({"limit": 50}, {"limit": 50, "offset": 50}),
    kind="track",
)
PAPERS = SearchTool(
    name="search_papers",
    catalogue="papers",
    ids=lambda answer: [one["id"] for one in answer["papers"]],
    pages=({"paper_count": 50}, {"paper_count": 50, "cursor": "50"}),
    filters=lambda chance, record: chance.choice([{}, {}, {"publish_year_range": [2015, 2019]}]),
)
CARDS = SearchTool(
    name="judokon.search",
    catalogue="judoka",
    ids=lambda answer: [str(one["id"]) for one in answer["results"]],
    pages=({"topK": 50}, {"topK": 50, "cursor": "50"}),
)
HANDBOOK = SearchTool(
    name="search_handbook",
    catalogue="handbook",
    ids=lambda answer: [one["metadata"]["id"] for one in answer["results"]],
    pages=({"n_results": 20},),
    filters=lambda _chance, _record: {"n_results": 20},
)
SEARCH_MUSIC = generic_search("music")


def check(library: Library, tool: SearchTool, *, queries: int, each: int) -> Counts:
    counts = ExplanationCheck(library, tool).run(queries, each=each)
    assert counts.pairs == queries * each
    return counts


def test_of_200_pairs_with_vectors_every_sum_and_every_reason_is_right(sample: Library) -> None:
    counts = check(sample, ANIME, queries=20, each=10)
    assert counts.missing >= 100
    assert len(counts.by_cut) >= 3, counts


@pytest.mark.parametrize(
    "tool", [MUSIC, PAPERS, CARDS, HANDBOOK, SEARCH_MUSIC], ids=lambda tool: str(tool.name)
)
def test_of_400_pairs_by_words_alone_every_sum_and_every_reason_is_right(
    whole: Library, tool: SearchTool
) -> None:
    counts = check(whole, tool, queries=8, each=10)
    assert counts.missing >= 40
    assert len(counts.by_cut) >= 2, counts
