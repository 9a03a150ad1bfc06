"""The SQLite file that `debug.sql` reads: records as the view `items`, and their history as `changes`.

A catalogue on the embedded shelf is read in place, from `records.sqlite`. Others are copied, once for each version, to
a folder that is removed when the server ends, or when the next one starts if it was killed. Accounts and tokens are in
another file.
"""

import shutil
import tempfile
import threading
import time
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import NamedTuple

import apsw
import filelock

from pinakes.catalogue.codec import encode_record
from pinakes.catalogue.spec import CatalogueSpec
from pinakes.errors import InputError
from pinakes.model.record import DEFAULT_KIND
from pinakes.model.scope import WHOLE
from pinakes.shelf.embedded.shelf import STORE_FILE
from pinakes.shelf.port import Shelf
from pinakes.tools.catalogue import OpenCatalogue
from pinakes.tools.sql.guard import quoted

ITEMS = "items"
CHANGES = "changes"
RECORDS = "records"
TABLES = (RECORDS, CHANGES)
"""The tables under the views; `records` has each record as JSON in `body`."""
KEPT_AWAY = (
    "audit",
    "credentials",
    "items_fts",
    "role_actions",
    "roles",
    "sessions",
    "tokens",
    "user_grants",
    "user_roles",
    "users",
    "v_users",
)
"""Names of tables that a caller may look for, and that are in other databases."""
CHANGES_COLUMNS = ("change_no", "id", "op", "principal", "call_id", "at")
CHANGES_VIEW = f"SELECT {', '.join(CHANGES_COLUMNS)} FROM main.{CHANGES}"
OWN_COLUMNS = ("id", "kind")
MOST_FIELDS = 190
COPIED_RECORDS = 100_000
COPIED_CHANGES = 10_000
BATCH = 1_000
FOLDER_PREFIX = "pinakes-sql-"
LOCK_FILE = "lock"
ABANDONED_S = 60.0
"""How old an unlocked folder must be before it counts as left by a killed server."""
COPY_SCHEMA = """
CREATE TABLE records (key INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, body BLOB NOT NULL);
CREATE TABLE changes (
    change_no INTEGER PRIMARY KEY, id TEXT NOT NULL, op TEXT NOT NULL, principal TEXT NOT NULL,
    call_id TEXT NOT NULL, at TEXT NOT NULL);
"""


def views_of(spec: CatalogueSpec) -> dict[str, str]:
    """Return the views of a catalogue as SELECTs, with one column for each field of its spec."""
    columns = ["id", f"coalesce(json_extract(body, '$.kind'), '{DEFAULT_KIND}') AS kind"]
    for column, name in _field_columns(spec).items():
        columns.append(f"json_extract(body, {_text(_path(name))}) AS {quoted(column)}")
    return {ITEMS: f"SELECT {', '.join(columns)} FROM main.records", CHANGES: CHANGES_VIEW}


def columns_of(spec: CatalogueSpec) -> dict[str, list[str]]:
    """Return the columns of each table that can be read."""
    return {
        ITEMS: [*OWN_COLUMNS, *_field_columns(spec)],
        CHANGES: list(CHANGES_COLUMNS),
        RECORDS: ["key", "id", "body"],
    }


def _field_columns(spec: CatalogueSpec) -> dict[str, str]:
    """Return column → field; a field named like one of `OWN_COLUMNS` gets a trailing underscore."""
    names = list(spec.fields)[:MOST_FIELDS]
    return {f"{name}_" if name in OWN_COLUMNS else name: name for name in names}


def _path(field: str) -> str:
    return '$.fields."{}"'.format(field.replace('"', ""))


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


class _Version(NamedTuple):
    """The state that a copy is of; another shelf of the same name may have the same change number."""

    shelf: Shelf
    change_no: int


class _CopyOf(NamedTuple):
    version: _Version
    path: Path


class SqlFiles:
    """The SQLite files of catalogues. Safe to use from several threads."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._folder: Path | None = None
        self._held: filelock.BaseFileLock | None = None
        self._copies: dict[str, _CopyOf] = {}
        self._numbers = count(1)

    def path_of(self, catalogue: OpenCatalogue) -> Path:
        """Return the file that has a catalogue's present records."""
        store = catalogue.folder / STORE_FILE if catalogue.folder else None
        if store is not None and store.is_file():
            catalogue.shelf.reader()  # opens the file here, so that its -shm exists
            return store
        with self._guard:
            return self._copy_of(catalogue)

    def close(self) -> None:
        """Remove the copies."""
        with self._guard:
            if self._held is not None:
                self._held.release()
            if self._folder is not None:
                shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = self._held = None
            self._copies.clear()

    def _own_folder(self) -> Path:
        """Return the folder of the copies, locked while this process lives; abandoned ones are removed."""
        if self._folder is None or not self._folder.is_dir():
            _remove_abandoned(Path(tempfile.gettempdir()))
            self._folder = Path(tempfile.mkdtemp(prefix=FOLDER_PREFIX))
            self._held = filelock.FileLock(self._folder / LOCK_FILE, timeout=0, thread_local=False)
            self._held.acquire()
        return self._folder

    def _copy_of(self, catalogue: OpenCatalogue) -> Path:
        reader = catalogue.shelf.reader()
        known = self._copies.get(catalogue.name)
        version = _Version(catalogue.shelf, reader.change_no)
        if known is not None and known.version == version and known.path.is_file():
            return known.path
        records = reader.count(WHOLE)
        if records > COPIED_RECORDS:
            raise InputError(
                f"catalogue '{catalogue.name}' is not kept in SQLite, and {records:,} records are too many to copy "
                f"(at most {COPIED_RECORDS:,})"
            )
        path = self._own_folder() / f"{catalogue.name}-{next(self._numbers)}.sqlite"
        try:
            _copy(catalogue.shelf, path)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        if known is not None:
            known.path.unlink(missing_ok=True)
        self._copies[catalogue.name] = _CopyOf(version, path)
        return path


def _remove_abandoned(place: Path) -> None:
    """Remove the folders of killed servers, but not one that is just being made."""
    for folder in place.glob(f"{FOLDER_PREFIX}*"):
        with suppress(OSError, filelock.Timeout):
            if time.time() - folder.stat().st_mtime > ABANDONED_S:
                with filelock.FileLock(folder / LOCK_FILE, timeout=0):
                    shutil.rmtree(folder, ignore_errors=True)


def _copy(shelf: Shelf, path: Path) -> None:
    """Write the records and the last changes of a shelf to a new file."""
    reader = shelf.reader()
    db = apsw.Connection(str(path))
    try:
        with db:
            db.execute(COPY_SCHEMA)
            keys = reader.scan(scope=WHOLE, limit=COPIED_RECORDS)
            for start in range(0, len(keys), BATCH):
                records = reader.fetch(keys[start : start + BATCH], scope=WHOLE)
                rows = [(key, record.id, encode_record(record)) for key, record in records.items()]
                db.executemany("INSERT INTO records VALUES (?, ?, ?)", rows)
            for change in shelf.history().list_changes(limit=COPIED_CHANGES):
                author, at = change.author, change.at.isoformat(sep=" ", timespec="seconds")
                db.execute(
                    "INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?)",
                    (change.change_no, change.id, str(change.op), author.principal, author.call_id, at),
                )
    finally:
        db.close()
