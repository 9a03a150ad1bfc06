"""Three servers over a primary and two replicas: a server, a replica and the primary are killed
under load.
"""

import itertools
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from stackroom.assembly.app import App
from stackroom.model.principal import LOCAL_USER
from stackroom.settings import Settings
from stackroom.shelf.postgres.move import move_to_database
from stackroom.shelf.store_place import StorePlace
from support.cluster import Cluster, open_cluster
from support.libraries import copy_samples
from support.processes import wait_until

pytestmark = [pytest.mark.row("N16"), pytest.mark.timeout(600)]

ENTRY = ("installed.json", "store.toml", "catalogue.toml")
"""The files of a catalogue that another server needs."""
AGE_IS_TOLD = "does not answer; this is its state of"
WAIT_S = 120.0


@pytest.fixture
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Servers with libraries of their own, whose records are in one database."""
    homes = [tmp_path_factory.mktemp(name) for name in ("first", "second", "third")]

    def share(url: str) -> None:
        app = App(Settings(home=copy_samples(homes[0], "music")))
        place = StorePlace(url=f"{url}&target_session_attrs=read-write", schema="stackroom_music")
        move_to_database(app, "music", place, advance=lambda _step, _more: None)
        folder = app.library.get_installed("music").folder
        app.close()
        for home in homes[1:]:
            copy_entry(folder, home / folder.relative_to(homes[0]))

    with open_cluster(homes, replicas=2, prepare=share) as cluster:
        yield cluster


def copy_entry(folder: Path, to: Path) -> None:
    to.mkdir(parents=True)
    for name in ENTRY:
        if (folder / name).exists():
            shutil.copy2(folder / name, to / name)


class Load:
    """A writer that notes what was acknowledged, and a reader that asks for it, each at all servers
    in turn.
    """

    def __init__(self, clients: list[httpx.Client]) -> None:
        self.clients = clients
        self.stored: list[str] = []
        self.failed_reads: list[str] = []
        self.old_reads: list[str] = []
        self.reads = 0
        self.aged_reads = 0
        """Reads that said how old they were."""
        self._stops = threading.Event()
        self._threads = [
            threading.Thread(target=self._loop, args=(step,)) for step in (self._write, self._read)
        ]

    def __enter__(self) -> "Load":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stops.set()
        for thread in self._threads:
            thread.join(WAIT_S)

    def wait_for_more(self, count: int) -> None:
        """Wait until so many more writes were acknowledged, and reads answered."""
        writes, reads = len(self.stored) + count, self.reads + count
        wait_until(lambda: len(self.stored) >= writes and self.reads >= reads, timeout_s=WAIT_S)

    def wait_for_reads(self, count: int) -> None:
        """Wait until so many more reads were answered."""
        reads = self.reads + count
        wait_until(lambda: self.reads >= reads, timeout_s=WAIT_S)

    def _loop(self, step: Callable[[httpx.Client, httpx.Client, int], None]) -> None:
        for number in itertools.count():
            if self._stops.is_set():
                return
            clients = self.clients
            here, there = (clients[(number + place) % len(clients)] for place in (0, 1))
            step(here, there, number)

    def _write(self, here: httpx.Client, _there: httpx.Client, number: int) -> None:
        word = f"stormy{number:04}"
        fields = {"name": word, "artists": ["Erik Satie"]}
        asked = {"action": "create", "kind": "album", "id": f"album/{word}", "fields": fields}
        reply = ask(here, "catalog.mutate", asked)
        if reply is not None and reply.is_success:
            self.stored.append(word)

    def _read(self, here: httpx.Client, there: httpx.Client, _number: int) -> None:
        if not self.stored:
            return
        word = self.stored[-1]
        said: list[str] = []
        for client in (here, there):
            reply = ask(client, "catalog.search", {"query": word, "kind": "album"})
            if reply is not None and reply.status_code == 200:
                self.reads += 1
                self.aged_reads += AGE_IS_TOLD in reply.text
                if f"album/{word}" not in reply.text and AGE_IS_TOLD not in reply.text:
                    self.old_reads.append(f"{word}: {reply.text[:400]}")
                return
            said.append(
                f"{client.base_url} {reply.text[:400] if reply is not None else 'was not reached'}"
            )
        self.failed_reads.append(f"{word}: {said}")


def ask(client: httpx.Client, tool: str, arguments: dict[str, Any]) -> httpx.Response | None:
    """Call a tool; None where the server cannot be reached."""
    try:
        return client.post(f"/v1/tools/{tool}", json=arguments)
    except httpx.TransportError:
        return None


def test_kills_of_server_replica_and_primary_lose_nothing_and_nothing_is_told_as_newer_than_it_is(
    cluster: Cluster,
) -> None:
    cluster.control.accounts.create_user(LOCAL_USER, "eve", password=None, roles=("editor",))
    secret, _ = cluster.token("eve")
    primary, _first, second = cluster.databases
    with cluster.clients(secret) as clients:
        with Load(clients) as load:
            load.wait_for_more(6)
            cluster.servers[2].stop(signal.SIGKILL)
            load.wait_for_more(6)
            load.clients = clients[:2]  # as whoever balances the load, who has noticed by now
            second.kill()
            load.wait_for_more(6)
            primary.kill()
            load.wait_for_reads(6)
            wait_until(lambda: load.aged_reads > 0, timeout_s=WAIT_S)
            cluster.promote_replica()
            load.wait_for_more(6)
        assert load.failed_reads == []
        assert load.old_reads == []
        assert len(load.stored) == len(set(load.stored)) >= 24
        for client in clients[:2]:
            lost = [word for word in load.stored if f"album/{word}" not in found(client, word)]
            assert lost == []
    assert cluster.control.audit.verify().first_problem is None


def found(client: httpx.Client, word: str) -> str:
    reply = ask(client, "catalog.search", {"query": word, "kind": "album"})
    assert reply is not None
    return reply.text
