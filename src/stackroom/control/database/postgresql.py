"""PostgreSQL as a control database: its address, its connections, and the look-ups that every call
makes.

Every call on every server asks for the version of the rights, and counts against a rate limit, and
must get what was so after it came. `RoundTrips` has one connection for that: calls that come while
a round trip is under way share the next, so that a server has one under way at most. Calls are
counted as rows, the newest of a key numbered one more than the one before: a call is accepted if
the row `limit` numbers before it is older than a minute. Time is the database's.
"""

import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from sqlalchemy import BigInteger, Column, Engine, MetaData, Table, Text, create_engine

from stackroom.control.database import DatabaseAwayError
from stackroom.control.database.batch_writer import BatchLimits, BatchWriter
from stackroom.errors import InputError, StorageError

POOL_SIZE = 16
TIMEOUT_S = 5
CONNECT_S = 2  # how long one host has to answer, of several
PATIENCE_S = 3.0  # a round trip that takes longer is given up
PROBE_S = 0.5  # how long requests are refused at once after a failure, before one tries again
PRUNED_EVERY_S = 60.0
WINDOW_US = 60_000_000
LOCK_SPACE = 0x5354  # the first half of the keys of PostgreSQL's advisory locks on limits
AT_ONCE = BatchLimits(group_rows=1, group_s=0.0)
AWAY = "the control database does not answer; try again in a while"
FORM = "postgresql://USER:PASSWORD@HOST/NAME, or with several hosts, HOST,HOST"

LIMIT_TABLES = MetaData()
rate_calls = Table(
    "rate_calls",
    LIMIT_TABLES,
    Column("key", Text, primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("at", BigInteger, nullable=False),
    # costs no write-ahead log; empty after a crash and on a promoted replica
    prefixes=["UNLOGGED"],
)
"""The accepted calls of the last minute."""

NOW = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
LOCK = "SELECT pg_advisory_xact_lock(%s, %s)"
TAKE = f"""
WITH clock AS (SELECT {NOW} AS now),
mine AS (SELECT coalesce(max(number), 0) + 1 AS number FROM rate_calls WHERE key = %(key)s),
edge AS (
  SELECT r.at FROM rate_calls r, mine WHERE r.key = %(key)s AND r.number = mine.number - %(limit)s
),
taken AS (
  INSERT INTO rate_calls (key, number, at) SELECT %(key)s, mine.number, clock.now FROM mine, clock
  WHERE %(limit)s > 0
    AND NOT EXISTS (SELECT 1 FROM edge WHERE edge.at > clock.now - {WINDOW_US}) RETURNING number
), past AS (
  DELETE FROM rate_calls r USING taken
  WHERE r.key = %(key)s AND r.number <= taken.number - %(limit)s
)
SELECT (SELECT number FROM taken) IS NOT NULL,
  coalesce((SELECT at FROM edge), clock.now) + {WINDOW_US} - clock.now
FROM clock
"""
PRUNE = f"""
DELETE FROM rate_calls WHERE (key, number) IN
(SELECT key, number FROM rate_calls WHERE at <= {NOW} - {WINDOW_US} FOR UPDATE SKIP LOCKED)
"""
VERSION = "SELECT number FROM control_version"


@dataclass(frozen=True, slots=True)
class PostgresAddress:
    """The address of a database on one host or several, of which the one that can be written is
    used.
    """

    parameters: dict[str, Any]

    @classmethod
    def parse(cls, url: str) -> "PostgresAddress":
        """Parse a URL as libpq does; raise InputError, without repeating the text, if it is not
        valid.
        """
        try:
            given = conninfo_to_dict(f"postgresql://{url.partition('://')[2]}")
            is_valid = all(port.isdecimal() for port in str(given.get("port") or "5432").split(","))
        except psycopg.ProgrammingError:
            is_valid = False
        if not is_valid:
            raise InputError(f"setting 'control.url' is not the address of a database: {FORM}")
        has_several = "," in str(given.get("host"))
        usual: dict[str, Any] = {"target_session_attrs": "read-write"} if has_several else {}
        usual["connect_timeout"] = CONNECT_S if has_several else TIMEOUT_S
        return cls({"tcp_user_timeout": TIMEOUT_S * 1000, **usual, **given})

    @property
    def name(self) -> str:
        """Hosts and database, for messages."""
        host, port = (str(self.parameters.get(key) or "") for key in ("host", "port"))
        return (
            f"{host or 'localhost'}{f':{port}' if port else ''}/{self.parameters.get('dbname', '')}"
        )

    @property
    def password(self) -> str:
        """The password, which no message may contain."""
        return str(self.parameters.get("password") or "")

    def connect(self, *, autocommit: bool = False) -> psycopg.Connection[Any]:
        """Connect to the host that can be written."""
        connection = psycopg.connect(make_conninfo("", **self.parameters), autocommit=autocommit)
        connection.execute(f"SET lock_timeout = '{TIMEOUT_S}s'")
        if not autocommit:
            connection.commit()
        return connection

    def open_engine(self) -> Engine:
        """Return an engine over connections to this address."""
        return create_engine(
            "postgresql+psycopg://",
            creator=self.connect,
            hide_parameters=True,
            isolation_level="READ COMMITTED",
            pool_size=POOL_SIZE,
            pool_timeout=TIMEOUT_S,
            pool_pre_ping=True,
        )

    def round_trips(self, describe: Callable[[Exception], str]) -> "RoundTrips":
        """Return the look-ups over a connection to this address."""
        return RoundTrips(lambda: self.connect(autocommit=True), describe=describe)


@dataclass(slots=True)
class _Request:
    """A look-up of the version, or a call to count, with its result."""

    key: str | None = None
    limit: int = 0
    version: tuple[int, int] = (0, 0)
    wait_s: float | None = None  # in how many seconds a call is accepted that was not
    error: StorageError | None = None


class RoundTrips:
    """Look-ups of many threads over one connection; those that wait together share a round trip."""

    tables = LIMIT_TABLES

    def __init__(
        self,
        connect: Callable[[], psycopg.Connection[Any]],
        *,
        describe: Callable[[Exception], str],
    ) -> None:
        """`describe` returns an error as text for the log, without secrets."""
        self._connect = connect
        self._describe = describe
        self._connection: psycopg.Connection[Any] | None = None
        self._connections = -1
        """The number of reconnections; cached versions of the rights end with each."""
        self._queue = BatchWriter(
            self._serve, name="look-ups of the control database", limits=AT_ONCE
        )
        self._guard = threading.Lock()
        self._refuse_until = float("-inf")
        self._began_at: float | None = None
        self._prune_at = 0.0

    def version(self) -> tuple[int, int]:
        """Return the number of reconnections, and the version of the rights."""
        return self._ask(_Request()).version

    def take(self, key: str, limit: int) -> float | None:
        """Count a call and return None; if the limit is reached, return in how many seconds the
        next is accepted.
        """
        return self._ask(_Request(key, limit)).wait_s

    def close(self) -> None:
        """Close the connection."""
        self._queue.close()
        if self._connection is not None:
            self._connection.close()

    def _ask(self, request: _Request) -> _Request:
        """Return the answered request; raise DatabaseAwayError at once while the database does not
        answer.
        """
        with self._guard:
            now = time.monotonic()
            if self._began_at is not None and now - self._began_at > PATIENCE_S:
                self._give_up()
            if now < self._refuse_until:
                raise DatabaseAwayError(AWAY)
        self._queue.put(request, durable=True)
        if request.error is not None:
            raise request.error
        return request

    def _give_up(self) -> None:
        """End a round trip that takes too long, by closing its socket under it."""
        self._refuse_until = time.monotonic() + PROBE_S
        connection = self._connection
        if connection is None:
            return
        with suppress(OSError, psycopg.Error):
            opened = socket.socket(fileno=connection.fileno())
            try:
                opened.shutdown(socket.SHUT_RDWR)
            finally:
                opened.detach()

    def _serve(self, requests: Sequence[_Request]) -> None:
        """Answer requests in one round trip, or store the error on each; try once more if the
        connection was broken.
        """
        error: StorageError | None = None
        for _attempt in range(2):
            self._began_at = time.monotonic()
            try:
                self._travel(requests)
                error = None
                break
            except psycopg.Error as failure:
                detail = self._describe(failure)
                if self._connection is not None and not self._connection.closed:
                    error = StorageError(
                        "the control database failed; try again in a while", detail=detail
                    )
                    break
                self._connection = None
                error = DatabaseAwayError(AWAY, detail=detail)
            finally:
                self._began_at = None
        if isinstance(error, DatabaseAwayError):
            self._refuse_until = time.monotonic() + PROBE_S
        for request in requests:
            request.error = error

    def _travel(self, requests: Sequence[_Request]) -> None:
        if self._connection is None:
            self._connection = self._connect()
            self._connections += 1
            self._connection.execute("SET synchronous_commit = off")
        connection = self._connection
        takes = [request for request in requests if request.key is not None]
        ((number,),) = self._count(connection, takes) if takes else connection.execute(VERSION)
        for request in requests:
            request.version = (self._connections, int(number))

    def _count(
        self, connection: psycopg.Connection[Any], takes: Sequence[_Request]
    ) -> Iterable[tuple[int]]:
        """Count calls, and look the version up in the same round trip."""
        keys = sorted({zlib.crc32(str(request.key).encode()) - 2**31 for request in takes})
        is_due = time.monotonic() >= self._prune_at
        with connection.pipeline(), connection.transaction():
            # in one order on every server, so that none waits for another in a circle
            for key in keys:
                connection.execute(LOCK, (LOCK_SPACE, key))
            taken = [
                connection.execute(TAKE, {"key": one.key, "limit": one.limit}) for one in takes
            ]
            version = connection.execute(VERSION)
            if is_due:
                self._prune_at = time.monotonic() + PRUNED_EVERY_S
                connection.execute(PRUNE)
        for request, ((is_taken, wait_us),) in zip(takes, taken, strict=True):
            request.wait_s = None if is_taken else wait_us / 1e6
        return version
