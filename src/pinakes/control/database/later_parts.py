"""Tables and indexes that the schema gained after its first release.

They are added to a database that lacks them when it is opened. The version stays the same, since an earlier Pinakes
works with them there.
"""

from sqlalchemy import Connection, Index, Table, inspect

from pinakes.control.database.tables import audit, audit_begun, audit_compared

LATER_TABLES: tuple[Table, ...] = (audit_begun, audit_compared)
LATER_INDEXES: tuple[Index, ...] = tuple(
    index for index in audit.indexes if index.name in {"audit_by_target", "audit_by_outcome"}
)


def find_missing_parts(connection: Connection) -> list[Table | Index]:
    """Return the later tables and indexes that a database does not have."""
    seen = inspect(connection)
    tables = set(seen.get_table_names())
    owners = {index.table.name for index in LATER_INDEXES if index.table is not None and index.table.name in tables}
    indexes = {str(index["name"]) for owner in owners for index in seen.get_indexes(owner)}
    missing: list[Table | Index] = [table for table in LATER_TABLES if table.name not in tables]
    return [*missing, *(index for index in LATER_INDEXES if index.name not in indexes)]


def add_missing_parts(connection: Connection) -> None:
    """Create what is missing, within the transaction of a caller who has locked the schema."""
    for part in find_missing_parts(connection):
        part.create(connection)
