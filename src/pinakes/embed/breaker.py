"""A circuit breaker around an embedder: after repeated failures it is left alone for a while, then tried again."""

import threading
import time
from collections.abc import Callable, Sequence

from pinakes.embed.port import Embedder
from pinakes.errors import ExpectedError, ModelError, UnavailableError
from pinakes.model.vectors import ModelId, Vector

FAILURES_TO_OPEN = 5
PAUSE_S = 10.0


class GuardedEmbedder:
    """Implements `Embedder` over another one. Open: fails at once, with the last reason, until the pause is over."""

    def __init__(self, inner: Embedder, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._inner = inner
        self._clock = clock
        self._guard = threading.Lock()
        self._failures = 0
        self._retry_at = 0.0
        self._reason = ""

    @property
    def model(self) -> ModelId:
        """The model of the embedder within."""
        return self._inner.model

    def check(self) -> str | None:
        """Return why the embedder cannot be used now, or None when it can."""
        return self._inner.check()

    def close(self) -> None:
        """Close the embedder within."""
        self._inner.close()

    def embed_documents(self, texts: Sequence[str]) -> Vector:
        """Embed documents; a build waits or fails by itself, so the breaker has no say."""
        return self._inner.embed_documents(texts)

    def embed_query(self, text: str) -> Vector:
        """Embed a query, or fail at once while the breaker is open."""
        self._require_closed()
        try:
            row = self._inner.embed_query(text)
        except (UnavailableError, ModelError) as error:
            self._note_failure(error)
            raise
        with self._guard:
            self._failures = 0
        return row

    def _require_closed(self) -> None:
        with self._guard:
            now = self._clock()
            if self._failures < FAILURES_TO_OPEN:
                return
            if now < self._retry_at:
                raise UnavailableError(f"{self._reason} (trying again in {self._retry_at - now:.0f} s)")
            self._retry_at = now + PAUSE_S  # one caller tries; the others wait for how it ends

    def _note_failure(self, error: ExpectedError) -> None:
        with self._guard:
            self._failures += 1
            self._reason = error.message
            if self._failures >= FAILURES_TO_OPEN:
                self._retry_at = self._clock() + PAUSE_S
