"""The reranker against a real endpoint: three forms of answer, and everything that can go wrong
with one.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from stackroom.search.remote_reranker import RemoteReranker
from stackroom.settings import RerankSettings
from support.searching import searcher_of

pytestmark = pytest.mark.row("A5")

TIMEOUT_S = 60.0
SHORT_TIMEOUT_S = 0.3
DEPTH = 4
TEXTS = ["first", "second", "third"]


def cohere(texts: Sequence[str]) -> Any:
    """Answer as Cohere and Infinity do, the last text best, in the order of relevance."""
    count = len(texts)
    return {"results": [{"index": i, "relevance_score": i / count} for i in reversed(range(count))]}


def tei(texts: Sequence[str]) -> Any:
    """Answer as Text Embeddings Inference does."""
    return [{"index": i, "score": i / len(texts)} for i in range(len(texts))]


NONSENSE: dict[str, Any] = {
    "no JSON": b"<html>",
    "nothing": b"",
    "an empty object": {},
    "a number": 7,
    "text": "ok",
    "null": None,
    "no results": {"results": None},
    "results of another kind": {"results": ["a", "b", "c"]},
    "no score": {"results": [{"index": 0}, {"index": 1}, {"index": 2}]},
    "a missing index": {
        "results": [{"index": 0, "relevance_score": 1}, {"index": 2, "relevance_score": 0}]
    },
    "an index out of range": {"results": [{"index": i, "relevance_score": 1} for i in (0, 1, 7)]},
    "one too many": {"results": [{"index": i, "relevance_score": 1} for i in range(4)]},
    "scores that are no numbers": (
        b'[{"index":0,"score":NaN},{"index":1,"score":1},{"index":2,"score":1}]'
    ),
    "an endless score": b'[{"index":0,"score":"inf"},{"index":1,"score":1},{"index":2,"score":1}]',
    "depth": b"[" * 100_000,
}


@pytest.fixture
def timeout_s() -> float:
    return TIMEOUT_S


@pytest.fixture
def reranker(rerank_server: Any, timeout_s: float) -> Iterator[RemoteReranker]:
    made = RemoteReranker(
        RerankSettings(
            url=f"{rerank_server.url}/rerank", model="m", timeout_s=timeout_s, depth=DEPTH
        )
    )
    yield made
    made.close()


@pytest.mark.parametrize("form", [cohere, tei])
def test_the_usual_forms_of_an_answer_are_understood(
    rerank_server: Any, reranker: RemoteReranker, form: Callable[..., Any]
) -> None:
    rerank_server.reply = form
    assert reranker.scores("q", TEXTS) == pytest.approx([0, 1 / 3, 2 / 3])


def test_the_request_has_what_each_kind_of_endpoint_asks_for(
    rerank_server: Any, reranker: RemoteReranker
) -> None:
    rerank_server.reply = cohere
    reranker.scores("a question", TEXTS)
    body = rerank_server.bodies[0]
    assert (body["model"], body["query"], body["documents"], body["texts"]) == (
        "m",
        "a question",
        TEXTS,
        TEXTS,
    )


@pytest.mark.parametrize("answer", NONSENSE.values(), ids=NONSENSE.keys())
def test_a_nonsensical_answer_is_no_answer(
    rerank_server: Any, reranker: RemoteReranker, answer: Any
) -> None:
    rerank_server.reply = lambda _texts: answer
    assert reranker.scores("q", TEXTS) is None


@pytest.fixture
def stories(shelved: Any, anime: Callable[..., Any]) -> Any:
    shelved.put(
        *(anime(f"Robots {number}", synopsis="Robots " * (number + 1)) for number in range(6))
    )
    return shelved


def test_the_first_hits_take_the_endpoint_s_order_and_the_scores_still_fall_with_the_rank(
    stories: Any, rerank_server: Any, reranker: RemoteReranker
) -> None:
    rerank_server.reply = cohere
    plain = searcher_of(stories)
    reranking = searcher_of(stories, reranker=reranker)
    before = plain.ids("robots")
    assert reranking.ids("robots") == [*reversed(before[:DEPTH]), *before[DEPTH:]]
    scores = [hit.score for hit in reranking.search("robots").hits]
    assert scores == sorted(scores, reverse=True)


def test_a_short_page_is_chosen_from_as_many_hits_as_are_reranked(
    stories: Any, rerank_server: Any, reranker: RemoteReranker
) -> None:
    rerank_server.reply = cohere
    before = searcher_of(stories).ids("robots")
    reranking = searcher_of(stories, reranker=reranker)
    assert reranking.ids("robots", limit=1) == before[DEPTH - 1 : DEPTH]


@pytest.mark.parametrize("timeout_s", [SHORT_TIMEOUT_S])
@pytest.mark.parametrize("fault", ["hanging", "nonsense", "dead"])
def test_without_an_answer_in_its_time_the_order_stays_and_the_search_says_so(
    stories: Any, rerank_server: Any, reranker: RemoteReranker, fault: str
) -> None:
    rerank_server.hanging = fault == "hanging"
    rerank_server.reply = lambda _texts: b"?"
    if fault == "dead":
        rerank_server.die()
    before = searcher_of(stories).ids("robots")
    reranking = searcher_of(stories, reranker=reranker)
    assert reranking.ids("robots") == before
    assert "the reranker did not answer" in str(reranking.search("robots").degraded)


@pytest.mark.parametrize(("status", "told"), [(503, "answered 503"), (401, "answered 401")])
def test_the_log_says_what_the_endpoint_answered(
    reranker: RemoteReranker,
    rerank_server: Any,
    caplog: pytest.LogCaptureFixture,
    status: int,
    told: str,
) -> None:
    rerank_server.status = status
    assert reranker.scores("x", TEXTS) is None
    assert told in caplog.text
    assert "127.0.0.1" not in caplog.text
