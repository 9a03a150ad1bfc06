"""A library with a catalogue of invented dishes, embedded by a server on loopback."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stackroom.assembly.app import App
from stackroom.assembly.build import add_catalogue, own_recipe
from stackroom.catalogue.compiler import LoadedSpec, compile_text
from stackroom.ingest.pipeline import IngestReport
from stackroom.settings import Settings
from stackroom.sources.json_rows import JsonRows
from support.dishes import SPEC, write_dishes
from support.loopback import EmbeddingServer

DISHES = 90


@pytest.fixture
def settings(tmp_path: Path, embedding_server: EmbeddingServer) -> Settings:
    """The settings of an empty library whose embedder is a server on loopback."""
    return Settings(home=tmp_path / "home", embedding=embedding_server.settings(timeout_s=120))


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

    def add(path: Path, *, declaration: str = SPEC, app: App = own, **options: bool) -> IngestReport:
        recipe = own_recipe(LoadedSpec(spec=compile_text(declaration, origin="dishes"), declaration=declaration))
        return add_catalogue(
            app, JsonRows(path), recipe=recipe, name="dishes", progress=lambda _report: None, **options
        )

    return add


@pytest.fixture
def dishes(tmp_path: Path, add_dishes: AddDishes) -> Path:
    """The file that the catalogue of dishes was built from."""
    path = write_dishes(tmp_path / "dishes.jsonl", range(DISHES))
    assert add_dishes(path).written == DISHES
    return path
