"""Moving a catalogue's records into a PostgreSQL database, and back, while it is served.

Both ways can be stopped at any point and run again. Commit point: `store.toml` appears in the
catalogue's folder, or goes from it; the lock of the folder is held. Servers that run follow it.
Going in, the file with the records stays as the copy that follows the database: rows are copied in
batches that can be continued, while the catalogue is in use. Then, under its write lock, whatever
was changed meanwhile is found by the checksums of all rows and sent, with the state of the store,
in one transaction. Going back, the copy is what is left, and the database keeps its tables for a
day.
"""

import socket
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field, replace

from stackroom.errors import ConflictError, ExpectedError, InputError, StorageError
from stackroom.library import KEPT_S, Installed, Library
from stackroom.shelf.embedded.store import Store
from stackroom.shelf.embedded.store_file import SUMMED
from stackroom.shelf.opening import SpecLibrary, open_shelf
from stackroom.shelf.postgres.followed_store import (
    COLUMNS,
    ROWS_AT_ONCE,
    FollowedStore,
    names_of,
    rows_numbered,
    send_rows,
    shared_of,
)
from stackroom.shelf.postgres.store_database import (
    LOST,
    DatabaseLostError,
    DatabaseState,
    StoreDatabase,
    WriteTransaction,
)
from stackroom.shelf.postgres_search.database import Connections, require_pgvector
from stackroom.shelf.store_place import (
    FORMER_FILE,
    STORE_FILE,
    StorePlace,
    find_place,
    save_place,
)

FIRST = 1  # the revision of the rows that were moved
ORDERED_BY = {"records": "key", "embeddings": "model, digest", "changes": "change_no"}
BYTES = frozenset({"body", "digest", "before", "vector"})

Advance = Callable[[str, int], None]  # is told which rows were copied, and how many

ELSEWHERE = "the records are in {} already; to move them elsewhere, first move them --to here"


@dataclass(slots=True, kw_only=True)
class MoveReport:
    """The outcome of a move: where the records are, and how many rows each table has."""

    catalogue: str
    place: str
    rows: dict[str, int] = field(default_factory=dict)


def move_to_database(
    home: SpecLibrary, name: str, place: StorePlace, *, advance: Advance
) -> MoveReport:
    """Copy the records of a catalogue into a database, verify them, and switch to it."""
    installed = home.library.get_installed(name)
    spec, folder = home.spec_of(installed).spec, installed.folder
    report = MoveReport(catalogue=name, place=place.shown)
    mark = _mark(installed)
    if (known := find_place(folder)) is None:
        _require_search(place)
    else:
        require_place(home.library, name, place)
    with closing(StoreDatabase(place.url, place.schema, catalogue=name)) as database:
        if known is not None:
            _continue(database, installed, known, place)
            return report
        _claim(database, place, installed)
        with closing(open_shelf(folder, spec)) as shelf:
            copy_rows(shelf.store, database, mark, advance)
            # again below: this one takes most of the time, without the lock
            settle(shelf.store, database, mark)
            with shelf.exclusive():
                token = settle(shelf.store, database, mark)
                report.rows = verify(shelf.store, database)
                with closing(FollowedStore(folder / STORE_FILE, spec, database)) as copy:
                    copy.mark_as_copy(FIRST, token)
                advance("switched", 0)
                # commit point: the records are in the database from here on
                save_place(folder, place)
        database.note("moved_to", "")
        if (former := find_place(folder, file=FORMER_FILE)) and former.tables == place.tables:
            save_place(folder, None, file=FORMER_FILE)  # its tables are in use again
    return report


def require_place(library: Library, name: str, place: StorePlace) -> None:
    """Refuse a catalogue whose records are elsewhere, and a database that cannot search where it is
    to.
    """
    installed = library.find_place(name)
    known = None if installed is None else find_place(installed.folder)
    if known is not None and known.tables != place.tables:
        raise InputError(ELSEWHERE.format(f"the schema '{known.schema}' of {known.shown}"))
    if installed is not None and known is None and (installed.folder / STORE_FILE).is_file():
        raise InputError(
            f"'{name}' has its records in its folder; to move them: stackroom move {name} --to …"
        )
    _require_search(place)


def _require_search(place: StorePlace) -> None:
    """Refuse a database that cannot search where it is to."""
    if place.search:
        with (
            closing(Connections(place.url, place.schema)) as connections,
            connections.writing() as db,
        ):
            require_pgvector(db)


def start_in_database(library: Library, installed: Installed, place: StorePlace) -> None:
    """Let a catalogue that is about to be built have its records in a database, so that no server
    has to hold them.
    """
    with closing(StoreDatabase(place.url, place.schema, catalogue=installed.name)) as database:
        if (known := find_place(installed.folder)) is None:
            try:
                _claim(database, place, installed)
            except ExpectedError:
                library.abandon(installed)
                raise
            # commit point: the tables are this catalogue's from here on
            save_place(installed.folder, place)
        _continue(database, installed, known or place, place)


def drop_tables(place: StorePlace) -> None:
    """Drop the tables of a first build that failed."""
    with closing(StoreDatabase(place.url, place.schema, catalogue=place.schema)) as database:
        database.drop()


def move_to_folder(home: SpecLibrary, name: str, *, advance: Advance) -> MoveReport:
    """Bring the copy in a catalogue's folder up to the database, verify it, and let the folder have
    the records.
    """
    installed = home.library.get_installed(name)
    folder, place = installed.folder, find_place(installed.folder)
    if place is None and not (folder / FORMER_FILE).is_file():
        raise InputError(f"the records of '{name}' are in its folder already")
    if place is None:  # a move that was stopped after its commit point
        return MoveReport(catalogue=name, place=str(folder))
    spec = home.spec_of(installed).spec
    database = StoreDatabase(place.url, place.schema, catalogue=name)
    with (
        closing(open_shelf(folder, spec)) as shelf,
        closing(FollowedStore(folder / STORE_FILE, spec, database)) as store,
    ):
        store.require_tables()  # there may be no copy yet: it is made without the lock
        with shelf.exclusive():
            store.require_current()
            rows = verify(store, database)
            # other servers go on reading, and write no more
            database.note("moved_to", _address(installed))
            advance("switched", 0)
            save_place(folder, place, file=FORMER_FILE)
            save_place(folder, None)  # commit point: the records are in the folder from here on
    return MoveReport(catalogue=name, place=str(folder), rows=rows)


def drop_former(home: SpecLibrary, *, now: float) -> list[str]:
    """Drop the tables of catalogues that were moved out of a database more than a day ago; return
    their names.
    """
    dropped = []
    for installed in home.library.list_installed():
        path = installed.folder / FORMER_FILE
        if not path.is_file() or now - path.stat().st_mtime < KEPT_S:
            continue
        place = find_place(installed.folder, file=FORMER_FILE)
        present = find_place(installed.folder)
        if place is not None and (present is None or present.tables != place.tables):
            with closing(
                StoreDatabase(place.url, place.schema, catalogue=installed.name)
            ) as database:
                if (state := database.find_state()) is None:
                    continue
                # else another catalogue was moved there since
                if state.moved_to == _address(installed):
                    database.drop()
                    dropped.append(installed.name)
        path.unlink()
    return dropped


def _address(installed: Installed) -> str:
    return f"{socket.gethostname()}:{installed.folder}"


def _mark(installed: Installed) -> str:
    """Return what the tables say while a catalogue is moved or added there."""
    return f"being moved from {_address(installed)}"


def _state_of(database: StoreDatabase, name: str) -> DatabaseState:
    if (state := database.find_state()) is None:
        raise DatabaseLostError(LOST.format(name))
    return state


def _claim(database: StoreDatabase, place: StorePlace, installed: Installed) -> None:
    """Create the tables, or continue with those of a move that was stopped; refuse those of another
    catalogue.
    """
    database.create(mark=_mark(installed))
    # its own, which it was moved out of
    if _state_of(database, installed.name).moved_to == _address(installed):
        database.drop()
        database.create(mark=_mark(installed))
    if _state_of(database, installed.name).moved_to != _mark(installed):
        raise ConflictError(
            f"the schema '{place.schema}' of {place.shown} has a catalogue already; choose another"
            " by --schema, or drop it there"
        )


def _continue(
    database: StoreDatabase, installed: Installed, known: StorePlace, place: StorePlace
) -> None:
    """Complete what was stopped after its commit point, and search there from now on if that is
    asked for.
    """
    state = _state_of(database, installed.name)
    if state.moved_to not in ("", _mark(installed)):
        raise InputError(ELSEWHERE.format(state.moved_to))
    database.note("moved_to", "")
    if place.search and not known.search:
        save_place(installed.folder, replace(known, search=place.search))


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


def verify(store: Store, database: StoreDatabase) -> dict[str, int]:
    """Return how many rows each table has; raise StorageError if checksums or both sides differ."""
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
            if here != there or damaged:
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
