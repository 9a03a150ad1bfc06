"""The shelf under test: every implementation of the port, with records made for every built-in
catalogue.
"""

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stackroom.catalogue.spec import CatalogueSpec
from stackroom.packages import PACKAGES
from stackroom.shelf.opening import create_shelf
from stackroom.shelf.port import Shelf
from stackroom.shelf.postgres import store_database
from stackroom.shelf.postgres_search import database
from stackroom.shelf.store_place import IN_DATABASE, save_place
from support.memory_shelf import MemoryShelf
from support.postgres import PostgresServer
from support.stock import MODEL, Other, Stock, _other_process

MakeShelf = Callable[[Path, CatalogueSpec], Shelf]


def _memory(_folder: Path, spec: CatalogueSpec) -> Shelf:
    return MemoryShelf(spec, model=MODEL)


def _embedded(folder: Path, spec: CatalogueSpec) -> Shelf:
    return create_shelf(folder, spec, model=MODEL)


SHELVES = ("memory", "embedded", "postgresql", "postgresql_searched")
"""Every implementation of the port; a new one is added here and passes everything."""


IN_DATABASES = ("anime", "documents")
"""The catalogues of shelves in databases, whose tests take four times as long; with
STACKROOM_EVERY_SPEC=1, all.
"""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out shelves in databases for the other catalogues."""
    if os.environ.get("STACKROOM_EVERY_SPEC"):
        return
    left_out = {item for item in items if _is_left_out(getattr(item, "callspec", None))}
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = [item for item in items if item not in left_out]


def _is_left_out(called: Any) -> bool:
    given = called.params if called else {}
    return (
        str(given.get("make_shelf", "")).startswith("postgresql")
        and given.get("spec", "anime") not in IN_DATABASES
    )


@pytest.fixture(params=SHELVES)
def make_shelf(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> MakeShelf:
    """Makes an empty shelf of every implementation."""
    if request.param == "memory":
        return _memory
    if request.param == "embedded":
        return _embedded
    server: PostgresServer = request.getfixturevalue("postgresql")
    for module in (database, store_database):  # a busy machine may not answer for seconds
        monkeypatch.setattr(module, "CONNECT_S", 60)

    def make(folder: Path, spec: CatalogueSpec) -> Shelf:
        folder.mkdir(parents=True)
        search = IN_DATABASE if request.param == "postgresql_searched" else ""
        save_place(folder, replace(server.new_place(), search=search))
        return _embedded(folder, spec)

    return make


@pytest.fixture(params=PACKAGES.names)
def spec(request: pytest.FixtureRequest) -> CatalogueSpec:
    """Every catalogue that ships with Stackroom."""
    return PACKAGES.get(request.param).spec


@pytest.fixture
def shelf_folder() -> Iterator[Path]:
    """A folder that is gone after the test: hundreds of shelves are made."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder) / "shelf"


@pytest.fixture
def stock(make_shelf: MakeShelf, spec: CatalogueSpec, shelf_folder: Path) -> Iterator[Stock]:
    """An empty shelf of every implementation."""
    shelf = make_shelf(shelf_folder, spec)
    yield Stock(shelf=shelf, spec=spec)
    shelf.close()


@pytest.fixture
def music_shelf(make_shelf: MakeShelf, shelf_folder: Path) -> Iterator[Shelf]:
    """An empty shelf of every implementation, for a catalogue that may be edited."""
    shelf = make_shelf(shelf_folder, PACKAGES.get("music").spec)
    yield shelf
    shelf.close()


@pytest.fixture
def embedded_stock(shelf_folder: Path) -> Iterator[Stock]:
    """An empty embedded shelf of one catalogue."""
    spec = PACKAGES.get("anime").spec
    shelf = _embedded(shelf_folder, spec)
    yield Stock(shelf=shelf, spec=spec)
    shelf.close()


@pytest.fixture
def other_process() -> Callable[[str, Path], contextlib.AbstractContextManager[Other]]:
    """Runs a script, with a folder as its argument, in a process of its own."""
    return _other_process
