"""Puts with vectors from records, for builds, edits and repairs alike.

Vectors are stored under the digest of their text, so that each distinct text is embedded once.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from stackroom.catalogue.codec import digest_of
from stackroom.catalogue.spec import CatalogueSpec, embedding_text
from stackroom.embed.port import Embedder
from stackroom.model.record import Key, Record, RecordId
from stackroom.model.vectors import Vector
from stackroom.shelf.port import EVERY_KEY, Embedding, KeyRange, Put, ShelfWriter

FIRST_BATCH, LEAST_BATCH, MOST_BATCH = 64, 16, 1024
# about how long a batch of texts takes to embed: so much is lost if the process is killed
BATCH_S = 2.0
PUBLISH_S = 1.0
# vectors are published at least so many seconds apart, and take at most this share of the time
PUBLISH_SHARE = 0.05


def build_puts(
    records: Sequence[Record], spec: CatalogueSpec
) -> tuple[list[Put], dict[bytes, str]]:
    """Return the puts of records, each with the digest of its text and no vector yet, and the texts
    by digest.
    """
    texts: dict[bytes, str] = {}
    puts = []
    for record in records:
        text = embedding_text(spec.embed, record) if spec.embed else ""
        digest = digest_of(text)
        texts[digest] = text
        puts.append(Put(record=record, embedding=Embedding(digest=digest) if text else None))
    return puts, texts


def missing_texts(
    puts: Sequence[Put], texts: Mapping[bytes, str], writer: ShelfWriter
) -> dict[bytes, str]:
    """Return those of the texts of these puts for which the shelf has no vector, by digest."""
    missing = writer.missing_embeddings(
        put.embedding.digest for put in puts if put.embedding is not None
    )
    return {digest: text for digest, text in texts.items() if digest in missing}


def iter_vectors(
    texts: Mapping[bytes, str], embedder: Embedder, *, batch_size: int
) -> Iterator[tuple[bytes, Vector]]:
    """Yield each text's digest with its vector, one request to the embedder for every batch of
    texts.
    """
    digests = list(texts)
    for start in range(0, len(digests), batch_size):
        some = digests[start : start + batch_size]
        yield from zip(some, embedder.embed_documents([texts[one] for one in some]), strict=True)


def with_vectors(puts: Sequence[Put], vectors: Mapping[bytes, Vector]) -> list[Put]:
    """Return the puts with the given vectors filled in; the others are on the shelf already, or are
    made later.
    """
    return [
        Put(
            record=put.record,
            embedding=Embedding(digest=put.embedding.digest, vector=vectors[put.embedding.digest]),
        )
        if put.embedding is not None and put.embedding.digest in vectors
        else put
        for put in puts
    ]


@dataclass(slots=True, kw_only=True)
class LateEmbedding:
    """Embeds the records that lack their vector, in batches that are each committed, and published
    as they come.

    The write lock is held for moments only, so that readers, edits and other builds go on
    meanwhile. Stopped at any point, what was embedded is kept; run again, it embeds the rest.
    `progress` gets the number of texts embedded so far.
    """

    spec: CatalogueSpec
    writer: ShelfWriter
    embedder: Embedder
    # the keys of the records, of which others may embed the rest
    parts: Iterable[KeyRange] = (EVERY_KEY,)
    progress: Callable[[int], None] = lambda _count: None
    monotonic: Callable[[], float] = time.monotonic
    texts: int = 0  # how many texts were embedded so far
    _batch: int = FIRST_BATCH
    _published_at: float = field(default=float("-inf"))
    _publishing_took_s: float = 0.0
    _is_published: bool = True

    def run(self) -> None:
        """Embed each part until a pass over it finds no record that lacks its vector and has a
        text.
        """
        try:
            for part in self.parts:
                while self._pass(part):
                    pass
        finally:
            self._publish()

    def _pass(self, left: KeyRange) -> int:
        """Embed what lacks a vector in key order, and return how many texts that were."""
        before = self.texts
        while rows := self.writer.list_unembedded(within=left, limit=self._batch):
            self._embed(rows)
            left = left._replace(after=rows[-1][0])
        return self.texts - before

    def _embed(self, rows: Sequence[tuple[Key, Record]]) -> None:
        started = self.monotonic()
        puts, texts = build_puts([record for _, record in rows], self.spec)
        wanted = missing_texts(puts, texts, self.writer)
        vectors = dict(iter_vectors(wanted, self.embedder, batch_size=MOST_BATCH))
        digests = {put.record.id: put.embedding.digest for put in puts if put.embedding is not None}
        if digests:
            self._keep(digests, vectors)
            took_s = self.monotonic() - started
            if took_s < BATCH_S / 2:
                self._batch = min(self._batch * 2, MOST_BATCH)
            elif took_s > BATCH_S * 2:
                self._batch = max(self._batch // 2, LEAST_BATCH)

    def _keep(self, digests: Mapping[RecordId, bytes], vectors: Mapping[bytes, Vector]) -> None:
        self.writer.add_vectors(digests, vectors)  # commit point of a batch
        self.texts += len(vectors)
        self._is_published = False
        self.progress(self.texts)
        apart_s = max(PUBLISH_S, self._publishing_took_s / PUBLISH_SHARE)
        if self.monotonic() - self._published_at >= apart_s:
            self._publish()

    def _publish(self) -> None:
        if self._is_published:
            return
        started = self.monotonic()
        self.writer.publish_vectors()
        self._is_published = True
        self._published_at = self.monotonic()
        self._publishing_took_s = self._published_at - started
