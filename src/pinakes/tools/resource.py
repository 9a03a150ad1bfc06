"""Resources: content that a client reads by URI. Declared like tools; knows no transport.

A catalogue's records are at `pinakes://CATALOGUE/ID`. A catalogue package may add resources of its own.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pinakes.model.principal import Action, Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceContent:
    """The content at a URI: text or bytes."""

    mime_type: str
    text: str | None = None
    blob: bytes | None = None

    @property
    def size_bytes(self) -> int:
        """The size of the content."""
        return len(self._content)

    @property
    def digest(self) -> str:
        """SHA-256 of the content."""
        return hashlib.sha256(self._content).hexdigest()

    @property
    def _content(self) -> bytes:
        return self.blob if self.blob is not None else (self.text or "").encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceEntry:
    """One entry in a list of resources."""

    uri: str
    name: str
    title: str = ""
    mime_type: str = "text/plain"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceSpec:
    """Resources that share a URI prefix. It cannot be declared without the action it needs."""

    prefix: str
    """The prefix of its URIs, such as `notes://`."""
    action: Action
    entries: Callable[[Principal], Sequence[ResourceEntry]]
    """Lists resources for a principal; not necessarily all that can be read."""
    read: Callable[[Principal, str], ResourceContent | None]
    """Returns the content at a URI without its prefix; None where there is none that the principal may see."""
    template: str = ""
    """An RFC 6570 template for URIs that are not listed, such as `pinakes://{catalogue}/{+id}`."""
    name: str = ""
    """The template's name."""
    description: str = ""
    template_mime_type: str = "application/json"
    """The template's description."""
    complete: Callable[[Principal, str, str, dict[str, str]], Sequence[str]] | None = None
    """Completes a variable of the template: (principal, variable, typed text, other variables) → values."""
