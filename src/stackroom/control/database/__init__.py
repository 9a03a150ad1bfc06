"""The control database: connection, tables, batch writer, copies."""

from stackroom.errors import StorageError


class DatabaseAwayError(StorageError):
    """The control database cannot be reached."""
