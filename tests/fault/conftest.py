"""What the tests of hostile input share: a server with two users, and clients that say anything and
notice everything.

None of these clients is one that a library would let us write: they send what is wrong on purpose.
"""

import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from stackroom.packages import PACKAGES
from stackroom.shelf.catalogue_shelf import CatalogueShelf
from stackroom.shelf.opening import create_shelf, open_shelf
from stackroom.shelf.store_place import StorePlace, save_place
from support.channels import Besieged, Channel, Channels, LineChannel
from support.stock import MODEL, Stock


@pytest.fixture(scope="session")
def shared_home(plain_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library without vectors of which accounts can be made."""
    home = tmp_path_factory.mktemp("besieged") / "library"
    shutil.copytree(plain_home, home)
    return home


@pytest.fixture(scope="session")
def besiege(start_server: Callable[..., Any], shared_home: Path) -> Callable[[], Besieged]:
    """Start a server that has two users."""
    tokens: dict[str, str] = {}

    def start() -> Besieged:
        server = start_server(shared_home, environment={"STACKROOM_READ_PER_MINUTE": "10000000"})
        for name in ("alice", "bob"):
            if name not in tokens:
                server.run("user", "add", name, "--one-time")
                tokens[name] = server.token(name)
        return Besieged(server=server, tokens=tokens)

    return start


@pytest.fixture(scope="session")
def besieged(besiege: Callable[[], Besieged]) -> Iterator[Besieged]:
    """A server that has two users, for every test of hostile input; at the end it must end well."""
    found = besiege()
    yield found
    assert found.server.stop(timeout_s=120) == 0
    assert "Traceback" not in "".join(found.server.log)


@pytest.fixture(scope="session")
def channels(besieged: Besieged, plain_home: Path) -> Iterator[Channels]:
    """MCP connections of every kind: those of alice to the besieged server, and standard input and
    output.
    """

    def open_channel(transport: str, era: str) -> Channel:
        return (
            LineChannel(plain_home, era)
            if transport == "stdio"
            else besieged.channel(transport, era)
        )

    found = Channels(open_channel)
    yield found
    found.close()


@pytest.fixture
def server_of(place: StorePlace, tmp_path: Path) -> Iterator[Callable[[str], Stock]]:
    """Opens the shelf of one server, by its name; the first one creates the store."""
    opened: list[CatalogueShelf] = []
    spec = PACKAGES.get("anime").spec

    def open_one(name: str) -> Stock:
        (tmp_path / name).mkdir(exist_ok=True)
        save_place(tmp_path / name, place)
        make = open_shelf if opened else partial(create_shelf, model=MODEL)
        opened.append(make(tmp_path / name, spec))
        return Stock(shelf=opened[-1], spec=spec)

    yield open_one
    for shelf in opened:
        shelf.close()
