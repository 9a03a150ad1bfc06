"""Checksums of the rows of a store: a column of each table, written with the row, compared when it is read or checked.

SQLite's own check finds damaged pages and entries that differ between a table and its index, nothing inside a value.
"""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import apsw

from stackroom.shelf.port import Checkpoint
from stackroom.shelf.sqlite_check import checkpoints

SUM = "row_sum"
"""The name of the function in SQL."""
SUMMED: Mapping[str, str] = {
    "records": "id, body, digest",
    "embeddings": "model, digest, vector",
    "changes": "key, id, op, before, principal, call_id, at",
}
"""Table → the columns that its checksums are of. Keys and change numbers are checked by their order and counters."""
INSERT_VECTOR = "INSERT OR IGNORE INTO embeddings VALUES (?1, ?2, ?3, row_sum(?1, ?2, ?3))"
META_SUM = "checksum"
"""The row of `meta` with the checksum of the others."""
LAST_NUMBERS = """
SELECT (SELECT max(change_no) FROM changes), (SELECT seq FROM sqlite_sequence WHERE name = 'changes'),
       max((SELECT ifnull(max(key), 0) FROM records), (SELECT ifnull(max(key), 0) FROM changes)),
       (SELECT seq FROM sqlite_sequence WHERE name = 'records')
"""


def row_sum(*values: Any) -> int:
    """Return the checksum of a row: 64 bits of the SHA-256 of its values."""
    parts: list[bytes] = []
    for value in values:
        content = value if isinstance(value, bytes) else b"" if value is None else str(value).encode()
        parts += (b"-" if value is None else b"%d:" % len(content), content)
    return int.from_bytes(hashlib.sha256(b"".join(parts)).digest()[:8], "big", signed=True)


def register_row_sum(db: apsw.Connection) -> None:
    """Make the checksum a function of a connection's SQL."""
    db.create_scalar_function(SUM, row_sum, deterministic=True)


@contextmanager
def summed_meta(db: apsw.Connection) -> Iterator[None]:
    """Bring the checksum of `meta` up to its rows at the end of a transaction, unless it was wrong at its beginning."""
    was_sound = is_meta_sound(db)
    yield
    if was_sound and (fresh := _meta_sum(db)) != _known_meta_sum(db):
        db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (META_SUM, fresh))


def _meta_sum(db: apsw.Connection) -> str:
    rows = db.execute("SELECT name, value FROM meta WHERE name <> ? ORDER BY name", (META_SUM,))
    return str(row_sum(*(value for row in rows for value in row)))


def _known_meta_sum(db: apsw.Connection) -> str | None:
    return str(found) if (found := db.execute("SELECT value FROM meta WHERE name = ?", (META_SUM,)).get) else None


def is_meta_sound(db: apsw.Connection) -> bool:
    """Tell whether the rows of `meta` have their checksum, where there is one."""
    if db.pragma("user_version") == 0:  # it has no tables yet
        return True
    return _known_meta_sum(db) in (None, _meta_sum(db))


def are_counters_sound(db: apsw.Connection) -> bool:
    """Tell whether the last change and the last key agree with the counters that give the next ones."""
    numbers = (int(number or 0) for number in db.execute(LAST_NUMBERS).fetchall()[0])
    last_change, given_changes, last_key, given_keys = numbers
    return last_change == given_changes and given_keys >= last_key


def list_damaged(db: apsw.Connection, table: str, names: str, checkpoint: Checkpoint) -> list[tuple[Any, ...]]:
    """Return the names (an SQL list of columns) of the rows of a table that do not have their checksum."""
    query = f"SELECT {names} FROM {table} WHERE sum IS NOT {SUM}({SUMMED[table]})"
    with checkpoints(db, checkpoint):
        return list(db.execute(query))
