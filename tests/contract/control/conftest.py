"""The control database under test: SQLite, and a real PostgreSQL that the test run starts for itself."""

import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pytest
from sqlalchemy import text

from pinakes.control.accounts.accounts import Accounts, User
from pinakes.control.accounts.catalogue_access import CatalogueAccess
from pinakes.control.accounts.credentials import Credentials
from pinakes.control.accounts.identity_cache import IdentityCache
from pinakes.control.database.engine import ControlDatabase
from pinakes.model.principal import LOCAL_USER, Action, Principal, Quotas

START_TIMEOUT_S = 30
PROCESS_TIMEOUT_S = 60
USUAL_QUOTAS = Quotas(read=120, write=30, sql=10)


class PostgresServer:
    """A PostgreSQL server with a folder, a socket and a user of its own."""

    def __init__(self, binaries: Path, folder: Path) -> None:
        self.folder = folder
        self._as_owner = _as_owner(folder)
        self._schemas = 0
        self._run(
            [
                binaries / "initdb",
                "-D",
                folder / "data",
                "-U",
                "pinakes",
                "-A",
                "trust",
                "-E",
                "UTF8",
                "--no-locale",
                "-N",
            ]
        )
        settings = {
            "listen_addresses": "",
            "unix_socket_directories": str(folder),
            "fsync": "off",
            "synchronous_commit": "off",
            "full_page_writes": "off",
            "shared_buffers": "16MB",
            "max_connections": "300",
        }
        options = [f"--{name}={value}" for name, value in settings.items()]
        with (folder / "log").open("wb") as log:
            command = [*self._as_owner, str(binaries / "postgres"), "-D", str(folder / "data"), *options]
            self._process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, cwd=folder)
        self._wait_until_ready()

    def new_url(self) -> str:
        """Return the address of an empty place in the database, that no other test uses."""
        self._schemas += 1
        schema = f"test_{self._schemas}"
        with self._connected() as connection:
            connection.execute(f"CREATE SCHEMA {schema}")
        options = quote(f"-csearch_path={schema}")
        return f"postgresql+psycopg://pinakes@/postgres?host={quote(str(self.folder))}&options={options}"

    def end_connections(self) -> None:
        """Break every connection there is, as a restart does."""
        with self._connected() as connection:
            connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")

    def stop(self) -> None:
        """End the server by its process id."""
        self._process.terminate()
        self._process.wait(START_TIMEOUT_S)

    def _connected(self) -> Any:
        return psycopg.connect(host=str(self.folder), user="pinakes", dbname="postgres", autocommit=True)

    def _wait_until_ready(self) -> None:
        ends_at = time.monotonic() + START_TIMEOUT_S
        while True:
            try:
                self._connected().close()
                return
            except psycopg.OperationalError as error:
                log = (self.folder / "log").read_text(errors="replace")
                if self._process.poll() is not None or time.monotonic() > ends_at:
                    raise RuntimeError(f"PostgreSQL did not start: {log}") from error
                time.sleep(0.05)

    def _run(self, command: Sequence[object]) -> None:
        whole = [*self._as_owner, *map(str, command)]
        subprocess.run(whole, check=True, capture_output=True, cwd=self.folder, timeout=START_TIMEOUT_S)


def _as_owner(folder: Path) -> list[str]:
    """Return what goes before a command so that it does not run as root, which PostgreSQL refuses."""
    if os.geteuid() != 0:
        return []
    owner = pwd.getpwnam("postgres")
    os.chown(folder, owner.pw_uid, owner.pw_gid)
    return ["setpriv", f"--reuid={owner.pw_uid}", f"--regid={owner.pw_gid}", "--clear-groups"]


def _find_binaries() -> Path | None:
    """Return the folder with PostgreSQL's programs."""
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda one: int(one.parts[-3]))
    found = installed[-1] if installed else shutil.which("initdb")
    return Path(found).resolve().parent if found else None


@pytest.fixture(scope="session")
def postgresql() -> Iterator[PostgresServer]:
    """A real PostgreSQL, of this test run only."""
    binaries = _find_binaries()
    if binaries is None:
        pytest.skip("PostgreSQL is not installed here: apt-get install postgresql")
    in_memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="pg", dir=in_memory if in_memory.is_dir() else None) as folder:
        server = PostgresServer(binaries, Path(folder))
        yield server
        server.stop()


class Clock:
    """Time that stands still until it is moved."""

    def __init__(self) -> None:
        self._passed_s = 0.0

    def now(self) -> datetime:
        return datetime(2026, 11, 15, 12, 0, tzinfo=UTC) + timedelta(seconds=self._passed_s)

    def monotonic(self) -> float:
        return 1000.0 + self._passed_s

    def advance(self, seconds: float) -> None:
        self._passed_s += seconds


@dataclass(kw_only=True)
class Place:
    """Where a control database of a test is, and everything over it."""

    url: str
    clock: Clock = field(default_factory=Clock)
    _opened: list[ControlDatabase] = field(default_factory=list)

    @property
    def is_sqlite(self) -> bool:
        return self.url.startswith("sqlite")

    def open(self) -> ControlDatabase:
        """Open the database once more, as another process would."""
        database = ControlDatabase.open(self.url)
        self._opened.append(database)
        return database

    def close(self) -> None:
        for database in self._opened:
            database.close()

    def run(self, script: str, *arguments: str) -> subprocess.Popen[str]:
        """Start a script in a process of its own, with the address as its first argument."""
        command = [sys.executable, "-c", script, self.url, *arguments]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run_together(self, script: str, count: int) -> list[str]:
        """Return what processes print that all begin at once: each says 'ready', and goes on when it is told."""
        processes = [self.run(script) for _ in range(count)]
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        printed = [process.communicate(timeout=PROCESS_TIMEOUT_S)[0] for process in processes]
        assert [process.returncode for process in processes] == [0] * count
        return [one.strip() for one in printed]


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """An empty place on every kind of database."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path / 'control.sqlite'}"
    else:
        url = request.getfixturevalue("postgresql").new_url()
    place = Place(url=url)
    yield place
    place.close()


@pytest.fixture
def database(place: Place) -> ControlDatabase:
    """An open control database."""
    return place.open()


@dataclass(frozen=True, kw_only=True)
class People:
    """Accounts, credentials and access over one database, with short ways to make some."""

    database: ControlDatabase
    clock: Clock
    accounts: Accounts
    credentials: Credentials
    access: CatalogueAccess

    def add(self, name: str, *actions: Action, roles: Sequence[str] = (), password: str | None = None) -> Principal:
        """Make a user with these permissions, and return them as a caller."""
        self.accounts.create_user(LOCAL_USER, name, password=password, roles=roles, grants=actions)
        return self.principal(name)

    def principal(self, name: str) -> Principal:
        """Return a user as a caller, with everything that they may do."""
        return self.new_directory().principal_of(self.user(name))

    def user(self, name: str) -> User:
        return self.accounts.get_user(name)

    def session(self, name: str) -> str:
        """Return the secret of a new session."""
        return self.credentials.issue_session(self.user(name))[0]

    def token(self, name: str, **narrowing: Any) -> str:
        """Return the secret of a new token."""
        label = f"token {len(self.credentials.list_of(name))}"
        return self.credentials.issue_token(LOCAL_USER, name, name=label, **narrowing)[0]

    def new_directory(self, **others: Any) -> IdentityCache:
        times = {"now": self.clock.now, "monotonic": self.clock.monotonic}
        return IdentityCache(self.database, default_quotas=USUAL_QUOTAS, **times, **others)


def _people(database: ControlDatabase, clock: Clock) -> People:
    return People(
        database=database,
        clock=clock,
        accounts=Accounts(database, now=clock.now),
        credentials=Credentials(database, now=clock.now),
        access=CatalogueAccess(database),
    )


@pytest.fixture
def people(place: Place, database: ControlDatabase) -> People:
    """Accounts without anybody in them."""
    return _people(database, place.clock)


@pytest.fixture
def elsewhere(place: Place, people: People) -> People:
    """The same accounts, as another process has them open."""
    return _people(place.open(), place.clock)


@pytest.fixture
def execute(database: ControlDatabase) -> Callable[..., list[Any]]:
    """Change the database behind everybody's back, and return the rows of a query."""

    def run(sql: str, **values: Any) -> list[Any]:
        with database.begin() as connection:
            result = connection.execute(text(sql), values)
            return list(result) if result.returns_rows else []

    return run


@pytest.fixture
def at_once() -> Callable[[Sequence[Callable[[], Any]]], list[Any]]:
    """Do several things in threads that all begin at once; return what each gave or raised."""

    def run(works: Sequence[Callable[[], Any]]) -> list[Any]:
        barrier = threading.Barrier(len(works))

        def begin(work: Callable[[], Any]) -> Any:
            barrier.wait()
            try:
                return work()
            except Exception as error:
                return error

        with ThreadPoolExecutor(len(works)) as pool:
            return list(pool.map(begin, works))

    return run
