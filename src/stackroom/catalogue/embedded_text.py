"""The text of a record that is embedded, and the digest under which its vector is kept."""

import hashlib

from stackroom.catalogue.spec import CatalogueSpec, embedding_text
from stackroom.model.record import Record


def digest_of(text: str) -> bytes:
    """Return the key under which the vector of a text is kept."""
    return hashlib.sha256(text.encode("utf-8", errors="replace")).digest()


def find_digest(record: Record, spec: CatalogueSpec) -> bytes | None:
    """Return the digest of the text that is embedded for a record; None where there is no text."""
    text = embedding_text(spec.embed, record) if spec.embed else ""
    return digest_of(text) if text else None
