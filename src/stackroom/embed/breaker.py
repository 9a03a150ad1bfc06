"""Wrappers of an embedder: failures of queries are counted, and after several it is left alone for a while."""

import threading
import time
from collections.abc import Callable, Sequence

from stackroom.embed.port import Embedder
from stackroom.errors import ExpectedError, ModelError, UnavailableError
from stackroom.model.vectors import ModelId, Vector

FAILURES_TO_OPEN = 5
PAUSE_S = 10.0


class WatchedEmbedder:
    """Implements `Embedder` over another one, and counts the queries that could not be embedded."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self.failures = 0
        """How many queries could not be embedded so far."""
        self.problem: str | None = None
        """Why the last query could not be embedded; None where it could."""

    @property
    def model(self) -> ModelId:
        """The model of the inner embedder."""
        return self._inner.model

    def check(self) -> str | None:
        """Return why the embedder cannot be used now, or None when it can."""
        return self._inner.check()

    def close(self) -> None:
        """Close the inner embedder."""
        self._inner.close()

    def embed_documents(self, texts: Sequence[str]) -> Vector:
        """Embed documents; a build waits or fails by itself, so failures are not counted."""
        return self._inner.embed_documents(texts)

    def embed_query(self, text: str) -> Vector:
        """Embed a query."""
        try:
            vector = self._inner.embed_query(text)
        except ExpectedError as error:
            self.failures += 1
            self.problem = error.message
            raise
        self.problem = None
        return vector


class GuardedEmbedder(WatchedEmbedder):
    """A circuit breaker: after several failures in a row it fails at once with the last reason, for a while."""

    def __init__(self, inner: Embedder, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(inner)
        self._clock = clock
        self._guard = threading.Lock()
        self._failures_in_a_row = 0
        self._retry_at = 0.0

    def embed_query(self, text: str) -> Vector:
        """Embed a query, or fail at once while the breaker is open."""
        self._require_closed()
        try:
            vector = super().embed_query(text)
        except (UnavailableError, ModelError):
            self._note_failure()
            raise
        with self._guard:
            self._failures_in_a_row = 0
        return vector

    def _require_closed(self) -> None:
        with self._guard:
            now = self._clock()
            if self._failures_in_a_row < FAILURES_TO_OPEN:
                return
            if now < self._retry_at:
                raise UnavailableError(f"{self.problem} (trying again in {self._retry_at - now:.0f} s)")
            self._retry_at = now + PAUSE_S  # one caller tries; the others wait for how it ends

    def _note_failure(self) -> None:
        with self._guard:
            self._failures_in_a_row += 1
            if self._failures_in_a_row >= FAILURES_TO_OPEN:
                self._retry_at = self._clock() + PAUSE_S
