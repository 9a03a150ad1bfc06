"""The command side of the public API: the library as a package's command sees it.

The command line gives each such command an `OpenLibrary` as `ctx.obj`. Loaded by commands only, since it is slow.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from pinakes.embed.port import Embedder
from pinakes.embed.weights import MODEL_NAME, check_model, model_folder, pull_model, weight_sources
from pinakes.gate.gate import Gate
from pinakes.library import Library
from pinakes.settings import Settings
from pinakes.shelf.batches import iter_key_batches
from pinakes.tools.catalogue import OpenCatalogue


class OpenedLibrary(Protocol):
    """An opened library: its settings, its catalogues, and calls to their tools."""

    settings: Settings

    @property
    def embedder(self) -> Embedder:
        """The embedder that the settings name."""

    @property
    def library(self) -> Library:
        """The installed catalogues."""

    def open_catalogue(self, name: str) -> OpenCatalogue:
        """Return an installed catalogue, opened once."""

    def build_gate(self, names: Sequence[str] = ()) -> Gate:
        """Return the gate over these catalogues: their tools and resources."""

    def close(self) -> None:
        """Close every catalogue."""


OpenLibrary = Callable[[], OpenedLibrary]

__all__ = [
    "MODEL_NAME",
    "OpenLibrary",
    "OpenedLibrary",
    "check_model",
    "iter_key_batches",
    "model_folder",
    "pull_model",
    "weight_sources",
]
