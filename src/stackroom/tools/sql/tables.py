"""The SQLite file that `debug.sql` reads: records as the view `items`, and their history as `changes`.

The records are read where the shelf keeps them, in `records.sqlite`. Accounts and tokens are in another file.
"""

from pathlib import Path

from stackroom.catalogue.spec import CatalogueSpec
from stackroom.errors import InputError
from stackroom.model.record import DEFAULT_KIND
from stackroom.tools.catalogue import OpenCatalogue
from stackroom.tools.sql.guard import quoted

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


def sqlite_file_of(catalogue: OpenCatalogue) -> Path:
    """Return the SQLite file of a catalogue's records, which this process has open: its readers need create nothing."""
    path = catalogue.shelf.describe().sqlite_file
    if path is None:
        raise InputError(f"catalogue '{catalogue.name}' is not kept in SQLite, so that there is nothing to query")
    return path
