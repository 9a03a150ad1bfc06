"""Resources: what a client can read by address. Declared like tools; knows no transport.

A catalogue's records are at `pinakes://CATALOGUE/ID`, which the generic tools declare. A built-in catalogue may add
files of its own (`judokon://synonyms.json`).
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pinakes.model.principal import Action, Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceContent:
    """What stands at an address: a text, or bytes."""

    mime_type: str
    text: str | None = None
    blob: bytes | None = None

    @property
    def size_bytes(self) -> int:
        """How much stands there."""
        return len(self._content)

    @property
    def digest(self) -> str:
        """SHA-256 of what stands there."""
        return hashlib.sha256(self._content).hexdigest()

    @property
    def _content(self) -> bytes:
        return self.blob if self.blob is not None else (self.text or "").encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceEntry:
    """An address in a list of resources."""

    uri: str
    name: str
    title: str = ""
    mime_type: str = "text/plain"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceSpec:
    """Addresses that begin alike. It cannot be declared without the action it needs."""

    prefix: str
    """What its addresses begin with, such as `judokon://`."""
    action: Action
    entries: Callable[[Principal], Sequence[ResourceEntry]]
    """The addresses worth listing for a principal; not necessarily all that can be read."""
    read: Callable[[Principal, str], ResourceContent | None]
    """What stands at the rest of an address; None where nothing does that the principal may see."""
    template: str = ""
    """An RFC 6570 template for addresses that are not listed, such as `pinakes://{catalogue}/{+id}`."""
    name: str = ""
    """What the template is called."""
    description: str = ""
    template_mime_type: str = "application/json"
    """What stands at the template's addresses."""
    complete: Callable[[Principal, str, str, dict[str, str]], Sequence[str]] | None = None
    """Values for a variable of the template that begin like what was typed: (principal, variable, typed, others)."""
