"""Which adapter serves which setting. Adapters are heavy to import, so the chosen one is loaded at its first use."""

import importlib
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from pinakes.embed.breaker import GuardedEmbedder
from pinakes.embed.port import Embedder
from pinakes.embed.weights import MODEL_NAME, check_model, model_folder
from pinakes.model.vectors import ModelId, Vector
from pinakes.settings import EmbeddingSettings

LOCAL_MODULE = "pinakes.embed.minilm"
REMOTE_MODULE = "pinakes.embed.remote"
LOCAL_MODEL = ModelId(name=MODEL_NAME, dimension=384)


def build_embedder(settings: EmbeddingSettings, models: Path) -> Embedder:
    """Return the embedder that the settings name."""
    if settings.kind == "local":
        folder = Path(settings.folder).expanduser() if settings.folder else model_folder(models)
        return LocalEmbedder(folder)
    remote = importlib.import_module(REMOTE_MODULE).RemoteEmbedder(settings)
    return GuardedEmbedder(cast(Embedder, remote))


class LocalEmbedder:
    """Implements `Embedder` with the local model, which is imported and loaded when it is first needed."""

    model = LOCAL_MODEL

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._guard = threading.Lock()
        self._loaded: Embedder | None = None

    def check(self) -> str | None:
        """Return why the model cannot be used, or None when it can."""
        return "; ".join(check_model(self._folder)) or None

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a query."""
        return self._inner().embed_query(text)

    def embed_documents(self, texts: Sequence[str]) -> Vector:
        """Return one row a text."""
        return self._inner().embed_documents(texts)

    def _inner(self) -> Embedder:
        with self._guard:
            if self._loaded is None:
                module = importlib.import_module(LOCAL_MODULE)
                self._loaded = cast(Embedder, module.MiniLM(self._folder))
            return self._loaded
