"""Servers with accounts, as the interaction tests use them."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx

from stackroom.control.control import Control
from stackroom.model.principal import LOCAL_USER, Action
from stackroom.settings import Settings
from support.launching import SCRIPT
from support.rest_answers import watched_client

PROGRAM = str(Path(__file__).with_name("fixture_server.py"))
FIXTURE_SERVER = (*SCRIPT, f"import runpy; runpy.run_path({PROGRAM!r}, run_name='__main__')")


class Accounts:
    """The accounts of a library, changed from this process while a server in another one uses them."""

    def __init__(self, home: Path) -> None:
        self.control = Control.open(Settings(home=home))
        self._numbers = itertools.count(1)

    def user(self, *actions: Action, name: str = "user", roles: Sequence[str] = ()) -> str:
        """Add a user who may do this, and return their name."""
        full = f"{name}-{next(self._numbers)}"
        self.control.accounts.create_user(LOCAL_USER, full, password=None, roles=roles, grants=actions)
        return full

    def token(self, user: str, *, name: str = "", expires_in: timedelta | None = None, **narrowed: Any) -> str:
        """Make a token for a user, and return its secret."""
        secret, _credential = self.control.credentials.issue_token(
            LOCAL_USER, user, name=name or f"token {next(self._numbers)}", expires_in=expires_in, **narrowed
        )
        return secret

    def close(self) -> None:
        """Let go of the database."""
        self.control.close()


@dataclass(frozen=True, kw_only=True)
class Hosted:
    """A running server, and the accounts that it serves."""

    server: Any
    accounts: Accounts
    environment: Mapping[str, str]

    @property
    def url(self) -> str:
        return str(self.server.url)

    @property
    def websocket_url(self) -> str:
        return f"ws{self.url.removeprefix('http')}/v1/mcp"

    def rest(self, secret: str | None = None) -> httpx.Client:
        headers = {"Authorization": f"Bearer {secret}"} if secret else {}
        return watched_client(self.url, headers)
