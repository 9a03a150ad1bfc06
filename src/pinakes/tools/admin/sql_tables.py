"""What `debug.sql` reads of a catalogue: its records as the table `items`, and what was changed as `changes`.

A catalogue on the embedded shelf is read where it is, in `records.sqlite`. Of any other a copy is made, once for each
version of it, in a folder that goes when the server ends. Accounts and tokens are in another file altogether.
"""

import shutil
import tempfile
import threading
from pathlib import Path

import apsw

from pinakes.catalogue.codec import encode_record
from pinakes.catalogue.spec import CatalogueSpec
from pinakes.errors import InputError
from pinakes.model.record import DEFAULT_KIND
from pinakes.model.scope import WHOLE
from pinakes.shelf.embedded.shelf import STORE_FILE
from pinakes.shelf.port import Shelf
from pinakes.tools.admin.sql_guard import quoted
from pinakes.tools.catalogue import OpenCatalogue

ITEMS = "items"
CHANGES = "changes"
TABLES = ("records", CHANGES)
"""What the views are made of; `records` has each record as JSON, in `body`."""
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
"""Names that somebody may look for here, and that are elsewhere for good."""
CHANGES_VIEW = f"SELECT change_no, id, op, principal, call_id, at FROM main.{CHANGES}"
OWN_COLUMNS = ("id", "kind")
MOST_FIELDS = 190
COPIED_RECORDS = 100_000
COPIED_CHANGES = 10_000
BATCH = 1_000
COPY_SCHEMA = """
CREATE TABLE records (key INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, body BLOB NOT NULL);
CREATE TABLE changes (
    change_no INTEGER PRIMARY KEY, id TEXT NOT NULL, op TEXT NOT NULL, principal TEXT NOT NULL,
    call_id TEXT NOT NULL, at TEXT NOT NULL);
"""


def views_of(spec: CatalogueSpec) -> dict[str, str]:
    """Return the views that a statement about a catalogue reads, as SELECTs: a column a field of its spec."""
    columns = ["id", f"coalesce(json_extract(body, '$.kind'), '{DEFAULT_KIND}') AS kind"]
    for column, name in _field_columns(spec).items():
        columns.append(f"json_extract(body, {_text(_path(name))}) AS {quoted(column)}")
    return {ITEMS: f"SELECT {', '.join(columns)} FROM main.records", CHANGES: CHANGES_VIEW}


def columns_of(spec: CatalogueSpec) -> list[str]:
    """Return the columns of `items`."""
    return [*OWN_COLUMNS, *_field_columns(spec)]


def _field_columns(spec: CatalogueSpec) -> dict[str, str]:
    """Return column → field; a field that is called like a column of ours has a line under the end of its name."""
    names = list(spec.fields)[:MOST_FIELDS]
    return {f"{name}_" if name in OWN_COLUMNS else name: name for name in names}


def _path(field: str) -> str:
    return '$.fields."{}"'.format(field.replace('"', ""))


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


class SqlFiles:
    """The SQLite files of catalogues. Safe to use from several threads."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._folder: Path | None = None
        self._copies: dict[str, tuple[int, Path]] = {}

    def path_of(self, catalogue: OpenCatalogue) -> Path:
        """Return the file that has a catalogue's records as they are now."""
        store = catalogue.folder / STORE_FILE if catalogue.folder else None
        if store is not None and store.is_file():
            catalogue.shelf.reader()  # so that this process has the file open, and whoever reads it need make nothing
            return store
        with self._guard:
            return self._copy_of(catalogue)

    def close(self) -> None:
        """Remove the copies."""
        with self._guard:
            if self._folder is not None:
                shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None
            self._copies.clear()

    def _copy_of(self, catalogue: OpenCatalogue) -> Path:
        reader = catalogue.shelf.reader()
        known = self._copies.get(catalogue.name)
        if known is not None and known[0] == reader.change_no:
            return known[1]
        count = reader.count(WHOLE)
        if count > COPIED_RECORDS:
            raise InputError(
                f"catalogue '{catalogue.name}' is not kept in SQLite, and {count:,} records are too many to copy "
                f"(at most {COPIED_RECORDS:,})"
            )
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="pinakes-sql-"))
        path = self._folder / f"{catalogue.name}-{reader.change_no}.sqlite"
        _copy(catalogue.shelf, path)
        if known is not None:
            known[1].unlink(missing_ok=True)
        self._copies[catalogue.name] = reader.change_no, path
        return path


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
