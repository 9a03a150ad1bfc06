"""The shelf under test: every implementation of the port, with records made for every built-in catalogue."""

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stackroom.catalogue.spec import CatalogueSpec
from stackroom.packages import PACKAGES
from stackroom.shelf.embedded.shelf import EmbeddedShelf
from stackroom.shelf.port import Shelf
from support.memory_shelf import MemoryShelf
from support.stock import MODEL, Other, Stock, _other_process


def _memory(_folder: Path, spec: CatalogueSpec) -> Shelf:
    return MemoryShelf(spec, model=MODEL)


def _embedded(folder: Path, spec: CatalogueSpec) -> Shelf:
    return EmbeddedShelf.create(folder, spec, model=MODEL)


SHELVES: dict[str, Callable[[Path, CatalogueSpec], Shelf]] = {
    "memory": _memory,
    "embedded": _embedded,
}
"""Every implementation of the port; a new one is added here and passes everything."""


@pytest.fixture(params=PACKAGES.names)
def spec(request: pytest.FixtureRequest) -> CatalogueSpec:
    """Every catalogue that ships with Stackroom."""
    return PACKAGES.get(request.param).spec


@pytest.fixture
def shelf_folder() -> Iterator[Path]:
    """A folder that is gone after the test: hundreds of shelves are made."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder) / "shelf"


@pytest.fixture(params=list(SHELVES))
def stock(request: pytest.FixtureRequest, spec: CatalogueSpec, shelf_folder: Path) -> Iterator[Stock]:
    """An empty shelf of every implementation."""
    shelf = SHELVES[request.param](shelf_folder, spec)
    yield Stock(shelf=shelf, spec=spec)
    shelf.close()


@pytest.fixture(params=list(SHELVES))
def music_shelf(request: pytest.FixtureRequest, shelf_folder: Path) -> Iterator[Shelf]:
    """An empty shelf of every implementation, for a catalogue that may be edited."""
    shelf = SHELVES[request.param](shelf_folder, PACKAGES.get("music").spec)
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
