"""The command side of the public API: the library as `ctx.obj` of a package's command, which alone
loads this.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from stackroom.embed.port import Embedder
from stackroom.gate.gate import Gate
from stackroom.library import Library
from stackroom.model.principal import LOCAL_USER
from stackroom.settings import Settings
from stackroom.shelf.port import ShelfReader, iter_key_batches
from stackroom.tools.catalogue import OpenCatalogue


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

__all__ = ["LOCAL_USER", "OpenLibrary", "OpenedLibrary", "ShelfReader", "iter_key_batches"]
