"""Sends rows by COPY, without letting libpq gather what the server has not read yet."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.abc import PQGen
from psycopg.copy import Copy, LibpqWriter
from psycopg.waiting import Wait

CHUNK_BYTES = 128 << 10


class _SendingWriter(LibpqWriter):
    """Waits until everything is sent: libpq keeps the rest, and moves all of it in memory with each
    part it sends.
    """

    def write(self, data: Any) -> None:
        """Send data."""
        for start in range(0, len(data), CHUNK_BYTES):
            super().write(data[start : start + CHUNK_BYTES])
            self.connection.wait(self._sending())

    def _sending(self) -> PQGen[None]:
        while self.connection.pgconn.flush():
            yield Wait.W


@contextmanager
def copying(db: "psycopg.Connection[Any]", statement: str) -> Iterator[Copy]:
    """Begin a COPY FROM STDIN; all of it is sent when the context ends."""
    cursor = db.cursor()
    with cursor.copy(statement, writer=_SendingWriter(cursor)) as copy:
        yield copy
