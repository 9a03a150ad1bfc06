"""`explain: true`: every search and recommendation says why, in numbers that add up, in both forms
of its answer.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from support.libraries import Library

pytestmark = pytest.mark.row("N3")

SEARCHES = {
    "search": {"query": "space pirates", "catalogue": "anime"},
    "search_anime": {"query": "space pirates"},
    "search_papers": {"query": "language models"},
    "search_documents": {"query": "how to roll for initiative"},
    "search_handbook": {"query": "on call rotation"},
    "query_rag": {"query": "how does a round begin"},
    "judokon.search": {"query": "shoulder throws"},
    "catalog.search": {"query": "piano sonata"},
}
NEAR = 1.1e-4


def found_in(answer: Any) -> Iterator[Mapping[str, Any]]:
    """Yield every part of an answer that has a score."""
    if isinstance(answer, Mapping):
        scored = {**answer, **answer.get("metadata", {})}
        if "score" in scored or "similarityScore" in scored:
            yield scored
            return
        for part in answer.values():
            yield from found_in(part)
    elif isinstance(answer, list):
        for part in answer:
            yield from found_in(part)


@pytest.mark.parametrize("tool", SEARCHES)
def test_nothing_is_explained_unless_it_is_asked_for(whole: Library, tool: str) -> None:
    answer = whole.call(tool, **SEARCHES[tool])
    assert not [hit for hit in found_in(answer.structured) if "why" in hit]
    assert "why strength" not in answer.text


def test_the_words_that_a_hit_lacks_are_named(sample: Library) -> None:
    hits = sample.structured("search_anime", query="samurai xqzv", explain=True)["results"]
    assert all("xqzv" in hit["why"]["lacks"] for hit in hits)


@pytest.mark.parametrize("preferences", [None, "after 2010, not horror, darker tone"])
def test_the_signals_of_a_recommendation_add_up_to_its_similarity(
    sample: Library, preferences: str | None
) -> None:
    wanted = {
        "titles": ["Cowboy Bebop"],
        "explain": True,
        **({"preferences": preferences} if preferences else {}),
    }
    answer = sample.call("recommend_similar", **wanted)
    assert answer.structured is not None
    found = answer.structured["recommendations"]
    assert found
    for one in found:
        assert sum(one["why"]["strength"].values()) == pytest.approx(
            one["similarityScore"], abs=NEAR
        )
        similarity = one["why"]["order"]["similarity"]
        assert similarity <= one["similarityScore"] + NEAR
    assert ("wish" in found[0]["why"]["order"]) == (preferences is not None)
    assert "why strength" in answer.text
