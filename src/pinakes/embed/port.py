"""The embedding port."""

from collections.abc import Sequence
from typing import Protocol

from pinakes.model.vectors import ModelId, Vector


class Embedder(Protocol):
    """Turns texts into unit vectors of one model. Prefixes that the model wants are the implementation's business.

    Duties: `embed_query` answers or raises `UnavailableError` within its time-out; what comes back is finite, of unit
    length and of the model's dimension.
    """

    @property
    def model(self) -> ModelId:
        """The model whose vectors these are."""

    def embed_documents(self, texts: Sequence[str]) -> Vector:
        """Return one row a text, for storing."""

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a query, for comparing with stored rows."""

    def check(self) -> str | None:
        """Return why the embedder cannot be used now, or None when it can."""

    def close(self) -> None:
        """Let go of connections; it is not used any more."""
