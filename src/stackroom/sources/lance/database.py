"""A LanceDB database: a folder, or a path in a bucket, with tables in it. Failures become errors of
this package.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import lancedb
import pyarrow as pa
from lancedb.table import Table

from stackroom.errors import InputError, StorageError
from stackroom.settings import find_place_problem, is_remote

LONGEST_REASON = 200
RUST_DETAILS = re.compile(r"[,:]? *(\w+ \{|location: Location|[^ ]*\.rs:\d+).*", re.DOTALL)
RUST_MESSAGE = re.compile(r'message: "([^"]+)"')
KNOWN_CAUSES = (
    (
        re.compile(r"\b(403|forbidden|access[ _]?denied|401|unauthorized)\b", re.IGNORECASE),
        "access is denied",
    ),
    (
        re.compile(r"no[ _]such[ _]bucket|bucket \S* ?not found|NoSuchBucket", re.IGNORECASE),
        "there is no such bucket",
    ),
    (
        re.compile(r"\b503\b|slow ?down|service unavailable", re.IGNORECASE),
        "the store is overloaded or unavailable",
    ),
    (re.compile(r"timed? ?out|deadline", re.IGNORECASE), "the store did not answer in time"),
    (
        re.compile(
            r"connection refused|error sending request|connect error|dns|network_connection",
            re.IGNORECASE,
        ),
        "it cannot be reached",
    ),
)
"""What the client's errors say → its cause in few words, the first that fits."""


def require_allowed(uri: str, *, offline: bool) -> None:
    """Refuse an address that no database can have, and one on the network while offline."""
    if not uri.strip():
        raise InputError(
            "the LanceDB database is missing; a folder or an address such as s3://bucket/path is"
            " right"
        )
    if (problem := find_place_problem(uri)) is not None:
        raise InputError(f"{uri} {problem}")
    if offline and is_remote(uri):
        raise InputError(
            f"{uri}: the database is on the network, which is not used offline; a folder works"
        )


class LanceDatabase:
    """The tables at an address that `lancedb.connect` takes."""

    def __init__(self, uri: str) -> None:
        self.uri = uri
        with self.failing("opened"):
            self._db = lancedb.connect(uri)

    def list_tables(self) -> list[str]:
        """Return the names of all tables."""
        with self.failing("read"):
            return list(self._db.list_tables().tables)

    def find_table(self, name: str) -> Table | None:
        """Return the newest version of a table, or None where there is none of this name."""
        if name not in self.list_tables():
            return None
        with self.failing("read"):
            return self._db.open_table(name)

    def get_table(self, name: str) -> Table:
        """Return the newest version of a table, or refuse with the names of those there are."""
        table = self.find_table(name)
        if table is None:
            names = ", ".join(self.list_tables()) or "none"
            raise StorageError(f"{self.uri} has no table '{name}'; tables in it: {names}")
        return table

    def replace_table(self, name: str, rows: pa.RecordBatchReader) -> Table:
        """Write a table with these rows, in place of the one of this name; clients read the old
        version until then.
        """
        with self.failing("written"):
            is_there = name in self.list_tables()
            # commit point: clients see all new rows from here on, and none before
            return self._db.create_table(
                name,
                data=rows,
                schema=rows.schema,
                mode="overwrite" if is_there else "create",
                on_bad_vectors="null",
            )

    @contextmanager
    def failing(self, what: str) -> Iterator[None]:
        """Turn LanceDB's errors, which have no class of their own, into a StorageError."""
        try:
            yield
        except (ValueError, RuntimeError, OSError, pa.ArrowException) as error:
            raise StorageError(
                f"{self.uri}: the database cannot be {what}: {_shorten_reason(error)}"
            ) from error


def _shorten_reason(error: Exception) -> str:
    """Return the part of a client's error that tells people something: no paths of sources, no
    nested structures.
    """
    text = str(error)
    cause = next((cause for pattern, cause in KNOWN_CAUSES if pattern.search(text)), None)
    return f"{cause} ({_detail(text)})" if cause else _detail(text)


def _detail(text: str) -> str:
    if (inner := RUST_MESSAGE.search(text)) is not None:
        return inner[1]
    return " ".join(RUST_DETAILS.sub("", text).split())[:LONGEST_REASON]
