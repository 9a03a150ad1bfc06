"""A store whose truth is in PostgreSQL, with a copy in SQLite in each server's folder that follows
it.

Everything is read from the copy, so that answers are those of a store without PostgreSQL, need no
network but for one look-up of the state, and go on while the database is away. A write is a
transaction of the copy and of the database: the copy is brought up to the database under its write
lock, changed, and the rows that were touched are sent. Commit point: the end of the database's
transaction. A copy that misses it, or any other server's, gets the rows when the state is next
looked up.
"""

import logging
import secrets
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

import apsw
import psycopg

from stackroom.catalogue.spec import CatalogueSpec
from stackroom.errors import BusyError, StorageError
from stackroom.library import INSTALLED_FILE
from stackroom.model.vectors import ModelId
from stackroom.shelf.embedded.store import (
    INDEXED_VECTORS,
    SPEC_MARK,
    STORED_VECTORS,
    Store,
    StoreState,
)
from stackroom.shelf.embedded.store_file import COPY_MARK, create_tables, set_meta
from stackroom.shelf.port import KeyRange
from stackroom.shelf.postgres.store_database import (
    DatabaseLostError,
    DatabaseState,
    StoreDatabase,
    WriteTransaction,
    copying,
)
from stackroom.toml_text import load_packaged

REVISION, TOKEN, HISTORY = "revision", COPY_MARK, "history"
"""The rows of `meta` that say how far the copy has followed, and that it was made again from
another history.
"""
SHARED = ("model", "dimension", "centred", SPEC_MARK, STORED_VECTORS)
"""The rows of `meta` that are the same in the database and in every copy."""
COLUMNS: Mapping[str, str] = load_packaged(__package__, "statements.toml")["columns"]
ROW_NUMBERS = {"records": "key", "embeddings": "rowid", "changes": "change_no"}
EVERY_MARK = "SELECT name, value FROM meta"
ROWS_AT_ONCE = 2_000

logger = logging.getLogger(__name__)


def names_of(table: str) -> str:
    """Return the columns of a table that the database and its copies have, in order."""
    return ", ".join(column.split()[0] for column in COLUMNS[table].split(", "))


class FollowedStore(Store):
    """Implements the methods of `Store` on a copy that follows a database."""

    database: StoreDatabase

    def __init__(self, path: Path, spec: CatalogueSpec, database: StoreDatabase) -> None:
        super().__init__(path, spec)
        self.database = database
        self._seen: DatabaseState | None = None
        self._seen_at = time.time()
        self._behind = ""
        """Why the copy is not brought up to the database."""

    def create(self, model: ModelId | None) -> bool:
        """Create missing tables, store the embedding model, and tell whether it replaced another
        one.
        """
        self.database.create(is_known=(self.path.parent / INSTALLED_FILE).is_file())
        self.require_tables()
        return super().create(model)

    def require_tables(self) -> None:
        """Make the copy, where this server has none yet."""
        self.make()
        if self._db().pragma("user_version") == 0:
            with self._writing_file() as db:
                create_tables(db)
        if self.find_mark(TOKEN) is None:
            self.require_current()
        for (last_change_at,) in self.rows(
            "SELECT unixepoch(at) FROM changes ORDER BY change_no DESC LIMIT 1"
        ):
            self._seen_at = last_change_at  # until it is followed: the copy may be as old as that

    def close(self) -> None:
        """Close every connection."""
        super().close()
        self.database.close()

    def state(self) -> StoreState:
        """Return what a view has to be up to, after the copy was brought up to the database."""
        self.follow()
        return super().state()._replace(history=self.history())

    def find_state(self) -> StoreState | None:
        """Return the same, or None if reading it would wait, or the copy is behind."""
        seen = self.database.find_state(wait=False)
        if seen is None or seen.moved_to or seen.token != self.find_mark(TOKEN):
            return None
        state = super().find_state()
        return None if state is None else state._replace(history=self.history())

    def history(self) -> str:
        """Return a token that differs after the copy was made again: the database was put back to
        an earlier state.
        """
        return self.find_mark(HISTORY) or ""

    def follow(self) -> None:
        """Bring the copy up to the database, where that answers and no writer withholds its
        update.
        """
        seen = self.database.find_state()
        if seen is None:
            return
        is_behind = seen.token != self.find_mark(TOKEN)
        try:
            # A mark that was left behind is ignored.
            is_withheld = is_behind and seen.is_withheld and self.database.is_written_by_another()
            self._behind = "another server is writing" if is_withheld else ""
            if is_behind and not is_withheld:
                self.require_current()
        except DatabaseLostError:
            return  # the copy stays as old as it says
        except BusyError:
            self._behind = "another process or server is writing"
        self._seen, self._seen_at = seen, time.time()

    def why_stale(self) -> str | None:
        """Return why the copy may be older than the records, and how old it is, or None if it is
        not.
        """
        if self.database.is_lost:
            age_s = max(0, round(time.time() - self._seen_at))
            return (
                f"the database of the catalogue does not answer; this is its state of {age_s}"
                " seconds ago"
            )
        if self._seen is not None and self._seen.moved_to:
            return f"the catalogue was moved out of its database ({self._seen.moved_to})"
        return self._behind or None

    def has_unpublished_vectors(self) -> bool:
        """Tell whether another server has published vectors that are not in this server's index."""
        return self._seen is not None and self._seen.vector_no > self.counter(INDEXED_VECTORS)

    def note_indexed(self, vector_no: int) -> None:
        """Store that the index has the vectors of this number, so that readers open it, here and on
        other servers.
        """
        super().note_indexed(vector_no)
        if self._seen is None or self._seen.vector_no < vector_no:
            with suppress(DatabaseLostError):
                self.database.note_published(vector_no)

    def count_unembedded(self) -> int:
        """Return how many different texts lack a vector of the present model on all servers."""
        self.follow()
        return super().count_unembedded()

    def embedding_parts(self, *, wait_s: float) -> AbstractContextManager[Iterable[KeyRange]]:
        """Share the texts to embed with workers on other servers."""
        self.follow()
        return self.database.shared_work(self.unembedded_range(), wait_s=wait_s)

    def mark_as_copy(self, revision: int, token: str) -> None:
        """Note that the file has everything of a transaction of the database."""
        with self._writing_file() as db:
            set_meta(db, {REVISION: str(revision), TOKEN: token})

    def remove_vectors(self, rows: Sequence[int]) -> None:
        """Replace stored vectors that are damaged by those of the database."""
        with self.database.reading() as remote, self._writing_file() as db:
            for row in rows:
                which = db.execute(
                    "DELETE FROM embeddings WHERE rowid = ? RETURNING model, digest", (row,)
                ).fetchone()
                query = (
                    f"SELECT {names_of('embeddings')} FROM embeddings WHERE model = %s AND digest"
                    " = %s"
                )
                insert_rows(db, "embeddings", remote.execute(query, which))

    @contextmanager
    def _writing(self) -> Iterator[apsw.Connection]:
        """Write to the copy and to the database, all or nothing."""
        with self.database.writing() as writer:
            try:
                with self._writing_file() as db:
                    self._copy_rows(writer.db, db)
                    before = shared_of(db.execute(EVERY_MARK))
                    with _noted_rows(db) as touched:
                        yield db
                    if any(touched.values()) or shared_of(db.execute(EVERY_MARK)) != before:
                        _send(writer, db, touched, before)
                        self.database.commit(writer)
            except StorageError:
                if not writer.is_committed:
                    raise
                logger.warning(
                    "the copy of catalogue '%s' missed a write; it follows", self.spec.name
                )

    def require_current(self) -> None:
        """Bring the copy up to the database; raise if that does not answer."""
        # In the order of a writer. What the database has is seen as of the first look-up, when the
        # file is locked.
        with self.database.reading() as remote, self._writing_file() as db:
            is_withheld = remote.execute("SELECT withheld FROM state").fetchone() == (True,)
            if is_withheld and self.database.is_written_by_another():
                raise BusyError("another server is writing")
            self._copy_rows(remote, db)

    def _copy_rows(self, remote: psycopg.Connection[Any], db: apsw.Connection) -> None:
        """Bring the copy up to what a transaction of the database sees."""
        own = dict(db.execute(EVERY_MARK))
        revision, token = own.get(REVISION), own.get(TOKEN)
        last, last_token = remote.execute("SELECT revision, token FROM state").fetchone() or (0, "")
        if token == last_token:
            return
        since = int(revision or 0)
        known = remote.execute("SELECT token FROM writes WHERE revision = %s", (since,)).fetchone()
        is_continued = revision is not None and known == (token,)
        if not is_continued:
            self._empty(db)
            since = 0
        self._copy_changes(remote, db)
        for table in ("records", "embeddings"):
            query = f"SELECT {names_of(table)} FROM {table} WHERE revision > %s"
            insert_rows(db, table, _iter_rows(remote, query, since))
        meta = dict(remote.execute(EVERY_MARK).fetchall())
        if is_continued and model_of(meta) != model_of(own):
            sized = meta["model"], 4 * int(meta["dimension"])  # as a switch of the model does
            db.execute("DELETE FROM embeddings WHERE model = ? AND length(vector) <> ?", sized)
        set_meta(db, {**meta, REVISION: str(last), TOKEN: last_token})

    def _copy_changes(self, remote: psycopg.Connection[Any], db: apsw.Connection) -> None:
        """Copy the changes that followed, and remove the records that were deleted by them."""
        last = db.execute("SELECT max(change_no) FROM changes").get or 0
        query = f"SELECT {names_of('changes')} FROM changes WHERE change_no > %s ORDER BY change_no"
        insert_rows(db, "changes", _iter_rows(remote, query, last))
        deleted = "SELECT key FROM changes WHERE change_no > ? AND op = 'delete'"
        db.execute(f"DELETE FROM records WHERE key IN ({deleted})", (last,))
        reserve_keys(
            db, db.execute("SELECT max(key) FROM changes WHERE change_no > ?", (last,)).get or 0
        )

    def _empty(self, db: apsw.Connection) -> None:
        """Remove what is in the copy, and the index made from it: the database has another
        history.
        """
        history = secrets.token_hex(8) if db.execute("SELECT 1 FROM changes LIMIT 1").get else ""
        if history:
            logger.warning(
                "the copy of catalogue '%s' is made anew: the database has another history",
                self.spec.name,
            )
            shutil.rmtree(self.path.parent / "index", ignore_errors=True)
        for table in COLUMNS:
            db.execute(f"DELETE FROM {table}")
        db.execute("DELETE FROM sqlite_sequence")
        db.execute("DELETE FROM meta WHERE name <> ?", (INDEXED_VECTORS,))
        set_meta(db, {HISTORY: history})


def _iter_rows(
    remote: psycopg.Connection[Any], query: str, since: int
) -> Iterator[tuple[Any, ...]]:
    # of the server: there may be more than memory holds
    with remote.cursor(name="followed", binary=True) as cursor:
        cursor.itersize = ROWS_AT_ONCE
        yield from cursor.execute(query, (since,))


def insert_rows(db: apsw.Connection, table: str, rows: Iterable[Sequence[Any]]) -> None:
    """Write rows of the database to a file."""
    names = names_of(table)
    places = ",".join("?" * (names.count(",") + 1))
    db.executemany(f"INSERT OR REPLACE INTO {table} ({names}) VALUES ({places})", rows)


def reserve_keys(db: apsw.Connection, highest: int) -> None:
    """Let the next new record have a higher key than any that a record ever had."""
    if not highest:
        return
    db.execute("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = 'records'", (highest,))
    if not db.changes():
        db.execute("INSERT INTO sqlite_sequence (name, seq) VALUES ('records', ?)", (highest,))


def shared_of(rows: Iterable[Any]) -> dict[str, str]:
    """Return the rows of `meta` that a database has too."""
    return {name: value for name, value in rows if name in SHARED}


def model_of(meta: Mapping[str, str]) -> tuple[str | None, ...]:
    """Return the name and the dimension of the model: vectors of another are of no use."""
    return meta.get("model"), meta.get("dimension")


@contextmanager
def _noted_rows(db: apsw.Connection) -> Iterator[dict[str, set[int]]]:
    """Note the numbers of the rows that are inserted, updated or deleted meanwhile, by table."""
    touched: dict[str, set[int]] = {table: set() for table in COLUMNS}

    def note(_operation: int, _database: str, table: str, row: int) -> None:
        if table in touched:
            touched[table].add(row)

    db.set_update_hook(note)
    try:
        yield touched
    finally:
        db.set_update_hook(None)


def _send(
    writer: WriteTransaction,
    db: apsw.Connection,
    touched: Mapping[str, set[int]],
    before: Mapping[str, str],
) -> None:
    """Send the rows that a transaction of the copy has touched, and note in the copy that it has
    them.
    """
    writer.begin(int(db.execute("SELECT max(change_no) FROM changes").get or 0))
    meta = shared_of(db.execute(EVERY_MARK))
    if model_of(meta) != model_of(before):
        query = "DELETE FROM embeddings WHERE model = %s AND length(vector) <> %s"
        writer.db.execute(query, (meta["model"], 4 * int(meta["dimension"])))
    if touched["records"]:
        writer.db.execute("DELETE FROM records WHERE key = ANY(%s)", (list(touched["records"]),))
    for table in COLUMNS:
        send_rows(
            writer,
            table,
            rows_numbered(db, table, sorted(touched[table])),
            revision=writer.revision,
        )
    upsert = (
        "INSERT INTO meta VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
    )
    writer.db.cursor().executemany(
        upsert, [pair for pair in meta.items() if before.get(pair[0]) != pair[1]]
    )
    set_meta(db, {REVISION: str(writer.revision), TOKEN: writer.token})


def send_rows(
    writer: WriteTransaction, table: str, rows: Iterable[Sequence[Any]], *, revision: int
) -> None:
    """Add rows to a table of the database; all but those of the log have the revision that they
    were written by.
    """
    columns, last = (
        (COLUMNS[table], ())
        if table == "changes"
        else (f"{COLUMNS[table]}, revision int8", (revision,))
    )
    names, types = zip(*(column.split() for column in columns.split(", ")), strict=True)
    with copying(
        writer.db, f"COPY {table} ({', '.join(names)}) FROM STDIN (FORMAT BINARY)"
    ) as copy:
        copy.set_types(types)
        for row in rows:
            copy.write_row((*row, *last))


def rows_numbered(
    db: apsw.Connection, table: str, numbers: Sequence[int]
) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a table with these numbers, those that are there."""
    for start in range(0, len(numbers), ROWS_AT_ONCE):
        wanted = ",".join(str(number) for number in numbers[start : start + ROWS_AT_ONCE])
        yield from db.execute(
            f"SELECT {names_of(table)} FROM {table} WHERE {ROW_NUMBERS[table]} IN ({wanted})"
        )
