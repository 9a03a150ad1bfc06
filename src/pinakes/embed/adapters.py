"""Chooses the embedder by the settings. Adapters are heavy to import, so the chosen one is loaded on first use."""

import importlib
import ipaddress
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn, cast
from urllib.parse import urlsplit

from pinakes.embed.breaker import GuardedEmbedder
from pinakes.embed.models import MINILM, LocalModel
from pinakes.embed.port import Embedder
from pinakes.embed.weights import check_model, model_folder
from pinakes.errors import UnavailableError
from pinakes.model.vectors import ModelId, Vector
from pinakes.net.shown import shown_address
from pinakes.settings import EmbeddingSettings

LOCAL_MODULE = "pinakes.embed.encoder"
REMOTE_MODULE = "pinakes.embed.remote"


def build_embedder(settings: EmbeddingSettings, models: Path, *, offline: bool = False) -> Embedder:
    """Build the embedder that the settings name; offline, an embedder on another machine is never called."""
    if settings.kind == "local":
        folder = Path(settings.folder).expanduser() if settings.folder else model_folder(models)
        return LocalEmbedder(folder)
    if offline and not is_on_this_machine(settings.url):
        return RefusedEmbedder(settings)
    remote = importlib.import_module(REMOTE_MODULE).RemoteEmbedder(settings)
    return GuardedEmbedder(cast(Embedder, remote))


def is_on_this_machine(url: str) -> bool:
    """Return whether a URL is on this machine, so that no network is needed."""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return False  # not a valid URL
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


class RefusedEmbedder:
    """Implements `Embedder` offline, in place of a remote one: every call fails, so search falls back to words."""

    def __init__(self, settings: EmbeddingSettings) -> None:
        self.model = ModelId(name=settings.model, dimension=settings.dimension)
        self._problem = (
            f"{settings.kind} at {shown_address(settings.url)} is not asked: 'offline' is set (RAG_STRICT_OFFLINE); "
            "an embedder on this machine, or the local model, is right"
        )

    def check(self) -> str | None:
        """Return why it is not used."""
        return self._problem

    def close(self) -> None:
        """Do nothing: there are no connections."""

    def embed_query(self, _text: str) -> Vector:
        """Fail: the embedder is not used offline."""
        self._refuse()

    def embed_documents(self, _texts: Sequence[str]) -> Vector:
        """Fail: the embedder is not used offline."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise UnavailableError(self._problem)


class LocalEmbedder:
    """Implements `Embedder` with a local model, loaded on first use."""

    def __init__(self, folder: Path, local: LocalModel = MINILM) -> None:
        self.model = local.id
        self._folder = folder
        self._local = local
        self._guard = threading.Lock()
        self._loaded: Embedder | None = None

    def check(self) -> str | None:
        """Return why the model cannot be used, or None when it can."""
        return "; ".join(check_model(self._folder, self._local)) or None

    def close(self) -> None:
        """Do nothing: there are no connections."""

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a query."""
        return self._inner().embed_query(text)

    def embed_documents(self, texts: Sequence[str]) -> Vector:
        """Return one row per text."""
        return self._inner().embed_documents(texts)

    def _inner(self) -> Embedder:
        with self._guard:
            if self._loaded is None:
                module = importlib.import_module(LOCAL_MODULE)
                self._loaded = cast(Embedder, module.Encoder(self._folder, self._local))
            return self._loaded
