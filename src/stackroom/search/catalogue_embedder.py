"""The embedder of one catalogue, by the model of its vectors."""

from collections.abc import Callable, Sequence

from stackroom.embed.port import Embedder
from stackroom.model.vectors import ModelId, Vector, centre
from stackroom.shelf.port import Shelf, ShelfReader


class CatalogueEmbedder:
    """Implements `Embedder` for a shelf. The model may change while the shelf is served: the next
    query follows.
    """

    def __init__(self, shelf: Shelf, get_embedder: Callable[[ModelId | None], Embedder]) -> None:
        self._shelf = shelf
        self._get_embedder = get_embedder

    @property
    def model(self) -> ModelId:
        """The model of the vectors, if there is an embedder of it."""
        return self._inner(self._shelf.find_reader() or self._shelf.reader()).model

    def check(self) -> str | None:
        """Return why the embedder cannot be used now, or None when it can."""
        return self._inner(self._shelf.reader()).check()

    def close(self) -> None:
        """Do nothing: embedders are shared, and closed by their owner."""

    def embed_documents(self, texts: Sequence[str]) -> Vector:
        """Return the vectors of texts to be stored; the index centres them."""
        return self._inner(self._shelf.reader()).embed_documents(texts)

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a query, centred by the mean of the index."""
        reader = self._shelf.find_reader() or self._shelf.reader()
        vector = self._inner(reader).embed_query(text)
        return vector if reader.mean is None else centre(vector, reader.mean)

    def _inner(self, reader: ShelfReader) -> Embedder:
        return self._get_embedder(reader.model)
