"""The choice of the embedder by the settings. Adapters are slow to import, so the chosen one is
loaded on first use.
"""

import importlib
import threading
import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from stackroom.embed.models import LOCAL_MODELS, LocalModel
from stackroom.embed.port import Embedder
from stackroom.embed.weights import check_model
from stackroom.errors import ExpectedError, ModelError, UnavailableError
from stackroom.model.vectors import ModelId, Vector
from stackroom.net.addresses import is_loopback, shown_address
from stackroom.settings import EmbeddingSettings

FAILURES_TO_OPEN = 5
PAUSE_S = 10.0
RECENT_QUERIES = 1024
"""The number of cached query vectors for each model: about 2 MB with 384 dimensions."""


class WatchedEmbedder:
    """Implements `Embedder` over another one; counts queries, their time, and those that could not
    be embedded.
    """

    def __init__(self, inner: Embedder) -> None:
        self.inner = inner
        self.failures = self.queries = 0
        self.seconds = 0.0
        self.problem: str | None = None
        """The reason why the last query could not be embedded, or None if it could."""

    @property
    def model(self) -> ModelId:
        """The model of the inner embedder."""
        return self.inner.model

    def check(self) -> str | None:
        """Return why the embedder cannot be used now, or None when it can."""
        return self.inner.check()

    def close(self) -> None:
        """Close the inner embedder."""
        self.inner.close()

    def embed_documents(self, texts: Sequence[str]) -> Vector:
        """Embed documents; a build waits or fails by itself, so failures are not counted."""
        return self.inner.embed_documents(texts)

    def embed_query(self, text: str) -> Vector:
        """Embed a query."""
        began_at = time.perf_counter()
        try:
            vector = self.inner.embed_query(text)
        except ExpectedError as error:
            self.failures += 1
            self.problem = error.message
            raise
        finally:
            self.queries += 1
            self.seconds += time.perf_counter() - began_at
        self.problem = None
        return vector


class GuardedEmbedder(WatchedEmbedder):
    """A circuit breaker: after several failures in a row it fails at once with the last reason, for
    a while.
    """

    def __init__(self, inner: Embedder, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(inner)
        self._clock = clock
        self._guard = threading.Lock()
        self._failures_in_a_row = 0
        self._retry_at = 0.0
        self._embed_recent = lru_cache(maxsize=RECENT_QUERIES)(self._embed_guarded)

    def embed_query(self, text: str) -> Vector:
        """Embed a query, or return a cached vector; after a failure, ask the server again to notice
        its recovery.
        """
        return self._embed_recent(text) if self.problem is None else self._embed_guarded(text)

    def _embed_guarded(self, text: str) -> Vector:
        self._require_closed()
        try:
            vector = super().embed_query(text)
        except (UnavailableError, ModelError):
            with self._guard:
                self._failures_in_a_row += 1
                if self._failures_in_a_row >= FAILURES_TO_OPEN:
                    self._retry_at = self._clock() + PAUSE_S
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
                raise UnavailableError(
                    f"{self.problem} (trying again in {self._retry_at - now:.0f} s)"
                )
            self._retry_at = now + PAUSE_S  # one caller tries; the others wait for how it ends


LOCAL_MODULE = "stackroom.embed.encoder"
REMOTE_MODULE = "stackroom.embed.remote"


def build_embedder(settings: EmbeddingSettings, models: Path, *, offline: bool = False) -> Embedder:
    """Build the embedder that the settings name; offline, an embedder on another machine is never
    called.
    """
    if settings.kind == "local":
        return find_local(models, settings.model, settings) or missing_embedder(settings.model)
    if offline and not is_on_this_machine(settings.url):
        problem = (
            f"{settings.kind} at {shown_address(settings.url)} is not asked: 'offline' is set"
            " (RAG_STRICT_OFFLINE); an embedder on this machine, or the local model, is right"
        )
        return UnusableEmbedder(ModelId(name=settings.model, dimension=settings.dimension), problem)
    return GuardedEmbedder(importlib.import_module(REMOTE_MODULE).RemoteEmbedder(settings))


def find_local(models: Path, name: str, settings: EmbeddingSettings) -> Embedder | None:
    """Return the embedder of a local model, ready or not, or None for an unknown model."""
    return (
        LocalEmbedder(models / name, LOCAL_MODELS[name], settings) if name in LOCAL_MODELS else None
    )


def is_on_this_machine(url: str) -> bool:
    """Return whether a URL is on this machine, so that no network is needed."""
    try:
        return is_loopback(urlsplit(url).hostname or "")
    except ValueError:
        return False  # not a valid URL


class UnusableEmbedder:
    """Implements `Embedder` in place of an embedder that cannot be used: every call fails with the
    reason, so search falls back to words.
    """

    def __init__(self, model: ModelId, problem: str) -> None:
        self.model = model
        self._problem = problem

    def check(self) -> str | None:
        """Return the reason why the embedder cannot be used."""
        return self._problem

    def close(self) -> None:
        """Do nothing: there are no connections."""

    def embed_query(self, _text: str) -> Vector:
        """Fail with the reason."""
        raise UnavailableError(self._problem)

    def embed_documents(self, _texts: Sequence[str]) -> Vector:
        """Fail with the reason."""
        raise UnavailableError(self._problem)


def missing_embedder(name: str) -> UnusableEmbedder:
    """Return an embedder that fails, in place of an unknown local model."""
    problem = (
        f"there is no local model '{name}'; known: {', '.join(LOCAL_MODELS)}; any other by an"
        " embedding server"
    )
    return UnusableEmbedder(ModelId(name=name, dimension=0), problem)


class LocalEmbedder:
    """Implements `Embedder` with a local model, loaded on first use."""

    def __init__(self, folder: Path, local: LocalModel, settings: EmbeddingSettings) -> None:
        self.model = local.id
        self._folder = folder
        self._local = local
        self._settings = settings
        self._guard = threading.Lock()
        self._loaded: Any = None  # an `Encoder`
        # cached, since each catalogue and page asks for the same
        self.embed_query: Callable[[str], Vector] = lru_cache(maxsize=RECENT_QUERIES)(self._embed)

    def check(self) -> str | None:
        """Return why the model cannot be used, or None when it can."""
        return "; ".join(check_model(self._folder, self._local)) or None

    def close(self) -> None:
        """Do nothing: there are no connections."""

    def _embed(self, text: str) -> Vector:
        vector: Vector = self._inner().embed_query(text)
        return vector

    def embed_documents(self, texts: Sequence[str]) -> Vector:
        """Return one row per text."""
        rows: Vector = self._inner().embed_documents(texts)
        return rows

    def _inner(self) -> Any:
        with self._guard:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded

    def _load(self) -> Any:
        if problem := self.check():
            raise ModelError(f"the embedding model is not ready: {problem}")
        encoder, use = importlib.import_module(LOCAL_MODULE), self._settings
        return encoder.Encoder(self._folder, self._local, threads=use.threads, device=use.device)
