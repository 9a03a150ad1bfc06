"""A library with a catalogue of invented dishes, embedded by a server on loopback."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stackroom.assembly.app import App
from stackroom.ingest.pipeline import IngestReport
from stackroom.settings import Settings
from support.dishes import add_dishes_to, open_embedding, write_dishes
from support.loopback import EmbeddingServer

DISHES = 90


@pytest.fixture
def settings(tmp_path: Path, embedding_server: EmbeddingServer) -> Settings:
    """The settings of an empty library whose embedder is a server on loopback."""
    return Settings(home=tmp_path / "home", embedding=embedding_server.settings())


@pytest.fixture
def app(settings: Settings) -> Iterator[App]:
    """The library, opened in this process."""
    app = App(settings)
    yield app
    app.close()


AddDishes = Callable[..., IngestReport]


@pytest.fixture
def add_dishes(app: App) -> AddDishes:
    """Build or update the catalogue of dishes from a file, with its spec or another."""
    own = app
    return lambda path, *, app=own, **options: add_dishes_to(app, path, **options)


@pytest.fixture(scope="session")
def dishes_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of the dishes, at one path for all tests: a catalogue knows its source by it."""
    return tmp_path_factory.mktemp("dishes") / "dishes.jsonl"


@pytest.fixture(scope="session")
def dishes_home(dishes_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with the catalogue of dishes."""
    home = tmp_path_factory.mktemp("dishes-home")
    with open_embedding(home) as app:
        assert add_dishes_to(app, write_dishes(dishes_file, range(DISHES))).written == DISHES
    return home


@pytest.fixture
def dishes(settings: Settings, dishes_home: Path, dishes_file: Path) -> Path:
    """The file that the catalogue of dishes was built from; the library is a copy of one."""
    shutil.copytree(dishes_home, settings.home, dirs_exist_ok=True)
    return write_dishes(dishes_file, range(DISHES))
