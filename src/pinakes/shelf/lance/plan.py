"""Changes → what to write: which rows are new, which keys go, which vectors to put by. Nothing is written here."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from pinakes.catalogue.codec import encode_record
from pinakes.model.record import Key, RecordId
from pinakes.model.vectors import ModelId, Vector
from pinakes.shelf.history import LoggedChange
from pinakes.shelf.lance.layout import DocumentRow
from pinakes.shelf.port import Author, Change, Delete, Embedding, Op, Put


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRow:
    """What the shelf has under an id."""

    key: Key
    body: bytes
    digest: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The outcome of a batch: keys to take out, rows to put in, vectors that no row holds any more, the counters."""

    gone: Sequence[Key]
    rows: Sequence[DocumentRow]
    spare: Mapping[bytes, Vector]
    log: Sequence[LoggedChange]
    change_no: int
    last_key: int


def ids_of(changes: Iterable[Change]) -> list[RecordId]:
    """Return the ids that these changes are about, each once."""
    return list(dict.fromkeys(change.record.id if isinstance(change, Put) else change.id for change in changes))


def digests_of(changes: Iterable[Change]) -> set[bytes]:
    """Return the digests of the texts that these changes come with vectors for, or expect vectors of."""
    puts = [change for change in changes if isinstance(change, Put)]
    return {put.embedding.digest for put in puts if put.embedding is not None}


def require_fitting(changes: Iterable[Change], model: ModelId | None) -> None:
    """Refuse the whole batch for one vector that cannot be the model's."""
    for change in changes:
        if isinstance(change, Put) and change.embedding is not None:
            change.embedding.require_fits(model)


class Planner:
    """Makes changes one after the other on what is stored, and tells what came of it.

    `held` are the vectors of stored rows, `spare` those that were put by when their rows went.
    """

    def __init__(
        self,
        stored: Mapping[RecordId, StoredRow],
        *,
        held: Mapping[bytes, Vector],
        spare: Mapping[bytes, Vector],
        model: ModelId | None,
        change_no: int,
        last_key: int,
        author: Author,
        at: datetime,
    ) -> None:
        self._author = author
        self._at = at
        self._log: list[LoggedChange] = []
        self._stored = stored
        self._now: dict[RecordId, StoredRow | DocumentRow] = dict(stored)
        self._vectors = {**held, **spare}
        self._spare = spare
        self._model = model
        self._change_no = change_no
        self._last_key = last_key

    def make(self, changes: Iterable[Change]) -> None:
        """Make the changes, in order."""
        for change in changes:
            if isinstance(change, Put):
                self._put(change)
            else:
                self._delete(change)

    def plan(self) -> Plan:
        """Return what is to be written for the changes made so far."""
        rows = [row for row in self._now.values() if isinstance(row, DocumentRow)]
        kept = {row.digest for row in self._now.values()} | self._spare.keys()
        return Plan(
            gone=[row.key for record_id, row in self._stored.items() if self._now.get(record_id) is not row],
            rows=sorted(rows, key=lambda row: row.key),
            spare={digest: vector for digest, vector in self._vectors.items() if digest not in kept},
            log=self._log,
            change_no=self._change_no,
            last_key=self._last_key,
        )

    def _put(self, put: Put) -> None:
        body = encode_record(put.record)
        digest = self._digest_with_vector(put.embedding)
        old = self._now.get(put.record.id)
        if old is not None and (old.body, old.digest) == (body, digest):
            return
        self._note(put.record.id, Op.INSERT if old is None else Op.UPDATE, old)
        self._now[put.record.id] = DocumentRow(
            key=self._new_key() if old is None else old.key,
            change_no=self._change_no,
            record=put.record,
            body=body,
            digest=digest,
            vector=None if digest is None else self._vectors[digest],
        )

    def _delete(self, change: Delete) -> None:
        old = self._now.pop(change.id, None)
        if old is not None:
            self._note(change.id, Op.DELETE, old)

    def _note(self, record_id: RecordId, op: Op, old: StoredRow | DocumentRow | None) -> None:
        """Give the change its number, and log what it replaces."""
        self._change_no += 1
        self._log.append(
            LoggedChange(
                change_no=self._change_no,
                id=record_id,
                op=op,
                before=None if old is None else old.body,
                author=self._author,
                at=self._at,
            )
        )

    def _new_key(self) -> Key:
        self._last_key += 1
        return Key(self._last_key)

    def _digest_with_vector(self, embedding: Embedding | None) -> bytes | None:
        """Return the digest if there is a vector for it, given now or before; the first one given holds."""
        if embedding is None or self._model is None:
            return None
        if embedding.vector is not None:
            self._vectors.setdefault(embedding.digest, embedding.vector)
        return embedding.digest if embedding.digest in self._vectors else None
