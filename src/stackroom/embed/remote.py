"""An OpenAI-compatible embeddings endpoint (OpenAI, Infinity, Ollama, Text Embeddings Inference),
and models from a hub by plain HTTPS: `BASE/ORGANISATION/NAME/resolve/main/FILE`, verified.

Responses are validated: one vector per text, of the right dimension, finite and not zero. Any
failure is an `UnavailableError` with the reason, so that search can continue without vectors and
say why.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import orjson

from stackroom.background.threads import new_pool
from stackroom.errors import ExpectedError, UnavailableError
from stackroom.model.vectors import ModelId, Vector
from stackroom.net.addresses import AddressGuard, AddressRules, shown_address
from stackroom.net.fetch import Fetcher, FetchLimits, WantedFile
from stackroom.net.polite import DeadlineClient, describe_failure
from stackroom.settings import EmbeddingSettings

DOCUMENT_TIMEOUT_FACTOR = 30  # the time limit of a batch of documents, as a multiple of a query's

HEALTH_PATHS = {"infinity": "/health", "tei": "/health", "ollama": "/api/version"}


class RemoteEmbedder:
    """Implements `Embedder` over HTTP."""

    def __init__(self, settings: EmbeddingSettings) -> None:
        self.model = ModelId(name=settings.model, dimension=settings.dimension)
        self._settings = settings
        self._place = f"{settings.kind} at {shown_address(settings.url)}"
        headers = {"Authorization": f"Bearer {settings.api_key}"} if settings.api_key else {}
        self._client = DeadlineClient(settings.url, headers=headers)

    def check(self) -> str | None:
        """Call the server's health check; return the problem, or None."""
        path = HEALTH_PATHS.get(self._settings.kind)
        try:
            if path is None:
                self.embed_query("health")
            else:
                self._client.request("GET", path, timeout_s=self._settings.timeout_s)
        except httpx.HTTPError as error:
            return f"{self._place}: {_reason(error)}"
        except UnavailableError as error:
            return error.message
        return None

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a query."""
        asked = self._settings.query_prefix + self._normalised(text)
        row: Vector = self._embed([asked], timeout_s=self._settings.timeout_s)[0]
        return row

    def embed_documents(self, texts: Sequence[str]) -> Vector:
        """Return one row per text, requested in batches, some of them at the same time."""
        prefix, size = self._settings.document_prefix, self._settings.batch_size
        timeout_s = self._settings.timeout_s * DOCUMENT_TIMEOUT_FACTOR
        sent = [prefix + self._normalised(text) for text in texts]
        batches = [sent[start : start + size] for start in range(0, len(sent), size)]
        with new_pool("embedding requests", self._settings.requests) as pool:
            # after a failure none is begun
            rows = list(pool.map(partial(self._embed, timeout_s=timeout_s), batches))
        return np.concatenate(rows) if rows else np.empty((0, self.model.dimension), np.float32)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _normalised(self, text: str) -> str:
        """Normalise a text before it is sent, alike for documents and queries."""
        collapsed = " ".join(text.split())
        return collapsed.lower() if self._settings.lower_case else collapsed

    def _embed(self, texts: list[str], *, timeout_s: float) -> Vector:
        body = {"model": self._settings.model, "input": texts, "encoding_format": "float"}
        try:
            answer = orjson.loads(
                self._client.request("POST", self._settings.path, body=body, timeout_s=timeout_s)
            )
        except (httpx.HTTPError, ValueError) as error:
            raise UnavailableError(f"{self._place}: {_reason(error)}") from error
        return _checked_rows(answer, count=len(texts), dimension=self.model.dimension)


def _checked_rows(answer: Any, *, count: int, dimension: int) -> Vector:
    """Return the vectors of a response as unit rows, in the order of the texts; refuse an invalid
    response.
    """
    try:
        data = sorted(answer["data"], key=lambda item: item.get("index", 0))
        rows = np.array([item["embedding"] for item in data], dtype=np.float64)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UnavailableError(
            "the embedder's answer is not in the form of an embeddings answer; is its path right?"
        ) from error
    if rows.shape != (count, dimension):
        raise UnavailableError(
            f"the embedder answered vectors of shape {rows.shape}, wanted {(count, dimension)}; "
            "is it the model the catalogue was built with?"
        )
    largest = np.abs(rows).max(axis=1, keepdims=True, initial=0)
    if not np.isfinite(rows).all() or not (largest > 0).all():
        raise UnavailableError(
            "the embedder answered vectors that are zero or not finite; does it serve the right"
            " model?"
        )
    rows /= largest  # so that the squares neither overflow nor underflow
    unit: Vector = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return unit


def _reason(error: Exception) -> str:
    if isinstance(error, httpx.HTTPStatusError):
        return f"answered status {error.response.status_code}"
    return (
        "answered something that is not JSON"
        if isinstance(error, ValueError)
        else describe_failure(error)
    )


MAX_BYTES = 2_000_000_000
ATTEMPTS = 3


def fetch_from_hub(name: str, files: Mapping[str, str], *, hub_url: str, folder: Path) -> None:
    """Fetch the files (name → sha256) of a model into a folder; existing files are verified.

    The hub may be on this machine or its network; hosts that it redirects to are public.
    """
    guard = AddressGuard(AddressRules.of(url=hub_url))
    fetcher = Fetcher(guard, limits=FetchLimits(max_bytes=MAX_BYTES))
    for file, sha256 in files.items():
        url = f"{hub_url.rstrip('/')}/{name}/resolve/main/{file}"
        try:
            fetcher.fetch_file(
                WantedFile(url=url, destination=folder / file, sha256=sha256), attempts=ATTEMPTS
            )
        except ExpectedError as error:
            raise UnavailableError(f"{shown_address(url)}: {error.message}") from error
