"""Several servers over one PostgreSQL with replicas, all on loopback."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

from stackroom.control.control import Control
from stackroom.model.principal import LOCAL_USER
from stackroom.settings import ControlSettings, Settings
from support.postgres import PostgresServer, open_server
from support.processes import ServerProcess

ENVIRONMENT = {
    "RAG_STRICT_OFFLINE": "1",
    "STACKROOM_READ_PER_MINUTE": "100000",
    "STACKROOM_WRITE_PER_MINUTE": "100000",
}
CALL_TIMEOUT_S = 120.0


@dataclass(kw_only=True)
class Cluster:
    """Servers, the PostgreSQLs behind them with the primary first, and the accounts."""

    servers: list[ServerProcess]
    databases: list[PostgresServer]
    control: Control
    environment: dict[str, str]
    _tokens: int = field(default=0)

    def token(self, user: str) -> tuple[str, str]:
        """Make a token; return its secret and its id."""
        self._tokens += 1
        secret, credential = self.control.credentials.issue_token(
            LOCAL_USER, user, name=f"token {self._tokens}"
        )
        return secret, credential.id

    @contextmanager
    def clients(self, secret: str) -> Iterator[list[httpx.Client]]:
        """Open a client of each server, with a token."""
        known = {"Authorization": f"Bearer {secret}"}
        with ExitStack() as stack:
            opening = (
                httpx.Client(base_url=one.url, headers=known, timeout=CALL_TIMEOUT_S, verify=False)
                for one in self.servers
            )
            yield [stack.enter_context(client) for client in opening]

    def promote_replica(self) -> None:
        """Make the first replica the primary."""
        self.databases[1].promote()
        self.databases = [self.databases[1], self.databases[0], *self.databases[2:]]


def address_of(databases: Sequence[PostgresServer]) -> str:
    """Return the address of whichever of these servers can be written."""
    hosts = ",".join(quote(str(one.folder)) for one in databases)
    return f"postgresql://stackroom@/postgres?host={hosts}"


@contextmanager
def open_cluster(
    homes: Sequence[Path],
    *,
    replicas: int = 1,
    prepare: Callable[[str], None] = lambda _url: None,
    **environment: str,
) -> Iterator[Cluster]:
    """Run a server on each of these libraries; a change is acknowledged when a replica has it too.

    `prepare` is called with the address of the database before the servers start.
    """
    with ExitStack() as stack:
        primary = stack.enter_context(open_server())
        databases = [
            primary,
            *(stack.enter_context(open_server(primary=primary)) for _ in range(replicas)),
        ]
        primary.execute("ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (*)'")
        primary.execute("SELECT pg_reload_conf()")
        url = address_of(databases)
        prepare(url)
        given = {**ENVIRONMENT, "STACKROOM_CONTROL_URL": url, **environment}
        settings = Settings(home=homes[0], control=ControlSettings(url=url))
        control = Control.open(settings)
        stack.callback(control.close)
        servers: list[ServerProcess] = []
        stack.callback(lambda: _stop(servers))
        with ThreadPoolExecutor(len(homes)) as pool:
            servers.extend(pool.map(lambda home: ServerProcess(home, environment=given), homes))
        yield Cluster(servers=servers, databases=databases, control=control, environment=given)


def _stop(servers: Sequence[Any]) -> None:
    for server in servers:
        if server.process.poll() is None:
            server.stop()
