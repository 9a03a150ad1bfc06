"""The tables of a catalogue in LanceDB, and the pointer that says which version of them is the current one.

    NAME_documents        one row a record (`layout`)
    NAME_spare_vectors    vectors whose records are gone, by model and digest, so that nothing is embedded twice
    NAME_changes          one row a change: who made it, and what it replaced
    NAME_pointer          one row: the current version of the documents, and the catalogue's counters

Every write to a table makes a new version of it. A change may take several; none is seen before the pointer names it.
So a process that is killed in between leaves the old state, and the next writer takes back what was not named. Of the
changes, those are made whose numbers the pointer has reached.
"""

import dataclasses
import logging
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import lancedb
import numpy as np
import pyarrow as pa
from lancedb.expr import Expr, col
from lancedb.table import Table

from pinakes.errors import StorageError
from pinakes.model.record import Key, RecordId
from pinakes.model.vectors import ModelId, Vector
from pinakes.shelf.history import LoggedChange, keepable
from pinakes.shelf.lance.layout import LAYOUT_VERSION
from pinakes.shelf.lance.plan import StoredRow
from pinakes.shelf.port import Author, Op

logger = logging.getLogger(__name__)

STORED_COLUMNS = ("id", "key", "body", "digest")

KEEP_VERSIONS_FOR = timedelta(hours=1)
"""How long a version can be read after it has ceased to be the current one."""

PRUNING_TAKES = timedelta(minutes=1)
"""LanceDB counts ages from the moment at which it gets to removing; it does so well within this."""

NEVER = timedelta(days=36_500)

SPARE_SCHEMA = pa.schema([("model", pa.string()), ("digest", pa.binary()), ("vector", pa.binary())])
LOG_SCHEMA = pa.schema(
    [
        ("change_no", pa.int64()),
        ("id", pa.string()),
        ("op", pa.string()),
        ("before", pa.binary()),
        ("principal", pa.string()),
        ("call_id", pa.string()),
        ("at", pa.timestamp("us", tz="UTC")),
    ]
)
POINTER_SCHEMA = pa.schema(
    [
        ("layout", pa.int64()),
        ("spec_digest", pa.string()),
        ("model", pa.string()),
        ("dimension", pa.int64()),
        ("generation", pa.int64()),
        ("change_no", pa.int64()),
        ("last_key", pa.int64()),
        ("documents_version", pa.int64()),
        ("compacted_version", pa.int64()),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointer:
    """The state of a catalogue. A new generation is one in which rows were written anew without a change."""

    layout: int = LAYOUT_VERSION
    spec_digest: str
    model: str | None
    dimension: int | None
    generation: int = 0
    change_no: int = 0
    last_key: int = 0
    documents_version: int
    compacted_version: int

    @property
    def model_id(self) -> ModelId | None:
        """The model of the vectors, or None where there are none."""
        if self.model is None or self.dimension is None:
            return None
        return ModelId(name=self.model, dimension=self.dimension)


class Tables:
    """The tables in a folder. Safe to read from several threads; whoever writes holds the catalogue's lock."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self._name = name
        self._documents = f"{name}_documents"
        self._spare = f"{name}_spare_vectors"
        self._log = f"{name}_changes"
        self._pointer = f"{name}_pointer"
        self._db = lancedb.connect(folder)
        self._pointer_table: Table | None = None
        self._read: tuple[int, Pointer] | None = None
        self._opened: tuple[int, Table] | None = None
        self._settled_log: int | None = None
        """The version of the changes in which there are none that the pointer has not reached; None: not known."""
        self._guard = threading.Lock()

    @staticmethod
    def exist(folder: Path, name: str) -> bool:
        """Tell whether there is a catalogue here."""
        return (folder / f"{name}_pointer.lance").is_dir()

    def create(self, documents: pa.Schema, *, spec_digest: str, model: ModelId | None) -> None:
        """Create the tables of a new catalogue; without the pointer, whatever is there is nothing."""
        with self._failing("created"):
            for name in (self._documents, self._spare, self._log):
                if (self.folder / f"{name}.lance").is_dir():
                    self._db.drop_table(name)  # of a process that was stopped while creating them
            created = self._db.create_table(self._documents, schema=documents)
            self._db.create_table(self._spare, schema=SPARE_SCHEMA)
            self._db.create_table(self._log, schema=LOG_SCHEMA)
            first = Pointer(
                spec_digest=spec_digest,
                model=model.name if model else None,
                dimension=model.dimension if model else None,
                documents_version=created.version,
                compacted_version=created.version,
            )
            self._db.create_table(self._pointer, data=_pointer_row(first))  # commit point: it exists from here on

    def pointer(self) -> Pointer:
        """Return the current state, whoever wrote it."""
        with self._guard, self._failing("read"):
            table = self._opened_pointer()
            table.checkout_latest()  # type: ignore[no-untyped-call]
            version = table.version
            if self._read is None or self._read[0] != version:
                self._read = version, self._pointer_of(table.to_arrow().to_pylist()[0])
            return self._read[1]

    def commit(self, pointer: Pointer) -> None:
        """Make this the current state."""
        with self._guard, self._failing("written"):
            table = self._opened_pointer()
            table.checkout_latest()  # type: ignore[no-untyped-call]
            table.add(_pointer_row(pointer), mode="overwrite")  # commit point: readers see what it names
            self._read = table.version, pointer

    def documents(self, pointer: Pointer) -> Table:
        """Return the documents as they are in this state, whatever is written later."""
        opened = self._opened
        if opened is not None and opened[0] == pointer.documents_version:
            return opened[1]
        with self._failing("read"):
            table = self._db.open_table(self._documents)
            table.checkout(pointer.documents_version)
        self._opened = pointer.documents_version, table
        return table

    def write(self, pointer: Pointer, *, gone: Sequence[Key], rows: pa.Table) -> int:
        """Take keys out of the documents, put rows in, and return the version that the next pointer is to name."""
        with self._failing("written"):
            table = self._settled_documents(pointer)
            if gone:
                table.delete(f"key IN ({', '.join(str(int(key)) for key in gone)})")
            if rows.num_rows:
                table.add(rows)
            return int(table.version)

    def write_log(self, pointer: Pointer, changes: Sequence[LoggedChange]) -> int | None:
        """Log changes that the next pointer is to reach, and return the version of the log; None without changes."""
        rows = [
            {
                "change_no": change.change_no,
                "id": change.id,
                "op": str(change.op),
                "before": change.before,
                "principal": change.author.principal,
                "call_id": change.author.call_id,
                "at": change.at,
            }
            for change in changes
        ]
        if not rows:
            return None
        with self._failing("written"):
            table = self._find_log()
            if table is None:
                table = self._db.create_table(self._log, schema=LOG_SCHEMA)
            if table.version != self._settled_log:
                table.delete(f"change_no > {int(pointer.change_no)}")  # of a writer that was stopped before its end
            self._settled_log = None
            table.add(pa.Table.from_pylist(rows, schema=LOG_SCHEMA))
            return int(table.version)

    def settle_log(self, version: int | None) -> None:
        """Remember that the pointer has reached all that is in this version of the log."""
        self._settled_log = version

    def logged(
        self,
        pointer: Pointer,
        *,
        limit: int | None = None,
        before: int | None = None,
        since: int = 0,
        call_id: str | None = None,
        ids: Sequence[RecordId] | None = None,
    ) -> list[LoggedChange]:
        """Return logged changes, newest first; none of before this table was kept."""
        table = self._find_log()
        if table is None or limit == 0 or (ids is not None and not ids):
            return []
        wanted = (col("change_no") <= pointer.change_no) & (col("change_no") >= since)
        if before is not None:
            wanted &= col("change_no") < before
        if call_id is not None:
            wanted &= col("call_id") == call_id
        if ids is not None:
            wanted &= col("id").isin(keepable(ids))
        rows = self.select(table, LOG_SCHEMA.names, where=wanted).sort_by([("change_no", "descending")])
        return [_logged(row) for row in rows.slice(0, limit).to_pylist()]

    def last_changes(
        self, ids: Sequence[RecordId], pointer: Pointer, *, as_of: int | None = None
    ) -> dict[RecordId, int]:
        """Return the number of the last change to each id, no later than `as_of`, that is known."""
        if not ids:
            return {}
        last = pointer.change_no if as_of is None else min(as_of, pointer.change_no)
        wanted = col("id").isin(keepable(ids)) & (col("change_no") <= last)
        tables = [self.documents(pointer), self._find_log()]
        found: dict[RecordId, int] = {}
        for table in tables:
            if table is None:
                continue
            for row in self.select(table, ["id", "change_no"], where=wanted).to_pylist():
                found[row["id"]] = max(found.get(row["id"], 0), row["change_no"])
        return found

    def overwrite(self, rows: pa.Table) -> int:
        """Write all documents anew, with columns of their own, and return the version of it."""
        with self._failing("written"):
            # 'null' keeps the nulls of records without a vector, which creating, unlike adding, takes for errors.
            written = self._db.create_table(self._documents, data=rows, mode="overwrite", on_bad_vectors="null")
            return int(written.version)

    def compact(self, pointer: Pointer) -> int:
        """Join the pieces that single writes have left of the documents, and return the version of it."""
        with self._failing("written"):
            documents = self._settled_documents(pointer)
            documents.optimize(cleanup_older_than=NEVER)
            return int(documents.version)

    def prune(self, pointer: Pointer) -> None:
        """Remove the versions that nobody reads any more."""
        with self._failing("written"):
            documents = self._db.open_table(self._documents)
            documents.optimize(cleanup_older_than=_age_of_use(documents, pointer.documents_version))
            for table in (self._db.open_table(self._spare), self._db.open_table(self._pointer), self._find_log()):
                if table is not None:
                    table.optimize(cleanup_older_than=_age_of_use(table, table.version))

    def select(self, table: Table, columns: Sequence[str], *, where: Expr | None = None) -> pa.Table:
        """Return these columns of the rows that meet a condition; `_rowid` is LanceDB's own."""
        with self._failing("read"):
            search = table.search() if where is None else table.search().where(where)
            return search.select(list(columns)).to_arrow()

    def stored_rows(self, ids: Sequence[RecordId], pointer: Pointer) -> dict[RecordId, StoredRow]:
        """Return what the documents have under these ids."""
        return _stored(self.select(self.documents(pointer), STORED_COLUMNS, where=col("id").isin(ids)))

    def stored_and_held(
        self, ids: Sequence[RecordId], digests: Iterable[bytes], pointer: Pointer
    ) -> tuple[dict[RecordId, StoredRow], dict[bytes, Vector]]:
        """Return what the documents have under these ids, and the vectors that any have for these digests."""
        if pointer.dimension is None:
            return self.stored_rows(ids, pointer), {}
        wanted = col("id").isin(ids) | col("digest").isin(digests)
        rows = self.select(self.documents(pointer), [*STORED_COLUMNS, "vector"], where=wanted)
        named = set(ids)
        stored = {record_id: row for record_id, row in _stored(rows).items() if record_id in named}
        held = rows.filter(rows["digest"].is_valid())
        vectors = held["vector"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
        return stored, dict(zip(held["digest"].to_pylist(), vectors.reshape(-1, pointer.dimension), strict=True))

    def held_digests(self, digests: Iterable[bytes], pointer: Pointer) -> set[bytes]:
        """Return those of these digests for which a document has the vector."""
        rows = self.select(self.documents(pointer), ["digest"], where=col("digest").isin(digests))
        return set(rows["digest"].to_pylist())

    def spare_vectors(self, digests: Iterable[bytes], model: ModelId | None) -> dict[bytes, Vector]:
        """Return the vectors that were put by for these digests."""
        with self._failing("read"):
            table = self._db.open_table(self._spare)
        wanted = (col("model") == str(model)) & col("digest").isin(digests)
        rows = self.select(table, ["digest", "vector"], where=wanted)
        return {row["digest"]: np.frombuffer(row["vector"], dtype=np.float32) for row in rows.to_pylist()}

    def put_by(self, vectors: dict[bytes, Vector], model: ModelId | None) -> None:
        """Keep vectors that no document has any more. They are true whatever becomes of the change that freed them."""
        rows = [
            {"model": str(model), "digest": digest, "vector": np.ascontiguousarray(vector, dtype=np.float32).tobytes()}
            for digest, vector in vectors.items()
        ]
        if rows:
            with self._failing("written"):
                self._db.open_table(self._spare).add(pa.Table.from_pylist(rows, schema=SPARE_SCHEMA))

    def _settled_documents(self, pointer: Pointer) -> Table:
        """Return the documents for writing, without what a writer left that was stopped before its commit point."""
        table = self._db.open_table(self._documents)
        if table.version != pointer.documents_version:
            table.checkout(pointer.documents_version)
            table.restore()
        return table

    def _find_log(self) -> Table | None:
        """Return the changes, None in a catalogue of before they were kept."""
        if not (self.folder / f"{self._log}.lance").is_dir():
            return None
        return self._db.open_table(self._log)

    def _opened_pointer(self) -> Table:
        if self._pointer_table is None:
            self._pointer_table = self._db.open_table(self._pointer)
        return self._pointer_table

    def _pointer_of(self, row: dict[str, Any]) -> Pointer:
        if row["layout"] > LAYOUT_VERSION:
            raise StorageError(
                f"the tables of catalogue '{self._name}' were written by a newer Pinakes (layout {row['layout']}); "
                "update this one"
            )
        return Pointer(**row)

    @contextmanager
    def _failing(self, what: str) -> Iterator[None]:
        """Turn what LanceDB raises, which has no types of its own, into our error."""
        try:
            yield
        except (ValueError, RuntimeError, OSError) as error:
            logger.warning("%s: the tables cannot be %s: %s", self.folder, what, error)
            reason = "they are not there" if "not found" in str(error).lower() else "the server's log says why"
            raise StorageError(f"the tables of catalogue '{self._name}' cannot be {what}: {reason}") from error


def _pointer_row(pointer: Pointer) -> pa.Table:
    return pa.Table.from_pylist([dataclasses.asdict(pointer)], schema=POINTER_SCHEMA)


def _age_of_use(table: Table, current: int) -> timedelta:
    """Return the age beyond which no version is in use: the current one is, and any that was until not long ago."""
    now = datetime.now(UTC)
    written_at: dict[int, datetime] = {one["version"]: one["timestamp"].astimezone() for one in table.list_versions()}
    long_ago = [at for at in written_at.values() if at <= now - KEEP_VERSIONS_FOR]
    oldest_in_use = max(long_ago) if long_ago else min(written_at.values())
    return now - min(oldest_in_use, written_at[current]) + PRUNING_TAKES


def _logged(row: dict[str, Any]) -> LoggedChange:
    return LoggedChange(
        change_no=row["change_no"],
        id=RecordId(row["id"]),
        op=Op(row["op"]),
        before=row["before"],
        author=Author(principal=row["principal"], call_id=row["call_id"]),
        at=row["at"],
    )


def _stored(rows: pa.Table) -> dict[RecordId, StoredRow]:
    return {
        RecordId(row["id"]): StoredRow(key=Key(row["key"]), body=row["body"], digest=row["digest"])
        for row in rows.select(list(STORED_COLUMNS)).to_pylist()
    }
