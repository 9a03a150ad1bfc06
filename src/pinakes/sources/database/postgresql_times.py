"""Dates and times of PostgreSQL that Python's types cannot hold: 'infinity' is nothing, others are their text."""

import importlib
from typing import Any

TYPES = {"date": "DateLoader", "timestamp": "TimestampLoader", "timestamptz": "TimestamptzLoader"}


def read_all_times(connection: Any, _record: Any) -> None:
    """Let a new connection of the driver read every date and time."""
    times = importlib.import_module("psycopg.types.datetime")
    for name, loader in TYPES.items():
        connection.adapters.register_loader(name, _tolerant(getattr(times, loader)))


def _tolerant(loader: Any) -> Any:
    failure = importlib.import_module("psycopg").DataError

    class TolerantLoader(loader):  # type: ignore[misc]
        """A loader that does not fail for a whole batch of rows because of one value."""

        def load(self, data: Any) -> Any:
            try:
                return super().load(data)
            except failure:
                text = bytes(data).decode()
                return None if "infinity" in text else text

    return TolerantLoader
