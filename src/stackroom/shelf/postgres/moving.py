"""Moving the rows of a store into a database: copied in batches that can be continued, compared,
and verified.

The rows are copied while the catalogue is in use. Then, under its write lock, whatever was changed
meanwhile is found by the checksums of all rows and sent, with the state of the store, in one
transaction.
"""

from collections.abc import Callable
from contextlib import closing

from stackroom.errors import StorageError
from stackroom.shelf.embedded.store import Store
from stackroom.shelf.embedded.store_file import SUMMED
from stackroom.shelf.postgres.followed_store import (
    COLUMNS,
    ROWS_AT_ONCE,
    names_of,
    rows_numbered,
    send_rows,
    shared_of,
)
from stackroom.shelf.postgres.store_database import StoreDatabase, WriteTransaction

FIRST = 1  # the revision of the rows that were moved
ORDERED_BY = {"records": "key", "embeddings": "model, digest", "changes": "change_no"}
BYTES = frozenset({"body", "digest", "before", "vector"})

Advance = Callable[[str, int], None]  # is told which rows were copied, and how many


def copy_rows(store: Store, database: StoreDatabase, mark: str, advance: Advance) -> None:
    """Copy the rows that follow those which the database has already."""
    for table in COLUMNS:
        while copied := _copy_batch(store, database, table, mark):
            advance(table, copied)


def _copy_batch(store: Store, database: StoreDatabase, table: str, mark: str) -> int:
    columns = ORDERED_BY[table]
    last_first = ", ".join(f"{column} DESC" for column in columns.split(", "))
    with database.writing(mark=mark) as writer:
        last = writer.db.execute(
            f"SELECT {columns} FROM {table} ORDER BY {last_first} LIMIT 1"
        ).fetchone()
        where = f"WHERE ({columns}) > ({', '.join('?' * len(last))})" if last else ""
        query = (
            f"SELECT {names_of(table)} FROM {table} {where} ORDER BY {columns} LIMIT {ROWS_AT_ONCE}"
        )
        rows = list(store.rows(query, last or ()))
        send_rows(writer, table, rows, revision=FIRST)
        database.commit(writer)
    return len(rows)


def settle(store: Store, database: StoreDatabase, mark: str) -> str:
    """Send what differs, and the state, in one transaction; return its token. The write lock of the
    store is held.
    """
    with database.writing(mark=mark) as writer:
        for table in ("records", "embeddings"):
            _send_differences(store, writer, table)
        last = writer.db.execute("SELECT coalesce(max(change_no), 0) FROM changes").fetchone()
        changes = list(
            store.rows(f"SELECT {names_of('changes')} FROM changes WHERE change_no > ?", last)
        )
        send_rows(writer, "changes", changes, revision=FIRST)
        meta = shared_of(store.rows("SELECT name, value FROM meta"))
        writer.db.execute("DELETE FROM meta")
        writer.db.cursor().executemany("INSERT INTO meta VALUES (%s, %s)", list(meta.items()))
        writer.begin_history(store.change_no(), revision=FIRST)
        database.commit(writer)
    return writer.token


def _send_differences(store: Store, writer: WriteTransaction, table: str) -> None:
    columns = ORDERED_BY[table]
    there = {
        tuple(key): told for *key, told in writer.db.execute(f"SELECT {columns}, sum FROM {table}")
    }
    here = {
        tuple(key): (told, row)
        for *key, told, row in store.rows(f"SELECT {columns}, sum, rowid FROM {table}")
    }
    outdated = [key for key, told in there.items() if key not in here or here[key][0] != told]
    places = " AND ".join(f"{column} = %s" for column in columns.split(", "))
    writer.db.cursor().executemany(f"DELETE FROM {table} WHERE {places}", outdated)
    fresh = [row for key, (told, row) in here.items() if key not in there or there[key] != told]
    with closing(store.connect()) as db:
        send_rows(writer, table, list(rows_numbered(db, table, sorted(fresh))), revision=FIRST)


def verify(store: Store, database: StoreDatabase, *, is_settled: bool = True) -> dict[str, int]:
    """Return how many rows each table has; raise StorageError if checksums or, once settled, both
    sides differ.
    """
    counts = {}
    with database.reading() as remote:
        for table in COLUMNS:
            query = (
                "SELECT count(*), coalesce(sum(sum % 1000003), 0), coalesce(sum(sum % 2147483647),"
                f" 0) FROM {table}"
            )
            here = [int(value) for value in next(store.rows(query))]
            there = [int(value) for value in remote.execute(query).fetchone() or ()]
            ((damaged,),) = remote.execute(
                f"SELECT count(*) FROM {table} WHERE sum <> {_sum_of(table)}"
            ).fetchall()
            if (is_settled and here != there) or damaged:
                raise StorageError(
                    f"{table}: {here[0]} rows here, {there[0]} in the database, {damaged} damaged"
                    " there; nothing was switched. Run stackroom doctor, then move it again"
                )
            counts[table] = here[0]
    return counts


def _sum_of(table: str) -> str:
    """Return the expression by which PostgreSQL computes the checksum of a row: see `row_sum`."""
    parts = []
    for column in SUMMED[table].split(", "):
        value = column if column in BYTES else f"convert_to({column}::text, 'UTF8')"
        measured = f"convert_to(length({value})::text || ':', 'UTF8') || {value}"
        parts.append(f"CASE WHEN {column} IS NULL THEN '-'::bytea ELSE {measured} END")
    return (
        f"('x' || encode(substring(sha256({' || '.join(parts)}) from 1 for 8),"
        " 'hex'))::bit(64)::bigint"
    )
