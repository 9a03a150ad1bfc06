"""An embedder that hangs or answers nonsense: search goes on by words and says why."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from stackroom.embed.adapters import GuardedEmbedder
from stackroom.embed.remote import RemoteEmbedder
from stackroom.model.hits import MatchType, SearchMode
from stackroom.model.scope import WHOLE
from stackroom.recommend.recommender import Request
from support.searching import Found, ShelfSearcher, recommend

pytestmark = pytest.mark.row("A12")

TIMEOUT_S = 0.3
FAULTS = {"hang": "did not answer in time", "garbage": "not JSON", "500": "status 500"}
"""What goes wrong, and what the answer says of it; `tests/unit/embed` has all that can."""


class Searches:
    """A searcher over a catalogue in memory, whose queries are embedded by the server."""

    def __init__(self, shelved: Any, server: Any) -> None:
        self.shelved = shelved
        self.remote = RemoteEmbedder(server.settings(timeout_s=TIMEOUT_S))
        self.guarded = GuardedEmbedder(self.remote)
        self.searcher = ShelfSearcher(shelf=shelved.shelf, embedder=self.guarded)

    def search(self, query: str = "robots in space") -> Found:
        return self.searcher.search(query, scope=WHOLE, limit=5)


@pytest.fixture
def searches(shelved: Any, embedding_server: Any, anime: Callable[..., Any]) -> Iterator[Searches]:
    shelved.put(
        anime("Planet of Robots", synopsis="Robots alone in space."),
        anime("The Bakery", synopsis="Bread, and the people who eat it."),
    )
    made = Searches(shelved, embedding_server)
    # all is well before anything goes wrong
    assert made.search("bread in space").mode is SearchMode.HYBRID
    yield made
    made.remote.close()


def require_words_alone(page: Found, reason: str) -> None:
    assert page.mode is SearchMode.FTS_ONLY
    assert page.degraded is not None
    assert reason in page.degraded
    assert [hit.record.id for hit in page.hits] == ["Planet of Robots"]
    assert page.hits[0].match_type is MatchType.FTS


@pytest.mark.parametrize(("mood", "reason"), FAULTS.items())
def test_a_faulty_embedder_costs_the_vectors_and_no_more(
    searches: Searches, embedding_server: Any, mood: str, reason: str
) -> None:
    embedding_server.mood = mood
    require_words_alone(searches.search(), reason)


def test_recommendations_go_on_without_the_wording_of_the_preferences_and_say_so(
    searches: Searches, embedding_server: Any
) -> None:
    shelf, embedder = searches.shelved.shelf, searches.guarded
    request = Request(titles=("Planet of Robots",), preferences="darker tone", limit=5)
    before = replace(request, preferences="lighter tone")
    assert recommend(shelf, embedder, before, scope=WHOLE).notes == ()
    embedding_server.mood = "500"
    answer = recommend(shelf, embedder, request, scope=WHOLE)
    assert [item.record.id for item in answer.items] == ["The Bakery"]
    assert any("status 500" in note for note in answer.notes)
