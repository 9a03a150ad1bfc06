"""Connections to a PostgreSQL, MySQL or MariaDB server that can only read, by SQLAlchemy.

Every reading is one read-only transaction over one snapshot, by a server-side cursor: on PostgreSQL that is `DECLARE
CURSOR`, which takes one SELECT and nothing else. This is loaded when a server is named, and nowhere else: it needs a
driver, which is an extra.
"""

import configparser
import importlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, CursorResult, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from stackroom.errors import ExpectedError, InputError, UnavailableError
from stackroom.sources.database_address import shown_address

FORM = "postgresql://USER@HOST:5432/DATABASE or mysql://USER@HOST:3306/DATABASE"
PASSWORDS = frozenset({"password", "passwd", "pwd"})
DIALECTS = {"postgres": "postgresql", "postgresql": "postgresql", "mysql": "mysql", "mariadb": "mariadb"}
UNREACHED = (1040, 1053, 2002, 2003, 2006, 2013)
"""MySQL: too many connections, shutting down, no server, connection lost."""
UNREACHED_CLASSES = ("08", "53", "57")
"""PostgreSQL: the classes of states of lost connections, missing resources and shutdowns."""
REFUSED = ("28P01", "28000", 1044, 1045, 1698)
REFUSED_WORDS = ("password authentication failed", "no password supplied", "no pg_hba.conf entry", "role ")
NO_DATABASE = ("3D000", 1046, 1049)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerKind:
    """What differs from one kind of server to the other."""

    title: str
    driver: str
    missing_driver: str
    password_variable: str
    password_advice: str
    quote: str
    text_type: str
    collect: str
    beginnings: tuple[str, ...]
    """The statements before every reading."""
    arguments: Mapping[str, Any]


POSTGRESQL = ServerKind(
    title="PostgreSQL",
    driver="psycopg",
    missing_driver="PostgreSQL needs its driver, the extra 'postgres': pip install 'psycopg[binary]'",
    password_variable="PGPASSWORD",
    password_advice="set PGPASSWORD, or add a line to ~/.pgpass",
    quote='"',
    text_type="TEXT",
    collect="array_agg({})",
    beginnings=(
        "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY",
        "SET LOCAL idle_in_transaction_session_timeout = 0",
    ),
    arguments={
        "connect_timeout": 10,
        "application_name": "stackroom",
        "keepalives_idle": 30,
        "prepare_threshold": None,
    },
)
MYSQL = ServerKind(
    title="MySQL or MariaDB",
    driver="pymysql",
    missing_driver="MySQL and MariaDB need a driver, the extra 'mysql': pip install pymysql",
    password_variable="MYSQL_PWD",
    password_advice="set MYSQL_PWD, or 'password' in the [client] section of ~/.my.cnf",
    quote="`",
    text_type="CHAR",
    collect="json_arrayagg({})",
    beginnings=(
        "SET SESSION net_write_timeout = 86400",
        "SET SESSION TRANSACTION READ ONLY",
        "START TRANSACTION WITH CONSISTENT SNAPSHOT",
    ),
    arguments={"connect_timeout": 10, "read_timeout": 600, "charset": "utf8mb4"},
)


def parse_address(location: str) -> URL:
    """Return the parts of an address."""
    try:
        url = make_url(location)
    except (ArgumentError, ValueError):
        raise InputError(f"{shown_address(location)}: not the address of a database; write {FORM}") from None
    if PASSWORDS.intersection(url.query):
        raise InputError(f"{shown_address(location)}: write the password before the host: USER:PASSWORD@HOST")
    return url


class DatabaseServer:
    """A database on a server; each reading has a connection of its own."""

    def __init__(self, url: URL, environment: Mapping[str, str]) -> None:
        dialect = DIALECTS[url.get_backend_name().lower()]
        self.kind = POSTGRESQL if dialect == "postgresql" else MYSQL
        stated = str(url.password or environment.get(self.kind.password_variable, ""))
        self.password = stated or (_mysql_password() if self.kind is MYSQL else "")  # psycopg reads ~/.pgpass itself
        bare = URL.create(dialect, url.username, None, url.host, url.port, url.database, url.query)
        self.name = bare.render_as_string(hide_password=False)
        """The address without its password, which opens the same database where the password is known otherwise."""
        self._engine = self._created(bare.set(drivername=f"{dialect}+{self.kind.driver}"))

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a connection in a read-only transaction; every failure of the server is an error with its reason."""
        try:
            with self._engine.connect() as connection:
                for statement in self.kind.beginnings:
                    connection.exec_driver_sql(statement)
                yield connection
        except SQLAlchemyError as error:
            raise self.failure_of(error) from None  # its cause may have the password

    @contextmanager
    def result(self, connection: Connection, statement: str) -> Iterator[CursorResult[Any]]:
        """Run a statement by a server-side cursor."""
        options = {"stream_results": True, "max_row_buffer": 500}
        result = connection.exec_driver_sql(statement, execution_options=options)
        try:
            yield result
        finally:
            if self.kind is MYSQL:
                _abandon(connection, result)
            result.close()

    def quote(self, name: str) -> str:
        """Quote an identifier."""
        mark = self.kind.quote
        return f"{mark}{name.replace(mark, 2 * mark)}{mark}"

    def failure_of(self, error: SQLAlchemyError) -> ExpectedError:
        """Return the error that tells a user why a server could not be read, without the password."""
        cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
        code, reason = code_of(error), _reason_of(cause)
        if self.password:
            reason = reason.replace(self.password, "***")
        if code in REFUSED or (code is None and any(words in reason for words in REFUSED_WORDS)):
            return InputError(f"{self.name}: the login is refused: {reason}; {self._password_advice()}")
        if code in NO_DATABASE or (code is None and 'database "' in reason and "does not exist" in reason):
            return InputError(f"{self.name}: no such database: {reason}")
        is_connecting = code is None and type(cause).__name__ == "OperationalError"
        if code in UNREACHED or is_connecting or (isinstance(code, str) and code[:2] in UNREACHED_CLASSES):
            return UnavailableError(f"{self.name}: {self.kind.title} cannot be reached: {reason}")
        return InputError(f"{self.name}: cannot be read: {reason}")

    def _password_advice(self) -> str:
        if self.password:
            return "check the user and the password"
        return f"no password was given, and that of an address is not kept: {self.kind.password_advice}"

    def _created(self, url: URL) -> Engine:
        login: dict[str, Any] = {}
        if self.password:  # the driver of MySQL would encode a text as Latin-1
            login["password"] = self.password.encode() if self.kind is MYSQL else self.password
        try:
            engine = create_engine(
                url,
                poolclass=NullPool,
                hide_parameters=True,
                connect_args={**self.kind.arguments, **login},
                execution_options={"no_parameters": True},  # so that '%' is itself
            )
        except ImportError:
            raise InputError(f"{self.name}: {self.kind.missing_driver}") from None
        if self.kind is POSTGRESQL:
            event.listen(engine, "connect", _read_all_times)
        return engine


def _mysql_password() -> str:
    """Return the password in the section [client] of ~/.my.cnf; pymysql itself would encode it as Latin-1."""
    options = configparser.RawConfigParser(allow_no_value=True, strict=False)
    try:
        lines = Path("~/.my.cnf").expanduser().read_text(encoding="utf-8").splitlines()
        options.read_string("\n".join(line for line in lines if not line.lstrip().startswith("!")))
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError, configparser.Error) as error:
        raise InputError(f"~/.my.cnf: cannot be read for a password: {type(error).__name__}") from None
    stated = options.get("client", "password", fallback="") or ""
    return stated[1:-1] if len(stated) > 1 and stated[0] == stated[-1] in "'\"" else stated


def code_of(error: SQLAlchemyError) -> str | int | None:
    """Return a server's code for a failure: MySQL's number, or PostgreSQL's SQLSTATE; None where it has none."""
    cause: Any = error.orig if isinstance(error, DBAPIError) else None
    number = cause.args[0] if getattr(cause, "args", ()) else None
    return number if isinstance(number, int) else getattr(cause, "sqlstate", None)


def _reason_of(cause: Any) -> str:
    """Return the first line of a message, without the driver's number before it."""
    arguments: tuple[Any, ...] = getattr(cause, "args", ())
    text = str(arguments[1]) if len(arguments) > 1 and isinstance(arguments[0], int) else str(cause)
    lines = text.strip().splitlines() or [type(cause).__name__]
    return lines[0].rpartition("FATAL:")[2].strip()


def _abandon(connection: Connection, result: CursorResult[Any]) -> None:
    """End a connection whose result was not read to its end: the driver would read all of the rest to close it."""
    cursor: Any = result.cursor
    if cursor is not None and cursor.connection is not None and getattr(cursor._result, "unbuffered_active", False):
        cursor._result.unbuffered_active = False
        cursor.connection = None
        connection.invalidate()


def _read_all_times(connection: Any, _record: Any) -> None:
    """Let psycopg read times that Python's types cannot hold: 'infinity' is nothing, others are their text."""
    times, failure = importlib.import_module("psycopg.types.datetime"), importlib.import_module("psycopg").DataError

    def tolerant(loader: Any) -> Any:
        class TolerantLoader(loader):  # type: ignore[misc]
            """A loader that does not fail for a whole batch of rows because of one value."""

            def load(self, data: Any) -> Any:
                try:
                    return super().load(data)
                except failure:
                    text = bytes(data).decode()
                    return None if "infinity" in text else text

        return TolerantLoader

    for name, loader in {"date": "Date", "timestamp": "Timestamp", "timestamptz": "Timestamptz"}.items():
        connection.adapters.register_loader(name, tolerant(getattr(times, f"{loader}Loader")))
