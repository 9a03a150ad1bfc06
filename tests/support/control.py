"""Control databases for tests, and accounts over them."""

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from stackroom.control.accounts.accounts import Accounts, CatalogueAccess, User
from stackroom.control.accounts.credentials import Credentials
from stackroom.control.accounts.identity_cache import IdentityCache
from stackroom.control.audit import AuditFilter, AuditLog, AuditRow
from stackroom.control.control import Control
from stackroom.control.database.engine import ControlDatabase
from stackroom.model.principal import LOCAL_USER, Action, Principal, Quotas
from support.launching import launch
from support.postgres import PostgresServer

USUAL_QUOTAS = Quotas(read=120, write=30, sql=10)


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
    is_spoilt: bool = False
    """Whether its tables may be others than those of a new database, or processes may still write
    to them.
    """
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

    def run(self, script: str, *arguments: str) -> Any:
        """Start a script in a process of its own, with the address as its first argument."""
        self.is_spoilt = True
        command = [sys.executable, "-c", script, self.url, *arguments]
        return launch(
            command, env=os.environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run_together(self, script: str, count: int) -> list[str]:
        """Return what processes print that all begin at once: each says 'ready', and goes on when
        it is told.
        """
        processes = [self.run(script) for _ in range(count)]
        for process in processes:
            assert process.stdout.readline() == "ready\n"
        for process in processes:
            process.stdin.write("go\n")
            process.stdin.flush()
        printed = []
        for process in processes:
            with process:
                printed.append(process.stdout.read().strip())
        assert [process.returncode for process in processes] == [0] * count
        return printed


class MadeSchemas:
    """Schemas of PostgreSQL with the tables of a control database: making them takes longer than
    most tests.

    After a test one is emptied; in the next it has another name, and whatever still runs finds
    nothing to write to.
    """

    def __init__(self, server: PostgresServer) -> None:
        self._server = server
        self._free: list[str] = []
        self._count = 0
        self._make("control_made")

    def take(self) -> str:
        """Return the name of a schema as a new database has it."""
        self._count += 1
        schema = f"control_{self._count}"
        if self._free:
            self._server.execute(f"ALTER SCHEMA {self._free.pop()} RENAME TO {schema}")
        else:
            self._make(schema)
        return schema

    def give_back(self, schema: str) -> None:
        """Put the rows of a new database in the place of those that a schema has."""
        empty = Path(__file__).with_name("empty_control.sql").read_text(encoding="utf-8")
        self._server.execute(empty.replace("SCHEMA_NAME", schema))
        self._free.append(schema)

    def _make(self, schema: str) -> None:
        self._server.execute(f"CREATE SCHEMA {schema}")
        ControlDatabase.open(self._server.url(schema)).close()


@dataclass(frozen=True, kw_only=True)
class People:
    """Accounts, credentials and access over one database, with short ways to make some."""

    database: ControlDatabase
    clock: Clock
    accounts: Accounts
    credentials: Credentials
    access: CatalogueAccess

    def add(
        self, name: str, *actions: Action, roles: Sequence[str] = (), password: str | None = None
    ) -> Principal:
        """Make a user with these permissions, and return them as a caller."""
        self.accounts.create_user(LOCAL_USER, name, password=password, roles=roles, grants=actions)
        return self.principal(name)

    def principal(self, name: str) -> Principal:
        """Return a user as a caller, with everything that they may do."""
        return self.new_identity_cache().principal_of(self.user(name))

    def user(self, name: str) -> User:
        return self.accounts.get_user(name)

    def session(self, name: str) -> str:
        """Return the secret of a new session."""
        return self.credentials.issue_session(self.user(name))[0]

    def token(self, name: str, **narrowing: Any) -> str:
        """Return the secret of a new token."""
        label = f"token {len(self.credentials.list_of(name))}"
        return self.credentials.issue_token(LOCAL_USER, name, name=label, **narrowing)[0]

    @property
    def control(self) -> Control:
        """The same accounts, as operations have them."""
        opened = Control.over(self.database, quotas=USUAL_QUOTAS)
        return replace(
            opened, accounts=self.accounts, credentials=self.credentials, access=self.access
        )

    def new_identity_cache(self, **others: Any) -> IdentityCache:
        clock = self.clock
        return IdentityCache(
            self.database,
            default_quotas=USUAL_QUOTAS,
            now=clock.now,
            monotonic=clock.monotonic,
            **others,
        )


def _people(database: ControlDatabase, clock: Clock) -> People:
    return People(
        database=database,
        clock=clock,
        accounts=Accounts(database, now=clock.now),
        credentials=Credentials(database, now=clock.now),
        access=CatalogueAccess(database),
    )


def audit_rows(log: AuditLog, *, limit: int = 10_000, **wanted: Any) -> list[AuditRow]:
    """Return the last rows of the audit, the oldest first."""
    return log.page(AuditFilter(**wanted), limit=limit).rows[::-1]
