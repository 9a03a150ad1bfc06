"""The embedding port."""

from collections.abc import Sequence
from typing import Protocol

from stackroom.model.vectors import ModelId, Vector


class Embedder(Protocol):
    """Turns texts into unit vectors of one model. The implementation adds prefixes that the model
    needs.

    Duties: `embed_query` answers or raises `UnavailableError` within its time-out; vectors are
    finite, of unit length and of the model's dimension.
    """

    @property
    def model(self) -> ModelId:
        """The identity of the model."""

    def embed_documents(self, texts: Sequence[str]) -> Vector:
        """Return the vectors of texts to be stored, one row per text."""

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a query, to be compared with stored vectors."""

    def check(self) -> str | None:
        """Return why the embedder cannot be used now, or None when it can."""

    def close(self) -> None:
        """Close connections; the embedder must not be used afterwards."""
