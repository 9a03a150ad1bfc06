"""The shared server is killed while it makes tokens: what it acknowledged is there, and the audit
is whole.
"""

import os
import random
import shutil
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from stackroom.control.control import Control
from stackroom.model.principal import LOCAL_USER, Action, Outcome
from support.control import audit_rows
from support.hosting import WHEREVER_KEPT, Kept

pytestmark = pytest.mark.row("Z13")

KILLS = int(os.environ.get("STACKROOM_KILLS", "3"))
CLIENTS = 6
USERS = 24
"""A user has 50 tokens at most."""
OPERATION = "account/create_token"


@dataclass
class Makers:
    """Clients that make tokens until the server is gone, and remember what was acknowledged."""

    url: str
    secrets: list[str]
    round: int
    acknowledged: dict[str, str] = field(default_factory=dict)
    """Names of tokens, which are in the audit, and their secrets."""

    def run(self, kill_after: int, server: Any) -> None:
        """Kill the server when so many tokens have been acknowledged."""
        enough = threading.Event()
        with ThreadPoolExecutor(CLIENTS) as pool:
            running = [
                pool.submit(self._make, number, kill_after, enough) for number in range(CLIENTS)
            ]
            assert enough.wait(60)
            assert server.stop(signal.SIGKILL) == -signal.SIGKILL
            for one in running:
                one.result(120)

    def _make(self, number: int, kill_after: int, enough: threading.Event) -> None:
        secrets = self.secrets[number::CLIENTS]
        with httpx.Client(base_url=self.url, verify=False) as client:
            for count in range(40 * len(secrets)):
                name = f"kill {self.round}, client {number}, token {count}"
                headers = {"Authorization": f"Bearer {secrets[count % len(secrets)]}"}
                try:
                    reply = client.post("/v1/tokens", json={"name": name}, headers=headers)
                except httpx.TransportError:
                    return  # the server is gone
                assert reply.status_code == 201, reply.text
                self.acknowledged[name] = reply.json()["token"]
                if len(self.acknowledged) >= kill_after:
                    enough.set()


def find_losses(control: Control, acknowledged: dict[str, str]) -> list[str]:
    """Return what of the acknowledged is not there, or not in the audit."""
    noted = {
        row.target
        for row in audit_rows(control.audit, operation=OPERATION)
        if row.outcome is Outcome.OK
    }
    lost = [
        name for name, secret in acknowledged.items() if control.credentials.find(secret) is None
    ]
    return [*lost, *(name for name in acknowledged if name not in noted)]


@pytest.fixture
def home(plain_home: Path, tmp_path: Path) -> Path:
    """A library of its own."""
    place = tmp_path / "home"
    shutil.copytree(plain_home, place)
    return place


@WHEREVER_KEPT
def test_tokens_that_were_acknowledged_survive_kills_at_any_moment_with_their_rows_in_the_audit(
    home: Path, kept: Kept, start_server: Any
) -> None:
    accounts, named = kept(home)
    control = accounts.control
    chance = random.Random(20261115)
    secrets = []
    for number in range(USERS):
        name = f"maker-{number}"
        control.accounts.create_user(
            LOCAL_USER, name, password=None, grants=[Action.ACCESS_CATALOG]
        )
        secrets.append(control.credentials.issue_token(LOCAL_USER, name, name="first")[0])
    acknowledged: dict[str, str] = {}
    for number in range(KILLS):
        server = start_server(home, environment={"STACKROOM_WRITE_PER_MINUTE": "100000", **named})
        makers = Makers(server.url, secrets, number)
        makers.run(chance.randint(5, 60), server)
        acknowledged |= makers.acknowledged
        assert find_losses(control, acknowledged) == []
        assert control.audit.verify().first_problem is None
    rows = audit_rows(control.audit, operation=OPERATION)
    assert {row.outcome for row in rows} == {Outcome.OK}
    assert len({row.target for row in rows}) == len(rows) >= len(acknowledged) > KILLS * 5
    # What the audit says was done was done: a row is written when there is something to tell.
    names = {
        one.name
        for number in range(USERS)
        for one in control.credentials.list_of(f"maker-{number}")
    }
    assert {row.target for row in rows} <= names
    accounts.close()
