"""Rows from SQLite files, plain or compressed: a table joined with what its foreign keys lead to,
or a query's result.

The file is never written to: it is opened read-only, and a compressed one is read from a temporary
copy.
"""

import re
import shutil
import struct
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path

import apsw
import apsw.ext

from stackroom.errors import InputError
from stackroom.shelf.sqlite_files import scratch_folder
from stackroom.sources.compressed import LONGEST_LINE, is_compressed, open_decompressed
from stackroom.sources.file_rows import FileRows, require_name, unique_names
from stackroom.sources.location import NO_OPTIONS, SELECTION, ReadOptions
from stackroom.sources.port import SourceRow
from stackroom.sources.relations import (
    KINDS,
    Reference,
    Selection,
    Table,
    find_main,
    find_referred,
    is_measure,
    quoted,
    select_joined,
)

SAMPLE_ROWS = 1000  # how many rows of a table are sampled to estimate the length of its texts
SAMPLE_VALUES = 100_000  # how many values of a column are looked up among the keys of another table
BUSY_MS = 5_000
STEPS, STEPS_A_BYTE, STEPS_BETWEEN = 1_000_000_000, 2_000, 1_000_000
"""The most steps of SQLite for one reading, or so many for each byte of the file; and how often
they are counted.
"""
MOST_VIEWED = 1_000_000  # the most rows of a view, or as many as its file has bytes
MAGIC = b"SQLite format 3\0"
WAL_VERSION = 2
# the kinds listed as alternatives; a virtual table is mostly an index of another table
OTHER_KINDS = ("table", "view")
COLUMNS = "pragma_table_xinfo(?) WHERE hidden <> 1"
"""The columns of a table, without hidden ones, which `SELECT *` leaves out."""
DECLARED = """
SELECT "from", "table", coalesce(max("to"), '') FROM pragma_foreign_key_list(?)
GROUP BY id HAVING count(*) = 1
"""
"""The single-column foreign keys of a table; `to` is empty where it is the primary key."""
UNIQUE = """
SELECT max(columns.name)
FROM pragma_index_list(?) AS listed JOIN pragma_index_info(listed.name) AS columns
WHERE listed."unique" AND NOT listed.partial
GROUP BY listed.seq HAVING count(columns.name) = 1 AND count(*) = 1
ORDER BY max(columns.cid)
"""
"""The columns of a table that have a unique index of their own."""
# the share of a column's values that are keys of another table, if it refers to it
LEAST_CONTAINED = 0.95
TEXT_TYPE = re.compile(r"char|clob|text|string|^$", re.IGNORECASE)
COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)


class SqliteRows(FileRows):
    """Implements `RowSource` for a table of an SQLite file, or for a query; the main table where
    neither is named.
    """

    takes = frozenset({"table", "query"})
    table_option = "--table"
    other_tables: tuple[str, ...] = ()
    id_column: str | None = None
    related: Collection[str] = ()
    _table: Table | None = None

    def __init__(self, path: Path, options: ReadOptions = NO_OPTIONS) -> None:
        super().__init__(path, options)
        if options.table is not None and options.query is not None:
            raise InputError(f"{path}: give a table or a query, not both")
        self._plain = self._decompressed() if is_compressed(path) else path
        with self._opened() as db:
            query = options.query
            self._selection = (
                self._choose_table(db, options.table)
                if query is None
                else self._read_query(db, query)
            )
        chosen = self._table.name if self._table else " ".join(str(query).split())
        self._options = ReadOptions(table=chosen, pairs=options.pairs)
        self.origins = self._selection.origins

    def count_rows(self) -> int | None:
        """Return the number of rows of the table; None for a query, which would have to be run."""
        if self._table is None:
            return None
        with self._opened() as db:
            return _count(db, self._table)

    def _iter_table(self) -> Iterator[SourceRow]:
        """Yield the rows; text that is not UTF-8 is reported as its row's problem."""
        with self._opened() as db:
            yield from _iter_cursor(db.execute(self._selection.statement), self._selection)

    def _choose_table(self, db: apsw.Connection, wanted: str | None) -> Selection:
        tables = _list_tables(db)
        if wanted is None:
            table = find_main(tables, partial(self._weigh, db))
        else:
            name = require_name(
                [one.name for one in tables], wanted, kind="table", place=self._path
            )
            table = next(one for one in tables if one.name == name)
        if table is None:
            raise InputError(f"{self._path}: no table in it; add a database that has one")
        most = max(MOST_VIEWED, self._plain.stat().st_size)
        if table.kind == "view" and _count(db, table) > most:
            raise InputError(
                f"{self._path}: the view '{table.name}' has more than {most:,} rows; name a table:"
                " --table"
            )
        self._table = table
        self.id_column = table.key
        self.other_tables = tuple(
            other.name for other in tables if other.kind in OTHER_KINDS and other.name != table.name
        )
        self.related = {
            name for one in tables for key in one.references for name in (one.name, key.table)
        }
        return select_joined(table, tables)

    def _weigh(self, db: apsw.Connection, table: Table) -> tuple[bool, float, int]:
        """Return whether a table is called as the file, its estimated searchable text in
        characters, and its rows.
        """
        lengths = [
            f"iif(typeof({column}) = 'text', length({column}), 0)"
            for column in map(quoted, table.texts)
        ]
        sample = (
            f"SELECT {' + '.join(lengths) or '0'} AS size FROM {quoted(table.name)} LIMIT"
            f" {SAMPLE_ROWS}"
        )
        rows, average = _count(db, table), db.execute(f"SELECT avg(size) FROM ({sample})").get
        return table.name.lower() == self._path.stem.lower(), rows * (average or 0), rows

    def _read_query(self, db: apsw.Connection, query: str) -> Selection:
        try:
            details = apsw.ext.query_info(db, query)
        except apsw.SQLError as error:
            raise InputError(
                f"{self._path}: the query cannot be run: {error}; try it in sqlite3 first"
            ) from error
        is_selection = SELECTION.match(COMMENT.sub(" ", query)) and details.is_readonly
        if not is_selection or (
            details.query_remaining and COMMENT.sub(" ", details.query_remaining).strip()
        ):
            raise InputError(f"{self._path}: the query must be one SELECT statement")
        names = unique_names(column[0] for column in details.description)
        return Selection(statement=query, names=tuple(names))

    @contextmanager
    def _opened(self) -> Iterator[apsw.Connection]:
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        # A file without a write-ahead log is opened immutable, so that none is created.
        mode = "mode=ro&immutable=1" if self._require_whole() else "mode=ro"
        try:
            with closing(
                apsw.Connection(f"{self._plain.resolve().as_uri()}?{mode}", flags=flags)
            ) as db:
                db.set_busy_timeout(BUSY_MS)
                db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
                db.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
                db.limit(apsw.SQLITE_LIMIT_LENGTH, LONGEST_LINE)
                left = iter(
                    range(max(STEPS, STEPS_A_BYTE * self._plain.stat().st_size) // STEPS_BETWEEN)
                )
                db.set_progress_handler(lambda: next(left, None) is None, STEPS_BETWEEN)
                yield db
        except apsw.InterruptError as error:
            raise InputError(
                f"{self._path}: a view in it has rows without end; delete it, or export a table"
            ) from error
        except (apsw.Error, UnicodeDecodeError) as error:
            raise InputError(
                f"{self._path}: cannot be read as an SQLite database: {error}; copy it again"
            ) from error

    def _require_whole(self) -> bool:
        """Refuse a file that is not a database or is truncated: SQLite may read the missing part as
        zeros.

        Return whether nothing else writes to it: it is a copy, or has no write-ahead log although
        it should.
        """
        try:
            with self._plain.open("rb") as file:
                header = file.read(100)
        except OSError as error:
            raise InputError(f"{self._path}: cannot be read: {error}") from error
        if not (size_bytes := self._plain.stat().st_size):
            raise InputError(f"{self._path}: the file is empty; no table in it")
        if len(header) < 100 or not header.startswith(MAGIC):
            raise InputError(
                f"{self._path}: not an SQLite database, or an encrypted one; decrypt it first"
            )
        page_bytes, changes, pages = struct.unpack(">16xH6xII", header[:32])
        is_counted = changes == struct.unpack(">I", header[92:96])[0]
        has_log = self._plain.with_name(f"{self._plain.name}-wal").exists()
        if (
            is_counted
            and not has_log
            and pages * (page_bytes if page_bytes > 1 else 1 << 16) > size_bytes
        ):
            raise InputError(f"{self._path}: cannot be read: the file is truncated; copy it again")
        return self._plain != self._path or (header[18] == WAL_VERSION and not has_log)

    def _decompressed(self) -> Path:
        """Decompress the file to a temporary copy, which is deleted with the source."""
        path = scratch_folder(self) / "unpacked.sqlite"
        with path.open("wb") as copy, open_decompressed(self._path) as file:
            shutil.copyfileobj(file, copy)
        return path


def _iter_cursor(cursor: apsw.Cursor, selection: Selection) -> Iterator[SourceRow]:
    for number in count(1):
        try:
            cells = next(cursor)
        except StopIteration:
            return
        except UnicodeDecodeError as error:
            yield SourceRow(place=f"row {number}", problem=f"text that is not UTF-8: {error}")
            continue
        yield selection.to_row(number, cells)


def _list_tables(db: apsw.Connection) -> list[Table]:
    """Return the readable tables and views by name, with their references."""
    listed = _texts(
        db, "SELECT name, type FROM pragma_table_list WHERE schema = 'main' ORDER BY name"
    )
    shown = [
        (name, kind)
        for name, kind in listed
        if kind in KINDS and not name.lower().startswith("sqlite_")
    ]
    tables = {name.lower(): table for name, kind in shown if (table := _find_table(db, name, kind))}
    related = [
        replace(table, references=tuple(_iter_references(db, table, tables)))
        for table in tables.values()
    ]
    if not any(table.references for table in related):
        related = [
            replace(table, references=tuple(_iter_likely(db, table, related))) for table in related
        ]
    return [_with_measures(db, table) if table.references else table for table in related]


def _find_table(db: apsw.Connection, name: str, kind: str) -> Table | None:
    """Return a table; None where SQLite cannot read it, such as a virtual table of a missing
    extension.
    """
    try:
        columns = _texts(db, f"SELECT name, type FROM {COLUMNS} ORDER BY cid", name)
        keys = _texts(db, f"SELECT name FROM {COLUMNS} AND pk ORDER BY pk", name)
        uniques = [*(keys if len(keys) == 1 else ()), *_texts(db, UNIQUE, name)]
    except apsw.SQLError:
        return None
    return Table(
        name=name,
        kind=kind,
        columns=tuple(column for column, _ in columns),
        texts=tuple(column for column, declared in columns if TEXT_TYPE.search(declared)),
        keys=tuple(column for (column,) in keys),
        uniques=tuple(dict.fromkeys(column for (column,) in uniques)),
    )


def _texts(db: apsw.Connection, sql: str, *values: str) -> list[tuple[str, ...]]:
    return [tuple(str(cell) for cell in row) for row in db.execute(sql, values)]


def _iter_references(
    db: apsw.Connection, table: Table, tables: Mapping[str, Table]
) -> Iterator[Reference]:
    """Yield the declared foreign keys to tables that can be read."""
    columns = {column.lower(): column for column in table.columns}
    for column, name, key in _texts(db, DECLARED, table.name):
        target = tables.get(name.lower())
        if target is not None and (pointed_at := key or target.key) and column.lower() in columns:
            yield Reference(column=columns[column.lower()], table=target.name, key=pointed_at)


def _iter_likely(db: apsw.Connection, table: Table, tables: Sequence[Table]) -> Iterator[Reference]:
    """Yield the columns that are named as keys of other tables, and whose values nearly all are
    such keys.
    """
    for column in table.columns if table.kind == "table" else ():
        for other in tables:
            key = find_referred(column, table, other) if other is not table else None
            if key is None:
                continue
            cell, keys = quoted(column), f"SELECT {quoted(key)} FROM {quoted(other.name)}"
            values = (
                f"SELECT DISTINCT {cell} AS value FROM {quoted(table.name)} WHERE {cell} IS NOT"
                " NULL"
            )
            share = (
                db.execute(
                    f"SELECT avg(value IN ({keys})) FROM ({values} LIMIT {SAMPLE_VALUES})"
                ).get
                or 0
            )
            if share >= LEAST_CONTAINED:
                reason = f" ({share:.0%} of its values are there)".replace("%", " %")
                yield Reference(column=column, table=other.name, key=key, reason=reason)
                break


def _with_measures(db: apsw.Connection, table: Table) -> Table:
    """Return a table with its columns of numbers that can be added up; a column with a text is
    none.
    """
    measures, shares = [], []
    for column in filter(is_measure, table.columns):
        values = quoted(column)
        checked = (
            f"SELECT total(typeof({values}) = 'text'), min({values}), max({values}) FROM"
            f" {quoted(table.name)}"
        )
        texts, least, most = next(db.execute(checked))
        if not texts and least is not None:
            measures.append(column)
            shares += [column] if 0 <= least <= most <= 1 else []
    return replace(table, measures=tuple(measures), shares=frozenset(shares))


def _count(db: apsw.Connection, table: Table) -> int:
    return int(db.execute(f"SELECT count(*) FROM {quoted(table.name)}").get)
