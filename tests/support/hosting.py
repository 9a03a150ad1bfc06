"""Servers with accounts, as the interaction tests use them."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from stackroom.assembly.workshop import Workshop
from stackroom.control.control import Control
from stackroom.model.principal import LOCAL_USER, Action
from stackroom.settings import ControlSettings, Settings
from stackroom.shelf.postgres.move import move_to_database
from support.launching import SCRIPT, STACKROOM
from support.postgres import PostgresServer
from support.rest_answers import watched_client

PROGRAM = str(Path(__file__).with_name("fixture_server.py"))
FIXTURE_SERVER = (*SCRIPT, f"import runpy; runpy.run_path({PROGRAM!r}, run_name='__main__')")


WHEREVER_KEPT = pytest.mark.parametrize(
    "kept", [None, "postgresql"], ids=["library", "postgresql"], indirect=True, scope="session"
)
"""Runs a test on a server whose library has everything, and on one with its accounts and records in
PostgreSQL.
"""


def address_in(place: str | None, home: Path, database: Callable[[], PostgresServer]) -> str:
    """Return the address of the accounts for a place; the catalogues of the library are moved
    there.
    """
    if place is None:
        return ""
    server, workshop = database(), Workshop(Settings(home=home))
    for installed in workshop.library.list_installed():
        move_to_database(
            workshop, installed.name, server.new_place(), advance=lambda _step, _count: None
        )
    return server.new_url()


class Accounts:
    """The accounts of a library, changed from this process while a server in another one uses
    them.
    """

    def __init__(self, home: Path, url: str = "") -> None:
        self.control = Control.open(Settings(home=home, control=ControlSettings(url=url)))
        self._numbers = itertools.count(1)

    def user(self, *actions: Action, name: str = "user", roles: Sequence[str] = ()) -> str:
        """Add a user who may do this, and return their name."""
        full = f"{name}-{next(self._numbers)}"
        self.control.accounts.create_user(
            LOCAL_USER, full, password=None, roles=roles, grants=actions
        )
        return full

    def token(
        self, user: str, *, name: str = "", expires_in: timedelta | None = None, **narrowed: Any
    ) -> str:
        """Make a token for a user, and return its secret."""
        secret, _credential = self.control.credentials.issue_token(
            LOCAL_USER,
            user,
            name=name or f"token {next(self._numbers)}",
            expires_in=expires_in,
            **narrowed,
        )
        return secret

    def close(self) -> None:
        """Let go of the database."""
        self.control.close()


Kept = Callable[[Path], tuple[Accounts, dict[str, str]]]
"""Opens the accounts of a library, and returns them with the variables that name them to a
server.
"""


@dataclass(frozen=True, kw_only=True)
class Hosted:
    """A running server, and the accounts that it serves."""

    server: Any
    accounts: Accounts
    environment: Mapping[str, str]
    program: Sequence[str] = STACKROOM

    @property
    def url(self) -> str:
        return str(self.server.url)

    @property
    def websocket_url(self) -> str:
        return f"ws{self.url.removeprefix('http')}/v1/mcp"

    def rest(self, secret: str | None = None) -> httpx.Client:
        headers = {"Authorization": f"Bearer {secret}"} if secret else {}
        return watched_client(self.url, headers)
