"""Puts with vectors from records, for builds, edits and repairs alike.

Vectors are stored under the digest of their text, so that each distinct text is embedded once.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence

from pinakes.catalogue.spec import CatalogueSpec, embedding_text
from pinakes.embed.port import Embedder
from pinakes.model.record import Record
from pinakes.model.vectors import Vector
from pinakes.shelf.port import Embedding, Put, ShelfWriter


def digest_of(text: str) -> bytes:
    """Return the key under which the vector of a text is kept."""
    return hashlib.sha256(text.encode("utf-8", errors="replace")).digest()


def build_puts(records: Sequence[Record], spec: CatalogueSpec) -> tuple[list[Put], dict[bytes, str]]:
    """Return the puts of records, each with the digest of its text and no vector yet, and the texts by digest."""
    texts: dict[bytes, str] = {}
    puts = []
    for record in records:
        text = embedding_text(spec.embed, record) if spec.embed else ""
        digest = digest_of(text)
        texts[digest] = text
        puts.append(Put(record=record, embedding=Embedding(digest=digest) if text else None))
    return puts, texts


def missing_digests(puts: Sequence[Put], writer: ShelfWriter) -> set[bytes]:
    """Return the digests in these puts for which the shelf has no vector."""
    return writer.missing_embeddings(put.embedding.digest for put in puts if put.embedding is not None)


def iter_vectors(texts: Mapping[bytes, str], embedder: Embedder, *, batch_size: int) -> Iterator[tuple[bytes, Vector]]:
    """Yield each text's digest with its vector, one request to the embedder for every batch of texts."""
    digests = list(texts)
    for start in range(0, len(digests), batch_size):
        some = digests[start : start + batch_size]
        yield from zip(some, embedder.embed_documents([texts[one] for one in some]), strict=True)


def with_vectors(puts: Sequence[Put], vectors: Mapping[bytes, Vector]) -> list[Put]:
    """Return the puts with the given vectors filled in; the others are on the shelf already, or are made later."""
    return [_with_vector(put, vectors) for put in puts]


def _with_vector(put: Put, vectors: Mapping[bytes, Vector]) -> Put:
    if put.embedding is None or put.embedding.digest not in vectors:
        return put
    digest = put.embedding.digest
    return Put(record=put.record, embedding=Embedding(digest=digest, vector=vectors[digest]))
