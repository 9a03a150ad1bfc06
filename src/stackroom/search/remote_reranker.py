"""A cross-encoder endpoint that rescores the best hits: Infinity, TEI or Cohere style `/rerank`.

Off unless configured. It has a time box: when it does not answer in time, or answers nonsense, the
order stays.
"""

import logging
import math
from collections.abc import Sequence
from typing import Any

import httpx
import orjson

from stackroom.net.polite import DeadlineClient
from stackroom.settings import RerankSettings

logger = logging.getLogger(__name__)


class RemoteReranker:
    """Implements `Reranker` over HTTP."""

    def __init__(self, settings: RerankSettings) -> None:
        self.depth = settings.depth
        self.failures = 0
        self._settings = settings
        headers = {"Authorization": f"Bearer {settings.api_key}"} if settings.api_key else {}
        self._client = DeadlineClient("", headers=headers)

    def scores(self, query: str, texts: Sequence[str]) -> list[float] | None:
        """Return the endpoint's scores; all three common response formats are read."""
        body = {
            "model": self._settings.model,
            "query": query,
            "documents": list(texts),
            "texts": list(texts),
        }
        try:
            answer = self._client.request(
                "POST", self._settings.url, body=body, timeout_s=self._settings.timeout_s
            )
            return _scores_in(orjson.loads(answer), len(texts))
        except (httpx.HTTPError, ValueError, LookupError, TypeError, AttributeError) as error:
            self.failures += 1
            logger.warning(
                "rerank skipped, the order stays as it was: %s",
                _reason(error, self._settings.timeout_s),
            )
            return None

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


def _reason(error: Exception, timeout_s: float) -> str:
    """Return why there are no scores, without the address, which may have a key in it."""
    if isinstance(error, httpx.HTTPStatusError):
        answer = error.response
        return f"the endpoint answered {answer.status_code} {answer.reason_phrase}".rstrip()
    if isinstance(error, httpx.TimeoutException):
        return f"no answer within {timeout_s:g} s; [rerank] timeout_s gives it more"
    if isinstance(error, httpx.HTTPError):
        return f"the endpoint cannot be reached ({type(error).__name__})"
    return f"the answer is not a list of scores, one for each text ({type(error).__name__})"


def _scores_in(answer: Any, count: int) -> list[float]:
    """Read `{results: [{index, relevance_score}]}` or `[{index, score}]`."""
    results = answer["results"] if isinstance(answer, dict) else answer
    scores: dict[int, float] = {}
    for result in results:
        scores[int(result["index"])] = float(result.get("relevance_score", result.get("score")))
    if sorted(scores) != list(range(count)) or not all(
        math.isfinite(score) for score in scores.values()
    ):
        raise ValueError("the reranker did not score every text")
    return [scores[index] for index in range(count)]
