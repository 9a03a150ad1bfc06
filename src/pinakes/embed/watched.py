"""An embedder whose failures are counted, so that nobody takes an answer without it for the best there is."""

from collections.abc import Sequence

from pinakes.embed.port import Embedder
from pinakes.errors import ExpectedError
from pinakes.model.vectors import ModelId, Vector


class WatchedEmbedder:
    """Implements `Embedder` over another one."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self.failures = 0
        """How many queries could not be embedded so far."""
        self.problem: str | None = None
        """Why the last query could not be; None where it could."""

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
        """Embed documents."""
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
