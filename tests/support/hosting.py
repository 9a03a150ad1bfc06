"""Servers with accounts, as the interaction tests use them."""

import itertools
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx

from pinakes.control.control import Control
from pinakes.model.principal import LOCAL_USER, Action
from pinakes.settings import Settings
from support.rest_answers import watched_client

FIXTURE_SERVER = Path(__file__).parent.parent / "interaction" / "fixture_server.py"


class FixtureProcess:
    """`fixture_server.py` as a process of its own, with its log."""

    def __init__(self, home: Path, environment: Mapping[str, str]) -> None:
        self.home = home
        self.log: list[str] = []
        self._heard = threading.Event()
        self.process = subprocess.Popen(
            [sys.executable, str(FIXTURE_SERVER)],
            env={**os.environ, "PINAKES_HOME": str(home), "LOG_LEVEL": "WARNING", **environment},
            stderr=subprocess.PIPE,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        assert self._heard.wait(60), self.log
        found = re.search(r"serving at (http://\S+) ", "".join(self.log))
        assert found, self.log
        self.url = found[1]

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.log.append(line)
            if "serving at" in line:
                self._heard.set()
        self._heard.set()

    def stop(self, number: int = signal.SIGTERM, timeout_s: float = 20) -> int:
        """End the process, and return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            return self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        finally:
            self._reader.join(5)
            assert self.process.stderr is not None
            self.process.stderr.close()


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
        """Where the server is."""
        return str(self.server.url)

    @property
    def websocket_url(self) -> str:
        """Where its WebSocket is."""
        return f"ws{self.url.removeprefix('http')}/v1/mcp"

    def rest(self, secret: str | None = None) -> httpx.Client:
        """Return a client of REST, which its user closes."""
        headers = {"Authorization": f"Bearer {secret}"} if secret else {}
        return watched_client(self.url, headers)
